/* write_text.c: the text report against golden files, and what it must never do. */
#include "sample.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

static const struct inspect_style PLAIN = {false, true, 80}, ASCII = {false, false, 80},
                                  COLOUR = {true, true, 80};

/* Characters, where bytes of UTF-8 that go on a character are none. */
static void expect_columns(const char *text, size_t most)
{
    size_t columns = 0, line = 1;
    for (; *text; text++) {
        if (*text == '\n') {
            columns = 0;
            line++;
        } else if (((unsigned char)*text & 0xc0) != 0x80 && ++columns > most) {
            fail_msg("line %zu has more than %zu columns", line, most);
        }
    }
}

static void test_trouble(void **state)
{
    (void)state;
    const char *text = sample_text(sample_trouble(), NULL, &PLAIN);
    expect_columns(text, 80);
    sample_expect("trouble.txt", text);
}

static void test_ascii(void **state)
{
    (void)state;
    const char *text = sample_text(sample_trouble(), sample_timeline(), &ASCII);
    for (const char *c = text; *c; c++) assert_true((unsigned char)*c < 0x7f);
    text = sample_text(sample_trouble(), NULL, &ASCII);
    for (const char *c = text; *c; c++) assert_true((unsigned char)*c < 0x7f);
    expect_columns(text, 80);
    assert_non_null(strstr(text, "####"));
}

static void test_clean_is_one_line(void **state)
{
    (void)state;
    const char *text = sample_text(sample_clean(), NULL, &PLAIN);
    assert_non_null(strstr(text, "\nNothing wrong was found.\n"));
    assert_null(strstr(text, "anomal"));
    sample_expect("clean.txt", text);
}

static void test_colour_is_asked_for(void **state)
{
    (void)state;
    assert_null(strchr(sample_text(sample_trouble(), sample_timeline(), &PLAIN), '\033'));
    const char *text = sample_text(sample_trouble(), NULL, &COLOUR);
    assert_non_null(strstr(text, "\033[1;31munsafe_retry\033[0m"));
    /* What came out of the log opens no colour of its own. */
    assert_null(strstr(text, "\033[31m"));
}

static void test_text_of_the_log_does_no_harm(void **state)
{
    (void)state;
    const char *text = sample_text(sample_trouble(), NULL, &PLAIN);
    assert_null(strstr(text, "\xe2\x80\xae")); /* turns the direction round */
    assert_null(strchr(text, '\xff'));
    assert_non_null(strstr(text, "op-\xef\xbf\xbd<b>&"));
}

static void test_huge_counts(void **state)
{
    (void)state;
    const char *text = sample_text(sample_huge(), NULL, &PLAIN);
    assert_non_null(strstr(text, "18,446,744,073,709,551,615"));
    assert_non_null(strstr(text, "(no target named)"));
    assert_null(strstr(text, "nan"));
    assert_null(strstr(text, "inf"));
}

static void test_nothing_at_all(void **state)
{
    (void)state;
    static const struct inspect_report report;
    assert_string_equal(
        sample_text(&report, NULL, &PLAIN),
        "Read 0 lines (0 bytes): 0 records of 0 operations.\n\nNo event was found.\n");
}

static void test_news_is_one_line(void **state)
{
    (void)state;
    char *text = NULL;
    size_t bytes;
    FILE *to = open_memstream(&text, &bytes);
    assert_non_null(to);
    const struct inspect_report *report = sample_trouble();
    inspect_write_news(to, INSPECT_UNSAFE_RETRY, &report->anomalies[INSPECT_UNSAFE_RETRY], &PLAIN);
    assert_int_equal(fclose(to), 0);
    assert_string_equal(text,
                        "unsafe_retry (2): a request that may have had an effect was sent again; "
                        "operation 11f0ce0a76a74bd1b5b1d5d1f0e1a2b3\n");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_trouble),
        cmocka_unit_test(test_ascii),
        cmocka_unit_test(test_clean_is_one_line),
        cmocka_unit_test(test_colour_is_asked_for),
        cmocka_unit_test(test_text_of_the_log_does_no_harm),
        cmocka_unit_test(test_huge_counts),
        cmocka_unit_test(test_nothing_at_all),
        cmocka_unit_test(test_news_is_one_line),
    };
    return cmocka_run_group_tests_name("write_text", tests, NULL, NULL);
}
