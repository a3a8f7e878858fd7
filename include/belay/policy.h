/* policy.h: every option of a policy, with its default, as plain values (semantics 3 to 9). */
#ifndef BELAY_POLICY_H
#define BELAY_POLICY_H

#include <belay/export.h>
#include <belay/backoff.h>
#include <belay/breaker.h>
#include <belay/budget.h>
#include <belay/bulkhead.h>
#include <belay/classify.h>
#include <belay/hold.h>
#include <belay/quota.h>

#ifdef __cplusplus
extern "C" {
#endif

struct belay_policy {
    struct belay_span deadline_for;        /* [10 s] the whole operation; > 0 */
    struct belay_span reserve_for;         /* [5 ms] kept back from what is passed on */
    struct belay_span connect_timeout_for; /* [300 ms, internet: 2 s] dns + connect */
    struct belay_span tls_timeout_for;     /* [1 s, internet: 2 s] */
    struct belay_span silence_timeout_for; /* [5 s] between bytes */
    struct belay_span attempt_timeout_for; /* [0: none] */
    uint32_t attempts_max;                 /* [3] >= 1 */
    bool retry_unsafe_refusals; /* [false] 429 and 503 to a request that is not replay-safe may be
                                   repeated: the route declares that they started nothing */
    bool retry_when_owned;      /* [false] retry although the request came marked as owned */
    struct belay_backoff_config backoff;
    struct belay_retry_on retry_on;
    struct belay_budget_config budget; /* of the target; a route does not change them */
    struct belay_breaker_config breaker;
    struct belay_bulkhead_config bulkhead;
    struct belay_quota_config quota;
    struct belay_hold_config hold;
    size_t replay_buffer_bytes_max; /* [256 KiB] request bodies up to this are kept for a repeat */
    size_t held_answer_bytes_max;   /* [16 KiB] of a repeatable answer kept while waiting */
    struct belay_span idle_for;     /* [4 s] keep_alive.idle */
    uint32_t idle_max;              /* [256] keep_alive.max */
};

/* Every default of semantics 4 to 9 (network: local). */
BELAY_API struct belay_policy belay_policy_default(void);

#ifdef __cplusplus
}
#endif
#endif
