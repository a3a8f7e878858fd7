/* main.c: the program itself: its help, its version, and the nearest command to a mistyped one. */
#include "app/app.h"
#include "run.h"
#include "test.h"

#include <belay/version.h>
#include <string.h>
#include <unistd.h>

static int become_belay(int argc, char **argv)
{
    (void)argc;
    (void)execv(BELAY, argv);
    return 99;
}

static const struct run *belay(const char *first, const char *second)
{
    const char *argv[] = {"belay", first, second, NULL};
    return run(become_belay, NULL, argv);
}

static void test_help_lists_every_command(void **state)
{
    (void)state;
    static const char *const NAMES[] = {"serve", "replay", "explain", "check", "flaky", "version"};
    static const char *const ASKED[] = {"--help", "-h", "help"};
    for (size_t i = 0; i < sizeof ASKED / sizeof ASKED[0]; i++) {
        const struct run *said = belay(ASKED[i], NULL);
        assert_int_equal(said->code, 0);
        for (size_t n = 0; n < sizeof NAMES / sizeof NAMES[0]; n++) {
            char row[32] = "\n  ";
            strcat(row, NAMES[n]);
            assert_non_null(strstr(said->out, row));
        }
    }
}

static void test_every_command_has_its_own_help(void **state)
{
    (void)state;
    static const char *const NAMES[] = {"serve", "replay", "explain", "check", "flaky"};
    for (size_t n = 0; n < sizeof NAMES / sizeof NAMES[0]; n++) {
        const struct run *said = belay(NAMES[n], "--help");
        assert_int_equal(said->code, 0);
        assert_non_null(strstr(said->out, NAMES[n]));
        assert_string_equal(said->err, "");
    }
}

static void test_the_version(void **state)
{
    (void)state;
    assert_string_equal(belay("--version", NULL)->out, "belay " BELAY_VERSION "\n");
    assert_string_equal(belay("version", NULL)->out, "belay " BELAY_VERSION "\n");
}

static void test_a_mistyped_command_meets_the_nearest(void **state)
{
    (void)state;
    assert_int_equal(belay("serv", NULL)->code, 2);
    assert_non_null(
        strstr(belay("serv", NULL)->err, "unknown command 'serv'; did you mean 'serve'?"));
    assert_non_null(strstr(belay("replya", NULL)->err, "did you mean 'replay'?"));
    assert_null(strstr(belay("xyzzy", NULL)->err, "did you mean"));
    assert_int_equal(belay("--frob", NULL)->code, 2);
}

static void test_no_command_is_bad_usage(void **state)
{
    (void)state;
    assert_int_equal(belay(NULL, NULL)->code, 2);
    assert_non_null(strstr(belay(NULL, NULL)->err, "usage: belay COMMAND"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_help_lists_every_command),
        cmocka_unit_test(test_every_command_has_its_own_help),
        cmocka_unit_test(test_the_version),
        cmocka_unit_test(test_a_mistyped_command_meets_the_nearest),
        cmocka_unit_test(test_no_command_is_bad_usage),
    };
    return cmocka_run_group_tests_name("app/main", tests, NULL, NULL);
}
