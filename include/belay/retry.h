/* retry.h: the nine rules of a decision, in their order (semantics 3, 5a and 7).
 *
 * Two steps, because the last rules need what all calls to a target share: `decide` goes through
 * rules 1 to 6, and when it says RETRY, `decide_shared` through 7 to 9. Thread rule: pure functions
 * of values.
 */
#ifndef BELAY_RETRY_H
#define BELAY_RETRY_H

#include <belay/export.h>
#include <belay/classify.h>
#include <belay/time.h>

#ifdef __cplusplus
extern "C" {
#endif

struct belay_retry_facts {
    enum belay_outcome_class kind; /* as belay_classify_decide says */
    enum belay_reason reason;      /* and its reason, for what ends by rules 1 to 4 */
    bool answered;                 /* the outcome is a status, not an error */
    bool answer_started;           /* bytes of it were passed on */
    bool state_check;              /* the route can ask for the state */
    bool owned;        /* another level retries, and the route does not say to do it nonetheless */
    bool stale_repeat; /* section 5a: goes again at once, and counts as no attempt */
    bool attempts_left;
    struct belay_span remaining; /* of the deadline, after the attempt */
    struct belay_span reserve;
    struct belay_span wait; /* drawn before; kept */
    enum belay_wait_source wait_source;
};

struct belay_retry_plan {
    enum belay_decision decision;
    enum belay_reason reason;
};

BELAY_API struct belay_retry_plan belay_retry_decide(const struct belay_retry_facts *facts);
/* `planned` says RETRY. has_token: one was reserved (rule 7). closed: the breaker is (rule 8). */
BELAY_API struct belay_retry_plan belay_retry_decide_shared(struct belay_retry_plan planned,
                                                            bool has_token, bool closed);

#ifdef __cplusplus
}
#endif
#endif
