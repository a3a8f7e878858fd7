/* target_state.c: a target's state, made of its policies and given back to them, and as bytes
 * (belay/target_state.h). */
#include "call/state.h"

#include "base/check.h"

#include <string.h>

static const struct belay_span never = {INT64_MIN};

void belay_target_state_init(struct belay_target_state *state, uint64_t generation)
{
    *state = (struct belay_target_state){
        /* More than any budget holds: whoever imports it has a full one. */
        .budget = {.free = (uint64_t)UINT32_MAX * 1000000, .reserved_for = never},
        .breaker = {.state = BELAY_BREAKER_CLOSED,
                    .generation = generation,
                    .newest_at = never,
                    .retry_at = never,
                    .lease_at = never},
        .quota = {.theoretical_at = never, .slowed_at = never, .limit_until = never},
    };
    for (int i = 0; i < BELAY_TARGET_HOLDS_MAX; i++)
        state->holds[i] = (struct belay_state_hold){
            .generation = generation, .until_at = never, .release_at = never};
}

/* ---- between instants of this process and spans ---- */

struct belay_span belay__span_from(struct belay_instant at, struct belay_instant t)
{
    if (t.ns == INT64_MIN) return belay_span_ns(INT64_MIN);
    return belay_span_min(belay_instant_since(t, at),
                          belay_span_ns(BELAY_TARGET_STATE_SPAN_MAX_NS));
}

struct belay_instant belay__instant_from(struct belay_instant at, struct belay_span span)
{
    if (span.ns == INT64_MIN) return (struct belay_instant){INT64_MIN};
    return belay_instant_add(at, span);
}

/* The policy turns this part off: it goes back as it came, counted from a later instant. */
static void age(struct belay_span *span, struct belay_span by)
{
    if (span->ns != INT64_MIN) span->ns = belay_ns_sub(span->ns, by.ns);
}

void belay__export_breaker(const struct belay_breaker *breaker, struct belay_instant at,
                           struct belay_span later, struct belay_state_breaker *out)
{
    if (!breaker->config.enabled) {
        age(&out->newest_at, later);
        age(&out->retry_at, later);
        age(&out->lease_at, later);
        return;
    }
    *out = (struct belay_state_breaker){
        .state = breaker->state,
        .generation = breaker->generation,
        .bucket_for = breaker->bucket_for,
        .newest_at = belay__span_from(at, breaker->bucket_at),
        .newest = breaker->newest,
        .in_a_row = breaker->in_a_row,
        .reopened = breaker->reopened,
        .probes_out = breaker->probes_out,
        .probe_successes = breaker->probe_successes,
        .retry_at = belay__span_from(at, breaker->retry_at),
        .lease_at = belay__span_from(at, breaker->lease_at),
    };
    memcpy(out->buckets, breaker->buckets, sizeof out->buckets);
}

void belay__import_breaker(struct belay_breaker *breaker, struct belay_instant at,
                           const struct belay_state_breaker *in)
{
    if (!breaker->config.enabled) return;
    breaker->state = in->state;
    breaker->generation = in->generation;
    breaker->in_a_row = in->in_a_row;
    breaker->reopened = in->reopened;
    breaker->probes_out = in->probes_out;
    breaker->probe_successes = in->probe_successes;
    breaker->retry_at = belay__instant_from(at, in->retry_at);
    breaker->lease_at = belay__instant_from(at, in->lease_at);
    bool counted = in->bucket_for.ns == breaker->bucket_for.ns && in->newest_at.ns != INT64_MIN;
    breaker->bucket_at = counted ? belay__instant_from(at, in->newest_at) : at;
    breaker->newest = in->newest;
    breaker->total = (struct belay_breaker_counts){0};
    for (int i = 0; i < BELAY_BREAKER_BUCKETS; i++) {
        breaker->buckets[i] = counted ? in->buckets[i] : (struct belay_breaker_counts){0};
        breaker->total.calls += breaker->buckets[i].calls;
        breaker->total.failures += breaker->buckets[i].failures;
        breaker->total.slow += breaker->buckets[i].slow;
    }
}

void belay__export_quota(const struct belay_quota *quota, struct belay_instant at,
                         struct belay_span later, struct belay_state_quota *out)
{
    if (!quota->config.enabled) {
        age(&out->theoretical_at, later);
        age(&out->slowed_at, later);
        age(&out->limit_until, later);
        return;
    }
    *out = (struct belay_state_quota){
        belay__span_from(at, quota->theoretical_at), belay__span_from(at, quota->slowed_at),
        belay__span_from(at, quota->limit_until), quota->limit_pace, quota->slowed};
}

void belay__import_quota(struct belay_quota *quota, struct belay_instant at,
                         const struct belay_state_quota *in)
{
    if (!quota->config.enabled) return;
    quota->theoretical_at = belay__instant_from(at, in->theoretical_at);
    quota->slowed_at = belay__instant_from(at, in->slowed_at);
    quota->limit_until = belay__instant_from(at, in->limit_until);
    quota->limit_pace = in->limit_pace;
    quota->slowed = in->slowed;
}

void belay__export_hold(const struct belay_hold *hold, uint64_t key, struct belay_instant at,
                        struct belay_span later, struct belay_state_hold *out)
{
    if (!hold) {
        age(&out->until_at, later);
        age(&out->release_at, later);
        return;
    }
    *out = (struct belay_state_hold){key, hold->generation, belay__span_from(at, hold->until_at),
                                     belay__span_from(at, hold->release_at)};
}

/* ---- bytes: one list of the fields for both directions ---- */

struct codec {
    unsigned char *out;      /* encoding: where the next byte goes */
    const unsigned char *in; /* decoding: where it is */
};

static uint64_t pass(struct codec *codec, uint64_t value, int bytes)
{
    uint64_t read = 0;
    for (int i = 0; i < bytes; i++) {
        if (codec->out) {
            *codec->out++ = (unsigned char)(value >> 8 * i);
        } else {
            read |= (uint64_t)*codec->in++ << 8 * i;
        }
    }
    return codec->out ? value : read;
}

static void pass_large(struct codec *codec, uint64_t *value)
{
    *value = pass(codec, *value, 8);
}

static void pass_small(struct codec *codec, uint32_t *value)
{
    *value = (uint32_t)pass(codec, *value, 4);
}

static void pass_span(struct codec *codec, struct belay_span *span)
{
    span->ns = (int64_t)pass(codec, (uint64_t)span->ns, 8);
}

static void pass_breaker(struct codec *codec, struct belay_state_breaker *breaker)
{
    breaker->state = (enum belay_breaker_state)pass(codec, (uint64_t)breaker->state, 4);
    pass_large(codec, &breaker->generation);
    pass_span(codec, &breaker->bucket_for);
    pass_span(codec, &breaker->newest_at);
    pass_small(codec, &breaker->newest);
    for (int i = 0; i < BELAY_BREAKER_BUCKETS; i++) {
        pass_small(codec, &breaker->buckets[i].calls);
        pass_small(codec, &breaker->buckets[i].failures);
        pass_small(codec, &breaker->buckets[i].slow);
    }
    pass_small(codec, &breaker->in_a_row);
    pass_small(codec, &breaker->reopened);
    pass_small(codec, &breaker->probes_out);
    pass_small(codec, &breaker->probe_successes);
    pass_span(codec, &breaker->retry_at);
    pass_span(codec, &breaker->lease_at);
}

static void pass_state(struct codec *codec, struct belay_target_state *state)
{
    pass_large(codec, &state->budget.free);
    pass_large(codec, &state->budget.reserved);
    pass_span(codec, &state->budget.reserved_for);
    pass_breaker(codec, &state->breaker);
    pass_span(codec, &state->quota.theoretical_at);
    pass_span(codec, &state->quota.slowed_at);
    pass_span(codec, &state->quota.limit_until);
    pass_span(codec, &state->quota.limit_pace);
    pass_small(codec, &state->quota.slowed);
    for (int i = 0; i < BELAY_TARGET_HOLDS_MAX; i++) {
        pass_large(codec, &state->holds[i].key);
        pass_large(codec, &state->holds[i].generation);
        pass_span(codec, &state->holds[i].until_at);
        pass_span(codec, &state->holds[i].release_at);
    }
}

void belay_target_state_encode(const struct belay_target_state *state,
                               unsigned char out[BELAY_TARGET_STATE_BYTES])
{
    struct belay_target_state copy = *state;
    struct codec codec = {.out = out};
    pass_state(&codec, &copy);
    CHECK(codec.out == out + BELAY_TARGET_STATE_BYTES);
}

/* ---- what may be believed ---- */

static bool ends(struct belay_span span)
{
    return span.ns <= BELAY_TARGET_STATE_SPAN_MAX_NS;
}

static const char *budget_fault(const struct belay_state_budget *budget)
{
    const uint64_t tokens_max = (uint64_t)UINT32_MAX * 1000000;
    bool fits = budget->free <= tokens_max && budget->reserved <= tokens_max;
    if (!fits) return "the budget has more tokens than any may have";
    return ends(budget->reserved_for) ? NULL : "a reserved token never vanishes";
}

static const char *breaker_fault(const struct belay_state_breaker *breaker)
{
    uint64_t calls = 0;
    for (int i = 0; i < BELAY_BREAKER_BUCKETS; i++) {
        const struct belay_breaker_counts *bucket = &breaker->buckets[i];
        if (bucket->failures > bucket->calls || bucket->slow > bucket->calls)
            return "the breaker counted more failures than calls";
        calls += bucket->calls;
    }
    if (calls > UINT32_MAX) return "the breaker counted too many calls";
    if ((unsigned)breaker->state >= BELAY_BREAKER_STATE_COUNT) return "the breaker has no state";
    if (breaker->newest >= BELAY_BREAKER_BUCKETS) return "the breaker has no newest bucket";
    if (breaker->bucket_for.ns < 0 || breaker->newest_at.ns > 0)
        return "the breaker's window lies ahead";
    bool good = ends(breaker->retry_at) && ends(breaker->lease_at);
    return good ? NULL : "the breaker never lets go";
}

static const char *quota_fault(const struct belay_state_quota *quota)
{
    if (quota->slowed > BELAY_QUOTA_SLOWED_MAX) return "the quota is slowed beyond measure";
    if (quota->slowed_at.ns > 0 || quota->limit_pace.ns < 0) return "the quota was slowed tomorrow";
    bool good = ends(quota->theoretical_at) && ends(quota->limit_until);
    return good ? NULL : "the quota never lets go";
}

static const char *hold_fault(const struct belay_state_hold *hold)
{
    return ends(hold->until_at) && ends(hold->release_at) ? NULL : "a hold never ends";
}

const char *belay_target_state_decode(const unsigned char bytes[BELAY_TARGET_STATE_BYTES],
                                      struct belay_target_state *state)
{
    struct belay_target_state read = {0};
    struct codec codec = {.in = bytes};
    pass_state(&codec, &read);
    const char *fault = budget_fault(&read.budget);
    if (!fault) fault = breaker_fault(&read.breaker);
    if (!fault) fault = quota_fault(&read.quota);
    for (int i = 0; !fault && i < BELAY_TARGET_HOLDS_MAX; i++) fault = hold_fault(&read.holds[i]);
    if (!fault) *state = read;
    return fault;
}
