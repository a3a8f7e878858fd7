/* sample.c: hand-filled reports, and golden files to compare with (sample.h). */
#include "sample.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define START_MS INT64_C(1767700800000) /* 2026-01-06T12:00:00Z */

static void observe(struct inspect_latency *latency, int64_t ms, uint32_t count)
{
    latency->count += count;
    latency->sum_ms += (uint64_t)ms * count;
    latency->bucket[inspect_bucket_of(ms)] += count;
    if (ms > latency->max_ms) latency->max_ms = ms;
}

static void fill_latency(struct inspect_target *target)
{
    for (int64_t i = 0; i < 400; i++)
        observe(&target->latency[0], 8 + i / 10 + (i % 97 == 0) * 900, 9);
    for (int64_t i = 0; i < 100; i++) observe(&target->latency[1], 9 + i * i / 60, 4);
    for (int64_t i = 0; i < 20; i++) observe(&target->latency[2], 11 + i * 70, 2);
}

/* A minute of trouble in the middle of fifteen. */
static void fill_series(struct inspect_series *series)
{
    *series = (struct inspect_series){.start_ms = START_MS, .width_ms = 8000, .count = 113};
    for (size_t i = 0; i < series->count; i++) {
        bool trouble = i > 50 && i < 64;
        series->decisions[i][BELAY_DECISION_RETURN] = trouble ? 9 : 33 + i % 5;
        series->decisions[i][BELAY_DECISION_RETRY] = trouble ? 22 + i % 7 : i % 3;
        series->decisions[i][BELAY_DECISION_DEADLINE_EXCEEDED] = trouble && i % 2;
        series->decisions[i][BELAY_DECISION_BREAKER_OPEN] = trouble && i % 3 == 0 ? 5 : 0;
        series->busy_ms[i] = trouble ? 90000 : 9000 + i % 7 * 800;
    }
}

static struct inspect_target orders(void)
{
    struct inspect_target target = {
        .name = "orders",
        .operations = 3620,
        .attempts = 4100,
        .retries = 455,
        .attempts_of = {22, 3200, 360, 30, 5, 1, 1, 0, 1},
        .decisions = {3550, 455, 2, 60, 12, 9, 4, 8},
        .decision_unknown = 1,
        .errors = {[BELAY_ERROR_TIMEOUT] = 41, [BELAY_ERROR_RESET] = 7, [BELAY_ERROR_REFUSED] = 3},
        .status_class = {0, 0, 3550, 2, 81, 416},
        .too_many_requests = 23,
        .terminals = {[BELAY_TERMINAL_DEADLINE_EXCEEDED] = 12,
                      [BELAY_TERMINAL_BREAKER_OPEN] = 30,
                      [BELAY_TERMINAL_MAX_ATTEMPTS] = 9},
        .answered = 3569,
        .effect_unknown = 2,
        .fallbacks = 5,
        .concurrency_mean = 2.14,
        .concurrency_peak = 17,
    };
    fill_latency(&target);
    fill_series(&target.series);
    return target;
}

static void add(struct inspect_report *report, enum inspect_anomaly_kind kind, const char *id,
                uint64_t line, const char *detail)
{
    struct inspect_anomaly *anomaly = &report->anomalies[kind];
    anomaly->count++;
    if (anomaly->examples == INSPECT_EXAMPLES_MAX) return;
    anomaly->operation_ids[anomaly->examples] = id;
    anomaly->lines[anomaly->examples] = line;
    anomaly->detail[anomaly->examples++] = detail;
}

const struct inspect_report *sample_trouble(void)
{
    static struct inspect_target targets[2];
    static struct inspect_report report;
    targets[0] = orders();
    targets[1] = (struct inspect_target){.name = "pay<script>alert(1)</script>\033[31m\"&'\xff",
                                         .operations = 40,
                                         .attempts = 40,
                                         .attempts_of = {0, 40},
                                         .decisions = {40},
                                         .status_class = {0, 0, 40},
                                         .answered = 40};
    observe(&targets[1].latency[0], 40, 40);
    report = (struct inspect_report){.target_count = 2,
                                     .targets = targets,
                                     .lines = 8012,
                                     .bytes = 3412000,
                                     .records = 7860,
                                     .other_lines = 140,
                                     .junk_lines = 9,
                                     .cut_lines = 2,
                                     .long_lines = 1,
                                     .repeated_records = 12,
                                     .lost_records = 17,
                                     .open_operations = 3,
                                     .first = {START_MS * BELAY_NS_PER_MS},
                                     .last = {(START_MS + 904000) * BELAY_NS_PER_MS}};
    add(&report, INSPECT_UNSAFE_RETRY, "8dae695a6fa343ea6d6132b7eedd49d8", 812,
        "POST was sent again after status 503");
    add(&report, INSPECT_UNSAFE_RETRY, "11f0ce0a76a74bd1b5b1d5d1f0e1a2b3", 1204,
        "POST was sent again after a timeout");
    for (uint64_t i = 0; i < 23; i++)
        add(&report, INSPECT_ATTEMPT_GAP, "op-\xe2\x80\xae<b>&", 2000 + i,
            "attempt 2 of 3 is missing");
    add(&report, INSPECT_OVER_BUDGET, "", 0, "target orders: 455 retries of 3,620 operations");
    return &report;
}

const struct inspect_report *sample_clean(void)
{
    static struct inspect_target target;
    static struct inspect_report report;
    target = (struct inspect_target){.name = "orders",
                                     .operations = 3,
                                     .attempts = 3,
                                     .attempts_of = {0, 3},
                                     .decisions = {3},
                                     .status_class = {0, 0, 3},
                                     .answered = 3};
    observe(&target.latency[0], 4, 3);
    report = (struct inspect_report){
        .target_count = 1, .targets = &target, .lines = 6, .bytes = 900, .records = 6};
    return &report;
}

const struct inspect_report *sample_huge(void)
{
    static struct inspect_target target;
    static struct inspect_report report;
    target = (struct inspect_target){.name = "",
                                     .operations = UINT64_MAX,
                                     .attempts = UINT64_MAX,
                                     .retries = UINT64_MAX,
                                     .decision_unknown = UINT64_MAX,
                                     .too_many_requests = UINT64_MAX,
                                     .answered = UINT64_MAX,
                                     .effect_unknown = UINT64_MAX,
                                     .fallbacks = UINT64_MAX,
                                     .concurrency_mean = 1e18,
                                     .concurrency_peak = 1e18};
    for (size_t i = 0; i < COUNT(target.attempts_of); i++) target.attempts_of[i] = UINT64_MAX;
    for (size_t i = 0; i < COUNT(target.decisions); i++) target.decisions[i] = UINT64_MAX;
    for (size_t i = 0; i < COUNT(target.errors); i++) target.errors[i] = UINT64_MAX;
    for (size_t i = 0; i < COUNT(target.status_class); i++) target.status_class[i] = UINT64_MAX;
    for (size_t i = 0; i < COUNT(target.terminals); i++) target.terminals[i] = UINT64_MAX;
    for (size_t i = 0; i < INSPECT_ATTEMPT_SLOTS; i++)
        observe(&target.latency[i], INT64_MAX, UINT32_MAX);
    target.series =
        (struct inspect_series){.start_ms = START_MS, .width_ms = INT64_MAX / 1000, .count = 2};
    target.series.decisions[1][BELAY_DECISION_RETRY] = UINT64_MAX;
    target.series.busy_ms[0] = UINT64_MAX;
    report = (struct inspect_report){.target_count = 1,
                                     .targets = &target,
                                     .lines = UINT64_MAX,
                                     .bytes = UINT64_MAX,
                                     .records = UINT64_MAX,
                                     .first = {1},
                                     .last = {INT64_MAX}};
    for (size_t i = 0; i < INSPECT_ANOMALY_COUNT; i++) report.anomalies[i].count = UINT64_MAX;
    return &report;
}

static struct inspect_record attempt(uint32_t number, int64_t elapsed_ms, int64_t remaining_ms)
{
    return (struct inspect_record){
        .kind = INSPECT_ATTEMPT,
        .present = INSPECT_BIT(INSPECT_OPERATION_ID) | INSPECT_BIT(INSPECT_ATTEMPT_NUMBER) |
                   INSPECT_BIT(INSPECT_ELAPSED) | INSPECT_BIT(INSPECT_REMAINING) |
                   INSPECT_BIT(INSPECT_DECISION) | INSPECT_BIT(INSPECT_REASON) |
                   INSPECT_BIT(INSPECT_STATUS) | INSPECT_BIT(INSPECT_ERROR_CLASS) |
                   INSPECT_BIT(INSPECT_METHOD) | INSPECT_BIT(INSPECT_ENDPOINT) |
                   INSPECT_BIT(INSPECT_TARGET) | INSPECT_BIT(INSPECT_TIME),
        .operation_id = belay_slice_z("8dae695a6fa343ea6d6132b7eedd49d8"),
        .method = belay_slice_z("GET"),
        .endpoint = belay_slice_z("/orders/{}"),
        .target = belay_slice_z("orders"),
        .time = {START_MS * BELAY_NS_PER_MS},
        .attempt = number,
        .line = 100 + number,
        .elapsed_ms = elapsed_ms,
        .remaining_ms = remaining_ms,
        .decision = BELAY_DECISION_RETRY,
        .reason = BELAY_REASON_BACKOFF,
    };
}

static void set_wait(struct inspect_record *record, int64_t ms, enum belay_wait_source source)
{
    record->present |= INSPECT_BIT(INSPECT_WAIT) | INSPECT_BIT(INSPECT_WAIT_SOURCE);
    record->wait_ms = ms;
    record->wait_source = source;
}

const struct inspect_timeline *sample_timeline(void)
{
    static struct inspect_timeline timeline;
    struct inspect_record records[] = {
        attempt(3, 48, 1150), attempt(1, 12, 2000), attempt(2, 250, 1900), {0}};
    records[0].status = 200;
    records[0].decision = BELAY_DECISION_RETURN;
    records[0].reason = BELAY_REASON_SUCCESS;
    records[1].status = 503;
    set_wait(&records[1], 62, BELAY_WAIT_BACKOFF);
    records[2].error = BELAY_ERROR_TIMEOUT;
    records[2].phase = BELAY_PHASE_HEADERS;
    records[2].present |= INSPECT_BIT(INSPECT_PHASE) | INSPECT_BIT(INSPECT_RETRY_AFTER);
    records[2].retry_after_ms = 500;
    set_wait(&records[2], 500, BELAY_WAIT_RETRY_AFTER);
    records[3] = (struct inspect_record){
        .kind = INSPECT_OPERATION,
        .present = INSPECT_BIT(INSPECT_OPERATION_ID) | INSPECT_BIT(INSPECT_RESULT) |
                   INSPECT_BIT(INSPECT_ANSWER) | INSPECT_BIT(INSPECT_ATTEMPTS) |
                   INSPECT_BIT(INSPECT_ELAPSED),
        .operation_id = belay_slice_z("8dae695a6fa343ea6d6132b7eedd49d8"),
        .result_status = 200,
        .answer = 200,
        .attempts = 3,
        .elapsed_ms = 899};
    inspect_timeline_init(&timeline, "8dae695a6fa343ea6d6132b7eedd49d8");
    for (size_t i = 0; i < COUNT(records); i++)
        assert_true(inspect_timeline_add(&timeline, &records[i]));
    inspect_timeline_arrange(&timeline);
    return &timeline;
}

/* ---- what was written ---- */

static char *written;
static size_t written_bytes;

static FILE *begin(void)
{
    free(written);
    FILE *to = open_memstream(&written, &written_bytes);
    assert_non_null(to);
    return to;
}

static const char *end(FILE *to)
{
    assert_int_equal(fclose(to), 0);
    return written;
}

const char *sample_text(const struct inspect_report *report,
                        const struct inspect_timeline *timeline, const struct inspect_style *style)
{
    FILE *to = begin();
    inspect_write_text(to, report, timeline, style);
    return end(to);
}

const char *sample_json(const struct inspect_report *report,
                        const struct inspect_timeline *timeline)
{
    FILE *to = begin();
    inspect_write_json(to, report, timeline);
    return end(to);
}

const char *sample_html(const struct inspect_report *report,
                        const struct inspect_timeline *timeline)
{
    FILE *to = begin();
    inspect_write_html(to, report, timeline, "events<1>.ndjson");
    return end(to);
}

void sample_expect(const char *name, const char *text)
{
    char path[512];
    (void)snprintf(path, sizeof path, GOLDEN "/%s", name);
    if (getenv("BELAY_GOLDEN")) {
        FILE *to = fopen(path, "w");
        assert_non_null(to);
        assert_true(fputs(text, to) >= 0);
        assert_int_equal(fclose(to), 0);
        return;
    }
    FILE *from = fopen(path, "r");
    assert_non_null(from);
    char *expected = calloc(1, 1 << 20);
    assert_non_null(expected);
    (void)fread(expected, 1, (1 << 20) - 1, from);
    (void)fclose(from);
    assert_string_equal(text, expected);
    free(expected);
}
