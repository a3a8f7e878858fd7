/* date.c: HTTP-dates against a day-by-day calendar, two-digit years, leap seconds, and there and
 * back. */
#include "base/rng.h"
#include "support.h"

#include <time.h>

static struct belay_wall at(int64_t seconds)
{
    return (struct belay_wall){seconds * BELAY_NS_PER_S};
}

static bool parses_to(const char *text, struct belay_wall now, int64_t *seconds)
{
    struct belay_wall out;
    if (!http1_parse_date(belay_slice_z(text), now, &out, NULL)) return false;
    *seconds = out.ns / BELAY_NS_PER_S;
    return true;
}

/* The C library's calendar is the other opinion. */
static void assert_formats_as_the_library(int64_t seconds)
{
    char ours[29], theirs[40];
    struct tm tm;
    time_t t = (time_t)seconds;
    gmtime_r(&t, &tm);
    assert_int_equal(strftime(theirs, sizeof theirs, "%a, %d %b %Y %H:%M:%S GMT", &tm), 29);
    http1_format_date(at(seconds), ours);
    assert_memory_equal(ours, theirs, 29);
    struct belay_wall back;
    assert_true(http1_parse_date(belay_slice(ours, 29), at(0), &back, NULL));
    assert_true(back.ns == at(seconds).ns);
    char other[40];
    strftime(other, sizeof other, "%a %b %e %H:%M:%S %Y", &tm);
    assert_true(parses_to(other, at(0), &seconds));
    assert_true(seconds == (int64_t)t);
    size_t length = strftime(other, sizeof other, "%A, %d-%b-", &tm);
    length +=
        (size_t)snprintf(other + length, sizeof other - length, "%02d", (tm.tm_year + 1900) % 100);
    strftime(other + length, sizeof other - length, " %H:%M:%S GMT", &tm);
    assert_true(parses_to(other, at(t), &seconds));
    assert_true(seconds == (int64_t)t);
}

static void test_every_day_from_1700_to_2250(void **state)
{
    (void)state;
    for (int64_t day = -98615; day < 102270; day++)
        assert_formats_as_the_library(day * 86400 + (day & 0xffff));
}

static void test_random_seconds_there_and_back(void **state)
{
    (void)state;
    struct rng rng;
    rng_seed(&rng, 9112);
    for (int i = 0; i < 20000; i++) {
        assert_formats_as_the_library((int64_t)rng_scale(rng_next(&rng), UINT64_C(8000000000)) -
                                      1000000);
    }
}

static void test_nanoseconds_are_cut_off(void **state)
{
    (void)state;
    char out[29];
    http1_format_date((struct belay_wall){BELAY_NS_PER_S - 1}, out);
    assert_memory_equal(out, "Thu, 01 Jan 1970 00:00:00 GMT", 29);
    http1_format_date((struct belay_wall){-1}, out);
    assert_memory_equal(out, "Wed, 31 Dec 1969 23:59:59 GMT", 29);
    http1_format_date((struct belay_wall){INT64_MAX}, out);
    assert_memory_equal(out, "Fri, 11 Apr 2262 23:47:16 GMT", 29);
    http1_format_date((struct belay_wall){INT64_MIN}, out);
    assert_memory_equal(out, "Tue, 21 Sep 1677 00:12:43 GMT", 29);
}

static void test_two_digit_years_turn_fifty_years_ahead(void **state)
{
    (void)state;
    struct belay_wall noon = at(1767700800); /* Tue, 06 Jan 2026 12:00:00 GMT */
    int64_t seconds;
    assert_true(parses_to("Monday, 06-Jan-76 12:00:00 GMT", noon,
                          &seconds)); /* to the second fifty: ahead */
    assert_true(seconds == INT64_C(3345537600));
    assert_true(
        parses_to("Tuesday, 06-Jan-76 12:00:01 GMT", noon, &seconds)); /* a second more: 1976 */
    assert_true(seconds == 189777601);
    assert_true(parses_to("Wednesday, 07-Jan-76 00:00:00 GMT", noon, &seconds));
    assert_true(parses_to("Friday, 06-Feb-76 00:00:00 GMT", noon, &seconds));
    assert_false(parses_to("Tuesday, 06-Jan-76 12:00:00 GMT", noon,
                           &seconds)); /* the weekday of the other century */
    assert_true(parses_to("Saturday, 01-Jan-00 00:00:00 GMT", noon, &seconds));
    assert_true(seconds == 946684800);
    /* in 2096 the year 05 is nine years ahead, not 91 back */
    assert_true(parses_to("Thursday, 01-Jan-05 00:00:00 GMT", at(INT64_C(3976214400)), &seconds));
    assert_true(seconds == INT64_C(4260211200));
}

static void test_leap_seconds(void **state)
{
    (void)state;
    int64_t seconds;
    assert_true(parses_to("Sat, 31 Dec 2016 23:59:60 GMT", at(0), &seconds));
    assert_true(seconds == 1483228800);
    assert_true(parses_to("Sat Dec 31 23:59:60 2016", at(0), &seconds));
    assert_true(parses_to("Saturday, 31-Dec-16 23:59:60 GMT", at(1483228800), &seconds));
    assert_false(parses_to("Sat, 31 Dec 2016 23:59:61 GMT", at(0), &seconds));
    assert_false(parses_to("Sat, 31 Dec 2016 22:59:60 GMT", at(0), &seconds));
    assert_false(parses_to("Sat, 31 Dec 2016 23:58:60 GMT", at(0), &seconds));
    assert_false(parses_to("Sat, 31 Dec 2016 24:00:00 GMT", at(0), &seconds));
}

static void test_days_that_exist(void **state)
{
    (void)state;
    static const int years[] = {1900, 2000, 2023, 2024, 2100};
    static const char *const months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                         "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    static const int lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    static const char *const weekdays[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
    for (size_t y = 0; y < 5; y++) {
        bool leap = years[y] == 2000 || years[y] == 2024;
        for (int month = 0; month < 12; month++) {
            for (int day = 0; day <= 32; day++) {
                int good = 0; /* exactly one weekday is right */
                for (int w = 0; w < 7; w++) {
                    char text[80];
                    int64_t seconds;
                    snprintf(text, sizeof text, "%s, %02d %s %04d 00:00:00 GMT", weekdays[w], day,
                             months[month], years[y]);
                    good += parses_to(text, at(0), &seconds);
                }
                int last = lengths[month] + (leap && month == 1);
                assert_int_equal(good, day >= 1 && day <= last);
            }
        }
    }
}

static void test_beyond_what_a_wall_time_holds(void **state)
{
    (void)state;
    struct belay_wall out;
    assert_true(http1_parse_date(TEXT("Fri, 31 Dec 9999 23:59:59 GMT"), at(0), &out, NULL));
    assert_true(out.ns == INT64_MAX);
    assert_true(http1_parse_date(TEXT("Mon, 01 Jan 0001 00:00:00 GMT"), at(0), &out, NULL));
    assert_true(out.ns == INT64_MIN);
}

static void test_the_rule_is_told(void **state)
{
    (void)state;
    struct belay_wall out = {5};
    const char *rule = NULL;
    assert_false(http1_parse_date(TEXT("yesterday"), at(0), &out, &rule));
    assert_string_equal(rule, "not an HTTP-date");
    assert_false(http1_parse_date(TEXT("Mon, 29 Feb 2027 12:00:00 GMT"), at(0), &out, &rule));
    assert_string_equal(rule, "no such day");
    assert_false(http1_parse_date(TEXT("Mon, 06 Jan 2026 12:00:00 GMT"), at(0), &out, &rule));
    assert_string_equal(rule, "weekday does not match the date");
    assert_int_equal(out.ns, 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_day_from_1700_to_2250),
        cmocka_unit_test(test_random_seconds_there_and_back),
        cmocka_unit_test(test_nanoseconds_are_cut_off),
        cmocka_unit_test(test_two_digit_years_turn_fifty_years_ahead),
        cmocka_unit_test(test_leap_seconds),
        cmocka_unit_test(test_days_that_exist),
        cmocka_unit_test(test_beyond_what_a_wall_time_holds),
        cmocka_unit_test(test_the_rule_is_told),
    };
    return cmocka_run_group_tests_name("http1/date", tests, NULL, NULL);
}
