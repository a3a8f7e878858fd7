/* hold.c: "not before", and letting go of those who waited one by one (hold.h). */
#include <belay/hold.h>

void belay_hold_init(struct belay_hold *hold)
{
    *hold = (struct belay_hold){.until_at = {INT64_MIN}, .release_at = {INT64_MIN}};
}

void belay_hold_on_hint(struct belay_hold *hold, const struct belay_hold_config *config,
                        struct belay_instant now, struct belay_span hint)
{
    struct belay_span length = belay_span_min(hint, config->max);
    struct belay_instant until_at = belay_instant_add(now, length);
    if (length.ns <= 0 || until_at.ns <= hold->until_at.ns) return;
    hold->until_at = until_at;
    hold->release_at = until_at;
    hold->generation++;
}

struct belay_instant belay_hold_next_at(const struct belay_hold *hold, struct belay_instant now,
                                        const struct belay_hold_ticket *ticket)
{
    if (ticket->generation == hold->generation && hold->generation > 0) return ticket->at;
    return now.ns >= hold->until_at.ns ? now : hold->release_at;
}

void belay_hold_take(struct belay_hold *hold, const struct belay_hold_config *config,
                     struct belay_instant now, struct belay_hold_ticket *ticket)
{
    if (ticket->generation == hold->generation) return;
    *ticket = (struct belay_hold_ticket){hold->generation, belay_hold_next_at(hold, now, ticket)};
    hold->release_at = belay_instant_add(ticket->at, config->pace);
}
