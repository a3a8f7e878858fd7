/* write_html.c: the page is whole, escapes all that came from the log, and asks nobody for
 * anything.
 */
#include "sample.h"
#include "test.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static size_t count_of(const char *text, const char *what)
{
    size_t count = 0;
    for (; (text = strstr(text, what)); text++) count++;
    return count;
}

/* Every element that is opened is closed, in its order. */
static void expect_balanced(const char *html)
{
    static const char *const EMPTY[] = {"meta", "link", "rect", "line", "circle", "path", "br"};
    char open[64][16];
    size_t depth = 0;
    for (const char *at = strstr(html, "<html"); at && (at = strchr(at, '<')); at++) {
        bool closes = at[1] == '/';
        char name[16] = "";
        size_t length = strspn(at + 1 + closes, "abcdefghijklmnopqrstuvwxyz123456");
        assert_in_range(length, 1, 15);
        memcpy(name, at + 1 + closes, length);
        bool empty = false;
        for (size_t i = 0; i < sizeof EMPTY / sizeof EMPTY[0]; i++)
            empty |= strcmp(name, EMPTY[i]) == 0;
        if (closes) {
            assert_true(depth > 0);
            assert_string_equal(name, open[--depth]);
        } else if (!empty) {
            assert_true(depth < 64);
            memcpy(open[depth++], name, sizeof name);
        }
    }
    assert_int_equal(depth, 0);
}

static void test_trouble(void **state)
{
    (void)state;
    const char *html = sample_html(sample_trouble(), sample_timeline());
    expect_balanced(html);
    assert_memory_equal(html, "<!doctype html>", 15);
    assert_int_equal(count_of(html, "<svg "), count_of(html, "</desc>"));
    assert_true(count_of(html, "<svg ") >= 9);
    for (unsigned kind = 0; kind < INSPECT_ANOMALY_COUNT; kind++) {
        const char *name = inspect_advice((enum inspect_anomaly_kind)kind)->name;
        bool found = sample_trouble()->anomalies[kind].count > 0;
        assert_true((strstr(html, name) != NULL) == found);
    }
}

static void test_nothing_of_the_log_is_markup(void **state)
{
    (void)state;
    const char *html = sample_html(sample_trouble(), sample_timeline());
    assert_null(strstr(html, "<script"));
    assert_null(strstr(html, "<b>"));
    assert_non_null(strstr(html, "pay&lt;script&gt;alert(1)&lt;/script&gt;"));
    assert_non_null(strstr(html, "events&lt;1&gt;.ndjson"));
    for (const char *c = html; *c; c++) assert_true((unsigned char)*c >= 0x20 || *c == '\n');
    assert_null(strchr(html, '\xff'));
    assert_null(strstr(html, "\xe2\x80\xae"));
}

static void test_nothing_is_fetched(void **state)
{
    (void)state;
    const char *html = sample_html(sample_trouble(), sample_timeline());
    static const char *const NEVER[] = {"http:", "https:", "//",     "@import",
                                        "url(",  " src=",  "onload", "javascript:"};
    for (size_t i = 0; i < sizeof NEVER / sizeof NEVER[0]; i++) assert_null(strstr(html, NEVER[i]));
    assert_non_null(strstr(html, "default-src 'none'"));
    assert_int_equal(count_of(html, "href="),
                     count_of(html, "href=\"#") + count_of(html, "href=\"data:,\""));
}

static void test_numbers_stay_numbers(void **state)
{
    (void)state;
    static const struct inspect_report none;
    const struct inspect_report *reports[] = {sample_huge(), sample_clean(), &none};
    for (size_t i = 0; i < sizeof reports / sizeof reports[0]; i++) {
        const char *html = sample_html(reports[i], NULL);
        expect_balanced(html);
        assert_null(strstr(html, "\"nan"));
        assert_null(strstr(html, "\"-nan"));
        assert_null(strstr(html, "inf\""));
    }
}

static void test_verdict_comes_first(void **state)
{
    (void)state;
    const char *html = sample_html(sample_clean(), NULL);
    assert_non_null(strstr(html, "Nothing wrong was found."));
    html = sample_html(sample_trouble(), NULL);
    assert_true(strstr(html, "3 kinds of anomalies") < strstr(html, "<h2>Targets"));
    assert_non_null(strstr(html, "href=\"#unsafe_retry\""));
    assert_non_null(strstr(html, "id=\"unsafe_retry\""));
}

static void test_the_page_is_as_it_was(void **state)
{
    (void)state;
    sample_expect("operation.html", sample_html(sample_clean(), sample_timeline()));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_trouble),
        cmocka_unit_test(test_nothing_of_the_log_is_markup),
        cmocka_unit_test(test_nothing_is_fetched),
        cmocka_unit_test(test_numbers_stay_numbers),
        cmocka_unit_test(test_verdict_comes_first),
        cmocka_unit_test(test_the_page_is_as_it_was),
    };
    return cmocka_run_group_tests_name("write_html", tests, NULL, NULL);
}
