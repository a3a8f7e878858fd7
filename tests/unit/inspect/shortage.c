/* shortage.c: a collector without memory is none; one that stands loses records, says so, and reads
 * on. */
#include "shortage.h"
#include "story.h"

#include "test.h"

static const struct inspect_limits limits = {16, 10, 10};

/* Twenty operations, five of them open: the table grows and overflows. */
static void tell(struct story *story)
{
    char id[16];
    for (unsigned i = 0; i < 20; i++) {
        (void)snprintf(id, sizeof id, "op-%u", i);
        story_attempt(story, id, 1, 503, 1, 400, BELAY_DECISION_RETRY);
        if (i % 4 == 0) continue;
        for (unsigned n = 2; n < 5; n++) {
            story_attempt(story, id, n, 503, 1, 400 - 50 * n, BELAY_DECISION_RETRY);
        }
        story_ending(story, id, 4, 0, "max_attempts", 200);
    }
}

static uint64_t collect_all(struct inspect_collector *collector, const struct story *story)
{
    uint64_t lost = 0;
    for (size_t i = 0; i < story->count; i++) {
        lost += !inspect_collect(collector, &story->lines[i]->record);
    }
    return lost;
}

static void creating(void **state)
{
    struct inspect_collector *collector = NULL;
    (void)state;
    for (long n = 0; !collector; n++) {
        shortage_begin(n, 1);
        collector = inspect_collector_create(&limits);
        assert_int_equal(shortage_end() == 0, collector != NULL);
    }
    inspect_collector_destroy(collector);
}

static void collecting(void **state)
{
    struct story story = {0};
    long failed = 1;
    (void)state;
    tell(&story);
    for (long n = 0; failed > 0; n++) {
        struct inspect_collector *collector = inspect_collector_create(&limits);
        shortage_begin(n, 1);
        uint64_t lost = collect_all(collector, &story);
        failed = shortage_end();
        const struct inspect_report *report = inspect_collector_report(collector);
        assert_non_null(report);
        /* A failure elsewhere than in a record's own place costs a target, and is counted too. */
        assert_int_equal(report->lost_records, lost);
        assert_int_equal(lost > 0 || report->targets_left_out > 0, failed > 0);
        inspect_collector_destroy(collector);
    }
    story_end(&story);
}

static void reporting(void **state)
{
    struct story story = {0};
    const struct inspect_report *report = NULL;
    (void)state;
    tell(&story);
    struct inspect_collector *collector = inspect_collector_create(&limits);
    assert_int_equal(collect_all(collector, &story), 0);
    for (long n = 0; !report; n++) {
        shortage_begin(n, 1);
        report = inspect_collector_report(collector);
        assert_int_equal(shortage_end() == 0, report != NULL);
    }
    assert_int_equal(report->targets[0].operations, 20);
    inspect_collector_destroy(collector);
    story_end(&story);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(creating), cmocka_unit_test(collecting),
                                       cmocka_unit_test(reporting)};
    return cmocka_run_group_tests_name("shortage", tests, NULL, NULL);
}
