/* quota.h: the pace towards a target, a generic cell rate algorithm (ITU-T I.371; semantics 6).
 *
 * One instant of state: the theoretical arrival time of the next call. A call may go at
 *   at(ahead) = theoretical - (burst - 1) * per_call + ahead * pace,  with `ahead` callers waiting
 * before it. Guarantee: in any span s, calls taken <= burst + s / per_call. A 429 doubles the pace
 * (up to 8 * per_call) and uses up the burst; every 10 s without one halve it again. RateLimit
 * fields spread what is left over the time until the reset, for at most 60 s. Thread rule: the
 * owner's lock; no shared state of its own.
 */
#ifndef BELAY_QUOTA_H
#define BELAY_QUOTA_H

#include <belay/export.h>
#include <belay/time.h>

#ifdef __cplusplus
extern "C" {
#endif

struct belay_quota_config {
    bool enabled;               /* [false] */
    struct belay_span per_call; /* emission interval: 1 s / rate */
    uint32_t burst;             /* calls that may go at once, >= 1 */
    uint32_t queue;             /* [0] callers that may wait for their instant */
};

#define BELAY_QUOTA_SLOWED_MAX 3

struct belay_quota { /* private fields */
    struct belay_quota_config config;
    struct belay_instant theoretical_at;
    struct belay_instant slowed_at;   /* the last 429 */
    uint32_t slowed;                  /* doublings then */
    struct belay_instant limit_until; /* until then the pace is at least `limit_pace` */
    struct belay_span limit_pace;
};

BELAY_API void belay_quota_init(struct belay_quota *quota, const struct belay_quota_config *config);
/* When a call with `ahead` waiters before it may go; <= now: at once. Takes nothing. */
BELAY_API struct belay_instant belay_quota_next_at(const struct belay_quota *quota,
                                                   struct belay_instant now, uint32_t ahead);
/* A call goes, after next_at said so. */
BELAY_API void belay_quota_take(struct belay_quota *quota, struct belay_instant now);
/* The recipient answered 429. */
BELAY_API void belay_quota_on_too_many(struct belay_quota *quota, struct belay_instant now);
/* The recipient said that `left` calls may be made in the next `reset_for`. Only ever lowers the
 * pace. */
BELAY_API void belay_quota_on_limit(struct belay_quota *quota, struct belay_instant now,
                                    uint64_t left, struct belay_span reset_for);

#ifdef __cplusplus
}
#endif
#endif
