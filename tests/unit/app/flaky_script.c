/* flaky_script.c: a script is read as it was meant, or refused with a word of help. */
#include "app/flaky_script.h"

#include "test.h"

static struct belay_slice z(const char *text)
{
    return belay_slice_z(text);
}

static void settings_are_read(void **state)
{
    (void)state;
    struct flaky_script script;
    char problem[FLAKY_PROBLEM_MAX];
    flaky_script_init(&script);
    assert_false(flaky_script_can_fail(&script));
    static const char first[] =
        "fail=2&status=429&retry-after=Wed, 21 Oct 2015 07:28:00 GMT&delay=20ms";
    assert_true(flaky_script_add(&script, z(first), problem));
    assert_true(flaky_script_add(&script, z("every=3s&bytes=65536&fault=reset&key=a=b"), problem));
    assert_int_equal(script.fail_first, 2);
    assert_int_equal(script.status, 429);
    assert_true(belay_slice_equal(script.retry_after, z("Wed, 21 Oct 2015 07:28:00 GMT")));
    assert_int_equal(script.delay.ns, 20 * BELAY_NS_PER_MS);
    assert_int_equal(script.every.ns, 3 * BELAY_NS_PER_S);
    assert_int_equal(script.bytes, 65536);
    assert_int_equal(script.fault, FLAKY_RESET);
    assert_true(belay_slice_equal(script.key, z("a=b")));
    assert_true(flaky_script_can_fail(&script));
}

static void wrong_settings_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *settings, *problem;
    } rows[] = {
        {"fial=3", "unknown setting 'fial'; did you mean fail"},
        {"zebra", "unknown setting 'zebra'; see belay flaky --help"},
        {"fail=", "fail: must be a number of calls"},
        {"fail=-1", "fail: must be a number of calls"},
        {"fail=9999999999999999999", "fail: must be a number of calls"},
        {"status=199", "status: must be a status from 200 to 599"},
        {"status=600", "status: must be a status from 200 to 599"},
        {"status=2e2", "status: must be a status from 200 to 599"},
        {"retry-after=", "retry-after: must be a value"},
        {"delay=20", "delay: must be a duration such as 200ms, at most 60m"},
        {"delay=61m", "delay: must be a duration such as 200ms, at most 60m"},
        {"delay=ms", "delay: must be a duration such as 200ms, at most 60m"},
        {"delay=1h", "delay: must be a duration such as 200ms, at most 60m"},
        {"bytes=1073741825", "bytes: must be a number, at most 1073741824"},
        {"key=", "key: must be a name"},
        {"status=503&every=x", "every: must be a duration such as 100ms, at most 60m"},
        {"status=503&&", "unknown setting ''; see belay flaky --help"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct flaky_script script;
        char problem[FLAKY_PROBLEM_MAX];
        flaky_script_init(&script);
        assert_false(flaky_script_add(&script, z(rows[i].settings), problem));
        assert_string_equal(problem, rows[i].problem);
    }
}

static void paths_are_scripts(void **state)
{
    (void)state;
    struct flaky_script script;
    char problem[FLAKY_PROBLEM_MAX];
    flaky_script_init(&script);
    assert_true(flaky_script_add_path(&script, z("/status/404"), problem));
    assert_int_equal(script.status, 404);
    assert_true(flaky_script_add_path(&script, z("/delay/1s"), problem));
    assert_int_equal(script.delay.ns, BELAY_NS_PER_S);
    assert_true(flaky_script_add_path(&script, z("/bytes/7"), problem));
    assert_int_equal(script.bytes, 7);
    assert_true(flaky_script_add_path(&script, z("/echo"), problem));
    assert_true(script.echo);
    for (int i = FLAKY_NONE + 1; i < FLAKY_FAULT_COUNT; i++) {
        char path[32] = "/";
        strcat(path, flaky_fault_name((enum flaky_fault)i));
        assert_true(flaky_script_is_path(z(path)));
        assert_true(flaky_script_add_path(&script, z(path), problem));
        assert_int_equal(script.fault, i);
    }
    assert_false(flaky_script_add_path(&script, z("/status/nine"), problem));
    assert_false(flaky_script_add_path(&script, z("/status"), problem));
    assert_false(flaky_script_add_path(&script, z("/reset/now"), problem));
    assert_string_equal(problem, "/reset takes nothing after it");
}

static void other_paths_are_a_service(void **state)
{
    (void)state;
    static const char *const paths[] = {
        "/", "*", "", "/orders/status/503", "/none", "/statuses/503", "/fail/2"};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        struct flaky_script script;
        char problem[FLAKY_PROBLEM_MAX];
        flaky_script_init(&script);
        assert_false(flaky_script_is_path(z(paths[i])));
        assert_true(flaky_script_add_path(&script, z(paths[i]), problem));
        assert_false(flaky_script_can_fail(&script));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(settings_are_read),
        cmocka_unit_test(wrong_settings_are_refused),
        cmocka_unit_test(paths_are_scripts),
        cmocka_unit_test(other_paths_are_a_service),
    };
    return cmocka_run_group_tests_name("flaky script", tests, NULL, NULL);
}
