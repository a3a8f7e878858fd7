/* event.h: the attempt event and the operation record, version 1 (semantics 2).
 *
 * The catalogue, src/event/catalogue.c, lists every field once: its name, type and order. Values
 * are redacted before they are encoded; the encoder writes one JSON object and a newline. Every
 * text is bounded, so that a record always fits in BELAY_EVENT_BYTES_MAX; an over-long text is cut
 * at the end of a character. Ownership: an event borrows its slices; encode copies what it writes.
 * Thread rule: pure functions over the caller's buffer.
 */
#ifndef BELAY_EVENT_H
#define BELAY_EVENT_H

#include <belay/export.h>
#include <belay/operation.h>
#include <belay/outcome.h>
#include <belay/slice.h>
#include <belay/time.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BELAY_EVENT_VERSION 1
#define BELAY_OPERATION_ID_MAX 128 /* longer ids that callers give are refused and replaced */
#define BELAY_EVENT_BYTES_MAX 4096 /* no encoded record is longer */
#define BELAY_EVENT_ENDPOINT_BYTES_MAX 256

struct belay_attempt_event {
    struct belay_wall time;          /* 0: left out (replay) */
    struct belay_slice operation_id; /* valid characters only; request id is derived from it */
    /* Empty: left out; a method there always is. */
    struct belay_slice method, target, route, endpoint, trace_id, span_id;
    struct belay_outcome outcome;
    struct belay_verdict verdict;
    bool reused;
};

struct belay_operation_event {
    struct belay_wall time;
    struct belay_slice operation_id;
    struct belay_slice method, target, route, endpoint, trace_id; /* empty: left out */
    struct belay_ending ending;
    int answer;                  /* HTTP status given to the caller; 0: none was */
    struct belay_slice fallback; /* empty: none */
};

/* Records that could not be written, told in the stream itself once it takes records again. */
struct belay_lost_event {
    int64_t records; /* since the last such record, or the start */
};

/* Writes at most `capacity` bytes with the closing newline; returns the length, or 0 when it does
 * not fit. */
BELAY_API size_t belay_attempt_event_encode(const struct belay_attempt_event *event, char *out,
                                            size_t capacity);
BELAY_API size_t belay_operation_event_encode(const struct belay_operation_event *event, char *out,
                                              size_t capacity);
BELAY_API size_t belay_lost_event_encode(const struct belay_lost_event *event, char *out,
                                         size_t capacity);

/* The endpoint of a request: the route's template when it has one; else the path alone (no scheme,
 * userinfo, authority, query, fragment or path parameter), with {} in place of every segment that
 * could be an id, a token or somebody's name: no letters, a run of four digits, UUID, long hex or
 * base64, e-mail, anything escaped. Returns `route` or a slice of `room`; never longer than the
 * room: a longer path ends in "/...". */
BELAY_API struct belay_slice belay_event_endpoint(struct belay_slice path, struct belay_slice route,
                                                  char room[BELAY_EVENT_ENDPOINT_BYTES_MAX]);
/* May this id, given by a caller, be an operation's? 1 to BELAY_OPERATION_ID_MAX letters, digits
 * and - _ . : + = ~ */
BELAY_API bool belay_event_id_valid(struct belay_slice id);

#ifdef __cplusplus
}
#endif
#endif
