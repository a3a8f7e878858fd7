/* method.c: names there and back, case-sensitive, and which methods are safe. */
#include <belay/method.h>

#include "test.h"

static void test_names_there_and_back(void **state)
{
    (void)state;
    for (int m = BELAY_METHOD_GET; m < BELAY_METHOD_COUNT; m++) {
        const char *name = belay_method_name((enum belay_method)m);
        assert_int_equal(belay_method_parse(belay_slice_z(name)), m);
    }
    assert_null(belay_method_name(BELAY_METHOD_OTHER));
    assert_null(belay_method_name(BELAY_METHOD_COUNT));
}

static void test_anything_else_is_other(void **state)
{
    (void)state;
    static const char *const others[] = {
        "",      "G",     "get",    "Get",     "GE",      "GETS",     "PUTT", "HEAT", "POSH",
        "PATCX", "TRACY", "DELETX", "OPTIONX", "CONNECX", "PROPFIND", "PUX",  "GXT"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        assert_int_equal(belay_method_parse(belay_slice_z(others[i])), BELAY_METHOD_OTHER);
    }
}

static void test_safe_methods(void **state)
{
    (void)state;
    for (int m = 0; m < BELAY_METHOD_COUNT; m++) {
        bool safe = m == BELAY_METHOD_GET || m == BELAY_METHOD_HEAD || m == BELAY_METHOD_OPTIONS ||
                    m == BELAY_METHOD_TRACE;
        assert_int_equal(belay_method_is_safe((enum belay_method)m), safe);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_there_and_back),
        cmocka_unit_test(test_anything_else_is_other),
        cmocka_unit_test(test_safe_methods),
    };
    return cmocka_run_group_tests_name("base/method", tests, NULL, NULL);
}
