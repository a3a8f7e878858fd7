/* storm.c: random logs of the real engine, shuffled, cut, merged and wrapped: never an anomaly; and
 * each anomaly planted in one of them: always found, in any order of the lines. */
#include "stream.h"

#include "test.h"

#define ROUNDS 150

static const struct inspect_limits limits = {
    .open_max = 100000, .budget_percent = 10, .budget_burst = 10};

static void make_log(struct rng *rng, struct stream *stream, const char *name, bool with_times)
{
    struct stream_world world = {.rng = rng,
                                 .stream = stream,
                                 .policy = belay_policy_default(),
                                 .name = name,
                                 .with_times = with_times,
                                 .wall_ns = INT64_C(1800000000) * BELAY_NS_PER_S,
                                 .trouble_percent = (unsigned)test_below(rng, 50)};
    struct belay_policy *policy = &world.policy;
    policy->deadline_for = belay_span_ms(200 + (int64_t)test_below(rng, 2000));
    policy->attempts_max = 2 + (uint32_t)test_below(rng, 4);
    policy->backoff.kind = test_chance(rng, 50) ? BELAY_BACKOFF_FULL : BELAY_BACKOFF_ADDITIVE;
    policy->backoff.base = belay_span_ms(1 + (int64_t)test_below(rng, 100));
    policy->bulkhead.max = 2 + (uint32_t)test_below(rng, 30);
    policy->bulkhead.queue = (uint32_t)test_below(rng, 10);
    stream_run(&world, 100 + (unsigned)test_below(rng, 100), 5000);
}

static unsigned anomalies(const struct inspect_report *report, enum inspect_anomaly_kind *which)
{
    unsigned kinds = 0;
    for (unsigned kind = 0; kind < INSPECT_ANOMALY_COUNT; kind++) {
        if (report->anomalies[kind].count == 0) continue;
        *which = (enum inspect_anomaly_kind)kind;
        kinds++;
    }
    return kinds;
}

static void print_log(const struct stream *stream, const char *id)
{
    for (size_t i = 0; i < stream->count; i++) {
        if (id[0] &&
            (strstr(stream->lines[i].text, id) || strstr(stream->lines[i].text, "another")))
            printf("%zu %s\n", i + 1, stream->lines[i].text);
    }
}

static void check_clean(const struct stream *stream, const char *what)
{
    struct inspect_collector *collector;
    const struct inspect_report *report = stream_report(stream, &limits, &collector);
    enum inspect_anomaly_kind kind;
    if (anomalies(report, &kind) > 0) {
        const struct inspect_anomaly *anomaly = &report->anomalies[kind];
        print_log(stream, anomaly->operation_ids[0]);
        fail_msg("%s: %s: %s: %s", what, inspect_advice(kind)->name, anomaly->operation_ids[0],
                 anomaly->detail[0]);
    }
    inspect_collector_destroy(collector);
}

static void test_clean(void **state)
{
    struct rng rng = test_rng("clean");
    (void)state;
    for (unsigned round = 0; round < ROUNDS; round++) {
        struct stream stream = {0};
        make_log(&rng, &stream, "t", test_chance(&rng, 70));
        check_clean(&stream, "as written");
        if (test_chance(&rng, 30)) stream_wrap(&stream, &rng);
        stream_shuffle(&stream, &rng);
        check_clean(&stream, "reordered");
        stream_end(&stream);
    }
}

static void test_cut(void **state)
{
    struct rng rng = test_rng("cut");
    (void)state;
    for (unsigned round = 0; round < ROUNDS; round++) {
        struct stream stream = {0};
        make_log(&rng, &stream, "t", true);
        stream_cut(&stream, (size_t)test_below(&rng, stream.count / 2),
                   (size_t)test_below(&rng, stream.count / 2));
        check_clean(&stream, "cut");
        stream_shuffle(&stream, &rng);
        check_clean(&stream, "cut and reordered");
        stream_end(&stream);
    }
}

static int by_time(const void *left, const void *right)
{
    const struct stream_line *a = left, *b = right;
    return a->at_ms < b->at_ms ? -1 : a->at_ms > b->at_ms;
}

/* Two daemons in front of one target, each with a budget of its own. */
static void test_merged(void **state)
{
    struct rng rng = test_rng("merged");
    (void)state;
    for (unsigned round = 0; round < ROUNDS; round++) {
        struct stream stream = {0};
        make_log(&rng, &stream, "t", true);
        make_log(&rng, &stream, "t", true);
        check_clean(&stream, "one after the other");
        qsort(stream.lines, stream.count, sizeof *stream.lines, by_time);
        stream_cut(&stream, (size_t)test_below(&rng, stream.count / 2),
                   (size_t)test_below(&rng, stream.count / 2));
        check_clean(&stream, "by time, cut");
        stream_end(&stream);
    }
}

/* The same counts, whatever the order and however often a line was delivered. */
static void test_totals(void **state)
{
    struct rng rng = test_rng("totals");
    (void)state;
    for (unsigned round = 0; round < ROUNDS / 5; round++) {
        struct stream stream = {0};
        struct inspect_collector *first, *second;
        make_log(&rng, &stream, "t", true);
        struct inspect_target want = stream_report(&stream, &limits, &first)->targets[0];
        for (unsigned again = 0; again < 20; again++) {
            size_t at = (size_t)test_below(&rng, stream.count);
            (void)stream_insert(&stream, stream.count, stream.lines[at].text);
        }
        stream_shuffle(&stream, &rng);
        struct inspect_target got = stream_report(&stream, &limits, &second)->targets[0];
        assert_string_equal(got.name, want.name);
        got.name = want.name;
        assert_memory_equal(&got, &want, sizeof got);
        inspect_collector_destroy(first);
        inspect_collector_destroy(second);
        stream_end(&stream);
    }
}

/* --- planting --- */

/* Puts `value` in place of what follows "key": in the line; the key may be new. */
static void set(struct stream_line *line, const char *key, const char *value)
{
    char text[BELAY_EVENT_BYTES_MAX + 256], name[64];
    (void)snprintf(name, sizeof name, "\"%s\":", key);
    char *at = strstr(line->text, name);
    if (at) {
        const char *old = at + strlen(name);
        size_t end = old[0] == '"' ? strcspn(old + 1, "\"") + 2 : strcspn(old, ",}");
        (void)snprintf(text, sizeof text, "%.*s%s%s%s", (int)(at - line->text), line->text, name,
                       value, at + strlen(name) + end);
    } else {
        (void)snprintf(text, sizeof text, "{%s%s,%s", name, value, line->text + 1);
    }
    free(line->text);
    line->text = strdup(text);
}

static int64_t number(const struct stream_line *line, const char *key)
{
    char name[64];
    (void)snprintf(name, sizeof name, "\"%s\":", key);
    const char *at = strstr(line->text, name);
    return at ? strtoll(at + strlen(name), NULL, 10) : -1;
}

static struct stream_line *line_of(struct stream *stream, const char *id, unsigned attempt)
{
    for (size_t i = 0; i < stream->count; i++) {
        struct stream_line *line = &stream->lines[i];
        if (strcmp(line->id, id) == 0 && line->attempt == attempt) return line;
    }
    return NULL;
}

static void drop(struct stream *stream, const char *id, unsigned attempt)
{
    struct stream_line *line = line_of(stream, id, attempt);
    if (line) stream_delete(stream, (size_t)(line - stream->lines));
}

/* An operation with at least `attempts` of which the first one failed in the ordinary way, in the
 * first half of the log; false: there is none. */
static bool choose(struct stream *stream, struct rng *rng, unsigned attempts,
                   char id[STREAM_ID_BYTES])
{
    size_t start = (size_t)test_below(rng, stream->count / 2);
    for (size_t i = 0; i < stream->count / 2; i++) {
        const struct stream_line *line = &stream->lines[(start + i) % (stream->count / 2)];
        if (line->attempt != 1 || strstr(line->text, "stale")) continue;
        if (line->at_ms < 1000 || !line_of(stream, line->id, attempts)) continue;
        if (line_of(stream, line->id, attempts + 1)) continue;
        if (attempts > 1 && number(line_of(stream, line->id, 2), "remainingMs") == 0) continue;
        memcpy(id, line->id, STREAM_ID_BYTES);
        return true;
    }
    return false;
}

static void set_number(struct stream_line *line, const char *key, int64_t value)
{
    char text[32];
    (void)snprintf(text, sizeof text, "%" PRId64, value);
    set(line, key, text);
}

/* One operation under two ids: its second attempt is the first one of another. */
static void split(struct stream *stream, const char *id)
{
    struct stream_line *second = line_of(stream, id, 2), *ending = line_of(stream, id, 0);
    char time[32];
    (void)snprintf(time, sizeof time, "%.26s", strstr(second->text, "\"time\":") + 7);
    set(ending, "time", time);
    set(second, "operationId", "\"another\"");
    set(second, "requestId", "\"another/attempt-1\"");
    set(second, "attempt", "1");
    set(ending, "operationId", "\"another\"");
    set(ending, "attempts", "1");
}

static void deliver_again(struct stream *stream, struct rng *rng, const char *id)
{
    char text[BELAY_EVENT_BYTES_MAX];
    (void)snprintf(text, sizeof text, "%s", line_of(stream, id, 1)->text);
    struct stream_line *line = stream_insert(stream, (size_t)test_below(rng, stream->count), text);
    if (test_chance(rng, 50)) set_number(line, "elapsedMs", number(line, "elapsedMs") + 1);
}

static void add_storm(struct stream *stream, char id[STREAM_ID_BYTES])
{
    for (unsigned i = 0; i < 60; i++) {
        char text[512];
        (void)snprintf(text, sizeof text,
                       "{\"operationId\":\"storm-%u\",\"attempt\":%u,\"method\":\"GET\","
                       "\"target\":\"t\",\"status\":503,\"errorClass\":null,\"elapsedMs\":1,"
                       "\"remainingMs\":%u,\"decision\":\"%s\"}",
                       i / 3, i % 3 + 1, 1000 - i % 3 * 200, i % 3 == 2 ? "stop" : "retry");
        (void)stream_insert(stream, stream->count, text);
    }
    id[0] = '\0'; /* any operation that was repeated shows it */
}

/* False: this log has nothing to plant it in. */
static bool plant(struct stream *stream, struct rng *rng, enum inspect_anomaly_kind kind,
                  char id[STREAM_ID_BYTES])
{
    unsigned attempts = kind == INSPECT_ATTEMPT_GAP ? 3 : 2;
    if (kind == INSPECT_MERGED_FIELDS || kind == INSPECT_STATUS_ERROR_CONFLICT ||
        kind == INSPECT_FULL_URL || kind == INSPECT_SECRET_IN_FIELD) {
        attempts = 1;
    }
    if (kind == INSPECT_OVER_BUDGET) {
        add_storm(stream, id);
        return true;
    }
    if (!choose(stream, rng, attempts, id)) return false;
    struct stream_line *first = line_of(stream, id, 1);
    char text[256];
    /* A trace of its own: among many like calls nobody can say which one goes on. */
    for (unsigned attempt = 0; attempt <= attempts; attempt++) {
        set(line_of(stream, id, attempt), "traceId", "\"00000000000000080000000000000001\"");
    }
    switch (kind) {
    case INSPECT_MERGED_FIELDS:
        (void)snprintf(text, sizeof text,
                       "{\"operationId\":\"%s\",\"attempt\":1,\"msg\":\"request failed\"}", id);
        free(first->text);
        first->text = strdup(text);
        return true;
    case INSPECT_CLOCK_MIXED:
        set_number(line_of(stream, id, 2), "remainingMs", number(first, "remainingMs") + 3);
        return true;
    case INSPECT_RETRY_WITHOUT_ATTEMPT:
        drop(stream, id, 2);
        drop(stream, id, 0);
        return true;
    case INSPECT_SPLIT_OPERATION: split(stream, id); return true;
    case INSPECT_DUPLICATE_REQUEST_ID: deliver_again(stream, rng, id); return true;
    case INSPECT_UNSAFE_RETRY:
        set(first, "method", "\"POST\"");
        set(first, "sent", "\"sent\"");
        set(first, "reason", test_chance(rng, 50) ? "null" : "\"effect_unknown\"");
        return true;
    case INSPECT_EARLY_RETRY:
        set_number(first, "retryAfterMs", number(first, "waitMs") + 1000);
        return true;
    case INSPECT_STATUS_ERROR_CONFLICT:
        set(first, "status", "503");
        set(first, "errorClass", "\"timeout\"");
        return true;
    case INSPECT_FULL_URL: set(first, "endpoint", "\"https://h.example/a?b=c\""); return true;
    case INSPECT_SECRET_IN_FIELD:
        set(first, "auth", "\"Bearer 0a9b8c7d6e5f4a3b2c1d0e9f8a7b6c5d\"");
        return true;
    case INSPECT_ATTEMPT_GAP: drop(stream, id, 1 + (unsigned)test_below(rng, 2)); return true;
    default: return false;
    }
}

static bool is_shown(const struct inspect_anomaly *anomaly, const char *id)
{
    for (size_t i = 0; i < anomaly->examples; i++) {
        if (strncmp(anomaly->operation_ids[i], id, strlen(id)) == 0) return true;
    }
    return false;
}

static void check_found(const struct stream *stream, enum inspect_anomaly_kind kind, const char *id)
{
    struct inspect_collector *collector;
    enum inspect_anomaly_kind which = kind;
    const struct inspect_report *report = stream_report(stream, &limits, &collector);
    if (!is_shown(&report->anomalies[kind], id)) {
        print_log(stream, id);
        fail_msg("%s is not found in %s", inspect_advice(kind)->name, id);
    }
    if (anomalies(report, &which) > 1) {
        print_log(stream, id);
        fail_msg("%s in %s: another kind too: %s: %s", inspect_advice(kind)->name, id,
                 inspect_advice(which)->name, report->anomalies[which].detail[0]);
    }
    inspect_collector_destroy(collector);
}

static void test_planted(void **state)
{
    struct rng rng = test_rng("planted");
    unsigned planted[INSPECT_ANOMALY_COUNT] = {0};
    (void)state;
    for (unsigned round = 0; round < ROUNDS * 2; round++) {
        enum inspect_anomaly_kind kind = (enum inspect_anomaly_kind)(round % INSPECT_ANOMALY_COUNT);
        struct stream stream = {0};
        char id[STREAM_ID_BYTES];
        make_log(&rng, &stream, "t", true);
        if (plant(&stream, &rng, kind, id)) {
            planted[kind]++;
            check_found(&stream, kind, id);
            stream_shuffle(&stream, &rng);
            check_found(&stream, kind, id);
        }
        stream_end(&stream);
    }
    for (unsigned kind = 0; kind < INSPECT_ANOMALY_COUNT; kind++) assert_true(planted[kind] > 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_clean),   cmocka_unit_test(test_cut),
        cmocka_unit_test(test_merged),  cmocka_unit_test(test_totals),
        cmocka_unit_test(test_planted),
    };
    return cmocka_run_group_tests_name("storm", tests, NULL, NULL);
}
