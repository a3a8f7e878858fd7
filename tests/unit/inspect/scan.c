/* scan.c: a record is found wherever a line carries it, and everything that is wrong is named. */
#include "test.h"

#include "inspect/reader.h"

#include <belay/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool scan_n(const char *text, size_t length, struct inspect_record *record, bool *junk)
{
    static char line[65536];
    assert_true(length < sizeof line);
    memcpy(line, text, length);
    return inspect_scan(line, length, record, junk);
}

static struct inspect_record found(const char *text)
{
    struct inspect_record record;
    bool junk = false;
    if (!scan_n(text, strlen(text), &record, &junk)) fail_msg("no record in: %s", text);
    assert_false(junk);
    return record;
}

static void other(const char *text)
{
    struct inspect_record record;
    bool junk = false;
    if (scan_n(text, strlen(text), &record, &junk)) fail_msg("kind %d in: %s", record.kind, text);
    if (junk) fail_msg("junk: %s", text);
}

static void junk(const char *text)
{
    struct inspect_record record;
    bool is_junk = false;
    assert_false(scan_n(text, strlen(text), &record, &is_junk));
    assert_true(is_junk);
}

#define assert_slice(slice, text)                                                                  \
    do {                                                                                           \
        struct belay_slice seen = (slice);                                                         \
        assert_int_equal(seen.length, strlen(text));                                               \
        assert_memory_equal(seen.data, text, strlen(text));                                        \
    } while (0)

#define ATTEMPT                                                                                    \
    "{\"v\":1,\"time\":\"2026-01-06T12:00:00.123Z\",\"operationId\":\"op-1\","                     \
    "\"requestId\":\"op-1/attempt-2\",\"attempt\":2,\"method\":\"GET\",\"target\":\"orders\","     \
    "\"route\":\"/orders/{id}\",\"endpoint\":\"/orders/{id}\",\"status\":null,"                    \
    "\"errorClass\":\"timeout\",\"phase\":\"headers\",\"sent\":\"sent\",\"elapsedMs\":300,"        \
    "\"remainingMs\":1480,\"retryAfterMs\":1000,\"decision\":\"retry\",\"reason\":\"backoff\","    \
    "\"waitMs\":260,\"waitSource\":\"backoff\",\"reused\":true,\"stale\":true,"                    \
    "\"traceId\":\"4bf92f3577b34da6a3ce929d0e0e4736\",\"spanId\":\"00f067aa0ba902b7\"}"
#define OPERATION                                                                                  \
    "{\"v\":1,\"event\":\"operation\",\"operationId\":\"op-1\",\"result\":{\"status\":\"stop\"},"  \
    "\"answer\":504,\"effect\":\"unknown\",\"attempts\":3,\"elapsedMs\":80,\"fallback\":"          \
    "\"stale\"}"

static void assert_attempt(const struct inspect_record *r)
{
    assert_int_equal(r->kind, INSPECT_ATTEMPT);
    assert_int_equal(r->wrong_type | r->wrong_word | r->repeated | r->secret | r->full_url, 0);
    assert_int_equal(r->time.ns, INT64_C(1767700800123000000));
    assert_slice(r->operation_id, "op-1");
    assert_slice(r->request_id, "op-1/attempt-2");
    assert_int_equal(r->attempt, 2);
    assert_slice(r->method, "GET");
    assert_slice(r->target, "orders");
    assert_slice(r->route, "/orders/{id}");
    assert_slice(r->endpoint, "/orders/{id}");
    assert_int_equal(r->status, 0);
    assert_true(r->present & INSPECT_BIT(INSPECT_STATUS));
    assert_int_equal(r->error, BELAY_ERROR_TIMEOUT);
    assert_int_equal(r->phase, BELAY_PHASE_HEADERS);
    assert_int_equal(r->sent, BELAY_SENT);
    assert_int_equal(r->elapsed_ms, 300);
    assert_int_equal(r->remaining_ms, 1480);
    assert_int_equal(r->retry_after_ms, 1000);
    assert_int_equal(r->decision, BELAY_DECISION_RETRY);
    assert_int_equal(r->reason, BELAY_REASON_BACKOFF);
    assert_int_equal(r->wait_ms, 260);
    assert_int_equal(r->wait_source, BELAY_WAIT_BACKOFF);
    assert_true(r->reused && r->stale);
    assert_slice(r->trace_id, "4bf92f3577b34da6a3ce929d0e0e4736");
    assert_slice(r->span_id, "00f067aa0ba902b7");
}

static void attempt_line(void **state)
{
    (void)state;
    struct inspect_record r = found(ATTEMPT);
    assert_attempt(&r);
    assert_false(r.foreign_fields);
}

static void operation_line(void **state)
{
    (void)state;
    struct inspect_record r = found(OPERATION);
    assert_int_equal(r.kind, INSPECT_OPERATION);
    assert_int_equal(r.wrong_type | r.wrong_word, 0);
    assert_slice(r.result_word, "stop");
    assert_int_equal(r.result_status, 0);
    assert_int_equal(r.answer, 504);
    assert_int_equal(r.effect, BELAY_EFFECT_UNKNOWN);
    assert_int_equal(r.attempts, 3);
    assert_slice(r.fallback, "stale");
    r = found("{\"event\":\"operation\",\"operationId\":\"o\",\"result\":{ \"x\":[1], \"status\" : "
              "200 }}");
    assert_int_equal(r.result_status, 200);
    r = found("{\"v\":1,\"event\":\"lost\",\"records\":7}");
    assert_int_equal(r.kind, INSPECT_LOST);
    assert_int_equal(r.records, 7);
}

/* Every way in which loggers carry an event of ours. */
static void wrapped_lines(void **state)
{
    (void)state;
    static const char *const LINES[] = {
        "2026-01-06T12:00:00Z app[1]: " ATTEMPT,
        "Jan  6 12:00:00 host belay[12]: {ctx} {\"a\":1} " ATTEMPT " trailing words",
        "{\"level\":\"info\",\"event\":" ATTEMPT "}",
        "{\"event\":" ATTEMPT ",\"level\":\"info\"}",
        "{\"msg\":" ATTEMPT ",\"operationId\":\"of-the-wrapper\"}",
        "{\"a\":{\"b\":{\"c\":" ATTEMPT "}}}",
        "{\"items\":[1,{\"x\":2}," ATTEMPT "]}",
        "  \t" ATTEMPT "  \r",
        "2026-01-06T12:00:00.1Z stdout F " ATTEMPT,
        "{\"torn\":\"li{\"v\":1,\"oper" ATTEMPT,
    };
    for (size_t i = 0; i < sizeof LINES / sizeof LINES[0]; i++) {
        struct inspect_record r = found(LINES[i]);
        assert_attempt(&r);
    }
}

/* Puts text in a JSON string, as a logger does that takes the line for text. */
static void quote(const char *text, char *out)
{
    for (; *text; text++) {
        if (*text == '"' || *text == '\\') *out++ = '\\';
        *out++ = *text;
    }
    *out = '\0';
}

static void strings_that_hold_records(void **state)
{
    (void)state;
    static char once[4096], twice[8192], line[16384];
    quote(ATTEMPT, once);
    (void)snprintf(line, sizeof line, "{\"log\":\"%s\\n\",\"stream\":\"stdout\"}", once);
    struct inspect_record r = found(line);
    assert_attempt(&r);
    (void)snprintf(line, sizeof line, "{\"PRIORITY\":\"6\",\"MESSAGE\":\"app[1]: %s\"}", once);
    r = found(line);
    assert_attempt(&r);
    (void)snprintf(line, sizeof line, "{\"message\":\"%s\"}", once);
    quote(line, twice);
    (void)snprintf(line, sizeof line, "{\"log\":\"%s\"}", twice);
    r = found(line);
    assert_attempt(&r);
}

static void flat_wrappers(void **state)
{
    (void)state;
    struct inspect_record r = found("{\"level\":\"info\",\"ts\":1.5,\"caller\":\"a.go:12\"," /* */
                                    "\"operationId\":\"o\",\"attempt\":1,\"decision\":\"return\","
                                    "\"status\":200,\"errorClass\":null,\"tags\":[\"a\",{}]}");
    assert_int_equal(r.kind, INSPECT_ATTEMPT);
    assert_true(r.foreign_fields);
    assert_false(r.foreign_secret || r.foreign_full_url);
    assert_int_equal(r.error, BELAY_ERROR_NONE);
    assert_true(r.present & INSPECT_BIT(INSPECT_ERROR_CLASS));
}

static void other_writers(void **state)
{
    (void)state;
    struct inspect_record r = found(
        "{ \"decision\" : \"re\\u0074urn\" , \"elapsedMs\":80.0, \"remainingMs\":1e2,"
        "\"waitMs\":1.50e1,\"status\":2.0E2,\"op\\u0065rationId\":\"\\u00fc\\ud83d\\ude00/\\/\","
        "\"phase\":null}");
    assert_int_equal(r.decision, BELAY_DECISION_RETURN);
    assert_int_equal(r.elapsed_ms, 80);
    assert_int_equal(r.remaining_ms, 100);
    assert_int_equal(r.wait_ms, 15);
    assert_int_equal(r.status, 200);
    assert_slice(r.operation_id, "\xc3\xbc\xf0\x9f\x98\x80//");
    assert_int_equal(r.wrong_type | r.wrong_word, 0);
    assert_false(r.present & INSPECT_BIT(INSPECT_PHASE));
}

/* One attempt with this value for this field: its bit is in `wrong_type`, and the record stands. */
static void wrong_values(void **state)
{
    (void)state;
    static const struct {
        const char *member;
        enum inspect_field field;
    } ROWS[] = {
        {"\"attempt\":\"2\"", INSPECT_ATTEMPT_NUMBER},
        {"\"attempt\":0", INSPECT_ATTEMPT_NUMBER},
        {"\"attempt\":-1", INSPECT_ATTEMPT_NUMBER},
        {"\"attempt\":1.5", INSPECT_ATTEMPT_NUMBER},
        {"\"attempt\":4294967296", INSPECT_ATTEMPT_NUMBER},
        {"\"attempt\":1e400", INSPECT_ATTEMPT_NUMBER},
        {"\"attempt\":1e-1", INSPECT_ATTEMPT_NUMBER},
        {"\"attempt\":[1]", INSPECT_ATTEMPT_NUMBER},
        {"\"attempt\":{\"n\":1}", INSPECT_ATTEMPT_NUMBER},
        {"\"attempt\":true", INSPECT_ATTEMPT_NUMBER},
        {"\"status\":99", INSPECT_STATUS},
        {"\"status\":600", INSPECT_STATUS},
        {"\"status\":\"200\"", INSPECT_STATUS},
        {"\"elapsedMs\":-1", INSPECT_ELAPSED},
        {"\"elapsedMs\":9223372036854775808", INSPECT_ELAPSED},
        {"\"elapsedMs\":99999999999999999999999999", INSPECT_ELAPSED},
        {"\"remainingMs\":\"12ms\"", INSPECT_REMAINING},
        {"\"time\":1767700800", INSPECT_TIME},
        {"\"time\":\"yesterday\"", INSPECT_TIME},
        {"\"time\":\"2026-02-30T00:00:00Z\"", INSPECT_TIME},
        {"\"requestId\":7", INSPECT_REQUEST_ID},
        {"\"requestId\":\"\"", INSPECT_REQUEST_ID},
        {"\"target\":\"\\ud800\"", INSPECT_TARGET},
        {"\"target\":\"\\udc00\\ud800\"", INSPECT_TARGET},
        {"\"target\":\"\\u0000\"", INSPECT_TARGET},
        {"\"target\":\"\\x\"", INSPECT_TARGET},
        {"\"target\":\"\xff\"", INSPECT_TARGET},
        {"\"target\":\"\xc0\x80\"", INSPECT_TARGET},
        {"\"target\":\"\xed\xa0\x80\"", INSPECT_TARGET},
        {"\"reused\":1", INSPECT_REUSED},
        {"\"v\":\"1\"", INSPECT_V},
        {"\"v\":0", INSPECT_V},
        {"\"result\":200", INSPECT_RESULT},
        {"\"result\":{}", INSPECT_RESULT},
        {"\"result\":{\"status\":9}", INSPECT_RESULT},
        {"\"decision\":3", INSPECT_DECISION},
    };
    for (size_t i = 0; i < sizeof ROWS / sizeof ROWS[0]; i++) {
        char line[512];
        (void)snprintf(line, sizeof line, "{\"operationId\":\"o\",\"decision\":\"return\",%s}",
                       ROWS[i].member);
        if (ROWS[i].field == INSPECT_DECISION)
            (void)snprintf(line, sizeof line, "{\"operationId\":\"o\",%s}", ROWS[i].member);
        struct inspect_record r = found(line);
        if (r.wrong_type != INSPECT_BIT(ROWS[i].field)) fail_msg("%s: %x", line, r.wrong_type);
        assert_false(r.present & INSPECT_BIT(ROWS[i].field));
    }
}

static void unknown_words(void **state)
{
    (void)state;
    static const struct {
        const char *member;
        enum inspect_field field;
    } ROWS[] = {
        {"\"errorClass\":\"ETIMEDOUT\"", INSPECT_ERROR_CLASS},
        {"\"errorClass\":\"none\"", INSPECT_ERROR_CLASS},
        {"\"errorClass\":\"\"", INSPECT_ERROR_CLASS},
        {"\"phase\":\"none\"", INSPECT_PHASE},
        {"\"sent\":\"yes\"", INSPECT_SENT},
        {"\"reason\":\"bad_luck\"", INSPECT_REASON},
        {"\"waitSource\":\"none\"", INSPECT_WAIT_SOURCE},
        {"\"effect\":\"maybe\"", INSPECT_EFFECT},
        {"\"result\":{\"status\":\"fine\"}", INSPECT_RESULT},
    };
    for (size_t i = 0; i < sizeof ROWS / sizeof ROWS[0]; i++) {
        char line[256];
        (void)snprintf(line, sizeof line, "{\"operationId\":\"o\",\"decision\":\"return\",%s}",
                       ROWS[i].member);
        struct inspect_record r = found(line);
        if (r.wrong_word != INSPECT_BIT(ROWS[i].field)) fail_msg("%s: %x", line, r.wrong_word);
        assert_int_equal(r.wrong_type, 0);
    }
}

static void repeated_names(void **state)
{
    (void)state;
    struct inspect_record r = found("{\"operationId\":\"a\",\"attempt\":1,\"attempt\":2,"
                                    "\"time\":5,\"time\":\"2026-01-06T12:00:00Z\"}");
    assert_int_equal(r.repeated, INSPECT_BIT(INSPECT_ATTEMPT_NUMBER) | INSPECT_BIT(INSPECT_TIME));
    assert_int_equal(r.attempt, 1);
    assert_int_equal(r.wrong_type, 0);
    assert_int_equal(r.time.ns, INT64_C(1767700800000000000));
}

static void unknown_kinds(void **state)
{
    (void)state;
    struct inspect_record r = found("{\"v\":2,\"operationId\":\"o\",\"attempt\":1}");
    assert_int_equal(r.kind, INSPECT_UNKNOWN);
    assert_true(r.other_version);
    r = found("{\"v\":1,\"event\":\"probe\",\"operationId\":\"o\"}");
    assert_int_equal(r.kind, INSPECT_UNKNOWN);
    assert_false(r.other_version);
    r = found("{\"v\":1,\"event\":\"state_check\",\"operationId\":\"o\"}");
    assert_int_equal(r.kind, INSPECT_STATE_CHECK);
}

static void merged_lines(void **state)
{
    (void)state;
    static const char *const LINES[] = {
        "request failed",
        "2026-01-06 12:00:00 ERROR Request failed: connection reset",
        "ERROR: call to orders timed out after 300 ms",
        "{\"level\":\"error\",\"msg\":\"request failed\"}",
        "{\"level\":\"error\",\"message\":\"HTTP request to orders failed\",\"url\":\"/x\"}",
        "{\"log\":\"request failed\\n\",\"stream\":\"stderr\"}",
        "{\"log\":\"{\\\"msg\\\":\\\"request failed\\\"}\\n\"}",
        "{\"operationId\":\"o\",\"requestId\":\"r\",\"attempt\":1,\"error\":\"it broke\"}",
        "{\"operationId\":\"o\",\"attempt\":1,\"errorClass\":\"connection reset by peer\"}",
        "{\"event\":\"request failed\",\"level\":\"error\"}",
    };
    for (size_t i = 0; i < sizeof LINES / sizeof LINES[0]; i++) {
        struct inspect_record r = found(LINES[i]);
        if (r.kind != INSPECT_MERGED) fail_msg("kind %d: %s", r.kind, LINES[i]);
    }
    struct inspect_record r = found(LINES[7]);
    assert_slice(r.operation_id, "o");
    assert_int_equal(r.attempt, 1);
}

/* Ordinary lines of ordinary programs. */
static void other_lines(void **state)
{
    (void)state;
    static const char *const LINES[] = {
        "",
        "server started on port 8080",
        "2026-01-06 GET /orders/{id} 200 12ms",
        "{\"level\":\"info\",\"msg\":\"listening\",\"time\":\"2026-01-06T12:00:00Z\"}",
        "{\"level\":\"info\",\"method\":\"GET\",\"status\":200,\"route\":\"/x\",\"msg\":\"done\"}",
        "{\"requestId\":\"abc\",\"status\":200,\"elapsedMs\":12,\"msg\":\"request completed\"}",
        "{\"v\":0,\"level\":30,\"name\":\"app\",\"pid\":1,\"time\":\"2026-01-06T12:00:00Z\"}",
        "{\"event\":\"user_login\",\"reason\":\"password ok\",\"target\":\"web\"}",
        "{\"event\":\"operation\",\"name\":\"backup\"}",
        "{\"event\":\"lost\",\"item\":\"umbrella\"}",
        "{\"attempt\":3,\"msg\":\"connecting to database\"}",
        "{\"decision\":\"approve\",\"user\":\"u\"}",
        "{\"operation_id\":\"o\",\"request_id\":\"r\",\"error_class\":\"timeout\"}",
        "{}",
        "[]",
        "{\"a\":{\"b\":[{\"c\":null}]}}",
        "the backup failed, nothing was called",
        "recall of products failed",
        "{not json} {\"still\": not}",
        "}}}}{{{{",
        "caf\xc3\xa9 {\"msg\":\"caf\xe9\"}",
    };
    for (size_t i = 0; i < sizeof LINES / sizeof LINES[0]; i++) other(LINES[i]);
}

static void broken_lines(void **state)
{
    (void)state;
    junk("{\"v\":1,\"operationId\":\"o\",\"attempt\":1,\"dec");
    junk("{\"operationId\":\"o\",\"attempt\":01}");
    junk("{\"operationId\":\"o\",\"target\":\"a\tb\"}");
    junk("{\"operationId\":\"o\" \"attempt\":1}");
    junk("\",\"errorClass\":null,\"elapsedMs\":1}");
    struct inspect_record record;
    bool is_junk = false;
    assert_false(scan_n("a\0b", 3, &record, &is_junk));
    assert_true(is_junk);
    is_junk = false;
    assert_false(scan_n("\x01\x02\xfe\xff", 4, &record, &is_junk));
    assert_true(is_junk);
}

/* Each prefix of a whole line is no record, and no prefix is read beyond its end. */
static void cut_at_every_byte(void **state)
{
    (void)state;
    static const char *const LINES[] = {ATTEMPT, OPERATION};
    for (size_t i = 0; i < 2; i++) {
        for (size_t length = 0; length < strlen(LINES[i]); length++) {
            struct inspect_record record;
            bool is_junk = false;
            char *exact = malloc(length ? length : 1);
            assert_non_null(exact);
            memcpy(exact, LINES[i], length);
            assert_false(inspect_scan(exact, length, &record, &is_junk));
            free(exact);
        }
    }
}

static void every_byte_changed(void **state)
{
    (void)state;
    for (size_t at = 0; at < strlen(ATTEMPT); at++) {
        for (int byte = 0; byte < 256; byte++) {
            struct inspect_record record;
            bool is_junk = false;
            char *line = strdup(ATTEMPT);
            assert_non_null(line);
            line[at] = (char)byte;
            (void)inspect_scan(line, strlen(ATTEMPT), &record, &is_junk);
            free(line);
        }
    }
}

static void deep_and_wide(void **state)
{
    (void)state;
    static char line[60000];
    struct inspect_record record;
    bool is_junk = false;
    memset(line, '[', sizeof line);
    memcpy(line, "{\"a\":", 5);
    assert_false(inspect_scan(line, sizeof line, &record, &is_junk));
    memset(line, '{', sizeof line);
    assert_false(inspect_scan(line, sizeof line, &record, &is_junk));
    for (size_t i = 0; i + 5 <= sizeof line; i += 5) memcpy(line + i, "{\"a\":", 5);
    assert_false(inspect_scan(line, sizeof line, &record, &is_junk));
    assert_false(is_junk);
}

static void secrets_and_urls(void **state)
{
    (void)state;
    struct inspect_record r =
        found("{\"operationId\":\"o\",\"decision\":\"stop\",\"endpoint\":\"/o?token=abc123\"}");
    assert_int_equal(r.full_url, INSPECT_BIT(INSPECT_ENDPOINT));
    assert_int_equal(r.secret, INSPECT_BIT(INSPECT_ENDPOINT));
    assert_slice(r.suspect, "endpoint");
    r = found(
        "{\"operationId\":\"o\",\"decision\":\"stop\",\"target\":\"https:\\/\\/shop.example/a\"}");
    assert_int_equal(r.full_url, INSPECT_BIT(INSPECT_TARGET));
    assert_int_equal(r.secret, 0);
    r = found(
        "{\"operationId\":\"o\",\"decision\":\"stop\",\"headers\":{\"password\":\"hunter2\"}}");
    assert_true(r.foreign_secret);
    assert_slice(r.suspect, "password");
    r = found("{\"operationId\":\"o\",\"decision\":\"stop\",\"url\":\"https://shop.example/a\"}");
    assert_true(r.foreign_full_url);
    assert_slice(r.suspect, "url");
    r = found("{\"event\":" ATTEMPT ",\"schema_url\":\"https://opentelemetry.io/schemas/1.21.0\"}");
    assert_false(r.foreign_full_url || r.foreign_secret);
    r = found("{\"msg\":\"request failed: https://u:pw@h/?x=1\"}");
    assert_true(r.foreign_full_url && r.foreign_secret);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(attempt_line),       cmocka_unit_test(operation_line),
        cmocka_unit_test(wrapped_lines),      cmocka_unit_test(strings_that_hold_records),
        cmocka_unit_test(flat_wrappers),      cmocka_unit_test(other_writers),
        cmocka_unit_test(wrong_values),       cmocka_unit_test(unknown_words),
        cmocka_unit_test(repeated_names),     cmocka_unit_test(unknown_kinds),
        cmocka_unit_test(merged_lines),       cmocka_unit_test(other_lines),
        cmocka_unit_test(broken_lines),       cmocka_unit_test(cut_at_every_byte),
        cmocka_unit_test(every_byte_changed), cmocka_unit_test(deep_and_wide),
        cmocka_unit_test(secrets_and_urls),
    };
    return cmocka_run_group_tests_name("scan", tests, NULL, NULL);
}
