/* hold.c: nobody passes during a hold, and waiters are let go one by one. */
#include <belay/hold.h>

#include "seed.h"
#include "test.h"

static const struct belay_hold_config config = {
    .max = {60 * BELAY_NS_PER_S}, .scope = BELAY_HOLD_TARGET, .pace = {10 * BELAY_NS_PER_MS}};

static struct belay_instant at(int64_t ms)
{
    return (struct belay_instant){ms * BELAY_NS_PER_MS};
}

static int64_t ask_ms(struct belay_hold *hold, int64_t now_ms, struct belay_hold_ticket *ticket)
{
    struct belay_instant next_at = belay_hold_next_at(hold, at(now_ms), ticket);
    if (next_at.ns > at(now_ms).ns) belay_hold_take(hold, &config, at(now_ms), ticket);
    return next_at.ns <= at(now_ms).ns ? now_ms : next_at.ns / BELAY_NS_PER_MS;
}

static void hint(struct belay_hold *hold, int64_t now_ms, int64_t hint_ms)
{
    belay_hold_on_hint(hold, &config, at(now_ms), belay_span_ms(hint_ms));
}

static void test_without_a_hint_everybody_passes(void **state)
{
    (void)state;
    struct belay_hold hold;
    struct belay_hold_ticket ticket = {0};
    belay_hold_init(&hold);
    assert_int_equal(ask_ms(&hold, 0, &ticket), 0);
    hint(&hold, 0, 0);
    hint(&hold, 0, -5);
    assert_int_equal(ask_ms(&hold, 0, &ticket), 0);
}

static void test_waiters_are_let_go_one_by_one_in_their_order(void **state)
{
    (void)state;
    struct belay_hold hold;
    struct belay_hold_ticket tickets[3] = {0};
    belay_hold_init(&hold);
    hint(&hold, 0, 1000);
    for (int i = 0; i < 3; i++) assert_int_equal(ask_ms(&hold, 500, &tickets[i]), 1000 + 10 * i);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(ask_ms(&hold, 1009, &tickets[i]), i == 0 ? 1009 : 1000 + 10 * i);
        assert_int_equal(ask_ms(&hold, 1000 + 10 * i, &tickets[i]), 1000 + 10 * i);
    }
}

static void test_asking_again_keeps_the_ticket(void **state)
{
    (void)state;
    struct belay_hold hold;
    struct belay_hold_ticket first = {0}, second = {0};
    belay_hold_init(&hold);
    hint(&hold, 0, 1000);
    for (int i = 0; i < 5; i++) assert_int_equal(ask_ms(&hold, 100 + i, &first), 1000);
    assert_int_equal(ask_ms(&hold, 200, &second), 1010);
}

static void test_who_comes_after_the_hold_passes(void **state)
{
    (void)state;
    struct belay_hold hold;
    struct belay_hold_ticket early = {0}, late = {0};
    belay_hold_init(&hold);
    hint(&hold, 0, 1000);
    assert_int_equal(ask_ms(&hold, 999, &early), 1000);
    assert_int_equal(ask_ms(&hold, 1000, &late), 1000);
}

static void test_a_hold_ends_at_its_longest(void **state)
{
    (void)state;
    struct belay_hold hold;
    struct belay_hold_ticket ticket = {0};
    belay_hold_init(&hold);
    hint(&hold, 5, INT64_MAX);
    assert_int_equal(ask_ms(&hold, 5, &ticket), 60005);
}

static void test_a_longest_of_nothing_switches_it_off(void **state)
{
    (void)state;
    struct belay_hold hold;
    struct belay_hold_ticket ticket = {0};
    struct belay_hold_config off = {.max = {0}};
    belay_hold_init(&hold);
    belay_hold_on_hint(&hold, &off, at(0), belay_span_ms(1000));
    assert_int_equal(ask_ms(&hold, 0, &ticket), 0);
}

static void test_a_shorter_hint_never_shortens(void **state)
{
    (void)state;
    struct belay_hold hold;
    struct belay_hold_ticket ticket = {0};
    belay_hold_init(&hold);
    hint(&hold, 0, 1000);
    assert_int_equal(ask_ms(&hold, 0, &ticket), 1000);
    hint(&hold, 10, 100);
    assert_int_equal(ask_ms(&hold, 20, &ticket), 1000);
}

static void test_a_longer_hint_makes_tickets_void(void **state)
{
    (void)state;
    struct belay_hold hold;
    struct belay_hold_ticket first = {0}, second = {0};
    belay_hold_init(&hold);
    hint(&hold, 0, 1000);
    assert_int_equal(ask_ms(&hold, 0, &first), 1000);
    assert_int_equal(ask_ms(&hold, 0, &second), 1010);
    hint(&hold, 1000, 500);
    assert_int_equal(ask_ms(&hold, 1000, &first), 1500);
    assert_int_equal(ask_ms(&hold, 1010, &second), 1510);
    assert_int_equal(ask_ms(&hold, 1600, &second), 1600);
}

static void test_near_the_end_of_time_it_saturates(void **state)
{
    (void)state;
    struct belay_hold hold;
    struct belay_hold_ticket ticket = {0};
    struct belay_instant now = {INT64_MAX - 5};
    belay_hold_init(&hold);
    belay_hold_on_hint(&hold, &config, now, belay_span_ms(1000));
    assert_true(belay_instant_is_never(belay_hold_next_at(&hold, now, &ticket)));
    belay_hold_take(&hold, &config, now, &ticket);
    assert_true(belay_instant_is_never(hold.release_at));
}

static void test_no_two_random_waiters_go_within_the_pace(void **state)
{
    (void)state;
    struct rng rng = test_rng("hold");
    for (int round = 0; round < 100; round++) {
        enum { N = 40 };
        struct belay_hold hold;
        struct belay_hold_ticket tickets[N] = {0};
        int64_t go_at[N] = {0};
        belay_hold_init(&hold);
        hint(&hold, 0, 500);
        int64_t until = 500;
        bool gone[N] = {false};
        for (int64_t now = 0; now < 3000; now++) {
            if (now < 700 && test_chance(&rng, 1)) {
                int64_t ms = (int64_t)test_below(&rng, 400);
                until = now + ms > until ? now + ms : until;
                hint(&hold, now, ms);
            }
            size_t i = (size_t)test_below(&rng, N);
            bool held = now < until;
            if (gone[i] || (!held && tickets[i].generation == 0)) continue;
            go_at[i] = ask_ms(&hold, now, &tickets[i]);
            assert_true(go_at[i] >= (held ? until : now));
            gone[i] = !held && go_at[i] == now;
        }
        for (int i = 0; i < N; i++) {
            for (int j = 0; j < i; j++) {
                if (tickets[i].generation != hold.generation ||
                    tickets[j].generation != hold.generation)
                    continue;
                assert_true(llabs(tickets[i].at.ns - tickets[j].at.ns) >= config.pace.ns);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_without_a_hint_everybody_passes),
        cmocka_unit_test(test_waiters_are_let_go_one_by_one_in_their_order),
        cmocka_unit_test(test_asking_again_keeps_the_ticket),
        cmocka_unit_test(test_who_comes_after_the_hold_passes),
        cmocka_unit_test(test_a_hold_ends_at_its_longest),
        cmocka_unit_test(test_a_longest_of_nothing_switches_it_off),
        cmocka_unit_test(test_a_shorter_hint_never_shortens),
        cmocka_unit_test(test_a_longer_hint_makes_tickets_void),
        cmocka_unit_test(test_near_the_end_of_time_it_saturates),
        cmocka_unit_test(test_no_two_random_waiters_go_within_the_pace),
    };
    return cmocka_run_group_tests_name("policy/hold", tests, NULL, NULL);
}
