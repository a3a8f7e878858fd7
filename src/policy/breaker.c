/* breaker.c: the circuit breaker of a target (breaker.h). */
#include <belay/breaker.h>

#include "base/check.h"
#include "base/rng.h"

enum { MILLION = 1000000 };

void belay_breaker_init(struct belay_breaker *breaker, const struct belay_breaker_config *config)
{
    *breaker = (struct belay_breaker){.config = *config, .generation = 1};
    int64_t bucket_ns = config->window.ns / BELAY_BREAKER_BUCKETS;
    breaker->bucket_for = belay_span_ns(bucket_ns > 0 ? bucket_ns : 1);
}

/* The only place where the state changes; the counts of the state before are of no use in the next.
 */
static void move(struct belay_breaker *breaker, enum belay_breaker_state to)
{
    breaker->state = to;
    breaker->generation++;
    breaker->total = (struct belay_breaker_counts){0};
    for (int i = 0; i < BELAY_BREAKER_BUCKETS; i++) breaker->buckets[i] = breaker->total;
    breaker->in_a_row = 0;
    breaker->probes_out = breaker->probe_successes = 0;
    if (to == BELAY_BREAKER_CLOSED) breaker->reopened = 0;
}

/* d <= open span <= 1.1 d, with d = min(open_for * 2^reopened, open_max). */
static void open_up(struct belay_breaker *breaker, struct belay_instant now, uint64_t luck)
{
    const struct belay_breaker_config *config = &breaker->config;
    int64_t d = belay_span_min(config->open_for, config->open_max).ns;
    for (uint32_t k = 0; k < breaker->reopened && d < config->open_max.ns; k++) {
        d = d > config->open_max.ns / 2 ? config->open_max.ns : d * 2;
    }
    if (d < 0) d = 0;
    struct belay_span jitter = belay_span_ns((int64_t)rng_scale(luck, (uint64_t)d / 10 + 1));
    move(breaker, BELAY_BREAKER_OPEN);
    breaker->opened++;
    breaker->reopened += breaker->reopened < UINT32_MAX;
    breaker->retry_at = belay_instant_add(belay_instant_add(now, belay_span_ns(d)), jitter);
}

/* Probes that have outlived their lease have vanished with their callers. */
static bool is_probe_free(const struct belay_breaker *breaker, struct belay_instant now)
{
    return breaker->probes_out < breaker->config.probes || now.ns > breaker->lease_at.ns;
}

struct belay_breaker_answer belay_breaker_decide(const struct belay_breaker *breaker,
                                                 struct belay_instant now, bool is_retry)
{
    struct belay_breaker_answer answer = {BELAY_BREAKER_PASS, now};
    if (breaker->state == BELAY_BREAKER_CLOSED) return answer;

    bool early = now.ns < breaker->retry_at.ns;
    if (early) answer.at = breaker->retry_at;
    bool is_open = breaker->state == BELAY_BREAKER_OPEN;
    bool no_probe = !is_open && !early && !is_probe_free(breaker, now);
    if (is_retry || (is_open && early) || no_probe) {
        answer.kind = BELAY_BREAKER_REFUSE;
    } else if (early) {
        answer.kind = BELAY_BREAKER_WAIT;
    }
    return answer;
}

struct belay_breaker_permit belay_breaker_take(struct belay_breaker *breaker,
                                               struct belay_instant lease_at)
{
    struct belay_breaker_permit permit = {breaker->generation, false};
    if (breaker->state == BELAY_BREAKER_CLOSED) return permit;

    if (breaker->state == BELAY_BREAKER_OPEN) {
        move(breaker, BELAY_BREAKER_HALF_OPEN);
    } else if (breaker->probes_out >= breaker->config.probes) {
        breaker->generation++; /* whatever the vanished ones still say is about the past */
        breaker->probes_out = 0;
    }
    if (breaker->probes_out == 0) breaker->lease_at = lease_at;
    breaker->lease_at = belay_instant_max(breaker->lease_at, lease_at);
    breaker->probes_out++;
    permit.generation = breaker->generation;
    permit.probe = true;
    return permit;
}

void belay_breaker_give(struct belay_breaker *breaker, struct belay_breaker_permit permit)
{
    if (!permit.probe || permit.generation != breaker->generation) return;
    CHECK(breaker->probes_out > 0);
    breaker->probes_out--;
}

/* Forgets the buckets that have left the window at `now`. */
static void turn_window(struct belay_breaker *breaker, struct belay_instant now)
{
    struct belay_span age = belay_instant_since(now, breaker->bucket_at);
    if (age.ns < breaker->bucket_for.ns) return; /* the usual case, without a division */
    int64_t steps = age.ns / breaker->bucket_for.ns;
    breaker->bucket_at.ns += steps * breaker->bucket_for.ns;
    for (int64_t i = 0; i < steps && i < BELAY_BREAKER_BUCKETS; i++) {
        breaker->newest = (breaker->newest + 1) % BELAY_BREAKER_BUCKETS;
        struct belay_breaker_counts *old = &breaker->buckets[breaker->newest];
        breaker->total.calls -= old->calls;
        breaker->total.failures -= old->failures;
        breaker->total.slow -= old->slow;
        *old = (struct belay_breaker_counts){0};
    }
}

static void count(struct belay_breaker_counts *counts, bool failed, bool slow)
{
    counts->calls++;
    counts->failures += failed;
    counts->slow += slow;
}

static bool reaches(uint32_t part, uint32_t whole, uint32_t ppm)
{
    return part > 0 && (uint64_t)part * MILLION >= (uint64_t)ppm * whole;
}

static bool is_too_bad(const struct belay_breaker *breaker)
{
    const struct belay_breaker_config *config = &breaker->config;
    if (config->consecutive > 0 && breaker->in_a_row >= config->consecutive) return true;
    const struct belay_breaker_counts *total = &breaker->total;
    return total->calls >= config->min_calls &&
           (reaches(total->failures, total->calls, config->failure_ppm) ||
            reaches(total->slow, total->calls, config->slow_ppm));
}

static void on_closed_result(struct belay_breaker *breaker,
                             const struct belay_breaker_result *result, enum belay_health health,
                             struct belay_instant now, uint64_t luck)
{
    bool failed = health == BELAY_HEALTH_BAD;
    bool counts = failed || health == BELAY_HEALTH_GOOD;
    bool slow = (counts || result->cancelled) && breaker->config.slow_after.ns > 0 &&
                result->elapsed.ns > breaker->config.slow_after.ns;
    if (!counts && !slow) return;

    turn_window(breaker, now);
    if (breaker->total.calls < UINT32_MAX) { /* the total is the sum of the buckets, always */
        count(&breaker->total, failed, slow);
        count(&breaker->buckets[breaker->newest], failed, slow);
    }
    if (health == BELAY_HEALTH_GOOD) breaker->in_a_row = 0;
    if (failed) breaker->in_a_row++;
    if (is_too_bad(breaker)) open_up(breaker, now, luck);
}

static void on_probe_result(struct belay_breaker *breaker, struct belay_breaker_permit permit,
                            const struct belay_breaker_result *result, enum belay_health health,
                            struct belay_instant now, uint64_t luck)
{
    if (health == BELAY_HEALTH_BAD) {
        open_up(breaker, now, luck);
        return;
    }
    belay_breaker_give(breaker, permit);
    if (health == BELAY_HEALTH_NEUTRAL) {
        struct belay_span wait = belay_span_min(result->hint, breaker->config.open_max);
        if (wait.ns > 0)
            breaker->retry_at = belay_instant_max(breaker->retry_at, belay_instant_add(now, wait));
        return;
    }
    breaker->probe_successes++;
    if (breaker->probe_successes >= breaker->config.probe_successes)
        move(breaker, BELAY_BREAKER_CLOSED);
}

void belay_breaker_on_result(struct belay_breaker *breaker, struct belay_breaker_permit permit,
                             const struct belay_breaker_result *result, struct belay_instant now,
                             uint64_t luck)
{
    if (!breaker->config.enabled || permit.generation != breaker->generation) return;
    enum belay_health health = result->health;
    if (result->timed_out && result->allowed.ns < breaker->config.min_timeout.ns)
        health = BELAY_HEALTH_NEUTRAL;
    if (permit.probe) {
        on_probe_result(breaker, permit, result, health, now, luck);
    } else {
        on_closed_result(breaker, result, health, now, luck);
    }
}

const char *belay_breaker_state_name(enum belay_breaker_state state)
{
    static const char *const names[BELAY_BREAKER_STATE_COUNT] = {
        [BELAY_BREAKER_CLOSED] = "closed",
        [BELAY_BREAKER_OPEN] = "open",
        [BELAY_BREAKER_HALF_OPEN] = "half_open",
    };
    return (unsigned)state < BELAY_BREAKER_STATE_COUNT ? names[state] : NULL;
}
