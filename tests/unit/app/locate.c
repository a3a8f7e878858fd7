/* locate.c: a path leads to its place in any valid JSON. */
#include "app/locate.h"

#include "test.h"

#include <string.h>

static const char TEXT[] =
    "{\"a\" : 1, \"skip\\\"}\":\"x]}\\\\\", \"o\":{\"p\":[{\"q\":2} , [3, {\"r\":4}], null]}, "
    "\"n\":-1.5e3,\"last\":true}";

static void test_paths(void **state)
{
    (void)state;
    static const char *const ROWS[][2] = {
        {"a", "\"a\" : 1"},         {"o", "\"o\":{"},        {"o.p", "\"p\":["},
        {"o.p[0]", "{\"q\""},       {"o.p[0].q", "\"q\":2"}, {"o.p[1]", "[3"},
        {"o.p[1][1].r", "\"r\":4"}, {"o.p[2]", "null"},      {"n", "\"n\":-1.5"},
        {"last", "\"last\":true"},
    };
    struct belay_slice text = belay_slice_z(TEXT);
    for (size_t i = 0; i < sizeof ROWS / sizeof ROWS[0]; i++) {
        assert_int_equal(locate(text, ROWS[i][0]), strstr(TEXT, ROWS[i][1]) - TEXT);
    }
}

static void test_what_leads_nowhere_is_the_beginning(void **state)
{
    (void)state;
    static const char *const ROWS[] = {"b",        "a.b",   "a[0]", "o.p[3]",
                                       "o.p[0].z", "o.p.q", "[0]",  ""};
    for (size_t i = 0; i < sizeof ROWS / sizeof ROWS[0]; i++) {
        assert_int_equal(locate(belay_slice_z(TEXT), ROWS[i]), 0);
    }
}

/* Cut anywhere, nothing is read beyond the end. */
static void test_a_cut_text_is_safe(void **state)
{
    (void)state;
    for (size_t length = 0; length < sizeof TEXT; length++) {
        char *cut = test_malloc(length + 1);
        memcpy(cut, TEXT, length);
        (void)locate(belay_slice(cut, length), "last.x[9].y");
        (void)locate(belay_slice(cut, length), "o.p[1][1].r");
        test_free(cut);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_paths),
        cmocka_unit_test(test_what_leads_nowhere_is_the_beginning),
        cmocka_unit_test(test_a_cut_text_is_safe),
    };
    return cmocka_run_group_tests_name("app/locate", tests, NULL, NULL);
}
