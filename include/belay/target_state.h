/* target_state.h: what a target knows, as plain values: to be kept when the process ends, or to be
 * shared with other processes.
 *
 * Budget, breaker, quota and holds are in it; calls in flight and queues are not: they end with
 * their process. An instant of a monotonic clock means nothing elsewhere, so a state holds spans,
 * counted from the instant `at` of its export; who imports it says which instant of its own clock
 * that was. On one machine since one boot it is the same instant; across a reboot, or on another
 * machine, it is `now` less the time that a wall clock says has passed, never a negative one.
 *
 * Guarantee: targets with one policy that share a state decide as one target would that all their
 * operations go to. With several policies each applies its own limits to what is known; what its
 * policy turns off it leaves as it is.
 */
#ifndef BELAY_TARGET_STATE_H
#define BELAY_TARGET_STATE_H

#include <belay/target.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Spans are from the export on, and no longer than this; INT64_MIN: there never was one. */
#define BELAY_TARGET_STATE_SPAN_MAX_NS (INT64_C(1) << 61)

struct belay_state_budget {
    uint64_t free, reserved;        /* millionths of a token */
    struct belay_span reserved_for; /* what is still reserved then has vanished with its process */
};

struct belay_state_breaker {
    enum belay_breaker_state state;
    uint64_t generation;
    struct belay_span bucket_for, newest_at; /* counts are of use for the same window only */
    uint32_t newest;
    struct belay_breaker_counts buckets[BELAY_BREAKER_BUCKETS];
    uint32_t in_a_row, reopened, probes_out, probe_successes;
    struct belay_span retry_at, lease_at;
};

struct belay_state_quota {
    struct belay_span theoretical_at, slowed_at, limit_until, limit_pace;
    uint32_t slowed;
};

#define BELAY_TARGET_HOLDS_MAX 16

struct belay_state_hold {
    uint64_t key, generation;
    struct belay_span until_at, release_at;
};

struct belay_target_state { /* private fields, here so that the caller can keep it */
    struct belay_state_budget budget;
    struct belay_state_breaker breaker;
    struct belay_state_quota quota;
    struct belay_state_hold holds[BELAY_TARGET_HOLDS_MAX];
};

/* Nothing is known. `generation` > 0 is one that no earlier state of this target has reached, such
 * as the time: permits and tickets that were given under a state that was lost mean nothing. */
BELAY_API void belay_target_state_init(struct belay_target_state *state, uint64_t generation);

/* What the target knows; nothing of what its policy turns off. */
BELAY_API void belay_target_export(struct belay_target *target, struct belay_instant now,
                                   struct belay_target_state *state);
/* The target knows this instead; it was exported at `at`, an instant of this process's clock. */
BELAY_API void belay_target_import(struct belay_target *target, struct belay_instant at,
                                   const struct belay_target_state *state);

/* Where the state of several processes is. Each step of the target calls `load`, which keeps other
 * processes out until `store`; both are called under the target's lock and must not call into the
 * library but for encoding and decoding. */
struct belay_target_share {
    struct belay_target_state state; /* load fills it, store keeps it */
    /* Sets *at, the instant of its export; `now` is the step's. False: there is no telling; the
     * target goes on from what it knows, and store is not called. */
    bool (*load)(struct belay_target_share *share, struct belay_instant now,
                 struct belay_instant *at);
    void (*store)(struct belay_target_share *share, struct belay_instant at);
    /* NULL: the bulkhead counts the calls of this process. Else they are asked instead, inside a
     * step, for one of `max` slots of all processes, which must come back by itself when its
     * process dies; false: none is free. Nobody waits in a queue for one. */
    bool (*take_slot)(struct belay_target_share *share, uint32_t max);
    void (*give_slot)(struct belay_target_share *share);
};
/* Before the first operation; the share must outlive the target. A step then lasts as long as its
 * load and store do. */
BELAY_API void belay_target_share_with(struct belay_target *target,
                                       struct belay_target_share *share);

/* As bytes, the same on every machine. */
#define BELAY_TARGET_STATE_BYTES 756
BELAY_API void belay_target_state_encode(const struct belay_target_state *state,
                                         unsigned char out[BELAY_TARGET_STATE_BYTES]);
/* NULL, or the rule that the bytes break: nothing that decode lets pass can harm a target. */
BELAY_API const char *belay_target_state_decode(const unsigned char bytes[BELAY_TARGET_STATE_BYTES],
                                                struct belay_target_state *state) BELAY_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
