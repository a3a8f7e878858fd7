/* replay.c: the stories as golden files, the rules of the input, and its errors with their places.
 */
#include "app/replay.h"

#include "app/app.h"
#include "run.h"
#include "test.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *output, *errors;

/* JSON is written with single quotes here, to be read without a backslash before each. */
static char *quoted(const char *text)
{
    char *json = strdup(text);
    assert_non_null(json);
    for (char *at = json; *at; at++) {
        if (*at == '\'') *at = '"';
    }
    return json;
}

/* Replays a text; true when all of it was good. */
static bool replay(const char *text)
{
    size_t output_bytes, errors_bytes;
    char *json = quoted(text);
    free(output);
    free(errors);
    FILE *in = fmemopen(json, strlen(json), "r");
    FILE *out = open_memstream(&output, &output_bytes),
         *err = open_memstream(&errors, &errors_bytes);
    assert_non_null(in);
    bool good = replay_run(in, "case", out, err);
    (void)fclose(in);
    (void)fclose(out);
    (void)fclose(err);
    free(json);
    return good;
}

/* The nth line of the output as JSON, counted from 0. */
static json_t *line(size_t n)
{
    const char *at = output;
    for (; n > 0 && at; n--) at = strchr(at, '\n') + 1;
    json_t *record = json_loads(at, JSON_DISABLE_EOF_CHECK, NULL);
    assert_non_null(record);
    return record;
}

static void expect(size_t n, const char *key, const char *json)
{
    json_t *record = line(n);
    char *value = json_dumps(json_object_get(record, key), JSON_ENCODE_ANY | JSON_COMPACT);
    char *expected = quoted(json);
    assert_string_equal(value ? value : "absent", expected);
    free(expected);
    free(value);
    json_decref(record);
}

static int64_t number(size_t n, const char *key)
{
    json_t *record = line(n);
    int64_t value = json_integer_value(json_object_get(record, key));
    json_decref(record);
    return value;
}

static size_t lines(void)
{
    size_t count = 0;
    for (const char *at = output; *at; at++) count += *at == '\n';
    return count;
}

/* ---- golden files ---- */

static char *read_file(const char *name, const char *suffix)
{
    char path[512];
    static char content[1 << 18];
    snprintf(path, sizeof path, "%s/%s%s", GOLDEN, name, suffix);
    FILE *file = fopen(path, "r");
    if (!file) fail_msg("%s", path);
    content[fread(content, 1, sizeof content - 1, file)] = '\0';
    (void)fclose(file);
    return content;
}

static void test_golden(void **state)
{
    char *input = strdup(read_file(*state, ".json"));
    const char *expected = read_file(*state, ".ndjson");
    for (int twice = 0; twice < 2; twice++) {
        assert_true(replay(input));
        assert_string_equal(errors, "");
        assert_string_equal(output, expected);
    }
    free(input);
}

#define GOLDEN_TEST(name)                                                                          \
    {                                                                                              \
        "golden: " name, test_golden, NULL, NULL, (void *)(uintptr_t)name                          \
    }

/* ---- rules ---- */

static void test_defaults_are_3_attempts_400_ms_and_a_wait_of_40(void **state)
{
    (void)state;
    assert_true(replay(
        "{'operationId':'a','method':'GET','observations':["
        "{'status':503,'elapsedMs':1},{'status':503,'elapsedMs':1},{'status':503,'elapsedMs':1},"
        "{'status':200,'elapsedMs':1}]}"));
    assert_int_equal(lines(), 4);
    expect(0, "remainingMs", "400");
    expect(0, "waitMs", "40");
    expect(1, "remainingMs", "359");
    expect(2, "decision", "'max_attempts'");
    expect(3, "result", "{'status':'max_attempts'}");
}

static void test_no_event_has_a_time(void **state)
{
    (void)state;
    assert_true(
        replay("{'operationId':'a','method':'GET','observations':[{'status':200,'elapsedMs':1}]}"));
    expect(0, "time", "absent");
    expect(1, "time", "absent");
}

static void test_objects_may_span_lines_and_touch(void **state)
{
    (void)state;
    assert_true(
        replay("{'operationId':'a',\n'method':\n'GET'}{'operationId':'b','method':'GET'}\r\n\t\n"
               "{'operationId':'c','method':'GET'}"));
    assert_int_equal(lines(), 3);
    expect(2, "operationId", "'c'");
    assert_true(replay(" \n"));
    assert_string_equal(output, "");
}

static void test_errors_have_the_defaults_of_their_class(void **state)
{
    (void)state;
    static const char *const ROWS[][3] = {
        {"'errorClass':'dns'", "'unsent'", "'dns'"},
        {"'errorClass':'refused'", "'unsent'", "'connect'"},
        {"'errorClass':'timeout'", "'sent'", "absent"},
        {"'errorClass':'reset','phase':'tls'", "'unsent'", "'tls'"},
        {"'errorClass':'closed','phase':'body','sent':'answered'", "'answered'", "'body'"},
        {"'errorClass':'timeout','sent':'unsent'", "'unsent'", "absent"},
        {"'status':503,'errorClass':null,'sent':'answered'", "'answered'", "absent"},
    };
    for (size_t i = 0; i < sizeof ROWS / sizeof ROWS[0]; i++) {
        char text[300];
        snprintf(text, sizeof text,
                 "{'operationId':'a','method':'GET','observations':[{%s,'elapsedMs':1}]}",
                 ROWS[i][0]);
        assert_true(replay(text));
        expect(0, "sent", ROWS[i][1]);
        expect(0, "phase", ROWS[i][2]);
    }
}

static void test_an_attempt_timeout_cuts_an_observation(void **state)
{
    (void)state;
    assert_true(
        replay("{'operationId':'a','method':'GET','policy':{'attempt_timeout':'50ms'},"
               "'observations':[{'status':200,'elapsedMs':51},{'status':200,'elapsedMs':50}]}"));
    expect(0, "errorClass", "'timeout'");
    expect(0, "elapsedMs", "50");
    expect(1, "status", "200");
}

static void test_what_was_unsent_stays_so_when_it_is_cut(void **state)
{
    (void)state;
    assert_true(replay(
        "{'operationId':'a','method':'POST','policy':{'attempt_timeout':'50ms'},"
        "'observations':[{'errorClass':'refused','elapsedMs':60},{'status':200,'elapsedMs':1}]}"));
    expect(0, "errorClass", "'timeout'");
    expect(0, "phase", "'connect'");
    expect(0, "decision", "'retry'");
}

static void test_a_policy_has_the_names_and_units_of_a_configuration(void **state)
{
    (void)state;
    assert_true(
        replay("{'operationId':'a','method':'GET','policy':{'attempts':2,'deadline':'1s',"
               "'reserve':'100ms','backoff':{'kind':'none','base':'10ms'},'retry_on':[404,'reset'],"
               "'budget':{'ratio':'50%','burst':1},'breaker':'off','hold':'off','bulkhead':'off',"
               "'retry_when_owned':true},"
               "'observations':[{'status':404,'elapsedMs':1},{'status':503,'elapsedMs':1},"
               "{'status':200,'elapsedMs':1}]}"));
    expect(0, "remainingMs", "1000");
    expect(0, "waitMs", "10");
    expect(1, "reason", "'not_repeatable'");
}

static void test_what_is_said_outside_the_policy_goes_before_it(void **state)
{
    (void)state;
    assert_true(
        replay("{'operationId':'a','method':'GET','maxAttempts':1,'deadlineMs':50,'backoffMs':7,"
               "'policy':{'attempts':9,'deadline':'9s','backoff':{'base':'9s','max':'9s'}},"
               "'observations':[{'status':503,'elapsedMs':1},{'status':200,'elapsedMs':1}]}"));
    expect(0, "remainingMs", "50");
    expect(0, "decision", "'max_attempts'");
}

static void test_a_backoff_of_ones_own_starts_from_the_defaults(void **state)
{
    (void)state;
    assert_true(
        replay("{'operationId':'a','method':'GET','deadlineMs':9000,'policy':{'backoff':{}},"
               "'observations':[{'status':503,'elapsedMs':1},{'status':200,'elapsedMs':1}]}"));
    assert_true(number(0, "waitMs") >= 200 && number(0, "waitMs") <= 400);
}

static void test_the_seed_sets_the_dice(void **state)
{
    (void)state;
    int64_t waits[20];
    size_t different = 0;
    for (int seed = 0; seed < 20; seed++) {
        char text[300];
        snprintf(
            text, sizeof text,
            "{'operationId':'a','method':'GET','seed':%d,'deadlineMs':9000,'policy':{'backoff':"
            "{'kind':'full','base':'1s'}},'observations':[{'status':503,'elapsedMs':1},"
            "{'status':200,'elapsedMs':1}]}",
            seed);
        assert_true(replay(text));
        waits[seed] = number(0, "waitMs");
        assert_true(waits[seed] >= 0 && waits[seed] <= 1000);
        different += seed > 0 && waits[seed] != waits[0];
    }
    assert_true(different >= 18);
}

/* H73: every answer is 503, 1 000 requests at 100 a second: at most 0.1 x 1000 + 10 retries; and at
 * 1 a second. */
static void count_retries(int64_t every_ms, const char *breaker, int64_t *retries,
                          int64_t *in_ten_seconds)
{
    char *text = calloc(1000, 300), *at = text;
    for (int i = 0; i < 1000; i++) {
        at += snprintf(
            at, 300,
            "{'operationId':'op-%d','method':'GET','target':'t','startMs':%lld,'backoffMs':1,"
            "'policy':{%s},'observations':[{'status':503,'elapsedMs':1},{'status':503,'elapsedMs':"
            "1},"
            "{'status':503,'elapsedMs':1}]}\n",
            i, (long long)(i * every_ms), breaker);
    }
    assert_true(replay(text));
    free(text);
    int64_t per_window = 0, window = 0;
    *retries = *in_ten_seconds = 0;
    for (const char *from = output; (from = strstr(from, "\"requestId\":\"op-")); from++) {
        int64_t op = atoll(from + 16), attempt = atoll(strstr(from, "/attempt-") + 9);
        if (op * every_ms / 10000 != window) per_window = 0;
        window = op * every_ms / 10000;
        if (attempt == 1) continue;
        ++*retries;
        if (++per_window > *in_ten_seconds) *in_ten_seconds = per_window;
    }
}

static void test_retries_stay_within_the_budget(void **state)
{
    (void)state;
    int64_t retries, in_ten_seconds;
    count_retries(10, "'breaker':'off'", &retries, &in_ten_seconds);
    assert_true(retries > 0 && retries <= 110);
    count_retries(1000, "'breaker':'off'", &retries, &in_ten_seconds);
    assert_true(retries > 0 && retries <= 110 && in_ten_seconds <= 11);
    count_retries(10, "", &retries, &in_ten_seconds);
    assert_true(retries > 0 && retries <= 110);
}

/* ---- errors ---- */

#define HEAD "{'operationId':'a','method':'GET'"

static void test_errors_say_where_and_what(void **state)
{
    (void)state;
    static const char *const ROWS[][2] = {
        {"[1]", "case:1:1: expected an object"},
        {" x", "case:1:2: expected an object"},
        {"\xef\xbb\xbf{", "case:1:1: a byte order mark; JSON is UTF-8 without one"},
        {" \xef\xbb{", "case:1:2: expected an object"},
        {"{'a':1", "case:1:6: no valid JSON"},
        {HEAD ",\n'x':}", "case:2:5: no valid JSON"},
        {"{'method':'GET'}", "case:1:1: operationId is missing"},
        {"{'operationId':'a'}", "case:1:1: method is missing"},
        {"{'operationId':'a b','method':'GET'}",
         "case:1:2: operationId: expected 1 to 128 letters"},
        {"{'operationId':7,'method':'GET'}", "case:1:2: operationId: expected a string"},
        {"{'operationId':'a','method':'G T'}", "case:1:20: method: expected a method"},
        {"{'operationId':'a','method':''}", "case:1:20: method: expected a method"},
        {HEAD ",\n 'observation':[]}",
         "case:2:2: observation: unknown key; did you mean 'observations'?"},
        {HEAD ",'zzz':1}", "case:1:35: zzz: unknown key\n"},
        {HEAD ",'method':'GET'}", "no valid JSON: duplicate object key"},
        {HEAD ",'maxAttempts':-1}",
         "case:1:35: maxAttempts: expected a whole number from 0 to 1000000"},
        {HEAD ",'deadlineMs':1.5}", "deadlineMs: expected a whole number"},
        {HEAD ",'backoffMs':'40'}", "backoffMs: expected a whole number"},
        {HEAD ",'seed':-1}", "seed: expected"},
        {HEAD ",'startMs':5}", "startMs: only operations that name a target share a clock"},
        {HEAD ",'target':''}", "target: expected 1 to 64 visible characters"},
        {HEAD ",'effect':'maybe'}", "effect: expected \"read\" or \"write\""},
        {HEAD ",'idempotent':1}", "idempotent: expected true or false"},
        {HEAD ",'idempotencyKey':''}", "idempotencyKey: expected 1 to 255 visible characters"},
        {HEAD ",'observations':{}}", "observations: expected an array"},
        {HEAD ",'observations':[1]}", "case:1:51: observations[0]: expected an object"},
        {HEAD ",'observations':[{'status':200,'elapsedMs':1},\n  {'status':200}]}",
         "case:2:3: observations[1]: elapsedMs is missing"},
        {HEAD ",'observations':[{'elapsedMs':1}]}",
         "observations[0]: expected either a status or an errorClass"},
        {HEAD ",'observations':[{'elapsedMs':1,'status':200,'errorClass':'dns'}]}",
         "expected either"},
        {HEAD ",'observations':[{'elapsedMs':1,'status':99}]}",
         "status: expected a whole number from 100 to 599"},
        {HEAD ",'observations':[{'elapsedMs':1,'status':200,'sent':'unsent'}]}", "is answered"},
        {HEAD ",'observations':[{'elapsedMs':1,'errorClass':'slow'}]}",
         "case:1:66: observations[0].errorClass: expected one of dns"},
        {HEAD ",'observations':[{'elapsedMs':1,'errorClass':'dns','phase':'x'}]}",
         "phase: expected one of dns"},
        {HEAD ",'observations':[{'elapsedMs':1,'errorClass':'dns','sent':'x'}]}",
         "sent: expected one of unsent"},
        {HEAD ",'observations':[{'elapsed':1}]}",
         "observations[0].elapsed: unknown key; did you mean 'elapsedMs'?"},
        {HEAD ",'policy':[]}", "policy: expected an object"},
        {HEAD ",'policy':{'backof':{}}}",
         "case:1:45: policy.backof: unknown key; did you mean 'backoff'?"},
        {HEAD ",'policy':{'backoff':{'bse':'1s'}}}",
         "policy.backoff.bse: unknown key; did you mean 'base'?"},
        {HEAD ",'policy':{'backoff.base':'1s'}}", "policy.backoff.base: unknown key"},
        {HEAD ",'policy':{'backoff':{'base':'1'}}}", "policy.backoff.base: \"1\" has no unit"},
        {HEAD ",'policy':{'backoff':'full'}}", "policy.backoff: expected an object"},
        {HEAD ",'policy':{'attempts':null}}", "policy.attempts: expected"},
        {HEAD ",'policy':{'retry_on':[503,'tiemout']}}",
         "policy.retry_on[1]: unknown word \"tiemout\""},
        {HEAD ",'policy':{'hold':'on'}}", "policy.hold: expected"},
        {HEAD ",'policy':{'quota':{'burst':2}}}", "policy.quota: needs a rate"},
    };
    for (size_t i = 0; i < sizeof ROWS / sizeof ROWS[0]; i++) {
        assert_false(replay(ROWS[i][0]));
        assert_string_equal(output, "");
        if (!strstr(errors, ROWS[i][1])) fail_msg("%s\ngives %s", ROWS[i][0], errors);
    }
}

static void test_what_came_before_an_error_is_replayed(void **state)
{
    (void)state;
    assert_false(replay(HEAD "}\n" HEAD ",}"));
    assert_int_equal(lines(), 1);
    assert_non_null(strstr(errors, "case:2:35: no valid JSON"));
}

static void test_a_target_is_set_up_once(void **state)
{
    (void)state;
    const char *first =
        "{'operationId':'a','method':'GET','target':'t','policy':{'breaker':'off'}}";
    char text[600];
    snprintf(text, sizeof text, "%s{'operationId':'b','method':'GET','target':'t'}%s", first,
             first);
    assert_true(replay(text));
    snprintf(text, sizeof text,
             "%s{'operationId':'b','method':'GET','target':'t',\n'policy':"
             "{'budget':{'burst':1}}}",
             first);
    assert_false(replay(text));
    assert_non_null(
        strstr(errors, "case:2:21: policy.budget.burst: all operations of a target share it"));
}

/* ---- the command ---- */

static void test_the_command_reads_files_and_its_input(void **state)
{
    (void)state;
    char path[512];
    snprintf(path, sizeof path, "%s/two-503-then-200.json", GOLDEN);
    const char *file[] = {"replay", path, NULL}, *standard[] = {"replay", "-", NULL};
    const char *expected = read_file("two-503-then-200", ".ndjson");
    const struct run *said = run(app_replay, NULL, file);
    assert_int_equal(said->code, 0);
    assert_string_equal(said->out, expected);
    char *one = quoted(HEAD "}"), *broken = quoted(HEAD "}{");
    said = run(app_replay, one, standard);
    assert_int_equal(said->code, 0);
    assert_non_null(strstr(said->out, "max_attempts"));
    said = run(app_replay, broken, standard);
    assert_int_equal(said->code, 2);
    assert_non_null(strstr(said->out, "max_attempts"));
    assert_non_null(strstr(said->err, "(standard input):1:"));
    free(one);
    free(broken);
}

static void test_the_command_tells_bad_usage(void **state)
{
    (void)state;
    const char *none[] = {"replay", NULL}, *two[] = {"replay", "a", "b", NULL},
               *option[] = {"replay", "-x", NULL};
    const char *missing[] = {"replay", "/nowhere/x", NULL}, *help[] = {"replay", "--help", NULL};
    assert_int_equal(run(app_replay, NULL, none)->code, 2);
    assert_int_equal(run(app_replay, NULL, two)->code, 2);
    assert_int_equal(run(app_replay, NULL, option)->code, 2);
    assert_int_equal(run(app_replay, NULL, missing)->code, 2);
    assert_non_null(
        strstr(run(app_replay, NULL, missing)->err, "cannot open /nowhere/x: No such file"));
    assert_int_equal(run(app_replay, NULL, help)->code, 0);
    assert_non_null(strstr(run(app_replay, NULL, help)->out, "maxAttempts [3]"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        GOLDEN_TEST("first-success"),
        GOLDEN_TEST("two-503-then-200"),
        GOLDEN_TEST("deadline-used-up"),
        GOLDEN_TEST("get-timeout"),
        GOLDEN_TEST("post-timeout"),
        GOLDEN_TEST("no-observations"),
        GOLDEN_TEST("retry-after"),
        GOLDEN_TEST("breaker"),
        GOLDEN_TEST("hold"),
        GOLDEN_TEST("quota"),
        GOLDEN_TEST("budget"),
        cmocka_unit_test(test_defaults_are_3_attempts_400_ms_and_a_wait_of_40),
        cmocka_unit_test(test_no_event_has_a_time),
        cmocka_unit_test(test_objects_may_span_lines_and_touch),
        cmocka_unit_test(test_errors_have_the_defaults_of_their_class),
        cmocka_unit_test(test_an_attempt_timeout_cuts_an_observation),
        cmocka_unit_test(test_what_was_unsent_stays_so_when_it_is_cut),
        cmocka_unit_test(test_a_policy_has_the_names_and_units_of_a_configuration),
        cmocka_unit_test(test_what_is_said_outside_the_policy_goes_before_it),
        cmocka_unit_test(test_a_backoff_of_ones_own_starts_from_the_defaults),
        cmocka_unit_test(test_the_seed_sets_the_dice),
        {"H73 retries stay within the budget", test_retries_stay_within_the_budget, NULL, NULL,
         NULL},
        cmocka_unit_test(test_errors_say_where_and_what),
        cmocka_unit_test(test_what_came_before_an_error_is_replayed),
        cmocka_unit_test(test_a_target_is_set_up_once),
        cmocka_unit_test(test_the_command_reads_files_and_its_input),
        cmocka_unit_test(test_the_command_tells_bad_usage),
    };
    int failed = cmocka_run_group_tests_name("app/replay", tests, NULL, NULL);
    free(output);
    free(errors);
    return failed;
}
