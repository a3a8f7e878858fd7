/* json.c: numbers, times and strings come out as RFC 8259 wants them, and never past their limit.
 */
#include "event/json.h"

#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char room[4096];

static const char *ended(char *end)
{
    *end = 0;
    return room;
}

static const char *string(const char *text, size_t length, size_t bytes_max)
{
    return ended(event_json_string(room, belay_slice(text, length), bytes_max));
}

static void test_numbers_are_those_of_printf(void **state)
{
    (void)state;
    int64_t values[] = {
        0,         1,  9,    10,       99, 100, 101, 999, 1000, 12345, INT64_C(9999999999000),
        INT64_MAX, -1, -100, INT64_MIN};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        char expected[32];
        snprintf(expected, sizeof expected, "%lld", (long long)values[i]);
        assert_string_equal(ended(event_json_number(room, values[i])), expected);
    }
}

static void test_every_byte_alone_and_at_every_place(void **state)
{
    (void)state;
    static const char *const SHORT[32] = {
        [8] = "\\b", [9] = "\\t", [10] = "\\n", [12] = "\\f", [13] = "\\r"};
    for (int c = 0; c < 256; c++) {
        char shown[8];
        if (c < 0x20 && SHORT[c]) {
            snprintf(shown, sizeof shown, "%s", SHORT[c]);
        } else if (c < 0x20) {
            snprintf(shown, sizeof shown, "\\u%04x", (unsigned)c);
        } else if (c >= 0x80) {
            snprintf(shown, sizeof shown, "\xef\xbf\xbd");
        } else if (c == '"' || c == '\\') {
            snprintf(shown, sizeof shown, "\\%c", c);
        } else {
            snprintf(shown, sizeof shown, "%c", c);
        }
        for (size_t at = 0; at < 20; at++) {
            char text[20], expected[64];
            memset(text, 'a', sizeof text);
            text[at] = (char)c;
            snprintf(expected, sizeof expected, "\"%.*s%s%.*s\"", (int)at, "aaaaaaaaaaaaaaaaaaaa",
                     shown, (int)(19 - at), "aaaaaaaaaaaaaaaaaaaa");
            assert_string_equal(string(text, sizeof text, 1000), expected);
        }
    }
}

static void test_well_formed_utf8_stays(void **state)
{
    (void)state;
    const char *texts[] = {"\xc2\x80",         "\xdf\xbf",         "\xe0\xa0\x80",
                           "\xed\x9f\xbf",     "\xee\x80\x80",     "\xef\xbf\xbf",
                           "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf", "\xd0\xbf\xd1\x80\xd0\xb8"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        char expected[32];
        snprintf(expected, sizeof expected, "\"%s\"", texts[i]);
        assert_string_equal(string(texts[i], strlen(texts[i]), 100), expected);
    }
}

/* Overlong forms, surrogates, beyond U+10FFFF, cut sequences: no byte of them comes through. */
static void test_malformed_utf8_is_replaced(void **state)
{
    (void)state;
    const char *texts[] = {"\xc0\x80",
                           "\xc1\xbf",
                           "\xe0\x9f\xbf",
                           "\xed\xa0\x80",
                           "\xf0\x8f\xbf\xbf",
                           "\xf4\x90\x80\x80",
                           "\xf5\x80\x80\x80",
                           "\xc2",
                           "\xe1\x80",
                           "\xf1\x80\x80",
                           "\x80",
                           "\xff"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        char expected[64] = "\"";
        for (size_t n = 0; n < strlen(texts[i]); n++) strcat(expected, "\xef\xbf\xbd");
        strcat(expected, "\"");
        assert_string_equal(string(texts[i], strlen(texts[i]), 100), expected);
    }
    assert_string_equal(string("\xe2\x28\xa1", 3, 100), "\"\xef\xbf\xbd(\xef\xbf\xbd\"");
}

static void test_a_limit_cuts_between_characters(void **state)
{
    (void)state;
    assert_string_equal(string("abcdef", 6, 3), "\"abc\"");
    assert_string_equal(string("ab\nd", 4, 3), "\"ab\"");
    assert_string_equal(string("ab\nd", 4, 4), "\"ab\\n\"");
    assert_string_equal(string("a\xd0\xbf", 3, 2), "\"a\"");
    assert_string_equal(string("\x01", 1, 5), "\"\"");
    assert_string_equal(string("", 0, 5), "\"\"");
    assert_string_equal(string(NULL, 0, 5), "\"\"");
    assert_string_equal(string("abcdefghij0123456789", 20, 20), "\"abcdefghij0123456789\"");
    assert_string_equal(string("abc", 3, 0), "\"\"");
}

static const char *at_ms(int64_t ms)
{
    return ended(event_json_time(room, (struct belay_wall){ms * BELAY_NS_PER_MS}));
}

static void test_times_of_every_kind_of_year(void **state)
{
    (void)state;
    assert_string_equal(at_ms(0), "\"1970-01-01T00:00:00.000Z\"");
    assert_string_equal(at_ms(-5), "\"1970-01-01T00:00:00.000Z\"");
    assert_string_equal(at_ms(INT64_C(1767700800123)), "\"2026-01-06T12:00:00.123Z\"");
    assert_string_equal(at_ms(INT64_C(951825599999)), "\"2000-02-29T11:59:59.999Z\"");
    assert_string_equal(at_ms(INT64_C(951868800000)), "\"2000-03-01T00:00:00.000Z\"");
    assert_string_equal(at_ms(INT64_C(4107542400007)), "\"2100-03-01T00:00:00.007Z\"");
    assert_string_equal(at_ms(INT64_C(1735689599050)), "\"2024-12-31T23:59:59.050Z\"");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers_are_those_of_printf),
        cmocka_unit_test(test_every_byte_alone_and_at_every_place),
        cmocka_unit_test(test_well_formed_utf8_stays),
        cmocka_unit_test(test_malformed_utf8_is_replaced),
        cmocka_unit_test(test_a_limit_cuts_between_characters),
        cmocka_unit_test(test_times_of_every_kind_of_year),
    };
    return cmocka_run_group_tests_name("event/json", tests, NULL, NULL);
}
