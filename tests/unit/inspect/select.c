/* select.c: operations are taken or left as a whole. */
#include "inspect/select.h"
#include "test.h"

#include <stdio.h>
#include <string.h>

#define AT(seconds) ((struct belay_wall){(seconds)*BELAY_NS_PER_S})

static struct inspect_record record(const char *id, int64_t seconds, enum belay_decision decision)
{
    return (struct inspect_record){
        .kind = INSPECT_ATTEMPT,
        .present = INSPECT_BIT(INSPECT_OPERATION_ID) | INSPECT_BIT(INSPECT_TIME) |
                   INSPECT_BIT(INSPECT_TARGET) | INSPECT_BIT(INSPECT_ROUTE) |
                   INSPECT_BIT(INSPECT_DECISION),
        .operation_id = belay_slice_z(id),
        .time = AT(seconds),
        .target = belay_slice_z("orders"),
        .route = belay_slice_z("/orders/{id}"),
        .decision = decision,
    };
}

static bool takes(struct inspect_select *select, const char *id, int64_t seconds)
{
    struct inspect_record r = record(id, seconds, BELAY_DECISION_RETURN);
    return inspect_select_takes(select, &r);
}

static struct inspect_select *create(struct inspect_selection wanted)
{
    struct inspect_select *select = inspect_select_create(&wanted, 4);
    assert_non_null(select);
    return select;
}

static void test_nothing_asked_for_takes_all(void **state)
{
    (void)state;
    struct inspect_select *select = create((struct inspect_selection){0});
    const struct inspect_record bare = {.kind = INSPECT_LOST};
    assert_true(inspect_select_takes(select, &bare));
    assert_true(takes(select, "a", 1));
    inspect_select_destroy(select);
}

static void test_names(void **state)
{
    (void)state;
    const struct inspect_selection wanted[] = {
        {.target = "orders"}, {.route = "/orders/{id}"}, {.operation_id = "a"}};
    for (size_t i = 0; i < 3; i++) {
        struct inspect_select *select = create(wanted[i]);
        struct inspect_record r = record("a", 1, BELAY_DECISION_RETURN);
        assert_true(inspect_select_takes(select, &r));
        r.target = r.route = r.operation_id = belay_slice_z("b");
        assert_false(inspect_select_takes(select, &r));
        r.present = 0; /* lacks what is asked for */
        assert_false(inspect_select_takes(select, &r));
        inspect_select_destroy(select);
    }
}

static void test_an_operation_belongs_where_it_began(void **state)
{
    (void)state;
    struct inspect_select *select = create((struct inspect_selection){
        .has_since = true, .since = AT(100), .has_until = true, .until = AT(200)});
    assert_false(takes(select, "before", 99));
    assert_true(takes(select, "first", 100));
    assert_true(takes(select, "last", 199));
    assert_false(takes(select, "after", 200));
    /* Their later attempts. */
    assert_false(takes(select, "before", 101));
    assert_true(takes(select, "last", 201));
    inspect_select_destroy(select);
}

static void test_what_has_no_time_is_in_no_window(void **state)
{
    (void)state;
    struct inspect_select *select =
        create((struct inspect_selection){.has_since = true, .since = AT(0)});
    struct inspect_record r = record("a", 5, BELAY_DECISION_RETURN);
    r.present &= ~INSPECT_BIT(INSPECT_TIME);
    assert_false(inspect_select_takes(select, &r));
    r.present = INSPECT_BIT(INSPECT_TIME); /* and no operation */
    assert_true(inspect_select_takes(select, &r));
    inspect_select_destroy(select);
}

static void test_a_decision_chooses_whole_operations(void **state)
{
    (void)state;
    struct inspect_select *select =
        create((struct inspect_selection){.has_decision = true, .decision = BELAY_DECISION_RETRY});
    struct inspect_record records[] = {record("a", 1, BELAY_DECISION_RETRY),
                                       record("a", 2, BELAY_DECISION_RETURN),
                                       record("b", 3, BELAY_DECISION_RETURN)};
    for (size_t i = 0; i < 3; i++) assert_true(inspect_select_note(select, &records[i]));
    assert_true(inspect_select_takes(select, &records[0]));
    assert_true(inspect_select_takes(select, &records[1]));
    assert_false(inspect_select_takes(select, &records[2]));
    inspect_select_destroy(select);
}

static void test_the_set_is_bounded(void **state)
{
    (void)state;
    struct inspect_selection wanted = {.has_decision = true, .decision = BELAY_DECISION_RETRY};
    struct inspect_select *select = inspect_select_create(&wanted, 3000);
    assert_non_null(select);
    char id[16];
    for (int i = 0; i < 3500; i++) {
        (void)snprintf(id, sizeof id, "op%d", i);
        struct inspect_record r = record(id, 1, BELAY_DECISION_RETRY);
        assert_int_equal(inspect_select_note(select, &r), i < 3000);
        assert_int_equal(inspect_select_takes(select, &r), i < 3000);
    }
    inspect_select_destroy(select);
}

static void test_when(void **state)
{
    (void)state;
    struct belay_wall out;
    static const struct {
        const char *text;
        int64_t seconds;
    } GOOD[] = {{"90s", 99910},
                {"15m", 99100},
                {"2h", 92800},
                {"1d", 13600},
                {"1000ms", 99999},
                {"1970-01-01T00:00:07Z", 7},
                {"1970-01-01T01:00:07+01:00", 7}};
    for (size_t i = 0; i < sizeof GOOD / sizeof GOOD[0]; i++) {
        assert_true(inspect_when_parse(GOOD[i].text, AT(100000), &out));
        assert_int_equal(out.ns, GOOD[i].seconds * BELAY_NS_PER_S);
    }
    assert_true(inspect_when_parse("999999999999d", AT(100000), &out)); /* long before all */
    assert_true(out.ns < 0);
    static const char *const BAD[] = {"",
                                      "15",
                                      "m",
                                      "-5m",
                                      "15 m",
                                      "1.5h",
                                      "yesterday",
                                      "15min",
                                      "99999999999999999m",
                                      "2026-13-01T00:00:00Z"};
    for (size_t i = 0; i < sizeof BAD / sizeof BAD[0]; i++)
        assert_false(inspect_when_parse(BAD[i], AT(100000), &out));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_asked_for_takes_all),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_an_operation_belongs_where_it_began),
        cmocka_unit_test(test_what_has_no_time_is_in_no_window),
        cmocka_unit_test(test_a_decision_chooses_whole_operations),
        cmocka_unit_test(test_the_set_is_bounded),
        cmocka_unit_test(test_when),
    };
    return cmocka_run_group_tests_name("select", tests, NULL, NULL);
}
