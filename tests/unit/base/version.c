/* version.c: the release's numbers and its text are one. */
#include <belay/version.h>

#include "test.h"

#include <stdio.h>

static void test_numbers_and_text_are_one(void **state)
{
    (void)state;
    char text[32];
    (void)snprintf(text, sizeof text, "%d.%d.%d", BELAY_VERSION_MAJOR, BELAY_VERSION_MINOR,
                   BELAY_VERSION_PATCH);
    assert_string_equal(text, BELAY_VERSION);
    assert_string_equal(belay_version(), BELAY_VERSION);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_numbers_and_text_are_one)};
    return cmocka_run_group_tests_name("base/version", tests, NULL, NULL);
}
