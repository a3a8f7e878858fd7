/* budget.h: the retry budget of a target, a token bucket filled by traffic and not by time
 * (semantics 7).
 *
 * Guarantee, over every span of operations: retries sent <= ratio * operations + burst.
 * It holds because tokens + reserved <= burst at all times, an operation adds `ratio` once, and a
 * retry is sent only against a token that was reserved before. Units: tokens are counted in
 * millionths. Thread rule: the owner's lock; no shared state of its own.
 */
#ifndef BELAY_BUDGET_H
#define BELAY_BUDGET_H

#include <belay/export.h>

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct belay_budget_config {
    uint32_t ratio_ppm; /* [100000] retries a million operations: 10 % */
    uint32_t burst;     /* [10] */
};

struct belay_budget {        /* private fields */
    uint64_t ratio, burst;   /* in millionths of a token */
    uint64_t free, reserved; /* free + reserved <= burst */
};

/* Starts full: `burst` retries may be sent before the first operation has earned any. */
BELAY_API void belay_budget_init(struct belay_budget *budget,
                                 const struct belay_budget_config *config);
/* An operation's first attempt is sent. */
BELAY_API void belay_budget_on_operation(struct belay_budget *budget);
/* Reserves one token for a retry that was decided. False: the budget is empty, nothing was taken.
 */
BELAY_API bool belay_budget_take(struct belay_budget *budget) BELAY_MUST_USE;
/* The retry is sent: its token is spent. Only after a take that was true. */
BELAY_API void belay_budget_on_retry(struct belay_budget *budget);
/* The retry will never be sent: its token goes back. Only after a take that was true. */
BELAY_API void belay_budget_give(struct belay_budget *budget);
/* What several processes know of one budget, in millionths, cut to what this one's limit allows;
 * `own` tokens are reserved here, whatever the others say. */
BELAY_API void belay_budget_restore(struct belay_budget *budget, uint64_t free, uint64_t reserved,
                                    uint32_t own);

#ifdef __cplusplus
}
#endif
#endif
