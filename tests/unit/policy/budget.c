/* budget.c: retries sent stay within ratio * operations + burst, over every span. */
#include <belay/budget.h>

#include "seed.h"
#include "test.h"

static void test_starts_full_and_ends_empty(void **state)
{
    (void)state;
    struct belay_budget budget;
    belay_budget_init(&budget, &(struct belay_budget_config){100000, 3});
    for (int i = 0; i < 3; i++) assert_true(belay_budget_take(&budget));
    assert_false(belay_budget_take(&budget));
}

static void test_ten_operations_earn_one_retry(void **state)
{
    (void)state;
    struct belay_budget budget;
    belay_budget_init(&budget, &(struct belay_budget_config){100000, 1});
    assert_true(belay_budget_take(&budget));
    belay_budget_on_retry(&budget);
    for (int i = 0; i < 9; i++) belay_budget_on_operation(&budget);
    assert_false(belay_budget_take(&budget));
    belay_budget_on_operation(&budget);
    assert_true(belay_budget_take(&budget));
}

static void test_what_is_reserved_counts_against_the_burst(void **state)
{
    (void)state;
    struct belay_budget budget;
    belay_budget_init(&budget, &(struct belay_budget_config){1000000, 2});
    assert_true(belay_budget_take(&budget));
    belay_budget_on_operation(&budget); /* no room: one free, one reserved */
    assert_true(belay_budget_take(&budget));
    assert_false(belay_budget_take(&budget));
}

static void test_a_token_that_was_given_back_can_be_taken(void **state)
{
    (void)state;
    struct belay_budget budget;
    belay_budget_init(&budget, &(struct belay_budget_config){0, 1});
    assert_true(belay_budget_take(&budget));
    belay_budget_give(&budget);
    assert_true(belay_budget_take(&budget));
    belay_budget_on_retry(&budget);
    assert_false(belay_budget_take(&budget));
}

static void test_without_burst_there_is_no_retry(void **state)
{
    (void)state;
    struct belay_budget budget;
    belay_budget_init(&budget, &(struct belay_budget_config){1000000, 0});
    for (int i = 0; i < 100; i++) belay_budget_on_operation(&budget);
    assert_false(belay_budget_take(&budget));
}

static void test_the_largest_numbers_do_not_wrap(void **state)
{
    (void)state;
    struct belay_budget budget;
    belay_budget_init(&budget, &(struct belay_budget_config){UINT32_MAX, UINT32_MAX});
    for (int i = 0; i < 1000; i++) {
        belay_budget_on_operation(&budget);
        assert_true(budget.free + budget.reserved <= budget.burst);
        assert_true(belay_budget_take(&budget));
    }
}

/* With S = burst + ratio * operations - retries, measured from the start, the guarantee over every
 * span is that S never falls more than `burst` below its highest value before; that is, its
 * draw-down is bounded. */
static void run_random_traffic(struct rng *rng, uint32_t ratio_ppm, uint32_t burst)
{
    struct belay_budget budget;
    belay_budget_init(&budget, &(struct belay_budget_config){ratio_ppm, burst});
    int64_t earned = 0, highest = 0;
    unsigned reserved = 0;
    unsigned eagerness = 1 + (unsigned)test_below(rng, 99);
    for (int i = 0; i < 5000; i++) {
        if (!test_chance(rng, eagerness)) {
            belay_budget_on_operation(&budget);
            earned += ratio_ppm;
        } else if (test_chance(rng, 50)) {
            reserved += belay_budget_take(&budget);
        } else if (reserved > 0 && test_chance(rng, 70)) {
            belay_budget_on_retry(&budget);
            reserved--;
            earned -= 1000000;
        } else if (reserved > 0) {
            belay_budget_give(&budget);
            reserved--;
        }
        highest = earned > highest ? earned : highest;
        assert_true(highest - earned <= (int64_t)burst * 1000000);
        assert_true(budget.free + budget.reserved <= budget.burst);
        assert_int_equal(budget.reserved, (uint64_t)reserved * 1000000);
    }
}

static void test_the_guarantee_holds_over_every_span(void **state)
{
    (void)state;
    struct rng rng = test_rng("budget");
    const uint32_t ratios[] = {0, 1, 100000, 333333, 1000000, 2500000};
    for (int round = 0; round < 300; round++) {
        run_random_traffic(&rng, ratios[test_below(&rng, 6)], (uint32_t)test_below(&rng, 20));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_starts_full_and_ends_empty),
        cmocka_unit_test(test_ten_operations_earn_one_retry),
        cmocka_unit_test(test_what_is_reserved_counts_against_the_burst),
        cmocka_unit_test(test_a_token_that_was_given_back_can_be_taken),
        cmocka_unit_test(test_without_burst_there_is_no_retry),
        cmocka_unit_test(test_the_largest_numbers_do_not_wrap),
        cmocka_unit_test(test_the_guarantee_holds_over_every_span),
    };
    return cmocka_run_group_tests_name("policy/budget", tests, NULL, NULL);
}
