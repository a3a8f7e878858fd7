/* backoff.c: the wait before a retry (backoff.h). */
#include <belay/backoff.h>

#include "base/rng.h"

static int64_t whole_ms(struct belay_span span)
{
    int64_t ms = belay_span_floor_ms(span);
    return ms == 0 && span.ns > 0 ? 1 : ms;
}

/* min(base * 2^(n-1), max) without ever shifting a bit out. */
static int64_t grown_ms(int64_t base_ms, int64_t max_ms, uint32_t n)
{
    uint32_t doublings = n > 0 ? n - 1 : 0;
    if (base_ms >= max_ms) return max_ms;
    if (base_ms == 0) return 0;
    if (doublings >= 63 || base_ms > max_ms >> doublings) return max_ms;
    return base_ms << doublings;
}

/* U(0, most), both ends included. */
static int64_t uniform_ms(int64_t most, uint64_t luck)
{
    return most <= 0 ? 0 : (int64_t)rng_scale(luck, (uint64_t)most + 1);
}

static int64_t decorrelated_ms(int64_t base_ms, int64_t max_ms, int64_t previous_ms, uint64_t luck)
{
    int64_t least = base_ms < max_ms ? base_ms : max_ms;
    int64_t before = previous_ms > least ? previous_ms : least;
    int64_t most = before > max_ms / 3 ? max_ms : before * 3;
    return least + uniform_ms(most - least, luck);
}

struct belay_span belay_backoff_decide(const struct belay_backoff_config *config, uint32_t n,
                                       struct belay_span previous, uint64_t luck)
{
    int64_t base_ms = whole_ms(config->base), max_ms = whole_ms(config->max);
    int64_t b = grown_ms(base_ms, max_ms, n);
    switch (config->kind) {
    case BELAY_BACKOFF_ADDITIVE: return belay_span_ms(b + uniform_ms(b, luck));
    case BELAY_BACKOFF_FULL: return belay_span_ms(uniform_ms(b, luck));
    case BELAY_BACKOFF_EQUAL: return belay_span_ms(b - b / 2 + uniform_ms(b / 2, luck));
    case BELAY_BACKOFF_DECORRELATED:
        return belay_span_ms(decorrelated_ms(base_ms, max_ms, whole_ms(previous), luck));
    case BELAY_BACKOFF_CONSTANT: return belay_span_ms(base_ms);
    case BELAY_BACKOFF_NONE: break;
    }
    return belay_span_ms(b);
}

struct belay_span belay_backoff_decide_hint(const struct belay_backoff_config *config,
                                            struct belay_span hint, struct belay_span spare,
                                            uint64_t luck)
{
    int64_t hint_ms = belay_span_ceil_ms(hint), base_ms = whole_ms(config->base);
    int64_t wait_ms = hint_ms > base_ms ? hint_ms : base_ms;
    if (config->kind == BELAY_BACKOFF_CONSTANT) return belay_span_ms(wait_ms);
    struct belay_span room = belay_span_ns(belay_ns_sub(spare.ns, belay_span_ms(wait_ms).ns));
    int64_t room_ms = belay_span_floor_ms(room) - 1;
    int64_t tenth_ms = wait_ms / 10;
    return belay_span_ms(wait_ms + uniform_ms(tenth_ms < room_ms ? tenth_ms : room_ms, luck));
}
