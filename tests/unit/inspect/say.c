/* say.c: numbers and foreign text as people read them, at their boundaries. */
#include "inspect/say.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

static char out[SAY_BYTES];

static void test_counts(void **state)
{
    (void)state;
    assert_string_equal(say_count(out, 0), "0");
    assert_string_equal(say_count(out, 999), "999");
    assert_string_equal(say_count(out, 1000), "1,000");
    assert_string_equal(say_count(out, UINT64_MAX), "18,446,744,073,709,551,615");
}

static void test_bytes(void **state)
{
    (void)state;
    assert_string_equal(say_bytes(out, 999), "999 bytes");
    assert_string_equal(say_bytes(out, 1000), "1.0 kB");
    assert_string_equal(say_bytes(out, 999949), "999.9 kB");
    assert_string_equal(say_bytes(out, 999950), "1.0 MB");
    assert_string_equal(say_bytes(out, UINT64_MAX), "18.4 EB");
}

static void test_spans(void **state)
{
    (void)state;
    static const struct {
        int64_t ms;
        const char *text;
    } ROWS[] = {{0, "0 ms"},
                {999, "999 ms"},
                {1000, "1.00 s"},
                {9999, "9.99 s"},
                {10000, "10.0 s"},
                {59999, "59.9 s"},
                {60000, "1 min"},
                {61000, "1 min 1 s"},
                {3599999, "59 min 59 s"},
                {3600000, "1 h"},
                {86399999, "23 h 59 min"},
                {90000000, "1 d 1 h"},
                {INT64_MAX, "106751991167 d 7 h"}};
    for (size_t i = 0; i < sizeof ROWS / sizeof ROWS[0]; i++)
        assert_string_equal(say_ms(out, ROWS[i].ms), ROWS[i].text);
}

/* Some is never told as none, and not all never as all. */
static void test_shares(void **state)
{
    (void)state;
    assert_string_equal(say_share(out, 0, 10), "0.0 %");
    assert_string_equal(say_share(out, 1, 100000), "< 0.1 %");
    assert_string_equal(say_share(out, 1, 3), "33.3 %");
    assert_string_equal(say_share(out, 99999, 100000), "> 99.9 %");
    assert_string_equal(say_share(out, 10, 10), "100 %");
    assert_string_equal(say_share(out, 1, 0), "< 0.1 %");
    assert_string_equal(say_ratio(out, 3, 2), "1.50");
    assert_string_equal(say_ratio(out, 3, 0), "-");
    assert_string_equal(say_decimal(out, 0), "0.0");
    assert_string_equal(say_decimal(out, 0.01), "< 0.1");
    assert_string_equal(say_decimal(out, 9.94), "9.9");
    assert_string_equal(say_decimal(out, 17), "17");
}

static void test_times(void **state)
{
    (void)state;
    const int64_t noon = INT64_C(1767700800000);
    assert_string_equal(say_time(out, noon), "2026-01-06T12:00:00Z");
    assert_string_equal(say_clock(out, noon, 1000), "12:00:00");
    assert_string_equal(say_clock(out, noon, 3600000), "12:00");
    assert_string_equal(say_clock(out, noon, INT64_C(100000000)), "01-06 12:00");
}

static const char *shown(const char *text, size_t columns, bool utf8, size_t *count)
{
    static char *written;
    size_t bytes;
    free(written);
    FILE *to = open_memstream(&written, &bytes);
    assert_non_null(to);
    *count = say_text(to, belay_slice_z(text), columns, utf8);
    assert_int_equal(fclose(to), 0);
    return written;
}

static void test_text_is_cut_at_characters(void **state)
{
    (void)state;
    size_t count;
    assert_string_equal(shown("h\u00e9llo", 5, true, &count), "h\u00e9llo");
    assert_int_equal(count, 5);
    assert_string_equal(shown("h\u00e9llo!", 5, true, &count), "h\u00e9ll\u2026");
    assert_int_equal(count, 5);
    assert_string_equal(shown("h\u00e9llo!", 5, false, &count), "h?ll~");
    assert_string_equal(shown("", 5, true, &count), "");
    assert_int_equal(count, 0);
}

/* Every control, every byte that begins nothing, and all that turns or hides text. */
static void test_harmful_characters_are_not_shown(void **state)
{
    (void)state;
    size_t count;
    for (unsigned byte = 1; byte < 256; byte++) {
        const char text[2] = {(char)byte, '\0'};
        bool plain = byte >= 0x20 && byte < 0x7f;
        assert_string_equal(shown(text, 9, true, &count), plain ? text : "\ufffd");
        assert_string_equal(shown(text, 9, false, &count), plain ? text : "?");
    }
    static const char *const HARMFUL[] = {"\xc2\x85", "\xc2\x9b", "\u00ad",          "\u061c",
                                          "\u200b",   "\u200e",   "\u2028",          "\u202e",
                                          "\u2066",   "\ufeff",   "\xf3\xa0\x81\x81"};
    for (size_t i = 0; i < sizeof HARMFUL / sizeof HARMFUL[0]; i++)
        assert_string_equal(shown(HARMFUL[i], 9, true, &count), "\ufffd");
    /* Overlong, a surrogate, beyond the last. */
    assert_string_equal(shown("\xc0\xaf", 9, true, &count), "\ufffd\ufffd");
    assert_string_equal(shown("\xed\xa0\x80", 9, true, &count), "\ufffd\ufffd\ufffd");
    assert_string_equal(shown("\xf4\x90\x80\x80", 9, true, &count), "\ufffd\ufffd\ufffd\ufffd");
    assert_string_equal(shown("\xe2\x82", 9, true, &count), "\ufffd\ufffd");
}

static void test_the_gravest_comes_first_and_none_is_missing(void **state)
{
    (void)state;
    struct inspect_report report = {.lines = 1};
    enum inspect_anomaly_kind kinds[INSPECT_ANOMALY_COUNT];
    bool seen[INSPECT_ANOMALY_COUNT] = {false};
    assert_int_equal(say_kinds(&report, kinds), 0);
    for (size_t i = 0; i < INSPECT_ANOMALY_COUNT; i++) report.anomalies[i].count = 1;
    assert_int_equal(say_kinds(&report, kinds), INSPECT_ANOMALY_COUNT);
    for (size_t i = 0; i < INSPECT_ANOMALY_COUNT; i++) {
        assert_false(seen[kinds[i]]);
        seen[kinds[i]] = true;
    }
    assert_int_equal(kinds[0], INSPECT_SECRET_IN_FIELD);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counts),
        cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_spans),
        cmocka_unit_test(test_shares),
        cmocka_unit_test(test_times),
        cmocka_unit_test(test_text_is_cut_at_characters),
        cmocka_unit_test(test_harmful_characters_are_not_shown),
        cmocka_unit_test(test_the_gravest_comes_first_and_none_is_missing),
    };
    return cmocka_run_group_tests_name("say", tests, NULL, NULL);
}
