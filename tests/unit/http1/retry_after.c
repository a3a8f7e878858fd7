/* retry_after.c: the rows of the conformance table, each with its kind. */
#include <belay/retry_after.h>

#include "test.h"

#include <stdio.h>
#include <stdlib.h>

#define ROW(test, name)                                                                            \
    {                                                                                              \
        name, test, NULL, NULL, NULL                                                               \
    }

/* Its bytes alone, so that a read past them is seen. */
static char *exact_copy(struct belay_slice text)
{
    char *copy = malloc(text.length ? text.length : 1);
    assert_non_null(copy);
    if (text.length) memcpy(copy, text.data, text.length);
    return copy;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static const struct belay_wall noon = {INT64_C(1767700800) *
                                       BELAY_NS_PER_S}; /* Tue, 06 Jan 2026 12:00:00 GMT */

static bool retry_after_ms(struct belay_slice value, int64_t *ms)
{
    const char *rule = NULL;
    char *copy = exact_copy(value);
    bool valid = belay_retry_after_parse(belay_slice(copy, value.length), noon, ms, &rule);
    free(copy);
    assert_int_equal(valid, rule == NULL);
    return valid;
}

static void assert_hint(const char *value, int64_t wanted_ms)
{
    int64_t ms = -1;
    assert_true(retry_after_ms(belay_slice_z(value), &ms));
    assert_true(ms == wanted_ms);
}

static void assert_ignored(const char *value)
{
    int64_t ms = -77;
    assert_false(retry_after_ms(belay_slice_z(value), &ms));
    assert_true(ms == -77); /* untouched on failure */
}

static void ra01(void **state)
{
    (void)state;
    assert_hint("120", 120000);
    for (int seconds = 0; seconds < 5000; seconds++) {
        char text[16];
        int64_t ms;
        int length = snprintf(text, sizeof text, "%d", seconds);
        assert_true(retry_after_ms(belay_slice(text, (size_t)length), &ms));
        assert_true(ms == seconds * INT64_C(1000));
    }
}

static void ra02(void **state)
{
    (void)state;
    assert_hint("0", 0);
    assert_hint("00", 0);
}

static void ra03(void **state)
{
    (void)state;
    assert_hint("00120", 120000);
    assert_hint("0000000000000000000000000000000000001", 1000);
}

static void ra04(void **state)
{
    (void)state;
    assert_hint(" 120\t", 120000);
    assert_hint("\t \t7 \t ", 7000);
    assert_hint(" Tue, 06 Jan 2026 12:01:00 GMT\t", 60000);
    assert_ignored("\v120");
    assert_ignored("120\r");
    assert_ignored("120\n");
    assert_ignored("1 20");
    assert_ignored("\xc2\xa0"
                   "120");
}

static void ra05(void **state)
{
    (void)state;
    const char *rule = NULL;
    int64_t ms;
    assert_ignored("-5");
    assert_false(belay_retry_after_parse(belay_slice_z("-5"), noon, &ms, &rule));
    assert_string_equal(rule, "neither whole seconds nor an HTTP-date"); /* never asked as a date */
    assert_ignored("-0");
    assert_ignored("- 5");
    assert_ignored("--5");
    assert_ignored("\xe2\x88\x92"
                   "5");
    assert_ignored("5-");
}

static void ra06(void **state)
{
    (void)state;
    assert_ignored("+5");
    assert_ignored("+0");
}

static void ra07(void **state)
{
    (void)state;
    assert_ignored("1.5");
    assert_ignored("1.0");
    assert_ignored(".5");
    assert_ignored("5.");
    assert_ignored("1,5");
}

static void ra08(void **state)
{
    (void)state;
    assert_ignored("1e3");
    assert_ignored("1E3");
    assert_ignored("0x10");
    assert_ignored("1_000");
}

static void ra09(void **state)
{
    (void)state;
    assert_ignored("120s");
    assert_ignored("120 s");
    assert_ignored("2m");
    assert_ignored("120, 120");
    assert_ignored("120;120");
    assert_ignored("\"120\"");
    assert_ignored("seconds");
    for (int c = 0; c < 256; c++) {
        char text[2] = {'1', (char)c};
        int64_t ms;
        bool valid = is_digit((char)c) || c == ' ' || c == '\t';
        assert_int_equal(retry_after_ms(belay_slice(text, 2), &ms), valid);
        char front[2] = {(char)c, '1'};
        assert_int_equal(retry_after_ms(belay_slice(front, 2), &ms), valid);
    }
}

static void ra11(void **state)
{
    (void)state;
    assert_ignored("");
    assert_ignored(" ");
    assert_ignored("\t\t");
}

static void ra12(void **state)
{
    (void)state;
    assert_hint("9999999999", INT64_C(9999999999000));
    assert_hint("4294967296", INT64_C(4294967296000));
    assert_hint("9223372036854775", INT64_C(9223372036854775000));
    assert_hint("9223372036854776", INT64_MAX);
    assert_hint("18446744073709551616", INT64_MAX);
    assert_hint("99999999999999999999999999999999999999999999999999", INT64_MAX);
    assert_hint("Fri, 31 Dec 9999 23:59:59 GMT", (INT64_C(253402300799) - 1767700800) * 1000);
}

static void ra15(void **state)
{
    (void)state;
    assert_hint("Tue, 06 Jan 2026 12:01:00 GMT", 60000);
    assert_hint("Tue, 06 Jan 2026 12:00:00 GMT", 0);
    assert_hint("Wed, 07 Jan 2026 12:00:00 GMT", 86400000);
    assert_hint("Thu, 01 Jan 2026 00:00:00 GMT", 0);
    assert_hint("Wed, 06 Jan 2027 12:00:00 GMT", INT64_C(365) * 86400000);
    /* between two seconds of ours: rounded up, never early */
    int64_t ms;
    struct belay_wall later = {noon.ns + 1};
    assert_true(
        belay_retry_after_parse(belay_slice_z("Tue, 06 Jan 2026 12:01:00 GMT"), later, &ms, NULL));
    assert_true(ms == 60000);
    later.ns = noon.ns + 1500 * 1000;
    assert_true(
        belay_retry_after_parse(belay_slice_z("Tue, 06 Jan 2026 12:01:00 GMT"), later, &ms, NULL));
    assert_true(ms == 59999);
    struct belay_wall before_epoch = {-1};
    assert_true(belay_retry_after_parse(belay_slice_z("Thu, 01 Jan 1970 00:00:00 GMT"),
                                        before_epoch, &ms, NULL));
    assert_true(ms == 1);
}

static void ra16(void **state)
{
    (void)state;
    assert_hint("Tue, 06 Jan 2026 11:59:00 GMT", 0);
    assert_hint("Tue, 06 Jan 2026 11:59:59 GMT", 0);
    assert_hint("Thu, 01 Jan 1970 00:00:00 GMT", 0);
    assert_hint("Mon, 01 Jan 0001 00:00:00 GMT", 0);
}

static void ra18(void **state)
{
    (void)state;
    assert_hint("Tuesday, 06-Jan-26 12:01:00 GMT", 60000);
    assert_ignored("Tue, 06-Jan-26 12:01:00 GMT");
    assert_ignored("Tuesday, 06-Jan-2026 12:01:00 GMT");
    assert_ignored("Tuesday, 06 Jan 26 12:01:00 GMT");
    assert_ignored("Tuesday, 6-Jan-26 12:01:00 GMT");
    assert_ignored("Tuesday 06-Jan-26 12:01:00 GMT");
}

static void ra19(void **state)
{
    (void)state;
    assert_hint("Tue Jan  6 12:01:00 2026", 60000);
    assert_hint("Tue Jan 06 12:01:00 2026", 60000);
    assert_hint("Tue Jan 13 12:00:00 2026", INT64_C(7) * 86400000);
    assert_ignored("Tue Jan 6 12:01:00 2026");
    assert_ignored("Tue Jan  6 12:01:00 2026 GMT");
    assert_ignored("Tue, Jan  6 12:01:00 2026");
    assert_ignored("Tue Jan   6 12:01:00 2026");
    assert_ignored("Tue Jan  0 12:01:00 2026");
}

static void ra21(void **state)
{
    (void)state;
    assert_hint("Sunday, 06-Nov-94 08:49:37 GMT", 0);
}

static void ra25(void **state)
{
    (void)state;
    assert_ignored("tue, 06 jan 2026 12:01:00 gmt");
    assert_ignored("TUE, 06 JAN 2026 12:01:00 GMT");
    assert_ignored("Tue, 06 Jan 2026 12:01:00 gmt");
    assert_ignored("Tue, 06 jan 2026 12:01:00 GMT");
    assert_ignored("tue, 06 Jan 2026 12:01:00 GMT");
    assert_ignored("tuesday, 06-Jan-26 12:01:00 GMT");
    assert_ignored("tue Jan  6 12:01:00 2026");
}

static void ra31(void **state)
{
    (void)state;
    assert_ignored("Mon, 29 Feb 2027 12:00:00 GMT");
    assert_ignored("Mon, 31 Jun 2026 12:00:00 GMT");
    assert_ignored("Tue, 00 Jan 2026 12:00:00 GMT");
    assert_ignored("Sun, 32 Jan 2026 12:00:00 GMT");
    assert_ignored("Mon Feb 29 12:00:00 2027");
    assert_ignored("Monday, 29-Feb-27 12:00:00 GMT");
    assert_hint("Tue, 29 Feb 2028 12:00:00 GMT", (INT64_C(1835438400) - 1767700800) * 1000);
    assert_ignored("Wed, 06 Jan 2026 12:01:00 GMT"); /* it was a Tuesday */
    assert_ignored("Tue, 06 Jan 2026 24:00:00 GMT");
    assert_ignored("Tue, 06 Jan 2026 12:60:00 GMT");
    assert_ignored("Tue, 06 Jan 2026 12:00:61 GMT");
    assert_ignored("Tue, 06 Jan 2026 12:00:60 GMT"); /* no leap second at noon */
}

static void ra34(void **state)
{
    (void)state;
    assert_ignored("2026-01-06T12:01:00Z");
    assert_ignored("1767700860.5");
    assert_ignored("Tue, 06 Jan 2026 12:01:00 UTC");
    assert_ignored("Tue, 06 Jan 2026 12:01:00 +0000");
    assert_ignored("Tue, 06 Jan 2026 12:01:00");
    assert_ignored("Tue, 06 Jan 2026 12:01 GMT");
    assert_ignored("Tue, 6 Jan 2026 12:01:00 GMT");
    assert_ignored("Tue, 06 Jan 26 12:01:00 GMT");
    assert_ignored("06 Jan 2026 12:01:00 GMT");
    assert_ignored("Tue, 06 Jan 2026 12:01:00 GMT, Tue, 06 Jan 2026 12:01:00 GMT");
}

/* Every byte of each form replaced by every other: accepted only where it makes another date. */
static void test_a_date_with_one_wrong_byte(void **state)
{
    (void)state;
    static const char *const dates[] = {"Tue, 06 Jan 2026 12:01:00 GMT",
                                        "Tuesday, 06-Jan-26 12:01:00 GMT",
                                        "Tue Jan  6 12:01:00 2026"};
    for (size_t d = 0; d < 3; d++) {
        size_t length = strlen(dates[d]);
        for (size_t i = 0; i < length; i++) {
            for (int c = 0; c < 256; c++) {
                char text[40];
                int64_t ms;
                memcpy(text, dates[d], length);
                if (text[i] == (char)c) continue;
                text[i] = (char)c;
                bool may = is_digit(dates[d][i]) || (dates[d][i] == ' ' && is_digit(text[i])) ||
                           (text[i] == ' ' && (i == 0 || i + 1 == length || is_digit(dates[d][i])));
                if (!may) assert_false(retry_after_ms(belay_slice(text, length), &ms));
            }
            int64_t ms;
            assert_false(retry_after_ms(belay_slice(dates[d], i), &ms));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROW(ra01, "RA01 120 is two minutes"),
        ROW(ra02, "RA02 0 is valid"),
        ROW(ra03, "RA03 leading zeros are legal"),
        ROW(ra04, "RA04 white space around is taken off"),
        ROW(ra05, "RA05 -5 is ignored, and no date parser sees it"),
        ROW(ra06, "RA06 +5 is ignored"),
        ROW(ra07, "RA07 a fraction is ignored"),
        ROW(ra08, "RA08 an exponent is ignored"),
        ROW(ra09, "RA09 a unit is ignored"),
        ROW(ra11, "RA11 nothing is ignored"),
        ROW(ra12, "RA12 huge is kept in ms and saturates in ns"),
        ROW(ra15, "RA15 an IMF-fixdate is a span from now"),
        ROW(ra16, "RA16 a past date is 0"),
        ROW(ra18, "RA18 an RFC 850 date"),
        ROW(ra19, "RA19 an asctime date, its day padded"),
        ROW(ra21, "RA21 a two-digit year in the past"),
        ROW(ra25, "RA25 another case is no date"),
        ROW(ra31, "RA31 a day that does not exist is ignored"),
        ROW(ra34, "RA34 other date formats are ignored"),
        cmocka_unit_test(test_a_date_with_one_wrong_byte),
    };
    return cmocka_run_group_tests_name("http1/retry_after", tests, NULL, NULL);
}
