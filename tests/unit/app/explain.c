/* explain.c: every row of retry-after.tsv through the command line, and what it says of outcomes.
 */
#include "app/app.h"
#include "run.h"
#include "test.h"

#include <string.h>

#define NOW "Tue, 06 Jan 2026 12:00:00 GMT"

struct row {
    const char *value, *answer;
};

#define VALID(ms) "{\"valid\":true,\"waitMs\":" #ms "}\n"
#define INVALID "{\"valid\":false,\"reason\":\""

static void test_row(void **state)
{
    const struct row *row = *state;
    const char *json[] = {"explain", "retry-after", row->value, "--now", NOW, "--json", NULL};
    const struct run *said = run(app_explain, NULL, json);
    assert_memory_equal(said->out, row->answer, strlen(row->answer));
    assert_int_equal(said->code, row->answer[9] == 't' ? 0 : 1);
    assert_string_equal(said->err, "");
    const char *words[] = {"explain", "retry-after", row->value, "--now", NOW, NULL};
    said = run(app_explain, NULL, words);
    assert_non_null(strstr(said->out, row->answer[9] == 't' ? "Valid: " : "Not valid, "));
}

#define ROW(title, given, expected)                                                                \
    {                                                                                              \
        title, test_row, NULL, NULL, &(struct row)                                                 \
        {                                                                                          \
            given, expected                                                                        \
        }                                                                                          \
    }

static const struct run *outcome(const char *const *options)
{
    const char *argv[16] = {"explain", "outcome"};
    int count = 2;
    for (; *options; options++) argv[count++] = *options;
    return run(app_explain, NULL, argv);
}

#define OUTCOME(...) outcome((const char *const[]){__VA_ARGS__, NULL})

static void test_outcomes(void **state)
{
    (void)state;
    static const struct {
        const char *options[10], *answer;
    } ROWS[] = {
        {{"--method", "GET", "--status", "200"},
         "success\",\"decision\":\"return\",\"reason\":\"success"},
        {{"--method", "GET", "--status", "503"},
         "repeatable\",\"decision\":\"retry\",\"reason\":\"backoff"},
        {{"--method", "GET", "--status", "404"},
         "final\",\"decision\":\"stop\",\"reason\":\"not_repeatable"},
        {{"--method", "POST", "--status", "503"},
         "final\",\"decision\":\"stop\",\"reason\":\"not_replay_safe"},
        {{"--method", "POST", "--status", "503", "--key", "k"},
         "repeatable\",\"decision\":\"retry\""},
        {{"--method", "POST", "--status", "503", "--idempotent"},
         "repeatable\",\"decision\":\"retry\""},
        {{"--method", "POST", "--error", "timeout"},
         "unknown\",\"decision\":\"check_state\",\"reason\":\"effect_unknown"},
        {{"--method", "POST", "--error", "timeout", "--sent", "unsent"},
         "repeatable\",\"decision\":\"retry\""},
        {{"--method", "POST", "--error", "timeout", "--phase", "connect"},
         "repeatable\",\"decision\":\"retry\""},
        {{"--method", "POST", "--error", "refused"}, "repeatable\",\"decision\":\"retry\""},
        {{"--method", "POST", "--error", "dns"}, "repeatable\",\"decision\":\"retry\""},
        {{"--method", "GET", "--error", "timeout", "--effect", "write"},
         "unknown\",\"decision\":\"check_state\""},
        {{"--method", "GET", "--status", "503", "--retry-after", "2"},
         "\"retry\",\"reason\":\"retry_after"},
        {{"--method", "GET", "--status", "503", "--retry-after", "30"},
         "deadline_exceeded\",\"reason\":\"no_time"},
        {{"--method", "GET", "--status", "503", "--retry-after", "-5"},
         "\"retry\",\"reason\":\"backoff"},
        {{"--method", "GET", "--status", "503", "--owned"}, "\"stop\",\"reason\":\"retry_owned"},
        {{"--method", "POST", "--status", "502", "--state-check"},
         "check_state\",\"reason\":\"gateway_unknown"},
        {{"--method=POST", "--status=502"}, "\"stop\",\"reason\":\"gateway_unknown"},
    };
    for (size_t i = 0; i < sizeof ROWS / sizeof ROWS[0]; i++) {
        const char *options[12] = {"--json"};
        for (int n = 0; ROWS[i].options[n]; n++) options[n + 1] = ROWS[i].options[n];
        const struct run *said = outcome(options);
        assert_int_equal(said->code, 0);
        assert_memory_equal(said->out, "{\"class\":\"", 10);
        if (!strstr(said->out, ROWS[i].answer)) fail_msg("%zu: %s", i, said->out);
    }
}

static void test_a_sentence_says_the_decision_and_why(void **state)
{
    (void)state;
    assert_string_equal(
        OUTCOME("--method", "GET", "--status", "503")->out,
        "A GET that came to status 503 is worth repeating: belay tries again, after a wait of its "
        "own.\n"
        "class repeatable, decision retry, reason backoff\n");
    assert_string_equal(
        OUTCOME("--method", "GET", "--error", "tls")->out,
        "A GET that came to error tls is final: belay stops, and passes on what it has, because "
        "repeating would give the same.\nclass final, decision stop, reason not_repeatable\n");
}

static void test_waits_are_said_in_words(void **state)
{
    (void)state;
    static const char *const ROWS[][2] = {
        {"1", "1 second from now (1000 ms)"}, {"90", "about 1 minute from now (90000 ms)"},
        {"7200", "2 hours from now"},         {"86400", "1 day from now"},
        {"0", "no wait is asked for"},
    };
    for (size_t i = 0; i < sizeof ROWS / sizeof ROWS[0]; i++) {
        const char *argv[] = {"explain", "retry-after", ROWS[i][0], NULL};
        assert_non_null(strstr(run(app_explain, NULL, argv)->out, ROWS[i][1]));
    }
}

static void test_a_method_in_other_letters_is_hinted_at(void **state)
{
    (void)state;
    const struct run *said = OUTCOME("--method", "get", "--status", "503", "--json");
    assert_int_equal(said->code, 0);
    assert_non_null(strstr(said->out, "not_replay_safe"));
    assert_string_equal(
        said->err, "belay explain: methods are case-sensitive (RFC 9110, 9.1): get is not GET\n");
    assert_string_equal(OUTCOME("--method", "PURGE", "--status", "503")->err, "");
}

static void test_bad_usage_is_told(void **state)
{
    (void)state;
    static const struct {
        const char *argv[8], *text;
    } ROWS[] = {
        {{"explain"}, "usage: belay explain"},
        {{"explain", "outcom"}, "did you mean 'outcome'?"},
        {{"explain", "weather"}, "it explains retry-after and outcome"},
        {{"explain", "retry-after"}, "needs a value"},
        {{"explain", "retry-after", "1", "--now", "yesterday"}, "--now is no HTTP-date: yesterday"},
        {{"explain", "retry-after", "1", "2"}, "usage: belay explain"},
        {{"explain", "outcome", "--metod", "GET"}, "did you mean --method?"},
        {{"explain", "outcome", "--method"}, "--method needs a value"},
        {{"explain", "outcome", "--json=1"}, "--json takes no value"},
        {{"explain", "outcome", "--status", "200"}, "--method is missing"},
        {{"explain", "outcome", "--method", "GET"}, "either --status or --error"},
        {{"explain", "outcome", "--method", "G T", "--status", "200"},
         "--method is a word such as GET, not: G T"},
        {{"explain", "outcome", "--method", "GET", "--status", "99"},
         "--status is 100 to 599, not: 99"},
        {{"explain", "outcome", "--method", "GET", "--status", "2x0"},
         "--status is 100 to 599, not: 2x0"},
        {{"explain", "outcome", "--method", "GET", "--error", "none"}, "or cancelled, not: none"},
        {{"explain", "outcome", "--method", "GET", "--effect", "maybe", "--status=1"},
         "--effect is read or write"},
    };
    for (size_t i = 0; i < sizeof ROWS / sizeof ROWS[0]; i++) {
        const struct run *said = run(app_explain, NULL, ROWS[i].argv);
        assert_int_equal(said->code, 2);
        assert_string_equal(said->out, "");
        if (!strstr(said->err, ROWS[i].text)) fail_msg("%zu: %s", i, said->err);
    }
    assert_int_equal(OUTCOME("--method", "GET", "--status", "200", "--phase", "body")->code, 2);
    assert_int_equal(OUTCOME("--method", "GET", "--status", "200", "--sent", "unsent")->code, 2);
    assert_int_equal(OUTCOME("--method", "GET", "--error", "reset", "--phase", "middle")->code, 2);
    assert_int_equal(OUTCOME("--method", "GET", "--error", "reset", "--sent", "perhaps")->code, 2);
}

static void test_help(void **state)
{
    (void)state;
    const char *argv[] = {"explain", "--help", NULL};
    assert_int_equal(run(app_explain, NULL, argv)->code, 0);
    assert_non_null(strstr(run(app_explain, NULL, argv)->out, "--retry-after V"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROW("RA01 120 s", "120", VALID(120000)),
        ROW("RA02 0 is valid", "0", VALID(0)),
        ROW("RA03 leading zeros", "00120", VALID(120000)),
        ROW("RA04 white space around", " 120\t", VALID(120000)),
        ROW("RA05 -5 is ignored", "-5", INVALID),
        ROW("RA06 +5 is ignored", "+5", INVALID),
        ROW("RA07 1.5 is ignored", "1.5", INVALID),
        ROW("RA08 1e3 is ignored", "1e3", INVALID),
        ROW("RA09 120s is ignored", "120s", INVALID),
        ROW("RA11 empty is ignored", "", INVALID),
        ROW("RA12 9999999999 is not clamped", "9999999999", VALID(9999999999000)),
        ROW("RA15 an IMF-fixdate", "Tue, 06 Jan 2026 12:01:00 GMT", VALID(60000)),
        ROW("RA16 the past is 0", "Tue, 06 Jan 2026 11:59:00 GMT", VALID(0)),
        ROW("RA18 an RFC 850 date", "Tuesday, 06-Jan-26 12:01:00 GMT", VALID(60000)),
        ROW("RA19 an asctime date", "Tue Jan  6 12:01:00 2026", VALID(60000)),
        ROW("RA21 a two-digit year of the past", "Sunday, 06-Nov-94 08:49:37 GMT", VALID(0)),
        ROW("RA25 small letters are ignored", "tue, 06 jan 2026 12:01:00 gmt", INVALID),
        ROW("RA31 no such day", "Mon, 29 Feb 2027 12:00:00 GMT", INVALID),
        ROW("RA34 ISO 8601 is ignored", "2026-01-06T12:01:00Z", INVALID),
        cmocka_unit_test(test_outcomes),
        cmocka_unit_test(test_a_sentence_says_the_decision_and_why),
        cmocka_unit_test(test_waits_are_said_in_words),
        cmocka_unit_test(test_a_method_in_other_letters_is_hinted_at),
        cmocka_unit_test(test_bad_usage_is_told),
        cmocka_unit_test(test_help),
    };
    return cmocka_run_group_tests_name("app/explain", tests, NULL, NULL);
}
