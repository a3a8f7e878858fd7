/* hold.h: a target's "not before", as its Retry-After said, and the paced release after it
 * (semantics 6).
 *
 * Guarantees:
 *   - while a hold lasts nobody passes, and it lasts min(hint, max) from the latest hint that
 *     prolonged it;
 *   - a hint never shortens a hold;
 *   - who asks during a hold is given a ticket: an instant of its own, `pace` after the one
 *     before, in the order of asking; so waiters are let go one by one and not together. A ticket
 *     costs nothing when it is not used. A longer hold makes the tickets of a shorter one void.
 * Thread rule: the owner's lock; no shared state of its own.
 */
#ifndef BELAY_HOLD_H
#define BELAY_HOLD_H

#include <belay/export.h>
#include <belay/time.h>

#ifdef __cplusplus
extern "C" {
#endif

enum belay_hold_scope { BELAY_HOLD_TARGET, BELAY_HOLD_ROUTE, BELAY_HOLD_KEY };

struct belay_hold_config {
    struct belay_span max;       /* [60 s] the longest a hint may hold the target; 0: off */
    enum belay_hold_scope scope; /* [target] */
    struct belay_span pace;      /* [10 ms] between two waiters that are let go; 0: together */
};

struct belay_hold { /* private fields */
    struct belay_instant until_at;
    struct belay_instant release_at; /* the next free ticket */
    uint64_t generation;             /* of the hold; 0: there never was one */
};

/* Zero-initialised: none. */
struct belay_hold_ticket {
    uint64_t generation;
    struct belay_instant at;
};

BELAY_API void belay_hold_init(struct belay_hold *hold);
/* A 429 or 503 came with a hint (>= 0). */
BELAY_API void belay_hold_on_hint(struct belay_hold *hold, const struct belay_hold_config *config,
                                  struct belay_instant now, struct belay_span hint);
/* When the bearer of `ticket` may pass; <= now: at once. Takes nothing. */
BELAY_API struct belay_instant belay_hold_next_at(const struct belay_hold *hold,
                                                  struct belay_instant now,
                                                  const struct belay_hold_ticket *ticket);
/* The caller will wait until next_at, which was later than now: the ticket is for that instant. */
BELAY_API void belay_hold_take(struct belay_hold *hold, const struct belay_hold_config *config,
                               struct belay_instant now, struct belay_hold_ticket *ticket);

#ifdef __cplusplus
}
#endif
#endif
