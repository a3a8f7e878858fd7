/* quota.c: the pace towards a target, a generic cell rate algorithm (quota.h). */
#include <belay/quota.h>

static const struct belay_span recover_for = {10 * BELAY_NS_PER_S};
static const struct belay_span limit_max = {
    60 * BELAY_NS_PER_S}; /* no recipient may stop us for longer */

static int64_t saturating_mul(int64_t a, int64_t b)
{
    int64_t product;
    return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

static bool is_off(const struct belay_quota *quota)
{
    return !quota->config.enabled || quota->config.per_call.ns <= 0;
}

void belay_quota_init(struct belay_quota *quota, const struct belay_quota_config *config)
{
    *quota = (struct belay_quota){
        .config = *config, .theoretical_at = {INT64_MIN}, .limit_until = {INT64_MIN}};
    if (quota->config.burst == 0) quota->config.burst = 1;
}

/* Doublings still in force: one less for every recover_for since the last 429. */
static uint32_t slowed_now(const struct belay_quota *quota, struct belay_instant now)
{
    if (quota->slowed == 0) return 0;
    if (now.ns <= quota->slowed_at.ns) return quota->slowed;
    int64_t recovered = belay_instant_since(now, quota->slowed_at).ns / recover_for.ns;
    return recovered >= quota->slowed ? 0 : quota->slowed - (uint32_t)recovered;
}

static struct belay_span pace(const struct belay_quota *quota, struct belay_instant now)
{
    int64_t ns = saturating_mul(quota->config.per_call.ns, INT64_C(1) << slowed_now(quota, now));
    if (now.ns < quota->limit_until.ns && quota->limit_pace.ns > ns) ns = quota->limit_pace.ns;
    return belay_span_ns(ns);
}

static struct belay_span tolerance(const struct belay_quota *quota)
{
    return belay_span_ns(
        saturating_mul(quota->config.per_call.ns, (int64_t)quota->config.burst - 1));
}

/* No call before `at`, and none on credit right after it. */
static void hold_until(struct belay_quota *quota, struct belay_instant at)
{
    quota->theoretical_at =
        belay_instant_max(quota->theoretical_at, belay_instant_add(at, tolerance(quota)));
}

struct belay_instant belay_quota_next_at(const struct belay_quota *quota, struct belay_instant now,
                                         uint32_t ahead)
{
    if (is_off(quota)) return now;
    struct belay_instant theoretical_at = belay_instant_max(quota->theoretical_at, now);
    int64_t credit = ahead == 0 ? 0 : saturating_mul(pace(quota, now).ns, ahead);
    int64_t at = belay_ns_sub(theoretical_at.ns, tolerance(quota).ns);
    return (struct belay_instant){belay_ns_add(at, credit)};
}

void belay_quota_take(struct belay_quota *quota, struct belay_instant now)
{
    if (is_off(quota)) return;
    quota->theoretical_at =
        belay_instant_add(belay_instant_max(quota->theoretical_at, now), pace(quota, now));
}

void belay_quota_on_too_many(struct belay_quota *quota, struct belay_instant now)
{
    if (is_off(quota)) return;
    uint32_t slowed = slowed_now(quota, now);
    quota->slowed = slowed < BELAY_QUOTA_SLOWED_MAX ? slowed + 1 : BELAY_QUOTA_SLOWED_MAX;
    quota->slowed_at = now;
    hold_until(quota, belay_instant_add(now, pace(quota, now)));
}

void belay_quota_on_limit(struct belay_quota *quota, struct belay_instant now, uint64_t left,
                          struct belay_span reset_for)
{
    if (is_off(quota) || reset_for.ns <= 0) return;
    reset_for = belay_span_min(reset_for, limit_max);
    struct belay_instant reset_at = belay_instant_add(now, reset_for);
    if (left == 0) {
        hold_until(quota, reset_at);
        return;
    }
    quota->limit_until = reset_at;
    quota->limit_pace =
        belay_span_ns(left > (uint64_t)reset_for.ns ? 1 : reset_for.ns / (int64_t)left);
}
