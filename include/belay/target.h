/* target.h: the policies that all calls to one recipient share, under one short lock.
 *
 * A target owns the pure state of budget, breaker, hold, quota and bulkhead. Operations ask it
 * through `belay_operation_admit`, `_record` and `_finish` (operation.h); nobody else changes that
 * state. Limits mean what they say whatever the number of threads. Thread rule: every function may
 * be called from any thread. `now` may come from different threads' clocks: the target clamps it to
 * the latest it has seen. No function blocks longer than the lock, and, once the target is shared
 * (belay_target_share_with), than what `load` and `store` do under it; only create allocates.
 */
#ifndef BELAY_TARGET_H
#define BELAY_TARGET_H

#include <belay/export.h>
#include <belay/policy.h>

#ifdef __cplusplus
extern "C" {
#endif

struct belay_target;

/* One that waits for a bulkhead slot or for its turn in the quota. Embedded in the operation;
 * `wake` is called without the lock held, from the thread that released the slot, once for a stay
 * in the queue (QUEUED answers that follow each other without an ADMITTED, WAIT or REFUSED
 * between): the owner must then ask `belay_operation_admit` again from its own thread. `wake` only
 * passes the word on (a post to that thread): it must not call into the library. When admit, cancel
 * or finish have returned, no `wake` for an earlier answer is running or will come. */
struct belay_waiter {
    struct belay_waiter *next, *prev; /* private */
    int place;                        /* private: the queue it stands in */
    const void *waker;                /* private: the thread that is calling `wake` just now */
    void (*wake)(struct belay_waiter *waiter);
};

/* What one operation holds of its target, or waits for. Private; embedded in the operation. */
struct belay_claim {
    struct belay_breaker_permit permit;
    struct belay_hold_ticket ticket;
    uint64_t hold_key;
    bool in_flight; /* holds the permit and a slot */
    bool token;     /* holds a reserved retry token */
    bool waiting;   /* stands in a queue, or was promised a slot */
    bool shared;    /* holds one of the slots of all processes */
};

/* Counters since init, and the state now; a snapshot taken under the lock. */
struct belay_target_stats {
    uint64_t operations; /* first attempts sent */
    uint64_t retries;    /* retries sent (stale repeats included) */
    uint64_t attempts;
    uint64_t refused_breaker, refused_hold, refused_quota, refused_bulkhead, refused_budget,
        refused_deadline;
    uint64_t breaker_opened;
    uint64_t too_many_requests; /* 429 seen */
    uint64_t in_flight_ms;      /* sum of attempt durations: concurrency = its rate / 1000 */
    uint32_t in_flight, in_flight_peak;
    uint32_t waiting; /* for a slot or for the quota */
    enum belay_breaker_state breaker_state;
};

/* A target on the heap, or NULL when there is no memory; destroy it when no operation uses it. It
 * copies the policy's target-wide parts (budget, breaker, bulkhead, quota, hold). `seed` starts the
 * dice of the breaker's jitter: any number, best another one in each process. */
BELAY_API struct belay_target *belay_target_create(const struct belay_policy *policy,
                                                   uint64_t seed) BELAY_MUST_USE;
/* NULL is nothing to do. No operation may be using it. */
BELAY_API void belay_target_destroy(struct belay_target *target);

/* The same in memory of the caller's: how many bytes to reserve. */
BELAY_API size_t belay_target_size(void);
/* Fills `memory` (belay_target_size() bytes, aligned for any type) and returns it as a target.
 * Policy and seed as above. */
BELAY_API struct belay_target *belay_target_init(void *memory, const struct belay_policy *policy,
                                                 uint64_t seed);
/* No operation may be using it. The memory stays the caller's. */
BELAY_API void belay_target_deinit(struct belay_target *target);
/* The recipient said (RateLimit fields) that `left` calls may be made in the next `reset_for`:
 * lowers the pace of the quota, if there is one. */
BELAY_API void belay_target_on_limit(struct belay_target *target, struct belay_instant now,
                                     uint64_t left, struct belay_span reset_for);
BELAY_API void belay_target_stats(struct belay_target *target, struct belay_instant now,
                                  struct belay_target_stats *out);

#ifdef __cplusplus
}
#endif
#endif
