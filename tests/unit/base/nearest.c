/* nearest.c: a mistyped name finds the one that was meant, and nonsense finds none. */
#include "base/nearest.h"

#include "test.h"

static const char *const NAMES[] = {"serve",    "replay",   "explain",
                                    "open_for", "open_max", "silence_timeout"};

static const char *nearest(const char *word)
{
    return nearest_name(belay_slice_z(word), NAMES, sizeof NAMES / sizeof NAMES[0]);
}

static void test_one_edit_of_each_kind(void **state)
{
    (void)state;
    assert_string_equal(nearest("serv"), "serve");
    assert_string_equal(nearest("serve"), "serve");
    assert_string_equal(nearest("servee"), "serve");
    assert_string_equal(nearest("sirve"), "serve");
    assert_string_equal(nearest("serev"), "serve");
    assert_string_equal(nearest("reply"), "replay");
}

static void test_case_and_dashes_are_no_edits(void **state)
{
    (void)state;
    assert_string_equal(nearest("SILENCE-TIMEOUT"), "silence_timeout");
    assert_string_equal(nearest("open-mx"), "open_max");
}

static void test_nonsense_has_no_neighbour(void **state)
{
    (void)state;
    assert_null(nearest(""));
    assert_null(nearest("x"));
    assert_null(nearest("frobnicate"));
    assert_null(nearest("ssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssss"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_edit_of_each_kind),
        cmocka_unit_test(test_case_and_dashes_are_no_edits),
        cmocka_unit_test(test_nonsense_has_no_neighbour),
    };
    return cmocka_run_group_tests_name("base/nearest", tests, NULL, NULL);
}
