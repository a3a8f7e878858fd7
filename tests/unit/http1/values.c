/* values.c: timeouts, lengths and traceparent: the rows of the conformance tables and
 * their kinds. */
#include "base/rng.h"
#include "http1/chars.h"
#include "support.h"

static void assert_grpc(const char *value, int64_t wanted_ns)
{
    struct belay_span span;
    assert_true(http1_parse_grpc_timeout(belay_slice_z(value), &span));
    assert_true(span.ns == wanted_ns);
}

static void assert_no_grpc(struct belay_slice value)
{
    struct belay_span span = {-77};
    char *copy = exact_copy(value);
    assert_false(http1_parse_grpc_timeout(belay_slice(copy, value.length), &span));
    assert_true(span.ns == -77);
    free(copy);
}

static void gt01(void **state)
{
    (void)state;
    assert_grpc("1S", BELAY_NS_PER_S);
    assert_grpc("0S", 0);
    assert_grpc("00000001S", BELAY_NS_PER_S);
    assert_grpc("99999999S", 99999999 * BELAY_NS_PER_S);
}

static void gt02(void **state)
{
    (void)state;
    assert_grpc("100m", 100 * BELAY_NS_PER_MS);
    assert_grpc("100u", 100000);
    assert_grpc("100n", 100);
}

static void gt03(void **state)
{
    (void)state;
    assert_grpc("2M", 120 * BELAY_NS_PER_S);
    assert_grpc("1H", 3600 * BELAY_NS_PER_S);
    assert_grpc("99999999H", INT64_MAX); /* 11 415 years saturate */
    assert_grpc("2562047H", INT64_C(2562047) * 3600 * BELAY_NS_PER_S);
    assert_grpc("2562048H", INT64_MAX);
}

static void gt06(void **state)
{
    (void)state;
    assert_no_grpc(TEXT("100000000n"));
    assert_no_grpc(TEXT("000000001S"));
    assert_grpc("10000000n", 10000000);
}

static void gt07(void **state)
{
    (void)state;
    assert_no_grpc(TEXT("S"));
    assert_no_grpc(TEXT("5"));
    assert_no_grpc(TEXT(""));
    assert_no_grpc(TEXT("55"));
    assert_no_grpc(TEXT("SS"));
}

static void gt08(void **state)
{
    (void)state;
    static const char *const bad[] = {"5s",  "5h",  "5ms",  "-5S", "+5S",  "5 S",
                                      " 5S", "5S ", "1.5S", "5S5", "0x5S", "5,S"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) assert_no_grpc(belay_slice_z(bad[i]));
    for (int c = 0; c < 256; c++) {
        char unit[2] = {'5', (char)c}, digit[2] = {(char)c, 'S'};
        struct belay_span span;
        if (c == 0 || !strchr("HMSmun", c)) assert_no_grpc(belay_slice(unit, 2));
        assert_int_equal(http1_parse_grpc_timeout(belay_slice(digit, 2), &span),
                         char_is_digit((char)c));
    }
}

static void ct01(void **state)
{
    (void)state;
    struct belay_span span = {0};
    assert_true(http1_parse_timeout_ms(TEXT("5000"), &span));
    assert_true(span.ns == 5 * BELAY_NS_PER_S);
    assert_true(http1_parse_timeout_ms(TEXT("0"), &span));
    assert_true(span.ns == 0);
    assert_true(http1_parse_timeout_ms(TEXT("-0"), &span));
    assert_true(span.ns == 0);
    assert_true(http1_parse_timeout_ms(TEXT("-1"), &span));
    assert_true(span.ns == -BELAY_NS_PER_MS);
    assert_true(http1_parse_timeout_ms(TEXT("0000000250"), &span));
    assert_true(span.ns == 250 * BELAY_NS_PER_MS);
    assert_true(http1_parse_timeout_ms(TEXT("9999999999"), &span));
    assert_true(span.ns == INT64_C(9999999999) * BELAY_NS_PER_MS);
    static const char *const bad[] = {"",
                                      "-",
                                      "+5",
                                      "5.0",
                                      "5ms",
                                      "5 ",
                                      " 5",
                                      "1e3",
                                      "0x5",
                                      "10000000000",
                                      "--5",
                                      "5-",
                                      "5,5",
                                      "99999999999999999999",
                                      "-10000000000"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        span.ns = 7;
        assert_false(http1_parse_timeout_ms(belay_slice_z(bad[i]), &span));
        assert_true(span.ns == 7);
    }
}

#define TRACE "0af7651916cd43dd8448eb211c80319c"
#define PARENT "b7ad6b7169203331"

static bool traceparent(struct belay_slice value)
{
    struct belay_slice trace = {0}, parent = {0};
    uint8_t flags = 0;
    char *copy = exact_copy(value);
    bool valid = http1_parse_traceparent(belay_slice(copy, value.length), &trace, &parent, &flags);
    assert_true(valid ? trace.length == 32 && parent.length == 16 : trace.data == NULL);
    free(copy);
    return valid;
}

static void test_traceparent(void **state)
{
    (void)state;
    struct belay_slice trace, parent;
    uint8_t flags;
    assert_true(
        http1_parse_traceparent(TEXT("00-" TRACE "-" PARENT "-0a"), &trace, &parent, &flags));
    assert_text(trace, TRACE);
    assert_text(parent, PARENT);
    assert_int_equal(flags, 0x0a);
    assert_true(traceparent(TEXT("00-" TRACE "-" PARENT "-ff")));
    assert_true(traceparent(TEXT("01-" TRACE "-" PARENT "-01")));
    assert_true(traceparent(TEXT("cc-" TRACE "-" PARENT "-01-what.the-future.brings")));
    static const char *const bad[] = {"",
                                      "00",
                                      "00-" TRACE "-" PARENT,
                                      "00-" TRACE "-" PARENT "-0",
                                      "00-" TRACE "-" PARENT "-01-",
                                      "00-" TRACE "-" PARENT "-011",
                                      "01-" TRACE "-" PARENT "-01x",
                                      "ff-" TRACE "-" PARENT "-01",
                                      "00-00000000000000000000000000000000-" PARENT "-01",
                                      "00-" TRACE "-0000000000000000-01",
                                      "00-0AF7651916CD43DD8448EB211C80319C-" PARENT "-01",
                                      "0-" TRACE "-" PARENT "-01",
                                      "FF-" TRACE "-" PARENT "-01",
                                      "0A-" TRACE "-" PARENT "-01",
                                      "00_" TRACE "-" PARENT "-01",
                                      "00-" TRACE "_" PARENT "-01",
                                      "00-" TRACE "-" PARENT "_01",
                                      "00-" TRACE "-" PARENT "-0A",
                                      "00-" TRACE "-" PARENT "-0g",
                                      "00-" TRACE "-b7ad6b716920333G-01",
                                      " 00-" TRACE "-" PARENT "-01",
                                      "00-" TRACE "-" PARENT "-01 "};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(traceparent(belay_slice_z(bad[i])));
}

static void test_traceparent_with_one_wrong_byte(void **state)
{
    (void)state;
    static const char good[] = "00-" TRACE "-" PARENT "-01";
    for (size_t i = 0; i < sizeof good - 1; i++) {
        for (int c = 0; c < 256; c++) {
            char text[sizeof good];
            memcpy(text, good, sizeof good);
            text[i] = (char)c;
            bool hex = char_is_digit((char)c) || (c >= 'a' && c <= 'f');
            bool valid = good[i] == '-' ? c == '-' : hex;
            assert_int_equal(traceparent(belay_slice(text, sizeof good - 1)), valid);
        }
    }
}

#define ROW(function, text)                                                                        \
    {                                                                                              \
        text, function, NULL, NULL, NULL                                                           \
    }

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROW(gt01, "GT01 1S is a second"),
        ROW(gt02, "GT02 milli-, micro- and nanoseconds"),
        ROW(gt03, "GT03 minutes and hours, saturating"),
        ROW(gt06, "GT06 nine digits are refused"),
        ROW(gt07, "GT07 a lone unit or number is refused"),
        ROW(gt08, "GT08 unknown units are refused"),
        ROW(ct01, "CT01 connect-timeout-ms in milliseconds"),
        cmocka_unit_test(test_traceparent),
        cmocka_unit_test(test_traceparent_with_one_wrong_byte),
    };
    return cmocka_run_group_tests_name("http1/values", tests, NULL, NULL);
}
