/* write_json.c: a report as one JSON object; its fields are listed in belay-inspect(1). */
#include "inspect/say.h"

#include "base/check.h"
#include "inspect/write.h"

#include "event/json.h"

#include <inttypes.h>

/* What is written next needs a comma unless it is the first in its object or array. */
struct json {
    FILE *to;
    bool first;
};

static void comma(struct json *json)
{
    if (!json->first) (void)fputc(',', json->to);
    json->first = false;
}

static void key(struct json *json, const char *name)
{
    comma(json);
    (void)fprintf(json->to, "\"%s\":", name);
}

static void begin(struct json *json, const char *name, char bracket)
{
    if (name)
        key(json, name);
    else
        comma(json);
    (void)fputc(bracket, json->to);
    json->first = true;
}

static void end(struct json *json, char bracket)
{
    (void)fputc(bracket, json->to);
    json->first = false;
}

static void number(struct json *json, const char *name, uint64_t value)
{
    key(json, name);
    (void)fprintf(json->to, "%" PRIu64, value);
}

static void whole(struct json *json, const char *name, int64_t value)
{
    key(json, name);
    (void)fprintf(json->to, "%" PRId64, value);
}

static void decimal(struct json *json, const char *name, double value)
{
    key(json, name);
    (void)fprintf(json->to, "%.3f", value);
}

static void boolean(struct json *json, const char *name, bool value)
{
    key(json, name);
    (void)fputs(value ? "true" : "false", json->to);
}

/* Piece by piece, none of which ends within a character. */
static void escaped(FILE *to, struct belay_slice text)
{
    enum { PIECE = 512 };
    char out[6 * PIECE + JSON_SLACK_BYTES];
    (void)fputc('"', to);
    while (text.length > 0) {
        size_t bytes = text.length < PIECE ? text.length : PIECE;
        for (size_t i = 0; i < 3 && bytes < text.length; i++) {
            if (((unsigned char)text.data[bytes] & 0xc0) != 0x80) break;
            bytes--;
        }
        char *stop = event_json_escape(out, belay_slice(text.data, bytes), 6 * (size_t)PIECE);
        (void)fwrite(out, 1, (size_t)(stop - out), to);
        text = belay_slice(text.data + bytes, text.length - bytes);
    }
    (void)fputc('"', to);
}

static void string(struct json *json, const char *name, const char *value)
{
    key(json, name);
    escaped(json->to, belay_slice_z(value));
}

static void string_if_any(struct json *json, const char *name, const char *value)
{
    if (value && value[0]) string(json, name, value);
}

static void wall(struct json *json, const char *name, struct belay_wall time)
{
    char text[JSON_TIME_BYTES];
    if (time.ns == 0) return;
    char *stop = event_json_time(text, time);
    key(json, name);
    (void)fwrite(text, 1, (size_t)(stop - text), json->to);
}

/* ---- a target ---- */

static void slot(struct json *json, const char *name, size_t index, bool last)
{
    begin(json, NULL, '{');
    number(json, name, index);
    boolean(json, "orMore", last);
}

static void write_attempts(struct json *json, const struct inspect_target *target)
{
    begin(json, "attemptsPerOperation", '[');
    for (size_t i = 0; i <= INSPECT_ATTEMPT_SLOTS; i++) {
        if (target->attempts_of[i] == 0) continue;
        slot(json, "attempts", i, i == INSPECT_ATTEMPT_SLOTS);
        number(json, "operations", target->attempts_of[i]);
        end(json, '}');
    }
    end(json, ']');
}

static void write_decisions(struct json *json, const uint64_t decisions[BELAY_DECISION_COUNT])
{
    begin(json, "decisions", '{');
    for (unsigned i = 0; i < BELAY_DECISION_COUNT; i++)
        number(json, belay_decision_name((enum belay_decision)i), decisions[i]);
    end(json, '}');
}

static void write_outcomes(struct json *json, const struct inspect_target *target)
{
    static const char *const CLASSES[] = {NULL, "1xx", "2xx", "3xx", "4xx", "5xx"};
    write_decisions(json, target->decisions);
    number(json, "decisionUnknown", target->decision_unknown);
    begin(json, "statuses", '{');
    for (size_t i = 1; i < 6; i++) number(json, CLASSES[i], target->status_class[i]);
    end(json, '}');
    begin(json, "errors", '{');
    for (unsigned i = BELAY_ERROR_NONE + 1; i < BELAY_ERROR_COUNT; i++)
        number(json, belay_error_class_name((enum belay_error_class)i), target->errors[i]);
    end(json, '}');
    number(json, "timeouts", target->errors[BELAY_ERROR_TIMEOUT]);
    number(json, "tooManyRequests", target->too_many_requests);
    begin(json, "terminals", '{');
    for (unsigned i = BELAY_TERMINAL_NONE + 1; i < BELAY_TERMINAL_COUNT; i++)
        number(json, belay_terminal_name((enum belay_terminal)i), target->terminals[i]);
    end(json, '}');
    number(json, "answered", target->answered);
    number(json, "stopped", target->stopped);
    number(json, "stateChecks", target->state_checks);
    number(json, "open", say_open(target));
    number(json, "effectUnknown", target->effect_unknown);
    number(json, "fallbacks", target->fallbacks);
}

static void write_latency(struct json *json, const struct inspect_target *target)
{
    begin(json, "latency", '[');
    for (size_t i = 0; i < INSPECT_ATTEMPT_SLOTS; i++) {
        const struct inspect_latency *latency = &target->latency[i];
        if (latency->count == 0) continue;
        slot(json, "attempt", i + 1, i + 1 == INSPECT_ATTEMPT_SLOTS);
        number(json, "count", latency->count);
        decimal(json, "meanMs", (double)latency->sum_ms / (double)latency->count);
        whole(json, "p50Ms", inspect_quantile_ms(latency, 0.5));
        whole(json, "p90Ms", inspect_quantile_ms(latency, 0.9));
        whole(json, "p99Ms", inspect_quantile_ms(latency, 0.99));
        whole(json, "maxMs", latency->max_ms);
        end(json, '}');
    }
    end(json, ']');
}

static void write_series(struct json *json, const struct inspect_series *series)
{
    if (series->width_ms <= 0) return;
    begin(json, "series", '{');
    wall(json, "start", (struct belay_wall){belay_span_ms(series->start_ms).ns});
    whole(json, "widthMs", series->width_ms);
    begin(json, "points", '[');
    for (size_t i = 0; i < series->count; i++) {
        begin(json, NULL, '{');
        write_decisions(json, series->decisions[i]);
        decimal(json, "concurrency", (double)series->busy_ms[i] / (double)series->width_ms);
        end(json, '}');
    }
    end(json, ']');
    end(json, '}');
}

static void write_target(struct json *json, const struct inspect_target *target)
{
    begin(json, NULL, '{');
    string(json, "target", target->name);
    number(json, "operations", target->operations);
    number(json, "attempts", target->attempts);
    number(json, "retries", target->retries);
    if (target->operations > 0)
        decimal(json, "amplification", (double)target->attempts / (double)target->operations);
    write_attempts(json, target);
    write_outcomes(json, target);
    write_latency(json, target);
    begin(json, "concurrency", '{');
    decimal(json, "mean", target->concurrency_mean);
    decimal(json, "peak", target->concurrency_peak);
    end(json, '}');
    write_series(json, &target->series);
    end(json, '}');
}

/* ---- anomalies, what was read, one operation ---- */

static void write_examples(struct json *json, const struct inspect_anomaly *anomaly)
{
    begin(json, "operationIds", '[');
    for (size_t i = 0; i < anomaly->examples; i++) {
        const char *id = anomaly->operation_ids[i];
        if (!id || !id[0]) continue;
        comma(json);
        escaped(json->to, belay_slice_z(id));
    }
    end(json, ']');
    begin(json, "examples", '[');
    for (size_t i = 0; i < anomaly->examples; i++) {
        begin(json, NULL, '{');
        string_if_any(json, "operationId", anomaly->operation_ids[i]);
        if (anomaly->lines[i] > 0) number(json, "line", anomaly->lines[i]);
        string_if_any(json, "detail", anomaly->detail[i]);
        end(json, '}');
    }
    end(json, ']');
}

static void write_anomalies(struct json *json, const struct inspect_report *report)
{
    enum inspect_anomaly_kind kinds[INSPECT_ANOMALY_COUNT];
    size_t count = say_kinds(report, kinds);
    begin(json, "anomalies", '[');
    for (size_t i = 0; i < count; i++) {
        const struct inspect_advice *advice = inspect_advice(kinds[i]);
        begin(json, NULL, '{');
        string(json, "kind", advice->name);
        number(json, "count", report->anomalies[kinds[i]].count);
        write_examples(json, &report->anomalies[kinds[i]]);
        string(json, "symptom", advice->symptom);
        string(json, "cause", advice->cause);
        string(json, "check", advice->check);
        string(json, "action", advice->action);
        end(json, '}');
    }
    end(json, ']');
}

static void write_read(struct json *json, const struct inspect_report *report)
{
    struct say_unread rows[SAY_UNREAD_MAX];
    size_t count = say_unread(report, rows);
    begin(json, "read", '{');
    number(json, "lines", report->lines);
    number(json, "bytes", report->bytes);
    number(json, "records", report->records);
    wall(json, "first", report->first);
    wall(json, "last", report->last);
    for (size_t i = 0; i < count; i++) number(json, rows[i].name, rows[i].count);
    end(json, '}');
}

static void write_outcome(struct json *json, const struct inspect_moment *m)
{
    if (m->present & INSPECT_BIT(INSPECT_STATUS) && m->status > 0) whole(json, "status", m->status);
    if (m->present & INSPECT_BIT(INSPECT_ERROR_CLASS) && m->error != BELAY_ERROR_NONE)
        string(json, "errorClass", belay_error_class_name(m->error));
    if (m->present & INSPECT_BIT(INSPECT_PHASE) && m->phase != BELAY_PHASE_NONE)
        string(json, "phase", belay_phase_name(m->phase));
    if (m->present & INSPECT_BIT(INSPECT_SENT)) string(json, "sent", belay_sent_name(m->sent));
    if (m->present & INSPECT_BIT(INSPECT_DECISION))
        string(json, "decision", belay_decision_name(m->decision));
    if (m->present & INSPECT_BIT(INSPECT_REASON))
        string(json, "reason", belay_reason_name(m->reason));
    if (m->present & INSPECT_BIT(INSPECT_WAIT_SOURCE) && m->wait_source != BELAY_WAIT_NONE)
        string(json, "waitSource", belay_wait_source_name(m->wait_source));
}

static void write_moment(struct json *json, const struct inspect_moment *m)
{
    static const struct {
        enum inspect_field field;
        const char *name;
        size_t offset;
    } SPANS[] = {
        {INSPECT_ELAPSED, "elapsedMs", offsetof(struct inspect_moment, elapsed_ms)},
        {INSPECT_REMAINING, "remainingMs", offsetof(struct inspect_moment, remaining_ms)},
        {INSPECT_RETRY_AFTER, "retryAfterMs", offsetof(struct inspect_moment, retry_after_ms)},
        {INSPECT_WAIT, "waitMs", offsetof(struct inspect_moment, wait_ms)},
    };
    begin(json, NULL, '{');
    if (m->present & INSPECT_BIT(INSPECT_ATTEMPT_NUMBER)) number(json, "attempt", m->attempt);
    number(json, "line", m->line);
    wall(json, "time", m->time);
    whole(json, "startMs", m->start_ms);
    for (size_t i = 0; i < COUNT(SPANS); i++) {
        if (!(m->present & INSPECT_BIT(SPANS[i].field))) continue;
        int64_t value;
        memcpy(&value, (const char *)m + SPANS[i].offset, sizeof value);
        whole(json, SPANS[i].name, value);
    }
    write_outcome(json, m);
    if (m->reused) boolean(json, "reused", true);
    if (m->stale) boolean(json, "stale", true);
    end(json, '}');
}

static void write_summary(struct json *json, const struct inspect_timeline *t)
{
    if (t->summary & INSPECT_BIT(INSPECT_RESULT)) {
        begin(json, "result", '{');
        if (t->result_status > 0)
            whole(json, "status", t->result_status);
        else
            string(json, "status", t->result_word);
        end(json, '}');
    }
    if (t->summary & INSPECT_BIT(INSPECT_ANSWER)) whole(json, "answer", t->answer);
    if (t->summary & INSPECT_BIT(INSPECT_EFFECT))
        string(json, "effect", belay_effect_name(t->effect));
    if (t->summary & INSPECT_BIT(INSPECT_ATTEMPTS)) number(json, "attemptCount", t->attempts);
    if (t->summary & INSPECT_BIT(INSPECT_ELAPSED)) whole(json, "elapsedMs", t->elapsed_ms);
}

static void write_timeline(struct json *json, const struct inspect_timeline *t)
{
    begin(json, "operation", '{');
    string(json, "operationId", t->shown_id);
    string_if_any(json, "method", t->method);
    string_if_any(json, "target", t->target);
    string_if_any(json, "route", t->route);
    string_if_any(json, "endpoint", t->endpoint);
    string_if_any(json, "traceId", t->trace_id);
    string_if_any(json, "fallback", t->fallback);
    wall(json, "time", t->time);
    write_summary(json, t);
    if (t->deadline_ms >= 0) whole(json, "deadlineMs", t->deadline_ms);
    whole(json, "endMs", t->end_ms);
    if (t->repeats > 0) number(json, "repeatedRecords", t->repeats);
    if (t->left_out > 0) number(json, "attemptsLeftOut", t->left_out);
    begin(json, "attempts", '[');
    for (size_t i = 0; i < t->count; i++) write_moment(json, &t->moments[i]);
    end(json, ']');
    end(json, '}');
}

void inspect_write_json(FILE *to, const struct inspect_report *report,
                        const struct inspect_timeline *timeline)
{
    struct json json = {to, true};
    begin(&json, NULL, '{');
    begin(&json, "targets", '[');
    for (size_t i = 0; i < report->target_count; i++) write_target(&json, &report->targets[i]);
    end(&json, ']');
    write_anomalies(&json, report);
    write_read(&json, report);
    if (timeline) write_timeline(&json, timeline);
    end(&json, '}');
    (void)fputc('\n', to);
}
