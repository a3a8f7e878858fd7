/* classify.h: is this outcome worth repeating, and is it safe? (semantics 1, 3 rules 1, 3 and 4,
 * and 8)
 *
 * One table in src/policy/classify.c says what each outcome means by itself; the rules add what the
 * request is. Thread rule: pure functions of values.
 */
#ifndef BELAY_CLASSIFY_H
#define BELAY_CLASSIFY_H

#include <belay/export.h>
#include <belay/method.h>
#include <belay/outcome.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What the request is, as its method and its route say. */
struct belay_traits {
    bool safe_method;     /* GET, HEAD, OPTIONS, TRACE */
    bool write;           /* the route says so, or says nothing and the method is not safe */
    bool idempotent;      /* the route declares the method idempotent */
    bool keyed;           /* bears an idempotency key that, says the route, the recipient honours */
    bool owned_elsewhere; /* arrived marked as retried on another level */
    bool state_check;     /* the route can ask for the state */
    /* Hold scope route or key: which one (any hash but 0). Ignored with scope target. */
    uint64_t hold_key;
};

/* What the method alone says: safe, or else a write that is not to be repeated. Declare more (that
 * it is idempotent, bears a key) by setting the field. */
BELAY_API struct belay_traits belay_traits_of(enum belay_method method);

/* Safe and not declared a write, or declared idempotent, or keyed (semantics 1). */
BELAY_API bool belay_traits_replay_safe(const struct belay_traits *traits);

/* The outcomes that are worth repeating [timeout reset closed refused dns 429 502 503 504]. */
struct belay_retry_on {
    uint32_t errors;     /* bit n: enum belay_error_class n */
    uint64_t status[10]; /* bit s of the 640: status s */
};

/* The default list; and one more status (100..599, others are ignored). */
BELAY_API struct belay_retry_on belay_retry_on_default(void);
BELAY_API void belay_retry_on_add_status(struct belay_retry_on *retry_on, int status);

/* What an outcome means for a request. */
struct belay_class {
    enum belay_outcome_class kind; /* unknown: never to be repeated without asking */
    enum belay_reason reason;      /* by rules 1, 3 and 4; repeatable: BACKOFF */
    enum belay_effect effect;      /* of this attempt alone, if the request is a write */
    enum belay_health health;      /* of the recipient; a stale connection says nothing of it */
};

/* Rules 1, 3 and 4. `unsafe_refusals`: the route declares that 429 and 503 started nothing. An
 * outcome with a status counts as answered, whatever `sent` says. */
BELAY_API struct belay_class belay_classify_decide(const struct belay_traits *traits,
                                                   const struct belay_retry_on *retry_on,
                                                   bool unsafe_refusals,
                                                   const struct belay_outcome *outcome);
#ifdef __cplusplus
}
#endif
#endif
