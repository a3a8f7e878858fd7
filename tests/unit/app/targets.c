/* targets.c: targets keep what they have learnt over configurations, and go with the last operation
 * that may use them. */
#include "app/targets.h"

#include "test.h"

#define LISTENER "listeners: [ { listen: \"127.0.0.1:0\", target: a } ]\n"
#define A_5 "a: { addresses: [\"127.0.0.1:1\"], policy: { bulkhead: { max: 5 } } }"
#define A_6 "a: { addresses: [\"127.0.0.1:1\"], policy: { bulkhead: { max: 6 } } }"
#define ONLY_A(max) "targets: { " A_##max " }\n" LISTENER
#define A_AND_B "targets: { " A_5 ", b: { addresses: [\"127.0.0.1:2\"] } }\n" LISTENER

static struct conf *parse(const char *text)
{
    struct conf *conf = NULL;
    assert_int_equal(conf_parse("test", belay_slice_z(text), stderr, &conf), CONF_GOOD);
    return conf;
}

static size_t kept(const struct targets *targets)
{
    size_t count = 0;
    for (struct list *node = targets->kept.next; node != &targets->kept; node = node->next) count++;
    return count;
}

/* As a daemon does; the reference stands for it and its operations. */
static struct conf *take(struct targets *targets, const char *text, struct belay_target **used)
{
    struct conf *conf = parse(text);
    assert_true(targets_of(targets, conf, used));
    assert_true(targets_keep(targets, conf, used));
    return conf;
}

static void a_target_outlives_its_name_while_it_is_used(void **state)
{
    (void)state;
    struct targets targets;
    struct belay_target *first[2], *second[1], *third[2];
    targets_init(&targets);
    struct conf *old = take(&targets, A_AND_B, first);
    struct conf *now = take(&targets, ONLY_A(5), second);
    assert_ptr_equal(second[0], first[0]);
    targets_sweep(&targets);
    assert_int_equal(kept(&targets), 2); /* an operation of the old one still runs */
    struct conf *again = take(&targets, A_AND_B, third);
    assert_ptr_equal(third[1], first[1]);
    conf_give(again);
    targets_sweep(&targets);
    assert_int_equal(kept(&targets), 2);
    conf_give(old);
    targets_sweep(&targets);
    assert_int_equal(kept(&targets), 1); /* a; b is nobody's */
    conf_give(now);
    targets_deinit(&targets);
}

static void many_reloads_keep_no_more_than_is_used(void **state)
{
    (void)state;
    struct targets targets;
    struct belay_target *used[1];
    struct conf *before = NULL;
    targets_init(&targets);
    for (int i = 0; i < 100; i++) {
        struct conf *conf = take(&targets, i % 2 ? ONLY_A(5) : ONLY_A(6), used);
        if (before) conf_give(before);
        before = conf;
        targets_sweep(&targets);
        assert_int_equal(kept(&targets), 1);
    }
    conf_give(before);
    targets_deinit(&targets);
}

static void a_configuration_that_was_not_taken_leaves_nothing(void **state)
{
    (void)state;
    struct targets targets;
    struct belay_target *used[2];
    targets_init(&targets);
    struct conf *refused = parse(A_AND_B);
    assert_true(targets_of(&targets, refused, used));
    conf_give(refused);
    targets_sweep(&targets);
    assert_int_equal(kept(&targets), 0);
    targets_deinit(&targets);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_target_outlives_its_name_while_it_is_used),
        cmocka_unit_test(many_reloads_keep_no_more_than_is_used),
        cmocka_unit_test(a_configuration_that_was_not_taken_leaves_nothing),
    };
    return cmocka_run_group_tests_name("targets", tests, NULL, NULL);
}
