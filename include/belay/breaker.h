/* breaker.h: the circuit breaker of a target (semantics 8).
 *
 *   closed     too many failures or slow calls               -> open
 *   open       open_for has passed and a first attempt comes -> half-open
 *   half-open  probe_successes good probes                   -> closed
 *   half-open  one failure                                   -> open, for twice as long
 *
 * Guarantees:
 *   - these four are the only changes of state; each begins a new generation, and the result of
 *     a permit of an older generation changes nothing;
 *   - while not closed no retry passes, and in half-open at most `probes` permits are out;
 *   - open lasts d <= t <= 1.1 d, with d = min(open_for * 2^k, open_max), k = re-openings in a row;
 *   - a probe is given back, or lost with its lease: it never blocks the target for ever.
 * Counts live in 10 buckets of window/10 by the instant of the result: a clock that stands still
 * evicts nothing, a long idle span evicts only what is older than the window. Rates are in
 * millionths.
 * Thread rule: the owner's lock; no shared state of its own.
 */
#ifndef BELAY_BREAKER_H
#define BELAY_BREAKER_H

#include <belay/export.h>
#include <belay/outcome.h>
#include <belay/time.h>

#ifdef __cplusplus
extern "C" {
#endif

struct belay_breaker_config {
    bool enabled;                  /* [true] */
    struct belay_span window;      /* [10 s] in 10 buckets */
    uint32_t min_calls;            /* [20] */
    uint32_t failure_ppm;          /* [500000] 50 % */
    struct belay_span slow_after;  /* [0: none] a call longer than this is slow */
    uint32_t slow_ppm;             /* [1000000] 100 % */
    uint32_t consecutive;          /* [10] failures in a row; 0: off */
    struct belay_span open_for;    /* [5 s] doubled on each re-opening */
    struct belay_span open_max;    /* [60 s] */
    uint32_t probes;               /* [1] at a time in half-open */
    uint32_t probe_successes;      /* [1] to close */
    struct belay_span min_timeout; /* [100 ms] a timeout of a shorter attempt is neutral */
};

enum belay_breaker_state {
    BELAY_BREAKER_CLOSED,
    BELAY_BREAKER_OPEN,
    BELAY_BREAKER_HALF_OPEN,
    BELAY_BREAKER_STATE_COUNT
};

#define BELAY_BREAKER_BUCKETS 10

struct belay_breaker_counts {
    uint32_t calls, failures, slow;
};

struct belay_breaker { /* private fields, but `state` and `opened` may be read */
    struct belay_breaker_config config;
    enum belay_breaker_state state;
    uint64_t opened; /* times it went to open */
    uint64_t generation;
    struct belay_span bucket_for;
    struct belay_instant bucket_at; /* when the newest bucket began */
    uint32_t newest;
    struct belay_breaker_counts total, buckets[BELAY_BREAKER_BUCKETS];
    uint32_t in_a_row;             /* failures */
    uint32_t reopened;             /* openings since it was last closed */
    struct belay_instant retry_at; /* open: until then. half-open: no probe before, as a 429 said */
    struct belay_instant lease_at; /* half-open: probes that are still out then have vanished */
    uint32_t probes_out, probe_successes;
};

/* Bears the generation that it was given in. */
struct belay_breaker_permit {
    uint64_t generation;
    bool probe;
};

enum belay_breaker_answer_kind { BELAY_BREAKER_PASS, BELAY_BREAKER_WAIT, BELAY_BREAKER_REFUSE };

struct belay_breaker_answer {
    enum belay_breaker_answer_kind kind;
    /* WAIT: ask again then. REFUSE: when a call may pass; `now` when nobody can tell. */
    struct belay_instant at;
};

/* What one finished attempt was like. */
struct belay_breaker_result {
    enum belay_health health;
    bool timed_out;            /* error class timeout */
    bool cancelled;            /* by the caller: neutral, but slow if it had passed the limit */
    struct belay_span allowed; /* the time that the attempt was given */
    struct belay_span elapsed;
    struct belay_span hint; /* of a 429, else 0: the next probe waits for it */
};

BELAY_API void belay_breaker_init(struct belay_breaker *breaker,
                                  const struct belay_breaker_config *config);
/* May a call be made? Takes nothing and changes nothing. */
BELAY_API struct belay_breaker_answer belay_breaker_decide(const struct belay_breaker *breaker,
                                                           struct belay_instant now, bool is_retry);
/* Only after decide said PASS. A probe that is still out after `lease_at` counts as vanished. */
BELAY_API struct belay_breaker_permit belay_breaker_take(struct belay_breaker *breaker,
                                                         struct belay_instant lease_at);
/* The permit comes back without a result. */
BELAY_API void belay_breaker_give(struct belay_breaker *breaker,
                                  struct belay_breaker_permit permit);
/* The permit comes back with one; `luck` is 64 random bits, for the jitter of an opening. */
BELAY_API void belay_breaker_on_result(struct belay_breaker *breaker,
                                       struct belay_breaker_permit permit,
                                       const struct belay_breaker_result *result,
                                       struct belay_instant now, uint64_t luck);
/* closed, open, half_open; NULL for anything else. */
BELAY_API const char *belay_breaker_state_name(enum belay_breaker_state state);

#ifdef __cplusplus
}
#endif
#endif
