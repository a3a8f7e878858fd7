/* operation.h: one logical operation, from its first byte to its answer (semantics 1, 3, 5a, 7).
 *
 * The only composer of the policies. No I/O, no clock, no heap: `now` and `luck` (64 uniform random
 * bits) are arguments, the answer says what to do next and when. Life of an operation:
 *
 *   init, then admit:
 *     ADMITTED  the caller makes the attempt, then record
 *     WAIT      admit again at .at
 *     QUEUED    admit again when woken, at .at at the latest
 *     REFUSED   ended, with .terminal
 *   record:
 *     RETRY     admit again at verdict.retry_at
 *     else      ended
 *   cancel: from any state, when the caller of the operation has gone
 *   finish: exactly once, last; gives back whatever is still held and sums up
 *
 * Guarantee: after finish no permit, probe, slot, token or queue place of this operation is held; a
 * retry token that was reserved and never sent is given back.
 * Thread rule: an operation belongs to one thread at a time; its target may be shared.
 * Ownership: the caller owns the struct, which must not move between init and finish; policy and
 * target must outlive it.
 */
#ifndef BELAY_OPERATION_H
#define BELAY_OPERATION_H

#include <belay/export.h>
#include <belay/outcome.h>
#include <belay/policy.h>
#include <belay/target.h>

#ifdef __cplusplus
extern "C" {
#endif

enum belay_admission_kind { BELAY_ADMITTED, BELAY_WAIT, BELAY_QUEUED, BELAY_REFUSED };

struct belay_admission {
    enum belay_admission_kind kind;
    enum belay_terminal terminal; /* REFUSED */
    struct belay_instant at; /* WAIT, QUEUED: ask again then at the latest. ADMITTED: the attempt
                                ends then (min of attempt timeout and deadline) */
    uint32_t attempt;        /* ADMITTED: its number, from 1 without holes */
    struct belay_span remaining; /* ADMITTED: of the deadline, before the call */
    struct belay_span pass_on;   /* ADMITTED: remaining - reserve, the outgoing deadline; > 0 */
    bool fresh_connection;       /* ADMITTED: a pooled connection must not be used (5a) */
    bool has_hint; /* REFUSED by hold, quota or breaker: when trying again makes sense */
    struct belay_span retry_hint;
};

struct belay_verdict {
    enum belay_decision decision;
    enum belay_reason reason;
    uint32_t attempt;
    struct belay_span elapsed;   /* of this attempt */
    struct belay_span remaining; /* before this attempt */
    struct belay_span wait;      /* RETRY: whole milliseconds */
    enum belay_wait_source wait_source;
    struct belay_instant retry_at; /* RETRY: now + wait */
};

/* How the operation ended: the fields of its record. */
struct belay_ending {
    int status;       /* > 0: result is that status (the last decision was return) */
    const char *word; /* else the decision's or terminal reason's word; NULL with a status */
    enum belay_effect effect;
    uint32_t attempts;
    struct belay_span elapsed;
};

struct belay_operation { /* private fields; here so that the caller can embed it */
    const struct belay_policy *policy;
    struct belay_target *target;
    struct belay_traits traits;
    struct belay_waiter waiter;
    struct belay_claim claim;
    struct belay_instant started_at, deadline_at, seen_at, attempt_at, attempt_end_at, retry_at;
    struct belay_span previous_wait;
    uint32_t attempts, counted_attempts;
    int last_status;
    enum belay_decision last_decision;
    enum belay_terminal terminal;
    uint8_t state;
    bool replay_safe, stale_used, fresh_next, effect_done, effect_unknown;
};

/* Whose waiter this is: what `wake` was called for. */
static inline struct belay_operation *belay_operation_of(struct belay_waiter *waiter)
{
    return (struct belay_operation *)(void *)((char *)waiter -
                                              offsetof(struct belay_operation, waiter));
}

/* `wake` (target.h says what it may do) may be NULL when the target's bulkhead has no queue.
 * deadline_at > started_at is not required: an operation without time is refused at its first
 * admit. */
BELAY_API void belay_operation_init(struct belay_operation *op, const struct belay_policy *policy,
                                    struct belay_target *target, const struct belay_traits *traits,
                                    struct belay_instant started_at,
                                    struct belay_instant deadline_at,
                                    void (*wake)(struct belay_waiter *));
/* What the request is became known only after init: before it is decided upon. The hold's key
 * stays. */
BELAY_API void belay_operation_on_traits(struct belay_operation *op,
                                         const struct belay_traits *traits);
/* Before each attempt, and again after WAIT and QUEUED. Asked too early it answers WAIT or QUEUED
 * again. */
BELAY_API struct belay_admission belay_operation_admit(struct belay_operation *op,
                                                       struct belay_instant now);
/* Is this status to be decided at its head (semantics 3, "what is held")? True when a repeat of it
 * would be considered at all (in retry_on, and the request may be repeated after it), or the state
 * is to be asked for instead of passing it on. Call record at the head then; otherwise stream, and
 * call record when the message has ended. */
BELAY_API bool belay_operation_decides_at_head(const struct belay_operation *op, int status);
/* What this outcome would mean for this operation: what `explain` shows. */
BELAY_API enum belay_outcome_class belay_operation_class(const struct belay_operation *op,
                                                         const struct belay_outcome *outcome);
/* The attempt that was admitted came to `outcome`; exactly once for each ADMITTED. */
BELAY_API struct belay_verdict belay_operation_record(struct belay_operation *op,
                                                      const struct belay_outcome *outcome,
                                                      struct belay_instant now, uint64_t luck);
/* The caller of the operation has gone while no attempt was under way (waiting, queued). An attempt
 * under way is recorded with error `cancelled` instead. */
BELAY_API void belay_operation_cancel(struct belay_operation *op, struct belay_instant now);
BELAY_API struct belay_ending belay_operation_finish(struct belay_operation *op,
                                                     struct belay_instant now);

#ifdef __cplusplus
}
#endif
#endif
