/* template.c: which templates cover which. */
#include "conf/template.h"

#include "test.h"

struct pair {
    const char *earlier, *later;
    bool covers;
};

static void test_a_template_covers_what_matches_no_other_path(void **state)
{
    (void)state;
    static const struct pair PAIRS[] = {
        {"/", "/", true},           {"/a", "/a", true},          {"/a", "/A", false},
        {"/a", "/a/", false},       {"/a/", "/a", false},        {"/{x}", "/a", true},
        {"/{x}", "/{y}", true},     {"/a", "/{x}", false},       {"/{x}", "/", false},
        {"/{x}", "/a/b", false},    {"/{x}/b", "/a/b", true},    {"/{x}/b", "/a/c", false},
        {"/a/{x}", "/a/{y}", true}, {"/a/{x}", "/b/{y}", false}, {"/a/{x}/c", "/a/{x}", false},
        {"/{x}/", "/a/", true},     {"/{x}/{y}", "/a/", false},
    };
    for (size_t i = 0; i < sizeof PAIRS / sizeof PAIRS[0]; i++) {
        bool covers =
            template_covers(belay_slice_z(PAIRS[i].earlier), belay_slice_z(PAIRS[i].later));
        if (covers != PAIRS[i].covers) fail_msg("%s and %s", PAIRS[i].earlier, PAIRS[i].later);
    }
}

static void test_right_templates(void **state)
{
    (void)state;
    static const char *const PATHS[] = {"/",
                                        "/a",
                                        "/a/",
                                        "/orders/{id}",
                                        "/{a}/{b}",
                                        "/a-b_c.d~e",
                                        "/%7Ea",
                                        "/a%2fb",
                                        "/a:b@c!$&'()*+,;=",
                                        "/{order_id2}",
                                        "/...",
                                        "/.well-known/x"};
    for (size_t i = 0; i < sizeof PATHS / sizeof PATHS[0]; i++) {
        const char *fault = template_fault(belay_slice_z(PATHS[i]));
        if (fault) fail_msg("%s: %s", PATHS[i], fault);
    }
}

static void test_every_byte_is_either_a_path_byte_or_refused(void **state)
{
    (void)state;
    static const char ALLOWED[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~!$&'()*+,;=:@/";
    for (int byte = 0; byte < 256; byte++) {
        char path[] = {'/', 'a', (char)byte, 'b'};
        bool allowed = byte != 0 && strchr(ALLOWED, byte);
        assert_int_equal(template_fault(belay_slice(path, sizeof path)) == NULL, allowed);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_template_covers_what_matches_no_other_path),
        cmocka_unit_test(test_right_templates),
        cmocka_unit_test(test_every_byte_is_either_a_path_byte_or_refused),
    };
    return cmocka_run_group_tests_name("conf/template", tests, NULL, NULL);
}
