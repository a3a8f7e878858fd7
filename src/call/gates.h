/* gates.h: what an operation asks of its target (target.c); nobody else includes this.
 *
 * Every function is one locked step, and calls `wake` of at most one other waiter after it has let
 * go of the lock.
 */
#ifndef CALL_GATES_H
#define CALL_GATES_H

#include <belay/operation.h>

/* What one attempt was, for the policies that all operations share. */
struct belay__report {
    struct belay_breaker_result result;
    struct belay_instant now;
    bool too_many; /* a 429 */
    bool holds;    /* a 429 or 503 with a hint */
    struct belay_span hint;
    bool wants_retry; /* rules 1 to 6 said so */
};

struct belay__shared_facts {
    bool has_token, closed;
};

/* Looks at all gates in their order without taking, and takes all of them once nothing is left to
 * wait for. Fills kind, terminal, at (not for ADMITTED) and the hint. `attempt_end_at` is when the
 * attempt would end. */
void belay__target_admit(struct belay_operation *op, struct belay_instant now,
                         struct belay_instant attempt_end_at, struct belay_admission *out);
/* The attempt is over: gives back its slot and permit, and reserves a token if a retry is wanted,
 * the budget has one and the breaker is closed. */
struct belay__shared_facts belay__target_record(struct belay_operation *op,
                                                const struct belay__report *report);
/* Gives back whatever the operation holds or waits for. */
void belay__target_leave(struct belay_operation *op, struct belay_instant now);

#endif
