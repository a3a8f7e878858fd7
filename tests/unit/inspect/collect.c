/* collect.c: each anomaly in a made-up log of its own, and the clean log that is nearest to it. */
#include "story.h"

#include "base/check.h"
#include "test.h"

/* The log shows this kind, once, in operation `id`, and no other kind. */
static void check_only(const struct story *story, enum inspect_anomaly_kind kind, const char *id)
{
    struct inspect_collector *collector;
    const struct inspect_report *report = story_report(story, &story_limits, &collector);
    for (unsigned other = 0; other < INSPECT_ANOMALY_COUNT; other++) {
        const struct inspect_anomaly *anomaly = &report->anomalies[other];
        if (anomaly->count > 0 && other != kind) {
            fail_msg("%s: %s", inspect_advice(other)->name, anomaly->detail[0]);
        }
    }
    assert_int_equal(report->anomalies[kind].count, 1);
    assert_string_equal(report->anomalies[kind].operation_ids[0], id);
    inspect_collector_destroy(collector);
}

static void check_clean(const struct story *story)
{
    struct inspect_collector *collector;
    const struct inspect_report *report = story_report(story, &story_limits, &collector);
    for (unsigned kind = 0; kind < INSPECT_ANOMALY_COUNT; kind++) {
        const struct inspect_anomaly *anomaly = &report->anomalies[kind];
        if (anomaly->count > 0) fail_msg("%s: %s", inspect_advice(kind)->name, anomaly->detail[0]);
    }
    inspect_collector_destroy(collector);
}

/* 503, 503, 200 within 400 ms, each wait 40 ms. */
static void add_good(struct story *story, const char *id)
{
    story_wait(story_attempt(story, id, 1, 503, 80, 400, BELAY_DECISION_RETRY), 40);
    story_wait(story_attempt(story, id, 2, 503, 80, 280, BELAY_DECISION_RETRY), 40);
    story_attempt(story, id, 3, 200, 50, 160, BELAY_DECISION_RETURN);
}

static void test_clean(void **state)
{
    struct story story = {0};
    (void)state;
    add_good(&story, "op-42");
    check_clean(&story); /* without an operation record */
    story_ending(&story, "op-42", 3, 200, NULL, 290);
    check_clean(&story);
    story_end(&story);
}

static void test_clock(void **state)
{
    struct story story = {0};
    (void)state;
    story_wait(story_attempt(&story, "op", 1, 503, 80, 400, BELAY_DECISION_RETRY), 40);
    struct story_line *second = story_attempt(&story, "op", 2, 200, 5, 282, BELAY_DECISION_RETURN);
    check_clean(&story); /* 2 ms are rounding */
    second->record.remaining_ms = 283;
    check_only(&story, INSPECT_CLOCK_MIXED, "op");
    second->record.remaining_ms = 400; /* begun anew */
    check_only(&story, INSPECT_CLOCK_MIXED, "op");
    second->record.remaining_ms = 5000; /* grows */
    check_only(&story, INSPECT_CLOCK_MIXED, "op");
    second->record.remaining_ms = 0; /* never negative */
    check_clean(&story);
    story_end(&story);
}

static void test_retry_without_attempt(void **state)
{
    struct story story = {0};
    (void)state;
    struct story_line *first = story_attempt(&story, "op", 1, 503, 80, 400, BELAY_DECISION_RETRY);
    check_only(&story, INSPECT_RETRY_WITHOUT_ATTEMPT, "op"); /* no times: taken as whole */
    story_time(first, 1000);
    check_clean(&story); /* the next one may not have been written yet */
    struct story_line *later =
        story_attempt(&story, "later", 1, 200, 1, 400, BELAY_DECISION_RETURN);
    story_time(later, 1599);
    check_clean(&story);
    story_time(later, 1600); /* its deadline was 1400; lines may be 200 ms late */
    check_only(&story, INSPECT_RETRY_WITHOUT_ATTEMPT, "op");
    story_lacks(first, INSPECT_REMAINING);
    check_only(&story, INSPECT_RETRY_WITHOUT_ATTEMPT, "op");
    story_end(&story);
}

static void test_retry_and_ending(void **state)
{
    static const char *const GOOD[] = {"deadline_exceeded", "breaker_open", "bulkhead_full",
                                       "quota_exceeded",    "not_before",   "budget_exhausted",
                                       "max_attempts",      "cancelled",    "stop"};
    (void)state;
    for (size_t i = 0; i < sizeof GOOD / sizeof GOOD[0]; i++) {
        struct story story = {0};
        story_attempt(&story, "op", 1, 503, 80, 400, BELAY_DECISION_RETRY);
        story_ending(&story, "op", 1, 0, GOOD[i], 120);
        check_clean(&story);
        story_end(&story);
    }
    struct story story = {0};
    story_attempt(&story, "op", 1, 503, 80, 400, BELAY_DECISION_RETRY);
    struct story_line *ending = story_ending(&story, "op", 1, 0, "retry", 120);
    check_only(&story, INSPECT_RETRY_WITHOUT_ATTEMPT, "op");
    ending->record.result_word = belay_slice_z("gave up");
    check_only(&story, INSPECT_RETRY_WITHOUT_ATTEMPT, "op");
    ending->record.result_word.length = 0;
    ending->record.result_status = 503;
    check_only(&story, INSPECT_RETRY_WITHOUT_ATTEMPT, "op");
    story_end(&story);
}

static void test_split(void **state)
{
    struct story story = {0};
    (void)state;
    struct story_line *first = story_attempt(&story, "op-1", 1, 503, 80, 400, BELAY_DECISION_RETRY);
    struct story_line *second =
        story_attempt(&story, "op-2", 1, 200, 5, 300, BELAY_DECISION_RETURN);
    story_trace(first, "0af7651916cd43dd8448eb211c80319c", "");
    story_trace(second, "0af7651916cd43dd8448eb211c80319c", "");
    check_only(&story, INSPECT_SPLIT_OPERATION, "op-1");
    second->record.attempt = 2; /* counts on under its new id */
    story_request_id(second, "op-2/attempt-2");
    check_only(&story, INSPECT_SPLIT_OPERATION, "op-1");
    story_time(first, 1000);
    story_time(second, 1400);
    struct story_line *later =
        story_attempt(&story, "later", 1, 200, 1, 400, BELAY_DECISION_RETURN);
    story_time(later, 9000);
    check_only(&story, INSPECT_SPLIT_OPERATION, "op-1");
    story_time(second, 1401); /* past the deadline: another call */
    check_only(&story, INSPECT_RETRY_WITHOUT_ATTEMPT, "op-1");
    story_time(second, 900); /* it was before: no continuation */
    check_only(&story, INSPECT_RETRY_WITHOUT_ATTEMPT, "op-1");
    first->record.decision = BELAY_DECISION_STOP; /* one trace, many operations */
    second->record.attempt = 1;
    check_clean(&story);
    story_end(&story);
}

/* The log ends before the deadline, so the next attempt could still come. */
static void test_split_at_the_end(void **state)
{
    struct story story = {0};
    (void)state;
    struct story_line *first = story_attempt(&story, "op-1", 1, 503, 80, 400, BELAY_DECISION_RETRY);
    struct story_line *second =
        story_attempt(&story, "op-2", 1, 200, 5, 300, BELAY_DECISION_RETURN);
    int64_t due_ms = 1000 + 80 + first->record.wait_ms;
    story_trace(first, "0af7651916cd43dd8448eb211c80319c", "");
    story_trace(second, "0af7651916cd43dd8448eb211c80319c", "");
    story_time(first, 1000);
    story_time(second, due_ms);
    check_only(&story, INSPECT_SPLIT_OPERATION, "op-1");
    story_time(second, due_ms + 51); /* just a later call of the trace */
    check_clean(&story);
    story_end(&story);
}

/* One fault, told once. */
static void test_lender_ends_in_retry(void **state)
{
    struct story story = {0};
    (void)state;
    (void)story_attempt(&story, "op-1", 1, 503, 80, 400, BELAY_DECISION_RETRY);
    struct story_line *second =
        story_attempt(&story, "op-2", 2, 200, 5, 300, BELAY_DECISION_RETURN);
    story_request_id(second, "op-1/attempt-2");
    check_only(&story, INSPECT_SPLIT_OPERATION, "op-2");
    story_end(&story);
}

static void test_lent_request_id(void **state)
{
    struct story story = {0};
    (void)state;
    add_good(&story, "op-1");
    struct story_line *second =
        story_attempt(&story, "op-2", 1, 200, 5, 300, BELAY_DECISION_RETURN);
    story_request_id(second, "op-1/attempt-4");
    check_only(&story, INSPECT_SPLIT_OPERATION, "op-2");
    story_request_id(second, "their-own/attempt-4"); /* nobody's here */
    check_clean(&story);
    story_end(&story);
}

static void test_delivered_twice(void **state)
{
    struct story story = {0};
    struct inspect_collector *collector;
    (void)state;
    add_good(&story, "op");
    story_attempt(&story, "op", 3, 200, 50, 160, BELAY_DECISION_RETURN);
    check_only(&story, INSPECT_DUPLICATE_REQUEST_ID, "op");
    const struct inspect_report *report = story_report(&story, &story_limits, &collector);
    assert_int_equal(report->repeated_records, 1);
    assert_int_equal(report->targets[0].attempts, 3);
    assert_int_equal(report->targets[0].operations, 1);
    assert_string_equal(report->anomalies[INSPECT_DUPLICATE_REQUEST_ID].detail[0],
                        "the same line was delivered more than once");
    inspect_collector_destroy(collector);
    story_end(&story);
}

static void test_duplicate_request_id(void **state)
{
    struct story story = {0};
    (void)state;
    add_good(&story, "op");
    story_request_id(story.lines[1], "op/attempt-1");
    check_only(&story, INSPECT_DUPLICATE_REQUEST_ID, "op");
    story_end(&story);

    add_good(&story, "op"); /* one number twice, the second took longer */
    struct story_line *again = story_attempt(&story, "op", 3, 200, 51, 160, BELAY_DECISION_RETURN);
    check_only(&story, INSPECT_DUPLICATE_REQUEST_ID, "op");
    story_trace(story.lines[2], "", "00f067aa0ba902b7");
    story_trace(again, "", "00f067aa0ba902b8"); /* two calls under one operation's id */
    check_clean(&story);
    story_end(&story);
}

static void test_unsafe(void **state)
{
    struct story story = {0};
    (void)state;
    struct story_line *first = story_attempt(&story, "op", 1, 0, 80, 400, BELAY_DECISION_RETRY);
    story_attempt(&story, "op", 2, 201, 50, 280, BELAY_DECISION_RETURN);
    static const char *const UNSAFE[] = {"POST", "PATCH", "PUT", "DELETE", "BREW"};
    for (size_t i = 0; i < sizeof UNSAFE / sizeof UNSAFE[0]; i++) {
        first->record.method = belay_slice_z(UNSAFE[i]);
        check_only(&story, INSPECT_UNSAFE_RETRY, "op");
    }
    first->record.sent = BELAY_UNSENT;
    story_has(first, INSPECT_SENT);
    check_clean(&story);
    story_lacks(first, INSPECT_SENT);
    first->record.error = BELAY_ERROR_REFUSED;
    check_clean(&story);
    first->record.error = BELAY_ERROR_TIMEOUT;
    first->record.phase = BELAY_PHASE_CONNECT;
    story_has(first, INSPECT_PHASE);
    check_clean(&story);
    first->record.phase = BELAY_PHASE_HEADERS;
    check_only(&story, INSPECT_UNSAFE_RETRY, "op");
    first->record.reason = BELAY_REASON_BACKOFF; /* keyed, says the engine */
    story_has(first, INSPECT_REASON);
    check_clean(&story);
    first->record.reason = BELAY_REASON_EFFECT_UNKNOWN;
    check_only(&story, INSPECT_UNSAFE_RETRY, "op");
    first->record.status = 503; /* a status alone makes nothing safe */
    first->record.error = BELAY_ERROR_NONE;
    story_lacks(first, INSPECT_PHASE);
    check_only(&story, INSPECT_UNSAFE_RETRY, "op");
    story_end(&story);
}

static void test_early(void **state)
{
    struct story story = {0};
    (void)state;
    struct story_line *first = story_attempt(&story, "op", 1, 503, 80, 9000, BELAY_DECISION_RETRY);
    struct story_line *second =
        story_attempt(&story, "op", 2, 200, 50, 6920, BELAY_DECISION_RETURN);
    first->record.retry_after_ms = 2000;
    story_has(first, INSPECT_RETRY_AFTER);
    check_clean(&story);
    second->record.remaining_ms = 6923;
    check_only(&story, INSPECT_EARLY_RETRY, "op"); /* by the deadline's clock */
    story_lacks(second, INSPECT_REMAINING);
    check_clean(&story); /* not told */
    story_time(first, 1000);
    story_time(second, 3080);
    check_clean(&story);
    story_time(second, 3077);
    check_only(&story, INSPECT_EARLY_RETRY, "op"); /* by time */
    story_time(second, 3080);
    story_wait(first, 1999);
    check_only(&story, INSPECT_EARLY_RETRY, "op"); /* by the wait it chose */
    story_end(&story);
}

static void test_conflict(void **state)
{
    struct story story = {0};
    (void)state;
    struct story_line *line = story_attempt(&story, "op", 1, 503, 80, 400, BELAY_DECISION_STOP);
    line->record.error = BELAY_ERROR_TIMEOUT;
    check_only(&story, INSPECT_STATUS_ERROR_CONFLICT, "op");
    line->record.error = BELAY_ERROR_NONE;
    line->record.status = 0;
    check_only(&story, INSPECT_STATUS_ERROR_CONFLICT, "op");
    line->record.wrong_word = INSPECT_BIT(INSPECT_ERROR_CLASS); /* some word of their own */
    check_clean(&story);
    story_end(&story);
}

static void test_merged(void **state)
{
    struct story story = {0};
    (void)state;
    struct story_line *line = story_attempt(&story, "op", 1, 503, 80, 400, BELAY_DECISION_STOP);
    line->record.present = INSPECT_BIT(INSPECT_OPERATION_ID);
    line->record.status = 0;
    check_only(&story, INSPECT_MERGED_FIELDS, "op");
    story_end(&story);
    story_add(&story)->record.kind = INSPECT_MERGED;
    check_only(&story, INSPECT_MERGED_FIELDS, "");
    story_end(&story);
}

static void test_texts(void **state)
{
    struct story story = {0};
    (void)state;
    struct story_line *line = story_attempt(&story, "op", 1, 503, 80, 400, BELAY_DECISION_STOP);
    line->record.full_url = INSPECT_BIT(INSPECT_ENDPOINT);
    line->record.suspect = belay_slice_z("endpoint");
    check_only(&story, INSPECT_FULL_URL, "op");
    line->record.full_url = 0;
    line->record.foreign_secret = true;
    check_only(&story, INSPECT_SECRET_IN_FIELD, "op");
    line->record.foreign_secret = false;
    line->record.secret = INSPECT_BIT(INSPECT_OPERATION_ID);
    check_only(&story, INSPECT_SECRET_IN_FIELD, ""); /* told, and not shown */
    story_end(&story);
}

static void test_gap(void **state)
{
    struct story story = {0};
    (void)state;
    story_attempt(&story, "op", 1, 503, 80, 400, BELAY_DECISION_RETRY);
    struct story_line *third = story_attempt(&story, "op", 3, 200, 50, 160, BELAY_DECISION_RETURN);
    check_only(&story, INSPECT_ATTEMPT_GAP, "op");
    third->record.attempt = 2;
    story_ending(&story, "op", 3, 200, NULL, 290);
    story_request_id(third, "op/attempt-2");
    check_only(&story, INSPECT_ATTEMPT_GAP, "op"); /* the ending knows of one more */
    story_end(&story);
}

static void test_beginning(void **state)
{
    struct story story = {0};
    (void)state;
    struct story_line *second = story_attempt(&story, "op", 2, 200, 50, 160, BELAY_DECISION_RETURN);
    struct story_line *ending = story_ending(&story, "op", 2, 200, NULL, 290);
    check_clean(&story); /* nobody knows where the log begins */
    struct story_line *before =
        story_attempt(&story, "before", 1, 200, 100, 400, BELAY_DECISION_RETURN);
    story_time(before, 1000); /* written at 1100 */
    story_time(second, 1500);
    story_time(ending, 1300);
    check_clean(&story);
    story_time(ending, 1301);
    check_only(&story, INSPECT_ATTEMPT_GAP, "op");
    story_end(&story);
}

static void test_budget(void **state)
{
    struct story story = {0};
    char id[16];
    (void)state;
    for (unsigned i = 0; i < 100; i++) {
        (void)snprintf(id, sizeof id, "op-%u", i);
        if (i < 20) {
            story_attempt(&story, id, 1, 503, 10, 400, BELAY_DECISION_RETRY);
            story_attempt(&story, id, 2, 200, 10, 300, BELAY_DECISION_RETURN);
        } else {
            story_attempt(&story, id, 1, 200, 10, 400, BELAY_DECISION_RETURN);
        }
    }
    check_clean(&story); /* 20 retries <= 10 % of 100 + 10 */
    story.lines[story.count - 1]->record.decision = BELAY_DECISION_RETRY;
    story_attempt(&story, id, 2, 200, 10, 300, BELAY_DECISION_RETURN);
    struct inspect_collector *collector;
    const struct inspect_report *report = story_report(&story, &story_limits, &collector);
    assert_int_equal(report->anomalies[INSPECT_OVER_BUDGET].examples, 8);
    assert_string_equal(report->anomalies[INSPECT_OVER_BUDGET].detail[0],
                        "21 retries for 100 first attempts: 1 too many");
    inspect_collector_destroy(collector);
    for (size_t i = 0; i < story.count; i++) {
        struct story_line *line = story.lines[i];
        if (line->record.decision != BELAY_DECISION_RETRY) continue;
        line->record.reason =
            BELAY_REASON_BACKOFF; /* a budget was asked, maybe of several daemons */
        story_has(line, INSPECT_REASON);
    }
    check_clean(&story);
    story_end(&story);
}

/* 400 good operations in an hour hide nothing of a storm in one minute. */
static void test_budget_of_a_span(void **state)
{
    struct story story = {0};
    char id[16];
    (void)state;
    for (unsigned i = 0; i < 400; i++) {
        (void)snprintf(id, sizeof id, "op-%u", i);
        bool storm = i >= 200 && i < 230;
        int64_t at_ms = storm ? 200 * 9000 + (i - 200) * 10 : i * 9000;
        struct story_line *first =
            story_attempt(&story, id, 1, storm ? 503 : 200, 10, 400,
                          storm ? BELAY_DECISION_RETRY : BELAY_DECISION_RETURN);
        story_time(first, at_ms);
        if (!storm) continue;
        story_time(story_attempt(&story, id, 2, 200, 10, 300, BELAY_DECISION_RETURN), at_ms + 50);
    }
    struct inspect_collector *collector;
    const struct inspect_report *report = story_report(&story, &story_limits, &collector);
    assert_true(report->anomalies[INSPECT_OVER_BUDGET].count > 0);
    inspect_collector_destroy(collector);
    story_end(&story);
}

static void test_summary(void **state)
{
    struct story story = {0};
    struct inspect_collector *collector;
    (void)state;
    add_good(&story, "op-1");
    story_ending(&story, "op-1", 3, 200, NULL, 290);
    story_attempt(&story, "op-2", 1, 0, 100, 400, BELAY_DECISION_RETRY);
    story_attempt(&story, "op-2", 2, 429, 20, 200, BELAY_DECISION_DEADLINE_EXCEEDED);
    story_ending(&story, "op-2", 2, 0, "deadline_exceeded", 220);
    story_ending(&story, "op-3", 0, 0, "breaker_open", 0);
    for (size_t i = 0; i < story.count; i++) {
        story.lines[i]->record.target = belay_slice_z("orders");
        story_has(story.lines[i], INSPECT_TARGET);
    }
    const struct inspect_report *report = story_report(&story, &story_limits, &collector);
    assert_int_equal(report->target_count, 1);
    const struct inspect_target *orders = &report->targets[0];
    assert_string_equal(orders->name, "orders");
    assert_int_equal(orders->operations, 3);
    assert_int_equal(orders->attempts, 5);
    assert_int_equal(orders->retries, 3);
    assert_int_equal(orders->attempts_of[0], 1);
    assert_int_equal(orders->attempts_of[2], 1);
    assert_int_equal(orders->attempts_of[3], 1);
    assert_int_equal(orders->decisions[BELAY_DECISION_RETRY], 3);
    assert_int_equal(orders->decisions[BELAY_DECISION_RETURN], 1);
    assert_int_equal(orders->errors[BELAY_ERROR_TIMEOUT], 1);
    assert_int_equal(orders->too_many_requests, 1);
    assert_int_equal(orders->status_class[5], 2);
    assert_int_equal(orders->terminals[BELAY_TERMINAL_DEADLINE_EXCEEDED], 1);
    assert_int_equal(orders->terminals[BELAY_TERMINAL_BREAKER_OPEN], 1);
    assert_int_equal(orders->answered, 1);
    assert_int_equal(orders->latency[0].count, 2);
    assert_int_equal(orders->latency[2].max_ms, 50);
    assert_int_equal(report->records, story.count);
    assert_int_equal(report->open_operations, 0);
    inspect_collector_destroy(collector);
    story_end(&story);
}

/* A report in the middle changes nothing of the one at the end. */
static void test_report_twice(void **state)
{
    struct story story = {0};
    (void)state;
    add_good(&story, "op");
    struct inspect_collector *collector = inspect_collector_create(&story_limits);
    for (size_t i = 0; i < story.count; i++) {
        assert_true(inspect_collect(collector, &story.lines[i]->record));
        const struct inspect_report *report = inspect_collector_report(collector);
        assert_int_equal(report->targets[0].attempts, i + 1);
        assert_int_equal(report->targets[0].operations, 1);
        assert_int_equal(report->open_operations, i < 2);
    }
    inspect_collector_destroy(collector);
    story_end(&story);
}

/* A tangled operation is counted by target; what it has beyond the bound is counted once. */
static void test_uncounted_attempts_are_counted_once(void **state)
{
    enum { EACH = 60 };
    struct story story = {0};
    struct inspect_collector *collector;
    uint64_t attempts = 0;
    (void)state;
    for (unsigned i = 1; i <= EACH; i++) {
        for (unsigned target = 0; target < 2; target++) {
            struct story_line *line =
                story_attempt(&story, "op", i, 503, 1, 60000 - 10 * i, BELAY_DECISION_RETRY);
            story_trace(line, "", target ? "b" : "a");
            line->record.target = belay_slice_z(target ? "second" : "first");
            story_has(line, INSPECT_TARGET);
        }
    }
    const struct inspect_report *report = story_report(&story, &story_limits, &collector);
    for (size_t i = 0; i < report->target_count; i++) attempts += report->targets[i].attempts;
    assert_int_equal(report->target_count, 2);
    assert_int_equal(attempts, 2 * EACH);
    inspect_collector_destroy(collector);
    story_end(&story);
}

static void test_endings_by_their_own_words(void **state)
{
    static const char *const WORDS[] = {"stop", "check_state"};
    struct story story = {0};
    struct inspect_collector *collector;
    (void)state;
    for (unsigned i = 0; i < COUNT(WORDS); i++) {
        enum belay_decision decision = i ? BELAY_DECISION_CHECK_STATE : BELAY_DECISION_STOP;
        char id[16];
        for (unsigned n = 0; n < 2 + i; n++) {
            (void)snprintf(id, sizeof id, "%s-%u", WORDS[i], n);
            story_attempt(&story, id, 1, 500, 1, 400, decision);
            if (n > 0) story_ending(&story, id, 1, 0, WORDS[i], 1); /* the decision says it too */
        }
    }
    const struct inspect_report *report = story_report(&story, &story_limits, &collector);
    assert_int_equal(report->targets[0].stopped, 2);
    assert_int_equal(report->targets[0].state_checks, 3);
    assert_int_equal(report->targets[0].answered, 0);
    inspect_collector_destroy(collector);
    story_end(&story);
}

static void test_targets_bounded(void **state)
{
    struct story story = {0};
    struct inspect_collector *collector;
    char names[300][8], id[16];
    (void)state;
    for (unsigned i = 0; i < 300; i++) {
        (void)snprintf(id, sizeof id, "op-%u", i);
        (void)snprintf(names[i], sizeof names[i], "t%u", i);
        struct story_line *line = story_attempt(&story, id, 1, 200, 1, 400, BELAY_DECISION_RETURN);
        line->record.target = belay_slice_z(names[i]);
    }
    const struct inspect_report *report = story_report(&story, &story_limits, &collector);
    assert_int_equal(report->target_count, 256);
    assert_int_equal(report->targets_left_out, 44);
    inspect_collector_destroy(collector);
    story_end(&story);
}

/* A table of ten operations: the log's ended ones leave first, and an open one that is forgotten
 * is judged by what is there, not by what is missing. */
static void test_table_full(void **state)
{
    struct story story = {0};
    struct inspect_collector *collector;
    const struct inspect_limits limits = {10, 10, 10};
    char id[16];
    (void)state;
    for (unsigned i = 0; i < 30; i++) {
        (void)snprintf(id, sizeof id, "open-%u", i);
        story_attempt(&story, id, 1, 503, 1, 400, BELAY_DECISION_RETRY);
    }
    const struct inspect_report *report = story_report(&story, &limits, &collector);
    assert_int_equal(report->evicted_operations, 20);
    assert_int_equal(report->targets[0].operations, 30);
    assert_int_equal(report->anomalies[INSPECT_RETRY_WITHOUT_ATTEMPT].count, 10);
    inspect_collector_destroy(collector);
    story_end(&story);
}

static void test_late_repeat(void **state)
{
    struct story story = {0};
    struct inspect_collector *collector;
    const struct inspect_limits limits = {10, 10, 10};
    char id[16];
    (void)state;
    for (unsigned round = 0; round < 2; round++) { /* a whole log, delivered twice */
        for (unsigned i = 0; i < 100; i++) {
            (void)snprintf(id, sizeof id, "op-%u", i);
            story_attempt(&story, id, 1, 200, 1, 400, BELAY_DECISION_RETURN);
            story_ending(&story, id, 1, 200, NULL, 1);
        }
    }
    const struct inspect_report *report = story_report(&story, &limits, &collector);
    assert_int_equal(report->targets[0].operations, 100);
    assert_int_equal(report->targets[0].attempts, 100);
    assert_int_equal(report->targets[0].answered, 100);
    assert_int_equal(report->repeated_records, 200);
    assert_int_equal(report->anomalies[INSPECT_DUPLICATE_REQUEST_ID].count, 100);
    inspect_collector_destroy(collector);
    story_end(&story);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_clean),
        cmocka_unit_test(test_clock),
        cmocka_unit_test(test_retry_without_attempt),
        cmocka_unit_test(test_retry_and_ending),
        cmocka_unit_test(test_split),
        cmocka_unit_test(test_split_at_the_end),
        cmocka_unit_test(test_lent_request_id),
        cmocka_unit_test(test_lender_ends_in_retry),
        cmocka_unit_test(test_delivered_twice),
        cmocka_unit_test(test_duplicate_request_id),
        cmocka_unit_test(test_unsafe),
        cmocka_unit_test(test_early),
        cmocka_unit_test(test_conflict),
        cmocka_unit_test(test_merged),
        cmocka_unit_test(test_texts),
        cmocka_unit_test(test_gap),
        cmocka_unit_test(test_beginning),
        cmocka_unit_test(test_budget),
        cmocka_unit_test(test_budget_of_a_span),
        cmocka_unit_test(test_summary),
        cmocka_unit_test(test_report_twice),
        cmocka_unit_test(test_targets_bounded),
        cmocka_unit_test(test_uncounted_attempts_are_counted_once),
        cmocka_unit_test(test_endings_by_their_own_words),
        cmocka_unit_test(test_table_full),
        cmocka_unit_test(test_late_repeat),
    };
    return cmocka_run_group_tests_name("collect", tests, NULL, NULL);
}
