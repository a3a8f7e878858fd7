/* text.c: numbers and bytes of text at their bounds. */
#include "base/text.h"

#include "base/hash.h"
#include "test.h"

#include <inttypes.h>
#include <stdio.h>

static void numbers_are_read_up_to_their_bound(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t max;
        bool good;
        uint64_t value;
    } rows[] = {
        {"0", 0, true, 0},
        {"1", 0, false, 0},
        {"9", 5, false, 0},
        {"65535", 65535, true, 65535},
        {"65536", 65535, false, 0},
        {"00065535", 65535, true, 65535},
        {"18446744073709551615", UINT64_MAX, true, UINT64_MAX},
        {"18446744073709551616", UINT64_MAX, false, 0},
        {"99999999999999999999999", UINT64_MAX, false, 0},
        {"", 9, false, 0},
        {"-1", 9, false, 0},
        {"+1", 9, false, 0},
        {" 1", 9, false, 0},
        {"1 ", 9, false, 0},
        {"1a", 9, false, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        uint64_t value = 77;
        assert_int_equal(text_read_number(belay_slice_z(rows[i].text), rows[i].max, &value),
                         rows[i].good);
        assert_true(value == (rows[i].good ? rows[i].value : 77));
    }
    uint16_t port = 77;
    assert_true(text_read_port(TEXT("00080"), &port));
    assert_int_equal(port, 80);
    assert_false(text_read_port(TEXT("000080"), &port) || text_read_port(TEXT("65536"), &port));
    uint64_t value = 77;
    assert_false(text_read_number(belay_slice("1\0"
                                              "2",
                                              3),
                                  999, &value));
}

static void numbers_are_written_as_printf_does(void **state)
{
    (void)state;
    uint64_t value = 0;
    for (int i = 0; i < 200; i++, value = value * 3 + (uint64_t)i) {
        char out[TEXT_NUMBER_BYTES_MAX], wanted[32];
        struct belay_slice text = text_write_number(value, out);
        (void)snprintf(wanted, sizeof wanted, "%" PRIu64, value);
        assert_true(belay_slice_equal(text, belay_slice_z(wanted)));
    }
    char out[TEXT_NUMBER_BYTES_MAX];
    assert_true(
        belay_slice_equal(text_write_number(UINT64_MAX, out), TEXT("18446744073709551615")));
}

static void every_byte_is_of_its_kind(void **state)
{
    (void)state;
    for (int i = 0; i < 256; i++) {
        char c = (char)i;
        bool digit = strchr("0123456789", c) && c, lower = i >= 97 && i <= 122;
        bool upper = i >= 65 && i <= 90;
        assert_int_equal(char_is_digit(c), digit);
        assert_int_equal(char_is_letter(c), lower || upper);
        assert_int_equal(char_is_letter_or_digit(c), lower || upper || digit);
        assert_int_equal(char_is_token(c),
                         lower || upper || digit || (c && strchr("!#$%&'*+-.^_`|~", c)));
        assert_int_equal(char_lower(c), upper ? (char)(i + 32) : c);
        static const char hex_digits[] = "0123456789abcdef";
        const char *hex = c ? strchr(hex_digits, char_lower(c)) : NULL;
        assert_int_equal(char_hex(c), hex ? hex - hex_digits : -1);
    }
}

static void hashes_are_those_of_the_paper(void **state)
{
    (void)state;
    assert_true(hash_bytes(TEXT("")) == UINT64_C(0xcbf29ce484222325));
    assert_true(hash_bytes(TEXT("a")) == UINT64_C(0xaf63dc4c8601ec8c));
    assert_true(hash_bytes(TEXT("foobar")) == UINT64_C(0x85944171f73967e8));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_read_up_to_their_bound),
        cmocka_unit_test(numbers_are_written_as_printf_does),
        cmocka_unit_test(every_byte_is_of_its_kind),
        cmocka_unit_test(hashes_are_those_of_the_paper),
    };
    return cmocka_run_group_tests_name("text", tests, NULL, NULL);
}
