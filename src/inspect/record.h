/* record.h: one line of a log, as inspect understands it: the fields of the event contract, and
 * what is wrong with the line itself.
 *
 * A reader fills it, the collector and the contract check read it. Slices borrow the line's bytes
 * until the next line is read. Nothing here
 * trusts the line: every value was checked for its type and range when it was read; a value of a
 * wrong type is absent and named in `wrong_type`.
 */
#ifndef INSPECT_RECORD_H
#define INSPECT_RECORD_H

#include <belay/outcome.h>
#include <belay/slice.h>
#include <stdint.h>

enum inspect_kind {
    INSPECT_ATTEMPT,     /* no "event", and at least one of the contract's attempt fields */
    INSPECT_OPERATION,   /* "event":"operation" */
    INSPECT_STATE_CHECK, /* "event":"state_check" */
    INSPECT_LOST,        /* "event":"lost" */
    INSPECT_UNKNOWN,     /* another "event", or a version that is not ours */
    INSPECT_MERGED,      /* tells a failure with none of status, errorClass and decision: a sentence
                            ("request failed"), or attempt fields beside one */
};

/* Which fields were there with a usable value; one bit each. NULL counts for STATUS and
 * ERROR_CLASS, where it means "there is none" (see status, error). */
enum inspect_field {
    INSPECT_V,
    INSPECT_EVENT,
    INSPECT_TIME,
    INSPECT_OPERATION_ID,
    INSPECT_REQUEST_ID,
    INSPECT_ATTEMPT_NUMBER,
    INSPECT_METHOD,
    INSPECT_TARGET,
    INSPECT_ROUTE,
    INSPECT_ENDPOINT,
    INSPECT_STATUS,
    INSPECT_ERROR_CLASS,
    INSPECT_PHASE,
    INSPECT_SENT,
    INSPECT_ELAPSED,
    INSPECT_REMAINING,
    INSPECT_RETRY_AFTER,
    INSPECT_DECISION,
    INSPECT_REASON,
    INSPECT_WAIT,
    INSPECT_WAIT_SOURCE,
    INSPECT_REUSED,
    INSPECT_STALE,
    INSPECT_TRACE_ID,
    INSPECT_SPAN_ID,
    INSPECT_RESULT,
    INSPECT_ANSWER,
    INSPECT_EFFECT,
    INSPECT_ATTEMPTS,
    INSPECT_FALLBACK,
    INSPECT_RECORDS,
    INSPECT_FIELD_COUNT
};
#define INSPECT_BIT(field) (UINT32_C(1) << (field))

struct inspect_record {
    enum inspect_kind kind;
    uint32_t present;    /* INSPECT_BIT of each field with a usable value */
    uint32_t wrong_type; /* ... of each that is there with a value of a wrong type or range */
    uint32_t wrong_word; /* ... of each whose word is not in its vocabulary */
    uint32_t repeated;   /* ... of each that is there twice; the first usable value counts */
    uint32_t full_url;   /* ... of each text that holds a full URL, a query string or userinfo */
    uint32_t secret;     /* ... of each text in which something looks like a secret */
    bool foreign_full_url, foreign_secret; /* the same, in a field that is none of ours */
    bool other_version;                    /* v is there and not ours (INSPECT_UNKNOWN) */
    bool error_sentence;                   /* errorClass holds a sentence in place of a word */
    bool foreign_fields; /* the event object has fields that the contract does not name */
    struct belay_slice
        suspect;             /* name of the first field of full_url, secret or the foreign ones */
    struct belay_slice word; /* the first text of wrong_word */
    uint64_t line;           /* from 1 */
    struct belay_wall time;  /* TIME */
    struct belay_slice operation_id, request_id, method, target, route, endpoint, trace_id, span_id,
        fallback;
    uint32_t attempt;             /* >= 1 */
    int status;                   /* 100..599, or 0 for null */
    enum belay_error_class error; /* NONE for null */
    enum belay_phase phase;
    enum belay_sent sent;
    enum belay_decision decision;
    enum belay_reason reason;
    enum belay_wait_source wait_source;
    int64_t elapsed_ms, remaining_ms, retry_after_ms, wait_ms; /* >= 0 */
    bool reused, stale;
    int result_status;              /* RESULT: > 0, or 0 and result_word */
    struct belay_slice result_word; /* a decision's or terminal reason's word */
    int answer;
    enum belay_effect effect;
    uint32_t attempts;
    int64_t records; /* LOST */
};

static inline bool inspect_has(const struct inspect_record *record, enum inspect_field field)
{
    return (record->present & INSPECT_BIT(field)) != 0;
}

/* What is written for a text that must not be. */
#define INSPECT_NOT_SHOWN "(not shown)"

/* Does the text hold what looks like a secret, or could be one, so that nobody may be shown it? */
static inline bool inspect_is_doubtful(const struct inspect_record *record,
                                       enum inspect_field field)
{
    return ((record->secret | record->full_url) & INSPECT_BIT(field)) != 0;
}

#endif
