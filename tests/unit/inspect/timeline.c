/* timeline.c: one operation put together from records in any order, and drawn. */
#include "sample.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

static const struct inspect_style PLAIN = {false, true, 80}, ASCII = {false, false, 80};
static const struct inspect_report NONE;
static struct inspect_timeline timeline;

static struct inspect_record attempt(uint32_t number, int64_t elapsed_ms, int64_t remaining_ms,
                                     int64_t wait_ms)
{
    return (struct inspect_record){
        .kind = INSPECT_ATTEMPT,
        .present = INSPECT_BIT(INSPECT_OPERATION_ID) | INSPECT_BIT(INSPECT_ATTEMPT_NUMBER) |
                   INSPECT_BIT(INSPECT_ELAPSED) |
                   (remaining_ms >= 0 ? INSPECT_BIT(INSPECT_REMAINING) : 0) |
                   (wait_ms > 0 ? INSPECT_BIT(INSPECT_WAIT) : 0),
        .operation_id = belay_slice_z("a"),
        .attempt = number,
        .line = number,
        .elapsed_ms = elapsed_ms,
        .remaining_ms = remaining_ms,
        .wait_ms = wait_ms,
    };
}

static void add(struct inspect_record record)
{
    assert_true(inspect_timeline_add(&timeline, &record));
}

static void test_drawn(void **state)
{
    (void)state;
    sample_expect("operation.txt", sample_text(&NONE, sample_timeline(), &PLAIN));
    sample_expect("operation-ascii.txt", sample_text(&NONE, sample_timeline(), &ASCII));
}

static void test_starts_come_from_what_remains(void **state)
{
    (void)state;
    inspect_timeline_init(&timeline, "a");
    add(attempt(2, 10, 1800, 0));
    add(attempt(1, 50, 2000, 100));
    inspect_timeline_arrange(&timeline);
    assert_int_equal(timeline.moments[0].attempt, 1);
    assert_int_equal(timeline.moments[1].start_ms, 200); /* held for 50 ms after its wait */
    assert_int_equal(timeline.deadline_ms, 2000);
    assert_int_equal(timeline.end_ms, 210);
}

static void test_starts_come_from_elapsed_and_wait_otherwise(void **state)
{
    (void)state;
    inspect_timeline_init(&timeline, "a");
    add(attempt(1, 50, -1, 100));
    add(attempt(2, 10, -1, 0));
    inspect_timeline_arrange(&timeline);
    assert_int_equal(timeline.moments[1].start_ms, 150);
    assert_int_equal(timeline.deadline_ms, -1);
    /* Clocks that are mixed: what remains has grown. */
    inspect_timeline_init(&timeline, "a");
    add(attempt(1, 50, 1000, 100));
    add(attempt(2, 10, 2000, 0));
    inspect_timeline_arrange(&timeline);
    assert_int_equal(timeline.moments[1].start_ms, 150);
}

static void test_others_and_repeats_are_left(void **state)
{
    (void)state;
    inspect_timeline_init(&timeline, "a");
    struct inspect_record other = attempt(1, 1, 1, 0);
    other.operation_id = belay_slice_z("ab");
    assert_false(inspect_timeline_add(&timeline, &other));
    other.present = 0;
    other.operation_id = belay_slice_z("a");
    assert_false(inspect_timeline_add(&timeline, &other));
    assert_true(inspect_timeline_empty(&timeline));
    add(attempt(1, 50, 1000, 100));
    struct inspect_record again = attempt(1, 50, 1000, 100);
    again.line = 77;
    add(again);
    assert_int_equal(timeline.count, 1);
    assert_int_equal(timeline.repeats, 1);
}

static void test_bounded(void **state)
{
    (void)state;
    inspect_timeline_init(&timeline, "a");
    for (uint32_t i = 1; i <= INSPECT_MOMENTS_MAX + 5; i++)
        add(attempt(i, INT64_MAX, -1, INT64_MAX));
    inspect_timeline_arrange(&timeline);
    assert_int_equal(timeline.count, INSPECT_MOMENTS_MAX);
    assert_int_equal(timeline.left_out, 5);
    assert_int_equal(timeline.end_ms, INT64_MAX);
    assert_non_null(strstr(sample_text(&NONE, &timeline, &PLAIN), "and 197 attempts more"));
    assert_null(strstr(sample_html(&NONE, &timeline), "nan"));
}

static void test_a_hole_is_told(void **state)
{
    (void)state;
    inspect_timeline_init(&timeline, "a");
    add(attempt(1, 50, -1, 10));
    add(attempt(4, 50, -1, 0));
    inspect_timeline_arrange(&timeline);
    assert_non_null(strstr(sample_text(&NONE, &timeline, &PLAIN), "2 between are missing"));
}

static void test_only_an_ending(void **state)
{
    (void)state;
    inspect_timeline_init(&timeline, "a");
    struct inspect_record ending = {.kind = INSPECT_OPERATION,
                                    .present = INSPECT_BIT(INSPECT_OPERATION_ID) |
                                               INSPECT_BIT(INSPECT_RESULT),
                                    .operation_id = belay_slice_z("a"),
                                    .result_word = belay_slice_z("breaker_open")};
    add(ending);
    inspect_timeline_arrange(&timeline);
    const char *text = sample_text(&NONE, &timeline, &PLAIN);
    assert_non_null(strstr(text, "Its result: breaker_open."));
    assert_non_null(strstr(text, "No attempt was made, or none is in the log."));
}

static void test_a_far_deadline_is_off_the_scale(void **state)
{
    (void)state;
    inspect_timeline_init(&timeline, "a");
    add(attempt(1, 10, 60000, 0));
    inspect_timeline_arrange(&timeline);
    assert_non_null(strstr(sample_text(&NONE, &timeline, &PLAIN), "deadline 1 min, off the scale"));
}

/* Of each text, and of the id that was asked for. */
static void test_secrets_are_not_shown(void **state)
{
    (void)state;
    static const char SECRET[] = "https://u:hunter2@orders.example/?access_token=hunter2";
    struct belay_slice secret = belay_slice_z(SECRET);
    const uint32_t texts = INSPECT_BIT(INSPECT_METHOD) | INSPECT_BIT(INSPECT_TARGET) |
                           INSPECT_BIT(INSPECT_ROUTE) | INSPECT_BIT(INSPECT_ENDPOINT) |
                           INSPECT_BIT(INSPECT_TRACE_ID) | INSPECT_BIT(INSPECT_FALLBACK) |
                           INSPECT_BIT(INSPECT_RESULT);
    for (int full_url = 0; full_url < 2; full_url++) {
        struct inspect_record record = {.kind = INSPECT_OPERATION,
                                        .present = texts | INSPECT_BIT(INSPECT_OPERATION_ID),
                                        .operation_id = secret,
                                        .method = secret,
                                        .target = secret,
                                        .route = secret,
                                        .endpoint = secret,
                                        .trace_id = secret,
                                        .fallback = secret,
                                        .result_word = secret};
        *(full_url ? &record.full_url : &record.secret) = texts;
        inspect_timeline_init(&timeline, SECRET);
        add(record);
        inspect_timeline_arrange(&timeline);
        assert_null(strstr(sample_text(&NONE, &timeline, &PLAIN), "hunter2"));
        assert_null(strstr(sample_json(&NONE, &timeline), "hunter2"));
        assert_null(strstr(sample_html(&NONE, &timeline), "hunter2"));
        assert_non_null(strstr(sample_text(&NONE, &timeline, &PLAIN), INSPECT_NOT_SHOWN));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_drawn),
        cmocka_unit_test(test_starts_come_from_what_remains),
        cmocka_unit_test(test_starts_come_from_elapsed_and_wait_otherwise),
        cmocka_unit_test(test_others_and_repeats_are_left),
        cmocka_unit_test(test_bounded),
        cmocka_unit_test(test_a_hole_is_told),
        cmocka_unit_test(test_only_an_ending),
        cmocka_unit_test(test_a_far_deadline_is_off_the_scale),
        cmocka_unit_test(test_secrets_are_not_shown),
    };
    return cmocka_run_group_tests_name("timeline", tests, NULL, NULL);
}
