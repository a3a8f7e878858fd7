/* lex.c: strings, numbers and skipping at their borders, wherever they stand in memory. */
#include "test.h"

#include "inspect/lex.h"

#include <stdlib.h>
#include <string.h>

/* Every byte at every place of strings of every length around the steps of sixteen and eight. */
static void every_byte_in_strings(void **state)
{
    (void)state;
    for (size_t length = 1; length < 40; length++) {
        for (size_t at = 0; at < length; at++) {
            for (int byte = 0; byte < 256; byte++) {
                char *line = malloc(length + 1);
                assert_non_null(line);
                memset(line, 'x', length);
                line[length] = '"';
                line[at] = (char)byte;
                struct lex lex = {line, line + length + 1};
                struct lex_text text = {0};
                bool found = lex_string(&lex, &text);
                bool quoted_end = byte == '\\' && at + 1 == length;
                assert_int_equal(found, byte >= 0x20 && !quoted_end);
                if (found) {
                    assert_int_equal(text.length, byte == '"' ? at : length);
                    assert_int_equal(text.escaped, byte == '\\');
                    assert_int_equal(text.beyond_ascii, byte >= 0x80);
                    assert_ptr_equal(lex.at, line + text.length + 1);
                }
                free(line);
            }
        }
    }
}

static void numbers(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum lex_number kind;
        int64_t value;
    } ROWS[] = {
        {"0", LEX_INTEGER, 0},
        {"-0", LEX_INTEGER, 0},
        {"7", LEX_INTEGER, 7},
        {"-7", LEX_INTEGER, -7},
        {"80.0", LEX_INTEGER, 80},
        {"1e2", LEX_INTEGER, 100},
        {"1E+2", LEX_INTEGER, 100},
        {"1.5e1", LEX_INTEGER, 15},
        {"1500e-2", LEX_INTEGER, 15},
        {"0e999999999999", LEX_INTEGER, 0},
        {"0.0", LEX_INTEGER, 0},
        {"9223372036854775807", LEX_INTEGER, INT64_MAX},
        {"-9223372036854775808", LEX_INTEGER, INT64_MIN},
        {"9223372036854775808", LEX_NOT_INTEGRAL, 0},
        {"-9223372036854775809", LEX_NOT_INTEGRAL, 0},
        {"18446744073709551616", LEX_NOT_INTEGRAL, 0},
        {"922337203685477580.7e1", LEX_INTEGER, INT64_MAX},
        {"1.00000000000000000000000000", LEX_INTEGER, 1},
        {"1.00000000000000000000000001", LEX_NOT_INTEGRAL, 0},
        {"100000000000000000000000e-20", LEX_INTEGER, 1000},
        {"1.5", LEX_NOT_INTEGRAL, 0},
        {"1e-1", LEX_NOT_INTEGRAL, 0},
        {"1e400", LEX_NOT_INTEGRAL, 0},
        {"1e99999999999999999999", LEX_NOT_INTEGRAL, 0},
        {"1e-99999999999999999999", LEX_NOT_INTEGRAL, 0},
        {"", LEX_NO_NUMBER, 0},
        {"-", LEX_NO_NUMBER, 0},
        {"+1", LEX_NO_NUMBER, 0},
        {"01", LEX_NO_NUMBER, 0},
        {"1.", LEX_NO_NUMBER, 0},
        {".5", LEX_NO_NUMBER, 0},
        {"1e", LEX_NO_NUMBER, 0},
        {"1e+", LEX_NO_NUMBER, 0},
        {"x", LEX_NO_NUMBER, 0},
    };
    for (size_t i = 0; i < sizeof ROWS / sizeof ROWS[0]; i++) {
        char text[64];
        int64_t value = 0;
        (void)strcpy(text, ROWS[i].text);
        struct lex lex = {text, text + strlen(text)};
        if (lex_number(&lex, &value) != ROWS[i].kind) fail_msg("%s", ROWS[i].text);
        if (ROWS[i].kind == LEX_INTEGER) assert_int_equal(value, ROWS[i].value);
        assert_ptr_equal(lex.at, ROWS[i].kind == LEX_NO_NUMBER ? text : lex.end);
    }
}

static void skipping(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        long taken; /* -1: refused */
    } ROWS[] = {
        {"1,", 1},
        {"\"a\\\"b\"x", 6},
        {"{}", 2},
        {"[ ] ", 3},
        {"{\"a\":[1,{\"b\":\"}]\"}],\"c\":null}rest", 29},
        {"[[[[[[]]]]]]", 12},
        {"true", 4},
        {"false", 5},
        {"null", 4},
        {"nul", -1},
        {"[1", -1},
        {"{\"a\"", -1},
        {"]", -1},
        {"", -1},
        {"[tru]", -1},
    };
    for (size_t i = 0; i < sizeof ROWS / sizeof ROWS[0]; i++) {
        char text[64];
        (void)strcpy(text, ROWS[i].text);
        struct lex lex = {text, text + strlen(text)};
        bool taken = lex_skip(&lex);
        if (taken != (ROWS[i].taken >= 0)) fail_msg("%s", ROWS[i].text);
        if (taken) assert_int_equal(lex.at - text, ROWS[i].taken);
    }
}

static void unescaping(void **state)
{
    (void)state;
    static const struct {
        const char *raw, *text; /* NULL: refused */
    } ROWS[] = {
        {"plain", "plain"},
        {"\\\"\\\\\\/\\b\\f\\n\\r\\t", "\"\\/\b\f\n\r\t"},
        {"\\u0041\\u00e9\\u20AC", "A\xc3\xa9\xe2\x82\xac"},
        {"\\ud83d\\ude00", "\xf0\x9f\x98\x80"},
        {"\\uD7FF\\uE000\\uffff", "\xed\x9f\xbf\xee\x80\x80\xef\xbf\xbf"},
        {"\\udbff\\udfff", "\xf4\x8f\xbf\xbf"},
        {"\xc3\xa9", "\xc3\xa9"},
        {"\\u0000", NULL},
        {"\\ud83d", NULL},
        {"\\ud83dx", NULL},
        {"\\ud83d\\n", NULL},
        {"\\ud83d\\u0041", NULL},
        {"\\ud83d\\ud83d", NULL},
        {"\\ude00", NULL},
        {"\\u12", NULL},
        {"\\u12g4", NULL},
        {"\\x41", NULL},
        {"\\U0041", NULL},
        {"\xff", NULL},
        {"\xc0\xaf", NULL},
        {"\xed\xa0\x80", NULL},
        {"\xf4\x90\x80\x80", NULL},
        {"\xe2\x82", NULL},
    };
    for (size_t i = 0; i < sizeof ROWS / sizeof ROWS[0]; i++) {
        char raw[64];
        (void)strcpy(raw, ROWS[i].raw);
        struct lex_text text = {raw, strlen(raw), true, true};
        bool good = lex_unescape(&text);
        if (good != (ROWS[i].text != NULL)) fail_msg("row %zu", i);
        if (!good) continue;
        assert_int_equal(text.length, strlen(ROWS[i].text));
        assert_memory_equal(text.data, ROWS[i].text, text.length);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_byte_in_strings),
        cmocka_unit_test(numbers),
        cmocka_unit_test(skipping),
        cmocka_unit_test(unescaping),
    };
    return cmocka_run_group_tests_name("lex", tests, NULL, NULL);
}
