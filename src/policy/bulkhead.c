/* bulkhead.c: the count of calls in flight and of those that wait (bulkhead.h). */
#include <belay/bulkhead.h>

#include "base/check.h"

void belay_bulkhead_init(struct belay_bulkhead *bulkhead,
                         const struct belay_bulkhead_config *config)
{
    *bulkhead = (struct belay_bulkhead){.config = *config};
}

static bool has_room(const struct belay_bulkhead *bulkhead)
{
    return !bulkhead->config.enabled ||
           (uint64_t)bulkhead->in_flight + bulkhead->promised < bulkhead->config.max;
}

enum belay_bulkhead_answer belay_bulkhead_decide(const struct belay_bulkhead *bulkhead)
{
    if (has_room(bulkhead)) return BELAY_BULKHEAD_FREE;
    return bulkhead->waiting < bulkhead->config.queue ? BELAY_BULKHEAD_QUEUE : BELAY_BULKHEAD_FULL;
}

void belay_bulkhead_take(struct belay_bulkhead *bulkhead, bool promised)
{
    if (promised) {
        CHECK(bulkhead->promised > 0);
        bulkhead->promised--;
    }
    CHECK(has_room(bulkhead));
    bulkhead->in_flight++;
    if (bulkhead->in_flight > bulkhead->in_flight_peak)
        bulkhead->in_flight_peak = bulkhead->in_flight;
}

void belay_bulkhead_on_wait(struct belay_bulkhead *bulkhead)
{
    CHECK(bulkhead->waiting < bulkhead->config.queue);
    bulkhead->waiting++;
}

void belay_bulkhead_on_leave(struct belay_bulkhead *bulkhead)
{
    CHECK(bulkhead->waiting > 0);
    bulkhead->waiting--;
}

bool belay_bulkhead_give(struct belay_bulkhead *bulkhead, bool promised)
{
    uint32_t *held = promised ? &bulkhead->promised : &bulkhead->in_flight;
    CHECK(*held > 0);
    --*held;
    if (bulkhead->waiting == 0) return false;
    bulkhead->waiting--;
    bulkhead->promised++;
    return true;
}
