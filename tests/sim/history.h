/* history.h: what happened in a simulated world, from every side that saw it; the checkers read
 * nothing else.
 *
 * The origin tells what it was sent, the caller what it was given, the proxy's event records what
 * it says it did. With `tracing` the same facts are also lines of text, for the golden traces.
 */
#ifndef TESTS_SIM_HISTORY_H
#define TESTS_SIM_HISTORY_H

#include "base/buf.h"
#include "event/out.h"
#include "rt/rt.h"

#include <stdio.h>

#define HISTORY_ID_BYTES 48
#define HISTORY_WORD_BYTES 24

/* A request that a scripted origin was sent: its head had come. */
struct seen {
    char operation[HISTORY_ID_BYTES], origin[HISTORY_WORD_BYTES], method[12];
    uint32_t attempt;
    bool keyed;
    bool whole, body_right; /* all of it came, and was what the caller sent */
    bool garbage;           /* it was sent by a caller as no request */
    int answering;          /* the status of the answer that was begun; 0: none was */
    int status;             /* of the answer that was sent whole; 0: none was */
    struct belay_instant at;
};

enum reply_kind {
    REPLY_NONE, /* still waiting */
    REPLY_WHOLE,
    REPLY_CUT,     /* the connection ended within the answer */
    REPLY_RESET,   /* a reset before any byte of it */
    REPLY_CLOSED,  /* a clean end before any byte of it */
    REPLY_REFUSED, /* no connection */
    REPLY_GONE,    /* the caller left first */
    REPLY_UNSENT,  /* not all of the request was sent before the connection ended */
    REPLY_WRONG,   /* no HTTP, or bytes after the answer */
};
const char *reply_kind_name(enum reply_kind kind);

/* What one request of a scripted caller came to. */
struct reply {
    char operation[HISTORY_ID_BYTES], method[12];
    enum reply_kind kind;
    int status;     /* WHOLE, CUT */
    bool of_origin; /* the answer bears an origin's body pattern */
    bool body_right;
    bool closing; /* a later request on a connection that was announced to close */
    bool first;   /* of its connection */
    bool garbage; /* what was sent was no request */
    bool held_up; /* its head may have come late: in pieces, or behind an answer still under way */
    struct belay_instant sent_at, at;
};

/* The two records of the event stream. */
struct attempt_record {
    char operation[HISTORY_ID_BYTES], target[HISTORY_WORD_BYTES], method[12];
    uint32_t attempt;
    int status;
    char error[HISTORY_WORD_BYTES], decision[HISTORY_WORD_BYTES], reason[HISTORY_WORD_BYTES],
        sent[HISTORY_WORD_BYTES];
    int64_t elapsed_ms, remaining_ms, wait_ms, retry_after_ms; /* retry_after_ms -1: no hint */
    bool stale;
    struct belay_instant at; /* when it was recorded: its end */
};

struct operation_record {
    char operation[HISTORY_ID_BYTES], target[HISTORY_WORD_BYTES], method[12],
        result[HISTORY_WORD_BYTES], effect[HISTORY_WORD_BYTES];
    int status, answer;
    uint32_t attempts;
    int64_t elapsed_ms;
    struct belay_instant at;
};

/* A breaker was seen in a state from `at` on. */
struct breaker_change {
    char target[HISTORY_WORD_BYTES];
    enum belay_breaker_state state;
    struct belay_instant at;
};

struct rows {
    void *items;
    size_t count, capacity;
};

struct history {
    struct event_out out; /* give this to a proxy: its records are read as they come */
    struct rt *rt;
    struct rows seen, replies, attempts, operations, breakers;
    bool tracing;
    struct buf trace;
    char room[BELAY_EVENT_BYTES_MAX];
    size_t unreadable; /* records that are no JSON of the catalogue */
};

void history_init(struct history *history, struct rt *rt);
void history_deinit(struct history *history);
/* The index of a new row, all zero; rows move when more are added. */
size_t history_add_seen(struct history *history);
size_t history_add_reply(struct history *history);
void *rows_add(struct rows *rows, size_t row_bytes);

static inline struct seen *history_seen(const struct history *history, size_t i)
{
    return (struct seen *)history->seen.items + i;
}
static inline struct reply *history_reply(const struct history *history, size_t i)
{
    return (struct reply *)history->replies.items + i;
}
static inline struct attempt_record *history_attempt(const struct history *history, size_t i)
{
    return (struct attempt_record *)history->attempts.items + i;
}
static inline struct operation_record *history_operation(const struct history *history, size_t i)
{
    return (struct operation_record *)history->operations.items + i;
}

/* One line of the trace: virtual milliseconds since the start, who, what. */
void history_note(struct history *history, const char *who, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
