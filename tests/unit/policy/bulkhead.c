/* bulkhead.c: never more in flight than the limit, and nobody overtakes a promise. */
#include <belay/bulkhead.h>

#include "seed.h"
#include "test.h"

static void test_twenty_go_and_the_next_is_refused(void **state)
{
    (void)state;
    struct belay_bulkhead bulkhead;
    belay_bulkhead_init(&bulkhead, &(struct belay_bulkhead_config){true, 20, 0});
    for (int i = 0; i < 20; i++) {
        assert_int_equal(belay_bulkhead_decide(&bulkhead), BELAY_BULKHEAD_FREE);
        belay_bulkhead_take(&bulkhead, false);
    }
    assert_int_equal(belay_bulkhead_decide(&bulkhead), BELAY_BULKHEAD_FULL);
    assert_false(belay_bulkhead_give(&bulkhead, false));
    assert_int_equal(belay_bulkhead_decide(&bulkhead), BELAY_BULKHEAD_FREE);
    assert_int_equal(bulkhead.in_flight_peak, 20);
}

static void test_a_free_slot_is_promised_to_who_waits(void **state)
{
    (void)state;
    struct belay_bulkhead bulkhead;
    belay_bulkhead_init(&bulkhead, &(struct belay_bulkhead_config){true, 1, 1});
    belay_bulkhead_take(&bulkhead, false);
    assert_int_equal(belay_bulkhead_decide(&bulkhead), BELAY_BULKHEAD_QUEUE);
    belay_bulkhead_on_wait(&bulkhead);
    assert_int_equal(belay_bulkhead_decide(&bulkhead), BELAY_BULKHEAD_FULL);
    assert_true(belay_bulkhead_give(&bulkhead, false));
    assert_int_equal(belay_bulkhead_decide(&bulkhead),
                     BELAY_BULKHEAD_QUEUE); /* a newcomer does not get it */
    belay_bulkhead_take(&bulkhead, true);
    assert_int_equal(bulkhead.in_flight, 1);
    assert_int_equal(bulkhead.promised, 0);
}

static void test_a_promise_that_is_not_kept_goes_to_the_next(void **state)
{
    (void)state;
    struct belay_bulkhead bulkhead;
    belay_bulkhead_init(&bulkhead, &(struct belay_bulkhead_config){true, 1, 2});
    belay_bulkhead_take(&bulkhead, false);
    belay_bulkhead_on_wait(&bulkhead);
    belay_bulkhead_on_wait(&bulkhead);
    assert_true(belay_bulkhead_give(&bulkhead, false));
    assert_true(belay_bulkhead_give(&bulkhead, true));
    assert_false(belay_bulkhead_give(&bulkhead, true));
    assert_int_equal(belay_bulkhead_decide(&bulkhead), BELAY_BULKHEAD_FREE);
}

static void test_switched_off_it_only_counts(void **state)
{
    (void)state;
    struct belay_bulkhead bulkhead;
    belay_bulkhead_init(&bulkhead, &(struct belay_bulkhead_config){false, 1, 0});
    for (int i = 0; i < 100; i++) {
        assert_int_equal(belay_bulkhead_decide(&bulkhead), BELAY_BULKHEAD_FREE);
        belay_bulkhead_take(&bulkhead, false);
    }
    assert_int_equal(bulkhead.in_flight, 100);
}

static void test_random_comings_and_goings_keep_the_limits(void **state)
{
    (void)state;
    struct rng rng = test_rng("bulkhead");
    for (int round = 0; round < 200; round++) {
        struct belay_bulkhead_config config = {true, 1 + (uint32_t)test_below(&rng, 5),
                                               (uint32_t)test_below(&rng, 4)};
        struct belay_bulkhead bulkhead;
        belay_bulkhead_init(&bulkhead, &config);
        for (int i = 0; i < 500; i++) {
            enum belay_bulkhead_answer answer = belay_bulkhead_decide(&bulkhead);
            switch (test_below(&rng, 4)) {
            case 0:
                if (answer == BELAY_BULKHEAD_FREE) belay_bulkhead_take(&bulkhead, false);
                if (answer == BELAY_BULKHEAD_QUEUE) belay_bulkhead_on_wait(&bulkhead);
                break;
            case 1:
                if (bulkhead.in_flight > 0) (void)belay_bulkhead_give(&bulkhead, false);
                break;
            case 2:
                if (bulkhead.promised == 0) break;
                if (test_chance(&rng, 50))
                    (void)belay_bulkhead_give(&bulkhead, true);
                else
                    belay_bulkhead_take(&bulkhead, true);
                break;
            default:
                if (bulkhead.waiting > 0) belay_bulkhead_on_leave(&bulkhead);
            }
            assert_true(bulkhead.in_flight + bulkhead.promised <= config.max);
            assert_true(bulkhead.waiting <= config.queue);
            if (bulkhead.waiting > 0)
                assert_int_equal(bulkhead.in_flight + bulkhead.promised, config.max);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_twenty_go_and_the_next_is_refused),
        cmocka_unit_test(test_a_free_slot_is_promised_to_who_waits),
        cmocka_unit_test(test_a_promise_that_is_not_kept_goes_to_the_next),
        cmocka_unit_test(test_switched_off_it_only_counts),
        cmocka_unit_test(test_random_comings_and_goings_keep_the_limits),
    };
    return cmocka_run_group_tests_name("policy/bulkhead", tests, NULL, NULL);
}
