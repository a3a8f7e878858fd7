/* history.c: gathers what happened (history.h); reads event records with a JSON parser that is not
 * ours. */
#include "history.h"

#include "base/check.h"
#include "spared.h"
#include "world.h"

#include <jansson.h>
#include <stdarg.h>
#include <stdlib.h>

#define TRACE_BYTES_MAX ((size_t)1 << 20)

const char *reply_kind_name(enum reply_kind kind)
{
    static const char *const names[] = {"none",    "whole", "cut",    "reset", "closed",
                                        "refused", "gone",  "unsent", "wrong"};
    return names[kind];
}

void *rows_add(struct rows *rows, size_t row_bytes)
{
    if (rows->count == rows->capacity) {
        rows->capacity = rows->capacity ? rows->capacity * 2 : 32;
        rows->items = spared_realloc(rows->items, rows->capacity * row_bytes);
    }
    void *row = (char *)rows->items + rows->count++ * row_bytes;
    memset(row, 0, row_bytes);
    return row;
}

size_t history_add_seen(struct history *history)
{
    rows_add(&history->seen, sizeof(struct seen));
    return history->seen.count - 1;
}

size_t history_add_reply(struct history *history)
{
    rows_add(&history->replies, sizeof(struct reply));
    return history->replies.count - 1;
}

void history_note(struct history *history, const char *who, const char *format, ...)
{
    if (!history->tracing) return;
    char line[512];
    int64_t us = (rt_now(history->rt).ns - SIM_START_NS) / 1000;
    long long ms = us / 1000, rest_us = us % 1000;
    int length = snprintf(line, sizeof(line), "%6lld.%03lld  %-8s ", ms, rest_us, who);
    spared_add(&history->trace, line, (size_t)length);
    va_list arguments;
    va_start(arguments, format);
    length = vsnprintf(line, sizeof(line), format, arguments);
    va_end(arguments);
    CHECK(length >= 0 && (size_t)length < sizeof(line));
    spared_add(&history->trace, line, (size_t)length);
    spared_add(&history->trace, "\n", 1);
}

/* ---- event records ---- */

static void take_word(const json_t *record, const char *key, char *out, size_t room)
{
    const char *text = json_string_value(json_object_get(record, key));
    snprintf(out, room, "%s", text ? text : "");
}

static int64_t take_number(const json_t *record, const char *key, int64_t otherwise)
{
    const json_t *value = json_object_get(record, key);
    return json_is_integer(value) ? (int64_t)json_integer_value(value) : otherwise;
}

#define TAKE_WORD(row, record, member, key)                                                        \
    take_word(record, key, (row)->member, sizeof((row)->member))

static void note_attempt(struct history *history, const struct attempt_record *row)
{
    char wait[48] = "", hint[48] = "", status[12];
    snprintf(status, sizeof(status), "%d", row->status);
    if (strcmp(row->decision, "retry") == 0)
        snprintf(wait, sizeof(wait), " waitMs %lld", (long long)row->wait_ms);
    if (row->retry_after_ms >= 0)
        snprintf(hint, sizeof(hint), " retryAfterMs %lld", (long long)row->retry_after_ms);
    history_note(history, "event",
                 "%s attempt %u %s %s elapsedMs %lld remainingMs %lld%s decision %s reason %s%s%s",
                 row->operation, row->attempt, row->status ? status : row->error, row->sent,
                 (long long)row->elapsed_ms, (long long)row->remaining_ms, hint, row->decision,
                 row->reason, wait, row->stale ? " stale" : "");
}

static void read_attempt(struct history *history, const json_t *record)
{
    struct attempt_record *row = rows_add(&history->attempts, sizeof(*row));
    TAKE_WORD(row, record, operation, "operationId");
    TAKE_WORD(row, record, target, "target");
    TAKE_WORD(row, record, method, "method");
    TAKE_WORD(row, record, error, "errorClass");
    TAKE_WORD(row, record, decision, "decision");
    TAKE_WORD(row, record, reason, "reason");
    TAKE_WORD(row, record, sent, "sent");
    row->attempt = (uint32_t)take_number(record, "attempt", 0);
    row->status = (int)take_number(record, "status", 0);
    row->elapsed_ms = take_number(record, "elapsedMs", -1);
    row->remaining_ms = take_number(record, "remainingMs", -1);
    row->wait_ms = take_number(record, "waitMs", 0);
    row->retry_after_ms = take_number(record, "retryAfterMs", -1);
    row->stale = json_is_true(json_object_get(record, "stale"));
    row->at = rt_now(history->rt);
    note_attempt(history, row);
}

static void read_operation(struct history *history, const json_t *record)
{
    struct operation_record *row = rows_add(&history->operations, sizeof(*row));
    const json_t *status = json_object_get(json_object_get(record, "result"), "status");
    TAKE_WORD(row, record, operation, "operationId");
    TAKE_WORD(row, record, target, "target");
    TAKE_WORD(row, record, method, "method");
    TAKE_WORD(row, record, effect, "effect");
    if (json_is_string(status))
        snprintf(row->result, sizeof(row->result), "%s", json_string_value(status));
    row->status = (int)json_integer_value(status);
    row->answer = (int)take_number(record, "answer", 0);
    row->attempts = (uint32_t)take_number(record, "attempts", 0);
    row->elapsed_ms = take_number(record, "elapsedMs", -1);
    row->at = rt_now(history->rt);
    char number[12];
    snprintf(number, sizeof(number), "%d", row->status);
    history_note(history, "event", "%s operation %s answer %d attempts %u elapsedMs %lld%s%s",
                 row->operation, row->status ? number : row->result, row->answer, row->attempts,
                 (long long)row->elapsed_ms, row->effect[0] ? " effect " : "", row->effect);
}

static char *reserve(struct event_out *out, size_t bytes)
{
    struct history *history = CONTAINER_OF(out, struct history, out);
    return bytes <= sizeof(history->room) ? history->room : NULL;
}

static void commit(struct event_out *out, size_t bytes)
{
    struct history *history = CONTAINER_OF(out, struct history, out);
    if (bytes == 0) return;
    json_t *record = json_loadb(history->room, bytes, JSON_REJECT_DUPLICATES, NULL);
    if (!record || history->room[bytes - 1] != '\n') {
        history->unreadable++;
    } else if (json_object_get(record, "event")) {
        read_operation(history, record);
    } else {
        read_attempt(history, record);
    }
    json_decref(record);
}

void history_init(struct history *history, struct rt *rt)
{
    *history = (struct history){.out = {reserve, commit}, .rt = rt};
    buf_init(&history->trace, TRACE_BYTES_MAX);
}

void history_deinit(struct history *history)
{
    free(history->seen.items);
    free(history->replies.items);
    free(history->attempts.items);
    free(history->operations.items);
    free(history->breakers.items);
    buf_deinit(&history->trace);
}
