/* outcome.h: the closed vocabularies: what was seen of an attempt, and the words a decision is
 * given in.
 *
 * Every enum has one `_name` function; its words are the ones that stand in events, metrics and
 * documents. A new word is a new version of the event contract. `_name` never returns NULL for a
 * listed value and returns NULL for anything else. `_parse` accepts exactly those words, but not
 * `none`, which stands for "there is none" and in no input. Thread rule: pure values and constant
 * strings.
 */
#ifndef BELAY_OUTCOME_H
#define BELAY_OUTCOME_H

#include <belay/export.h>
#include <belay/time.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Why no status was read. NONE goes with a status; an outcome has exactly one of the two. */
enum belay_error_class {
    BELAY_ERROR_NONE,
    BELAY_ERROR_DNS,
    BELAY_ERROR_REFUSED,
    BELAY_ERROR_TIMEOUT,
    BELAY_ERROR_TLS,
    BELAY_ERROR_RESET,
    BELAY_ERROR_CLOSED,
    BELAY_ERROR_PROTOCOL,
    BELAY_ERROR_TOO_LARGE,
    BELAY_ERROR_CANCELLED,
    BELAY_ERROR_COUNT
};

/* Where an error struck. */
enum belay_phase {
    BELAY_PHASE_NONE,
    BELAY_PHASE_DNS,
    BELAY_PHASE_CONNECT,
    BELAY_PHASE_TLS,
    BELAY_PHASE_SEND,
    BELAY_PHASE_HEADERS,
    BELAY_PHASE_BODY,
    BELAY_PHASE_COUNT
};

/* What is known about the request's way: UNSENT only when our own writes accepted zero bytes of it.
 */
enum belay_sent { BELAY_UNSENT, BELAY_SENT, BELAY_ANSWERED, BELAY_SENT_COUNT };

enum belay_decision {
    BELAY_DECISION_RETURN,
    BELAY_DECISION_RETRY,
    BELAY_DECISION_CHECK_STATE,
    BELAY_DECISION_STOP,
    BELAY_DECISION_DEADLINE_EXCEEDED,
    BELAY_DECISION_MAX_ATTEMPTS,
    BELAY_DECISION_BUDGET_EXHAUSTED,
    BELAY_DECISION_BREAKER_OPEN,
    BELAY_DECISION_COUNT
};

/* Why an operation ended without a call (semantics 2). BAD_REQUEST: the caller's bytes were no
 * request. */
enum belay_terminal {
    BELAY_TERMINAL_NONE,
    BELAY_TERMINAL_DEADLINE_EXCEEDED,
    BELAY_TERMINAL_BREAKER_OPEN,
    BELAY_TERMINAL_BULKHEAD_FULL,
    BELAY_TERMINAL_QUOTA_EXCEEDED,
    BELAY_TERMINAL_NOT_BEFORE,
    BELAY_TERMINAL_BUDGET_EXHAUSTED,
    BELAY_TERMINAL_MAX_ATTEMPTS,
    BELAY_TERMINAL_CANCELLED,
    BELAY_TERMINAL_BAD_REQUEST,
    BELAY_TERMINAL_COUNT
};

/* One word a rule of semantics 3 (and 5a, 7); what an attempt event's `reason` says. */
enum belay_reason {
    BELAY_REASON_SUCCESS,         /* rule 1: 2xx */
    BELAY_REASON_ANSWER_STARTED,  /* rule 2: bytes of the answer were passed on */
    BELAY_REASON_EFFECT_UNKNOWN,  /* rule 3: sent, no final status, not replay-safe */
    BELAY_REASON_GATEWAY_UNKNOWN, /* rule 3: 502 or 504 from somebody in between, not replay-safe */
    BELAY_REASON_NOT_REPEATABLE,  /* rule 4: repeating gives the same */
    BELAY_REASON_NOT_REPLAY_SAFE, /* rule 4: repeatable, but neither replay-safe nor unsent */
    BELAY_REASON_RETRY_OWNED,     /* section 7: the request came marked; another level retries */
    BELAY_REASON_NO_TIME,         /* rule 5: the wait does not fit in what remains */
    BELAY_REASON_NO_ATTEMPTS,     /* rule 6 */
    BELAY_REASON_NO_BUDGET,       /* rule 7 */
    BELAY_REASON_BREAKER_NOT_CLOSED, /* rule 8 */
    BELAY_REASON_BACKOFF,            /* rule 9: retry after our own wait */
    BELAY_REASON_RETRY_AFTER,        /* rule 9: retry after the server's hint */
    BELAY_REASON_STALE_CONNECTION,   /* section 5a: again at once on a fresh connection */
    BELAY_REASON_COUNT
};

/* The outcome class that `explain` shows. */
enum belay_outcome_class {
    BELAY_CLASS_SUCCESS,
    BELAY_CLASS_REPEATABLE,
    BELAY_CLASS_UNKNOWN,
    BELAY_CLASS_FINAL,
    BELAY_CLASS_COUNT
};

enum belay_wait_source {
    BELAY_WAIT_NONE,
    BELAY_WAIT_BACKOFF,
    BELAY_WAIT_RETRY_AFTER,
    BELAY_WAIT_COUNT
};

/* What an outcome says of its recipient's health, as the breaker counts it (semantics 8). */
enum belay_health {
    BELAY_HEALTH_GOOD,    /* 2xx, 3xx */
    BELAY_HEALTH_ALIVE,   /* 4xx but 429: neutral while closed, proves life in half-open */
    BELAY_HEALTH_NEUTRAL, /* says nothing */
    BELAY_HEALTH_BAD
};

/* What became of a write (semantics 2). */
enum belay_effect {
    BELAY_EFFECT_NOT_A_WRITE,
    BELAY_EFFECT_DONE,
    BELAY_EFFECT_NONE,
    BELAY_EFFECT_UNKNOWN
};

/* What one attempt came to. Either status is 100..599 and error NONE, or status 0 and error set. */
struct belay_outcome {
    int status;
    enum belay_error_class error;
    enum belay_phase phase; /* NONE with a status */
    enum belay_sent sent;
    bool answer_started;    /* bytes of this answer were already given to the caller */
    bool stale;             /* section 5a: reused connection, bytes accepted, no answer byte */
    bool has_retry_after;   /* the server gave a hint that parsed */
    int64_t retry_after_ms; /* >= 0, uncapped (a span would end at 292 years); only with
                               has_retry_after */
};

/* An answer with this status (100..599) was read; nothing of it was passed on yet. */
static inline struct belay_outcome belay_outcome_status(int status)
{
    struct belay_outcome outcome = {
        status, BELAY_ERROR_NONE, BELAY_PHASE_NONE, BELAY_ANSWERED, false, false, false, 0};
    return outcome;
}

/* No answer: what struck, where, and what is known to have been sent. */
static inline struct belay_outcome belay_outcome_error(enum belay_error_class error,
                                                       enum belay_phase phase, enum belay_sent sent)
{
    struct belay_outcome outcome = {0, error, phase, sent, false, false, false, 0};
    return outcome;
}

BELAY_API const char *belay_error_class_name(enum belay_error_class value);
BELAY_API const char *belay_phase_name(enum belay_phase value);
BELAY_API const char *belay_sent_name(enum belay_sent value);
BELAY_API const char *belay_decision_name(enum belay_decision value);
BELAY_API const char *belay_terminal_name(enum belay_terminal value);
BELAY_API const char *belay_reason_name(enum belay_reason value);
BELAY_API const char *belay_outcome_class_name(enum belay_outcome_class value);
BELAY_API const char *belay_wait_source_name(enum belay_wait_source value);
BELAY_API const char *belay_effect_name(enum belay_effect value);

/* Each returns true and sets *out for a listed word of `length` bytes; else false, *out untouched.
 */
BELAY_API bool belay_error_class_parse(const char *word, size_t length,
                                       enum belay_error_class *out) BELAY_MUST_USE;
BELAY_API bool belay_phase_parse(const char *word, size_t length,
                                 enum belay_phase *out) BELAY_MUST_USE;
BELAY_API bool belay_sent_parse(const char *word, size_t length,
                                enum belay_sent *out) BELAY_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
