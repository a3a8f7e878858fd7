/* contract.c: what a stream lacks is named, with its first line; a whole one lacks nothing. */
#include "test.h"

#include "inspect/contract.h"

#include <stdlib.h>
#include <string.h>

static struct inspect_contract *contract;
static uint64_t line;

static int begin(void **state)
{
    (void)state;
    contract = inspect_contract_create();
    line = 0;
    return contract ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    inspect_contract_destroy(contract);
    return 0;
}

static void add(const char *text)
{
    struct inspect_record record;
    bool junk = false;
    char *copy = strdup(text);
    assert_non_null(copy);
    if (!inspect_scan(copy, strlen(copy), &record, &junk)) fail_msg("no record: %s", text);
    record.line = ++line;
    inspect_contract_add(contract, &record);
    free(copy);
}

static const struct inspect_contract_result *result(void)
{
    return inspect_contract_result(contract, NULL);
}

/* The lack of this rule, and of this field unless NULL; fails when it is not there. */
static struct inspect_lack lacking(enum inspect_lack_rule rule, const char *field)
{
    const struct inspect_contract_result *all = result();
    for (size_t i = 0; i < all->count; i++) {
        const struct inspect_lack *lack = &all->lacks[i];
        if (lack->rule == rule && (!field || (lack->field && strcmp(field, lack->field) == 0)))
            return *lack;
    }
    fail_msg("%s %s is not found", inspect_lack_name(rule), field ? field : "");
    return all->lacks[0];
}

#define HEAD "{\"v\":1,\"time\":\"2026-01-06T12:00:00Z\",\"operationId\":\"o\","
#define MIDDLE "\"method\":\"GET\",\"target\":\"t\",\"sent\":\"answered\",\"elapsedMs\":1,"
#define RETRIED                                                                                    \
    HEAD "\"requestId\":\"o/attempt-1\",\"attempt\":1,\"status\":null,\"errorClass\":\"timeout\"," \
         "\"phase\":\"headers\",\"remainingMs\":9," MIDDLE                                         \
         "\"decision\":\"retry\",\"reason\":\"backoff\",\"waitMs\":3,\"waitSource\":\"backoff\"}"
#define RETURNED                                                                                   \
    HEAD "\"requestId\":\"o/attempt-2\",\"attempt\":2,\"status\":200,\"errorClass\":null,"         \
         "\"remainingMs\":5," MIDDLE "\"decision\":\"return\",\"reason\":\"success\"}"
#define ENDED                                                                                      \
    HEAD "\"event\":\"operation\",\"target\":\"t\",\"result\":{\"status\":200},\"attempts\":2,"    \
         "\"elapsedMs\":7}"

static void a_whole_stream(void **state)
{
    (void)state;
    add(RETRIED);
    add(RETURNED);
    add(ENDED);
    add("{\"v\":1,\"event\":\"lost\",\"records\":3}");
    const struct inspect_contract_result *all = result();
    assert_int_equal(all->count, 0);
    assert_true(all->ok);
    assert_int_equal(all->attempts, 2);
    assert_int_equal(all->operations, 1);
    assert_int_equal(all->lost, 1);
}

static void nothing(void **state)
{
    (void)state;
    assert_false(result()->ok);
    assert_true(lacking(INSPECT_LACK_NOTHING, NULL).required);
}

static void missing_fields(void **state)
{
    (void)state;
    add(RETRIED);
    add("{\"operationId\":\"o\",\"attempt\":2,\"status\":200,\"decision\":\"retry\"}");
    static const char *const REQUIRED[] = {"requestId", "method", "errorClass", "elapsedMs",
                                           "remainingMs"};
    for (size_t i = 0; i < sizeof REQUIRED / sizeof REQUIRED[0]; i++) {
        struct inspect_lack lack = lacking(INSPECT_LACK_MISSING, REQUIRED[i]);
        assert_true(lack.required);
        assert_int_equal(lack.count, 1);
        assert_int_equal(lack.of, 2);
        assert_int_equal(lack.line, 2);
        assert_string_equal(lack.record, "attempt");
    }
    static const char *const ADVISED[] = {"v",      "time",   "target",    "sent",
                                          "reason", "waitMs", "waitSource"};
    for (size_t i = 0; i < sizeof ADVISED / sizeof ADVISED[0]; i++) {
        assert_false(lacking(INSPECT_LACK_MISSING, ADVISED[i]).required);
    }
    assert_false(result()->ok);
}

static void advice_alone_is_ok(void **state)
{
    (void)state;
    add("{\"operationId\":\"o\",\"requestId\":\"r1\",\"attempt\":1,\"method\":\"GET\","
        "\"status\":200,\"errorClass\":null,\"elapsedMs\":1,\"remainingMs\":2,"
        "\"decision\":\"return\"}");
    add("{\"event\":\"operation\",\"operationId\":\"o\",\"result\":{\"status\":200},"
        "\"attempts\":1,\"elapsedMs\":2}");
    assert_false(lacking(INSPECT_LACK_REQUEST_ID, NULL).required);
    assert_true(result()->ok);
}

static void wrong_values(void **state)
{
    (void)state;
    add(HEAD "\"attempt\":\"1\",\"status\":200,\"errorClass\":\"boom\",\"decision\":\"retry\","
             "\"decision\":\"stop\"}");
    assert_int_equal(lacking(INSPECT_LACK_TYPE, "attempt").line, 1);
    assert_int_equal(lacking(INSPECT_LACK_WORD, "errorClass").line, 1);
    assert_int_equal(lacking(INSPECT_LACK_REPEATED, "decision").line, 1);
}

static void both_and_neither(void **state)
{
    (void)state;
    add("{\"operationId\":\"a\",\"status\":503,\"errorClass\":\"reset\"}");
    assert_int_equal(lacking(INSPECT_LACK_BOTH, NULL).count, 1);
    add("{\"operationId\":\"a\",\"status\":null,\"errorClass\":null}");
    assert_int_equal(lacking(INSPECT_LACK_NEITHER, NULL).line, 2);
}

/* In either order; an operation that a gate ended while it waited lacks nothing. */
static void operation_records(void **state)
{
    (void)state;
    add(ENDED);
    add(RETURNED);
    add("{\"operationId\":\"gate\",\"attempt\":1,\"decision\":\"retry\"}");
    add("{\"event\":\"operation\",\"operationId\":\"gate\",\"attempts\":1,"
        "\"result\":{\"status\":\"not_before\"}}");
    for (size_t i = 0; i < result()->count; i++) {
        assert_int_not_equal(result()->lacks[i].rule, INSPECT_LACK_OPERATION);
    }
    add("{\"operationId\":\"alone\",\"attempt\":1,\"decision\":\"stop\"}");
    struct inspect_lack lack = lacking(INSPECT_LACK_OPERATION, NULL);
    assert_int_equal(lack.count, 1);
    assert_int_equal(lack.line, 5);
}

/* Every operation's record comes much later, in another order: the table closes its gaps. */
static void many_operations(void **state)
{
    (void)state;
    char text[128];
    for (unsigned round = 0; round < 2; round++) {
        for (unsigned i = 0; i < 20000; i++) {
            unsigned id = round ? i * 7919 % 20000 : i;
            (void)snprintf(text, sizeof text,
                           round ? "{\"event\":\"operation\",\"operationId\":\"%u\",\"attempts\":1}"
                                 : "{\"operationId\":\"%u\",\"attempt\":1,\"decision\":\"stop\"}",
                           id);
            if (round == 0 || id != 77) add(text);
        }
    }
    struct inspect_lack lack = lacking(INSPECT_LACK_OPERATION, NULL);
    assert_int_equal(lack.count, 1);
    assert_int_equal(lack.line, 78);
    assert_true(lack.required);
}

/* A log that is still being written. */
static void an_end_without_its_record(void **state)
{
    (void)state;
    char text[128];
    for (unsigned i = 0; i < 20; i++) {
        (void)snprintf(text, sizeof text,
                       "{\"operationId\":\"%u\",\"attempt\":1,\"decision\":\"stop\"}", i);
        add(text);
        (void)snprintf(text, sizeof text,
                       "{\"event\":\"operation\",\"operationId\":\"%u\",\"attempts\":1}", i);
        if (i < 19) add(text);
    }
    assert_int_equal(lacking(INSPECT_LACK_OPERATION, NULL).count, 1);
    assert_false(lacking(INSPECT_LACK_OPERATION, NULL).required);
}

static void lines_that_are_no_events(void **state)
{
    (void)state;
    add("request failed");
    add("{\"v\":9,\"operationId\":\"o\",\"attempt\":1}");
    add("{\"v\":1,\"event\":\"party\"}");
    add("{\"operationId\":\"o\",\"attempt\":1,\"decision\":\"stop\",\"url\":\"/a?token=abcd\"}");
    assert_int_equal(lacking(INSPECT_LACK_MERGED, NULL).line, 1);
    assert_int_equal(lacking(INSPECT_LACK_VERSION, NULL).line, 2);
    assert_int_equal(lacking(INSPECT_LACK_EVENT, NULL).line, 3);
    assert_int_equal(lacking(INSPECT_LACK_FULL_URL, NULL).line, 4);
    assert_int_equal(lacking(INSPECT_LACK_SECRET, NULL).line, 4);
    struct inspect_reading reading = {.junk_lines = 2};
    assert_int_equal(inspect_contract_result(contract, &reading)->others, 3);
    const struct inspect_contract_result *all = inspect_contract_result(contract, &reading);
    assert_int_equal(all->lacks[all->count - 1].rule, INSPECT_LACK_JUNK);
}

static char *written(void (*write)(const struct inspect_contract_result *, FILE *))
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    assert_non_null(out);
    write(result(), out);
    assert_int_equal(fclose(out), 0);
    return text;
}

static void shown(void **state)
{
    (void)state;
    add(RETURNED);
    char *text = written(inspect_contract_write_text);
    assert_string_equal(text, "1 attempts, 0 operations, 0 notes of lost records, 0 others\n"
                              "  required operation: operations ended without their "
                              "\"event\":\"operation\" record: 1 (line 1)\n"
                              "not ok: 1 thing to mend\n");
    free(text);
    text = written(inspect_contract_write_json);
    assert_string_equal(text, "{\"ok\":false,\"attempts\":1,\"operations\":0,\"lost\":0,"
                              "\"others\":0,\"lacks\":[{\"rule\":\"no_operation_record\","
                              "\"record\":\"operation\",\"field\":null,\"required\":true,"
                              "\"count\":1,\"of\":0,\"line\":1}]}\n");
    free(text);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_whole_stream),           TEST(nothing),         TEST(missing_fields),
        TEST(advice_alone_is_ok),       TEST(wrong_values),    TEST(both_and_neither),
        TEST(operation_records),        TEST(many_operations), TEST(an_end_without_its_record),
        TEST(lines_that_are_no_events), TEST(shown),
    };
    return cmocka_run_group_tests_name("contract", tests, NULL, NULL);
}
