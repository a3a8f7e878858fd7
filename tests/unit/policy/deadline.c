/* deadline.c: what fits before a deadline, at each boundary. */
#include <belay/deadline.h>

#include "test.h"

static struct belay_instant at(int64_t ms)
{
    return (struct belay_instant){ms * BELAY_NS_PER_MS};
}

static void test_the_smaller_deadline_wins(void **state)
{
    (void)state;
    assert_int_equal(belay_deadline_at(at(100), belay_span_ms(2000), belay_span_ms(5000)).ns,
                     at(2100).ns);
    assert_int_equal(belay_deadline_at(at(100), belay_span_ms(2000), belay_span_ms(300)).ns,
                     at(400).ns);
}

static void test_a_negative_deadline_is_now(void **state)
{
    (void)state;
    assert_int_equal(belay_deadline_at(at(100), belay_span_ms(2000), belay_span_ms(-7)).ns,
                     at(100).ns);
    assert_int_equal(belay_deadline_at(at(100), belay_span_ms(2000), belay_span_ms(0)).ns,
                     at(100).ns);
}

static void test_a_huge_deadline_saturates(void **state)
{
    (void)state;
    struct belay_span huge = belay_span_ms(INT64_MAX);
    assert_true(belay_instant_is_never(belay_deadline_at(at(1), huge, huge)));
}

static void test_a_remainder_is_never_negative(void **state)
{
    (void)state;
    assert_int_equal(belay_deadline_remaining(at(10), at(9)).ns, BELAY_NS_PER_MS);
    assert_int_equal(belay_deadline_remaining(at(10), at(10)).ns, 0);
    assert_int_equal(belay_deadline_remaining(at(10), at(11)).ns, 0);
    assert_int_equal(belay_deadline_remaining((struct belay_instant){INT64_MIN}, at(11)).ns, 0);
}

static void test_what_is_left_must_be_more_than_wait_and_reserve(void **state)
{
    (void)state;
    struct belay_span wait = belay_span_ms(40), reserve = belay_span_ms(5);
    assert_false(belay_deadline_allows(belay_span_ms(44), wait, reserve));
    assert_false(belay_deadline_allows(belay_span_ms(45), wait, reserve));
    assert_true(belay_deadline_allows(belay_span_ns(belay_span_ms(45).ns + 1), wait, reserve));
    assert_false(belay_deadline_allows(belay_span_ms(1), belay_span_ms(INT64_MAX), reserve));
    assert_false(
        belay_deadline_allows(belay_span_ns(INT64_MAX), belay_span_ns(INT64_MAX), reserve));
    assert_false(belay_deadline_allows(belay_span_ns(0), belay_span_ns(0), belay_span_ns(0)));
}

static void test_an_attempt_never_outlives_its_operation(void **state)
{
    (void)state;
    assert_int_equal(belay_deadline_attempt_end(at(10), at(100), belay_span_ms(50)).ns, at(60).ns);
    assert_int_equal(belay_deadline_attempt_end(at(10), at(100), belay_span_ms(90)).ns, at(100).ns);
    assert_int_equal(belay_deadline_attempt_end(at(10), at(100), belay_span_ms(91)).ns, at(100).ns);
    assert_int_equal(belay_deadline_attempt_end(at(10), at(100), belay_span_ms(0)).ns, at(100).ns);
    assert_int_equal(belay_deadline_attempt_end(at(10), at(100), belay_span_ms(INT64_MAX)).ns,
                     at(100).ns);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        {"DL04 the caller's deadline and ours: the smaller wins", test_the_smaller_deadline_wins,
         NULL, NULL, NULL},
        cmocka_unit_test(test_a_negative_deadline_is_now),
        cmocka_unit_test(test_a_huge_deadline_saturates),
        cmocka_unit_test(test_a_remainder_is_never_negative),
        cmocka_unit_test(test_what_is_left_must_be_more_than_wait_and_reserve),
        cmocka_unit_test(test_an_attempt_never_outlives_its_operation),
    };
    return cmocka_run_group_tests_name("policy/deadline", tests, NULL, NULL);
}
