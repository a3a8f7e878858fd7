/* classify.c: what an outcome means, as one table, and what it means for a request (classify.h). */
#include <belay/classify.h>

enum trait {
    SUCCESS = 1 << 0,
    /* An error before a final status: the request may have had its effect. */
    UNKNOWN_IF_SENT = 1 << 1,
    /* Said by somebody in between, who does not know what became of the request. */
    GATEWAY = 1 << 2,
    /* The recipient says that it did not want to; a route may declare that it is so. */
    REFUSAL = 1 << 3,
    /* Repeating cannot help, whatever the list says. */
    NEVER = 1 << 4,
};

struct meaning {
    int from, to; /* statuses; 0 for an error class */
    enum belay_error_class error;
    enum belay_effect effect; /* of a write that was sent */
    enum belay_health health;
    unsigned traits;
};

#define STATUS(from, to) from, to, BELAY_ERROR_NONE
#define ERROR(name) 0, 0, BELAY_ERROR_##name
#define EFFECT(name) BELAY_EFFECT_##name
#define HEALTH(name) BELAY_HEALTH_##name

/* The first row that fits counts. 301 and 302 have long been used to say "done, look there" as well
 * as "not here"; 500 and the like may have failed half-way: nobody knows. */
static const struct meaning meanings[] = {
    {STATUS(200, 299), EFFECT(DONE), HEALTH(GOOD), SUCCESS},
    {STATUS(303, 303), EFFECT(DONE), HEALTH(GOOD), 0},
    {STATUS(300, 302), EFFECT(UNKNOWN), HEALTH(GOOD), 0},
    {STATUS(304, 399), EFFECT(NONE), HEALTH(GOOD), 0},
    {STATUS(429, 429), EFFECT(NONE), HEALTH(NEUTRAL), REFUSAL},
    {STATUS(400, 499), EFFECT(NONE), HEALTH(ALIVE), 0},
    {STATUS(503, 503), EFFECT(UNKNOWN), HEALTH(BAD), REFUSAL},
    {STATUS(502, 502), EFFECT(UNKNOWN), HEALTH(BAD), GATEWAY},
    {STATUS(504, 504), EFFECT(UNKNOWN), HEALTH(BAD), GATEWAY},
    {STATUS(500, 500), EFFECT(UNKNOWN), HEALTH(BAD), 0},
    {STATUS(501, 501), EFFECT(NONE), HEALTH(NEUTRAL), 0},
    {STATUS(505, 505), EFFECT(NONE), HEALTH(NEUTRAL), 0},
    {ERROR(DNS), EFFECT(UNKNOWN), HEALTH(BAD), 0},
    {ERROR(REFUSED), EFFECT(UNKNOWN), HEALTH(BAD), 0},
    {ERROR(TLS), EFFECT(UNKNOWN), HEALTH(BAD), NEVER},
    {ERROR(TIMEOUT), EFFECT(UNKNOWN), HEALTH(BAD), UNKNOWN_IF_SENT},
    {ERROR(RESET), EFFECT(UNKNOWN), HEALTH(BAD), UNKNOWN_IF_SENT},
    {ERROR(CLOSED), EFFECT(UNKNOWN), HEALTH(BAD), UNKNOWN_IF_SENT},
    {ERROR(PROTOCOL), EFFECT(UNKNOWN), HEALTH(BAD), UNKNOWN_IF_SENT},
    {ERROR(TOO_LARGE), EFFECT(UNKNOWN), HEALTH(NEUTRAL), UNKNOWN_IF_SENT},
    {ERROR(CANCELLED), EFFECT(UNKNOWN), HEALTH(NEUTRAL), UNKNOWN_IF_SENT | NEVER},
};

/* Informational, or a number that no rule knows. */
static const struct meaning other = {STATUS(0, 0), EFFECT(UNKNOWN), HEALTH(NEUTRAL), 0};

static const struct meaning *meaning_of(const struct belay_outcome *outcome)
{
    for (size_t i = 0; i < sizeof meanings / sizeof meanings[0]; i++) {
        const struct meaning *m = &meanings[i];
        if (outcome->error != BELAY_ERROR_NONE
                ? m->error == outcome->error
                : m->from <= outcome->status && outcome->status <= m->to) {
            return m;
        }
    }
    return &other;
}

struct belay_traits belay_traits_of(enum belay_method method)
{
    bool safe = belay_method_is_safe(method);
    return (struct belay_traits){.safe_method = safe, .write = !safe};
}

bool belay_traits_replay_safe(const struct belay_traits *traits)
{
    return (traits->safe_method && !traits->write) || traits->idempotent || traits->keyed;
}

void belay_retry_on_add_status(struct belay_retry_on *retry_on, int status)
{
    if (status >= 100 && status <= 599)
        retry_on->status[status / 64] |= UINT64_C(1) << (status % 64);
}

struct belay_retry_on belay_retry_on_default(void)
{
    static const int statuses[] = {429, 502, 503, 504};
    struct belay_retry_on list = {
        .errors = 1u << BELAY_ERROR_TIMEOUT | 1u << BELAY_ERROR_RESET | 1u << BELAY_ERROR_CLOSED |
                  1u << BELAY_ERROR_REFUSED | 1u << BELAY_ERROR_DNS,
    };
    for (size_t i = 0; i < sizeof statuses / sizeof statuses[0]; i++)
        belay_retry_on_add_status(&list, statuses[i]);
    return list;
}

static bool is_listed(const struct belay_retry_on *retry_on, const struct belay_outcome *outcome)
{
    if (outcome->error != BELAY_ERROR_NONE) return retry_on->errors >> outcome->error & 1;
    if (outcome->status < 100 || outcome->status > 599) return false;
    return retry_on->status[outcome->status / 64] >> (outcome->status % 64) & 1;
}

static struct belay_class class_of(const struct meaning *m, const struct belay_traits *traits,
                                   const struct belay_retry_on *retry_on, bool declared,
                                   const struct belay_outcome *outcome)
{
    struct belay_class c = {BELAY_CLASS_FINAL, BELAY_REASON_NOT_REPEATABLE, m->effect, m->health};
    bool unsent = outcome->error != BELAY_ERROR_NONE && outcome->sent == BELAY_UNSENT;
    bool replay_safe = belay_traits_replay_safe(traits);
    if (unsent || declared) c.effect = BELAY_EFFECT_NONE;

    if (!replay_safe && m->traits & UNKNOWN_IF_SENT && outcome->sent == BELAY_SENT) {
        c.kind = BELAY_CLASS_UNKNOWN;
        c.reason = BELAY_REASON_EFFECT_UNKNOWN;
    } else if (!replay_safe && m->traits & GATEWAY) {
        c.kind = BELAY_CLASS_UNKNOWN;
        c.reason = BELAY_REASON_GATEWAY_UNKNOWN;
    } else if (m->traits & NEVER || !is_listed(retry_on, outcome)) {
        return c;
    } else if (replay_safe || unsent || declared) {
        c.kind = BELAY_CLASS_REPEATABLE;
        c.reason = BELAY_REASON_BACKOFF;
    } else {
        c.reason = BELAY_REASON_NOT_REPLAY_SAFE;
    }
    return c;
}

struct belay_class belay_classify_decide(const struct belay_traits *traits,
                                         const struct belay_retry_on *retry_on,
                                         bool unsafe_refusals, const struct belay_outcome *outcome)
{
    const struct meaning *m = meaning_of(outcome);
    if (m->traits & SUCCESS) {
        return (struct belay_class){BELAY_CLASS_SUCCESS, BELAY_REASON_SUCCESS, m->effect,
                                    m->health};
    }
    struct belay_class c =
        class_of(m, traits, retry_on, unsafe_refusals && m->traits & REFUSAL, outcome);
    if (outcome->stale) c.health = BELAY_HEALTH_NEUTRAL;
    return c;
}
