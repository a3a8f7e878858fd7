/* number.c: numbers survive the way to text and back, and only what is written right is read. */
#include "conf/number.h"

#include "base/rng.h"

#include "test.h"

#include <stdlib.h>
#include <time.h>

static const struct option *policy_option(const char *name)
{
    const struct option *option = option_find(SCOPE_POLICY, belay_slice_z(name));
    assert_non_null(option);
    return option;
}

static void check_survives(const struct option *option, int64_t number)
{
    char text[VALUE_TEXT_BYTES_MAX];
    struct value_error error;
    int64_t back = -1;
    value_text(option, number, text);
    if (!number_parse(option, belay_slice_z(text), &back, &error)) fail_msg("%s", error.rule);
    if (back != number) fail_msg("%s: %lld became %s", option->name, (long long)number, text);
}

static bool is_ranged(const struct option *option)
{
    return value_has_number(option) && option->type != TYPE_WORD && option->type != TYPE_SWITCH;
}

static void test_every_option_survives_at_its_default_least_and_most(void **state)
{
    (void)state;
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        const struct option *option = &OPTIONS[i];
        if (!is_ranged(option)) continue;
        check_survives(option, option->min);
        check_survives(option, option->max);
        if (option->zero) check_survives(option, 0);
        if (!option->initial) continue;
        int64_t number;
        struct value_error error;
        assert_true(number_parse(option, belay_slice_z(option->initial), &number, &error));
        check_survives(option, number);
    }
}

static void test_every_word_survives(void **state)
{
    (void)state;
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        if (OPTIONS[i].type != TYPE_WORD) continue;
        for (int word = 0; OPTIONS[i].words[word]; word++) check_survives(&OPTIONS[i], word);
    }
}

static void test_any_number_in_the_range_survives(void **state)
{
    (void)state;
    const uint64_t seed = (uint64_t)time(NULL);
    print_message("seed %llu\n", (unsigned long long)seed);
    struct rng rng;
    rng_seed(&rng, seed);
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        const struct option *option = &OPTIONS[i];
        if (!is_ranged(option) || option->type == TYPE_RATE) continue;
        for (int n = 0; n < 300; n++) {
            uint64_t span = (uint64_t)(option->max - option->min) + 1;
            check_survives(option, option->min + (int64_t)rng_scale(rng_next(&rng), span));
        }
    }
}

/* Not every span can be written as a rate; every rate that was written can. */
static void test_every_rate_survives(void **state)
{
    (void)state;
    const struct option *rate = policy_option("quota.rate");
    static const char UNITS[] = "smh";
    for (const char *unit = UNITS; *unit; unit++) {
        for (int count = 1; count <= 1000000; count += count < 5000 ? 1 : 997) {
            char text[VALUE_TEXT_BYTES_MAX];
            struct value_error error;
            int64_t span;
            snprintf(text, sizeof text, "%d/%c", count, *unit);
            assert_true(number_parse(rate, belay_slice_z(text), &span, &error));
            int64_t second = *unit == 's'   ? BELAY_NS_PER_S
                             : *unit == 'm' ? 60 * BELAY_NS_PER_S
                                            : 3600 * BELAY_NS_PER_S;
            assert_true((__int128)span * count >= second);
            check_survives(rate, span);
        }
    }
}

struct pair {
    const char *option, *text;
    int64_t number;
};

static void test_numbers_are_what_they_say(void **state)
{
    (void)state;
    static const struct pair PAIRS[] = {
        {"deadline", "1500000ns", 1500000},
        {"deadline", "2000us", 2000000},
        {"deadline", "250ms", 250000000},
        {"deadline", "1.5s", 1500000000},
        {"deadline", "0.25m", 15000000000},
        {"deadline", "0001h", 3600000000000},
        {"reserve", "0s", 0},
        {"reserve", "0h", 0},
        {"attempt_timeout", "none", 0},
        {"breaker.consecutive", "off", 0},
        {"replay_buffer", "0B", 0},
        {"replay_buffer", "1.5KiB", 1536},
        {"replay_buffer", "1GiB", 1 << 30},
        {"budget.ratio", "0.5%", 5000},
        {"budget.ratio", "0.0001%", 1},
        {"budget.ratio", "33.3333%", 333333},
        {"budget.ratio", "100.0000%", 1000000},
        {"attempts", "3.0", 3},
        {"quota.rate", "3/s", 333333334},
        {"quota.rate", "60/m", 1000000000},
        {"quota.rate", "1/h", 3600000000000},
    };
    for (size_t i = 0; i < sizeof PAIRS / sizeof PAIRS[0]; i++) {
        int64_t number = -1;
        struct value_error error;
        const struct option *option = policy_option(PAIRS[i].option);
        if (!number_parse(option, belay_slice_z(PAIRS[i].text), &number, &error))
            fail_msg("%s", error.rule);
        assert_int_equal(number, PAIRS[i].number);
    }
}

static void test_numbers_are_written_as_short_as_they_can_be(void **state)
{
    (void)state;
    static const struct pair PAIRS[] = {
        {"deadline", "10s", 10000000000},     {"deadline", "1500ms", 1500000000},
        {"deadline", "2h", 7200000000000},    {"reserve", "0s", 0},
        {"attempt_timeout", "none", 0},       {"budget.ratio", "10%", 100000},
        {"budget.ratio", "0.5%", 5000},       {"budget.ratio", "0%", 0},
        {"budget.ratio", "12.3456%", 123456}, {"replay_buffer", "0B", 0},
        {"replay_buffer", "1025B", 1025},     {"replay_buffer", "256KiB", 262144},
        {"quota.rate", "50/s", 20000000},     {"quota.rate", "1/m", 60000000000},
    };
    for (size_t i = 0; i < sizeof PAIRS / sizeof PAIRS[0]; i++) {
        char text[VALUE_TEXT_BYTES_MAX];
        value_text(policy_option(PAIRS[i].option), PAIRS[i].number, text);
        assert_string_equal(text, PAIRS[i].text);
    }
}

static void test_a_failure_leaves_the_number_alone(void **state)
{
    (void)state;
    int64_t number = 42;
    struct value_error error;
    static const char *const TEXTS[] = {"",    "5",      "5x",    "-1s",   "1e3s", "s",
                                        ".5s", "99999h", "1..5s", "0x10s", "\xff"};
    for (size_t i = 0; i < sizeof TEXTS / sizeof TEXTS[0]; i++) {
        assert_false(
            number_parse(policy_option("deadline"), belay_slice_z(TEXTS[i]), &number, &error));
        assert_int_equal(number, 42);
        assert_memory_equal(error.rule, "deadline: ", 10);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_option_survives_at_its_default_least_and_most),
        cmocka_unit_test(test_every_word_survives),
        cmocka_unit_test(test_any_number_in_the_range_survives),
        cmocka_unit_test(test_every_rate_survives),
        cmocka_unit_test(test_numbers_are_what_they_say),
        cmocka_unit_test(test_numbers_are_written_as_short_as_they_can_be),
        cmocka_unit_test(test_a_failure_leaves_the_number_alone),
    };
    return cmocka_run_group_tests_name("conf/number", tests, NULL, NULL);
}
