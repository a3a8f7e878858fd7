/* addr.c: literal addresses are read strictly and written back the same. */
#include "test.h"

#include "rt/rt.h"

#include <string.h>

static bool parses(const char *text, struct rt_addr *out)
{
    return rt_addr_parse_with_port(belay_slice_z(text), out);
}

static void what_is_written_reads_back(void **state)
{
    (void)state;
    const char *const texts[] = {"127.0.0.1:8080",    "0.0.0.0:0", "255.255.255.255:65535",
                                 "[::1]:80",          "[::]:1",    "[2001:db8::8a2e:370:7334]:443",
                                 "[::ffff:1.2.3.4]:9"};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct rt_addr addr;
        char text[RT_ADDR_TEXT_MAX];
        assert_true(parses(texts[i], &addr));
        assert_int_equal(rt_addr_format(&addr, text), strlen(texts[i]));
        assert_string_equal(text, texts[i]);
    }
}

static void the_longest_address_fits(void **state)
{
    (void)state;
    struct rt_addr addr;
    char text[RT_ADDR_TEXT_MAX];
    assert_true(parses("[1111:2222:3333:4444:5555:6666:7777:8888]:65535", &addr));
    assert_true(rt_addr_format(&addr, text) < RT_ADDR_TEXT_MAX);
    assert_string_equal(text, "[1111:2222:3333:4444:5555:6666:7777:8888]:65535");
}

static void anything_else_is_no_address(void **state)
{
    (void)state;
    const char *const texts[] = {"",
                                 ":",
                                 ":80",
                                 "localhost:80",
                                 "127.0.0.1",
                                 "127.0.0.1:",
                                 "127.0.0.1:65536",
                                 "127.0.0.1:-1",
                                 "127.0.0.1:+1",
                                 "127.0.0.1: 1",
                                 "127.0.0.1:1 ",
                                 "127.0.0.1:000080",
                                 "127.0.1:80",
                                 "127.0.0.256:80",
                                 "0x7f.0.0.1:80",
                                 "127.0.0.01:80",
                                 "::1:80",
                                 "[::1]",
                                 "[::1:80",
                                 "::1]:80",
                                 "[127.0.0.1]:80",
                                 "[]:80",
                                 "[::1%lo]:80",
                                 "[:::1]:80"};
    struct rt_addr addr = {.family = 77};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        if (parses(texts[i], &addr)) fail_msg("took %s", texts[i]);
        assert_int_equal(addr.family, 77);
    }
    assert_false(rt_addr_parse(belay_slice("127.0.0.1\0", 10), 80, &addr));
}

static void a_literal_may_stand_with_or_without_brackets(void **state)
{
    (void)state;
    struct rt_addr bare, bracketed;
    assert_true(rt_addr_parse(belay_slice_z("::1"), 443, &bare));
    assert_true(rt_addr_parse(belay_slice_z("[::1]"), 443, &bracketed));
    assert_memory_equal(&bare, &bracketed, sizeof(bare));
    assert_int_equal(bare.port, 443);
    assert_true(rt_addr_parse(belay_slice_z("10.0.0.1"), 1, &bare));
    assert_int_equal(bare.family, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_reads_back),
        cmocka_unit_test(the_longest_address_fits),
        cmocka_unit_test(anything_else_is_no_address),
        cmocka_unit_test(a_literal_may_stand_with_or_without_brackets),
    };
    return cmocka_run_group_tests_name("addr", tests, NULL, NULL);
}
