/* flaky_script.h: what one request asks `belay flaky` to do to it: the grammar, pure.
 *
 * Settings are `name=value` pairs joined by '&', given in the query of a scripted path (/flaky,
 * /status/503, ...) or, for any path, in the header X-Flaky. Values are taken as they are: nothing
 * is percent-decoded.
 */
#ifndef APP_FLAKY_SCRIPT_H
#define APP_FLAKY_SCRIPT_H

#include <belay/slice.h>
#include <belay/time.h>

enum flaky_fault {
    FLAKY_NONE,
    FLAKY_SILENCE,          /* no answer, until the caller leaves */
    FLAKY_RESET,            /* a reset instead of an answer */
    FLAKY_CLOSE,            /* closed instead of an answer */
    FLAKY_DRIP,             /* `bytes` one by one, `every` so often */
    FLAKY_CLOSE_MID_BODY,   /* half of the declared length, then closed */
    FLAKY_RESET_MID_BODY,   /* ... then a reset */
    FLAKY_TRUNCATE_CHUNKED, /* one chunk, no last chunk, then closed */
    FLAKY_CLOSE_ON_REUSE,   /* a kept-alive connection is closed when its next request comes */
    FLAKY_CLOSE_AFTER,      /* a whole kept-alive answer, then closed without saying so */
    FLAKY_GARBAGE,          /* bytes that are no HTTP */
    FLAKY_FAULT_COUNT
};
const char *flaky_fault_name(enum flaky_fault fault);
bool flaky_fault_parse(struct belay_slice word, enum flaky_fault *out);

#define FLAKY_ALWAYS INT64_MAX

struct flaky_script {
    int64_t fail_first; /* calls of the key that fail; FLAKY_ALWAYS: every one, when there is a way
                           to fail */
    int status;         /* of a failing call; 0: not said */
    struct belay_slice retry_after; /* on a failing call; empty: none */
    struct belay_span delay;        /* before anything else */
    enum flaky_fault fault;         /* of a failing call */
    uint64_t bytes;                 /* of the body; FLAKY_BYTES_UNSAID: a short text of our own */
    struct belay_span every;        /* between two bytes of a drip */
    bool echo;                      /* the body is the request's */
    struct belay_slice key; /* whose calls are counted for fail_first; empty: the operation's */
};
#define FLAKY_BYTES_UNSAID UINT64_MAX

void flaky_script_init(struct flaky_script *script);
/* True when the path is one of the scripted ones; others are whatever service is being played. */
bool flaky_script_is_path(struct belay_slice path);
#define FLAKY_PROBLEM_MAX 200
/* Adds what a scripted path, its query, or a header value says. False: `problem` says what is
 * wrong, NUL-terminated. The script borrows from its arguments. */
bool flaky_script_add_path(struct flaky_script *script, struct belay_slice path,
                           char problem[FLAKY_PROBLEM_MAX]);
bool flaky_script_add(struct flaky_script *script, struct belay_slice settings,
                      char problem[FLAKY_PROBLEM_MAX]);
bool flaky_script_set(struct flaky_script *script, struct belay_slice name,
                      struct belay_slice value, char problem[FLAKY_PROBLEM_MAX]);
/* Is there a way for a call to fail: a status or a fault? */
bool flaky_script_can_fail(const struct flaky_script *script);

/* "20ms": a whole number and ns, us, ms, s, m; at most an hour. */
bool flaky_parse_span(struct belay_slice text, struct belay_span *out);

#endif
