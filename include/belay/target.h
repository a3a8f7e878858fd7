/* target.h: the policies that all calls to one recipient share, under one short lock.
 *
 * A target owns the pure state of budget, breaker, hold, quota and bulkhead. Operations ask it through
 * `belay_operation_admit`, `_record` and `_finish` (operation.h); nobody else changes that state.
 * Limits mean what they say whatever the number of threads.
 * Thread rule: every function may be called from any thread. `now` may come from different threads' clocks:
 * the target clamps it to the latest it has seen. No function blocks longer than the lock, none allocates.
 */
#ifndef BELAY_TARGET_H
#define BELAY_TARGET_H

#include <belay/policy.h>

#ifdef __cplusplus
extern "C" {
#endif

struct belay_target;

/* One that waits for a bulkhead slot. Embedded in the operation; `wake` is called without the lock held,
 * from the thread that released the slot, once for each QUEUED answer: the owner must then ask
 * `belay_operation_admit` again from its own thread. */
struct belay_waiter {
    struct belay_waiter *next, *prev; /* private */
    bool queued;                      /* private */
    void (*wake)(struct belay_waiter *waiter);
};

/* Counters since init, and the state now; a snapshot taken under the lock. */
struct belay_target_stats {
    uint64_t operations;  /* first attempts sent */
    uint64_t retries;     /* retries sent (stale repeats included) */
    uint64_t attempts;
    uint64_t refused_breaker, refused_hold, refused_quota, refused_bulkhead, refused_budget, refused_deadline;
    uint64_t breaker_opened;
    uint64_t too_many_requests; /* 429 seen */
    uint64_t in_flight_ms;      /* sum of attempt durations: concurrency = its rate / 1000 */
    uint32_t in_flight, in_flight_peak, waiting;
    int breaker_state;          /* enum belay_breaker_state */
};

/* Bytes and alignment to reserve for a target; it is opaque. */
size_t belay_target_size(void);
/* Fills `memory` (belay_target_size() bytes, aligned for any type) and returns it as a target. Copies the
 * policy's target-wide parts (budget, breaker, bulkhead, quota, hold). `seed` starts the dice of the
 * breaker's jitter. */
struct belay_target *belay_target_init(void *memory, const struct belay_policy *policy, uint64_t seed);
/* No operation may be using it. The memory stays the caller's. */
void belay_target_deinit(struct belay_target *target);
void belay_target_stats(struct belay_target *target, struct belay_instant now, struct belay_target_stats *out);

#ifdef __cplusplus
}
#endif
#endif
