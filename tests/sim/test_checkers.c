/* test_checkers.c: every checker is shown to catch the fault it is for, planted into a history that
 * was good. */
#include "test.h"

#include "base/check.h"
#include "storm.h"

#include <belay/breaker.h>

#include <stdio.h>

/* The first storm after `seed` in which `fits` finds what a fault needs. */
static uint64_t find_storm(struct storm *storm, bool (*fits)(const struct storm *storm))
{
    for (uint64_t seed = 1; seed < 3000; seed++) {
        storm_run(storm, seed, false);
        if (fits(storm)) return seed;
        storm_deinit(storm);
    }
    fail_msg("no storm fits");
    return 0;
}

static struct attempt_record *a_retry(const struct storm *storm)
{
    for (size_t i = 0; i < storm->history.attempts.count; i++) {
        struct attempt_record *record = history_attempt(&storm->history, i);
        if (record->attempt == 2 && !record->stale && record->remaining_ms > 10) return record;
    }
    return NULL;
}

static struct attempt_record *first_of(const struct storm *storm,
                                       const struct attempt_record *retry)
{
    for (size_t i = 0; i < storm->history.attempts.count; i++) {
        struct attempt_record *record = history_attempt(&storm->history, i);
        if (record->attempt == 1 && strcmp(record->operation, retry->operation) == 0) return record;
    }
    return NULL;
}

static bool has_a_retry(const struct storm *storm)
{
    return a_retry(storm) != NULL;
}

static struct seen *a_plain_post(const struct storm *storm)
{
    for (size_t i = 0; i < storm->history.seen.count; i++) {
        struct seen *seen = history_seen(&storm->history, i);
        if (strcmp(seen->method, "POST") == 0 && !seen->keyed && seen->whole && seen->attempt == 1)
            return seen;
    }
    return NULL;
}

static bool has_a_plain_post(const struct storm *storm)
{
    return a_plain_post(storm) != NULL;
}

static struct reply *a_success(const struct storm *storm)
{
    for (size_t i = 0; i < storm->history.replies.count; i++) {
        struct reply *reply = history_reply(&storm->history, i);
        if (reply->kind == REPLY_WHOLE && reply->status == 200) return reply;
    }
    return NULL;
}

static bool has_a_success(const struct storm *storm)
{
    return a_success(storm) != NULL;
}

static bool opened(const struct storm *storm)
{
    const struct breaker_change *changes = storm->history.breakers.items;
    bool long_enough = storm->history.breakers.count > 0 &&
                       changes[0].state == BELAY_BREAKER_OPEN &&
                       (storm->history.breakers.count == 1 ||
                        changes[1].at.ns - changes[0].at.ns > 20 * BELAY_NS_PER_MS);
    return long_enough && storm->history.attempts.count > 0;
}

/* Good before the fault, caught by that checker after it. */
struct plant {
    const char *checker, *fault;
    bool (*fits)(const struct storm *storm);
    void (*plant)(struct storm *storm);
};

static void drop_an_attempt(struct storm *storm)
{
    struct rows *rows = &storm->history.attempts;
    struct attempt_record *first = first_of(storm, a_retry(storm));
    *first = *history_attempt(&storm->history, --rows->count);
}

static void renumber(struct storm *storm)
{
    a_retry(storm)->attempt = 3;
}

static void record_the_operation_twice(struct storm *storm)
{
    struct operation_record *copy = rows_add(&storm->history.operations, sizeof(*copy));
    *copy = *history_operation(&storm->history, 0);
}

static void start_after_the_deadline(struct storm *storm)
{
    struct attempt_record *retry = a_retry(storm);
    retry->at.ns += storm->rules.policy.deadline_for.ns;
    retry->remaining_ms = 5;
}

static void let_time_grow(struct storm *storm)
{
    a_retry(storm)->remaining_ms += 3;
}

static void call_after_the_deadline(struct storm *storm)
{
    history_seen(&storm->history, 0)->at.ns +=
        storm->rules.policy.deadline_for.ns + storm->rules.latency_max.ns + 60 * BELAY_NS_PER_S;
}

static void outlive_the_deadline(struct storm *storm)
{
    struct attempt_record *retry = a_retry(storm);
    for (size_t i = 0; i < storm->history.operations.count; i++) {
        struct operation_record *record = history_operation(&storm->history, i);
        if (strcmp(record->operation, retry->operation) != 0) continue;
        int64_t late_ms =
            storm->rules.policy.deadline_for.ns / BELAY_NS_PER_MS + 51 - record->elapsed_ms;
        record->at.ns += late_ms * BELAY_NS_PER_MS;
        record->elapsed_ms += late_ms;
    }
}

static void do_not_wait(struct storm *storm)
{
    first_of(storm, a_retry(storm))->wait_ms += 1 + 60000;
}

static void ignore_retry_after(struct storm *storm)
{
    first_of(storm, a_retry(storm))->retry_after_ms = 60000;
}

static void retry_against_the_decision(struct storm *storm)
{
    snprintf(first_of(storm, a_retry(storm))->decision, HISTORY_WORD_BYTES, "stop");
}

static void call_through_the_open_breaker(struct storm *storm)
{
    const struct breaker_change *changes = storm->history.breakers.items;
    struct attempt_record *record = history_attempt(&storm->history, 0);
    record->at.ns = changes[0].at.ns + 10 * BELAY_NS_PER_MS;
    record->elapsed_ms = 0;
}

static void retry_through_the_half_open_breaker(struct storm *storm)
{
    struct attempt_record *retry = a_retry(storm);
    struct breaker_change *change = rows_add(&storm->history.breakers, sizeof(*change));
    storm->history.breakers.count = 1;
    change = storm->history.breakers.items;
    change->state = BELAY_BREAKER_HALF_OPEN;
    change->at.ns = retry->at.ns - (retry->elapsed_ms + 5) * BELAY_NS_PER_MS;
}

static void spend_more_than_the_budget(struct storm *storm)
{
    struct attempt_record retry = *a_retry(storm);
    for (uint32_t i = 0; i <= storm->rules.policy.budget.burst; i++) {
        *(struct attempt_record *)rows_add(&storm->history.attempts, sizeof(retry)) = retry;
    }
}

static bool has_a_busy_bulkhead(const struct storm *storm)
{
    return storm->rules.policy.bulkhead.enabled && storm->rules.policy.bulkhead.max == 1 &&
           has_a_retry(storm);
}

static void call_beside_a_call(struct storm *storm)
{
    struct attempt_record *retry = a_retry(storm), copy = *retry;
    retry->elapsed_ms += 1;
    copy.at.ns += BELAY_NS_PER_MS;
    copy.elapsed_ms = 2;
    retry->at.ns += BELAY_NS_PER_MS;
    *(struct attempt_record *)rows_add(&storm->history.attempts, sizeof(copy)) = copy;
}

static bool has_a_quota(const struct storm *storm)
{
    return storm->rules.policy.quota.enabled && storm->history.attempts.count > 0;
}

static void call_over_the_quota(struct storm *storm)
{
    struct attempt_record copy = *history_attempt(&storm->history, 0);
    for (int i = 0; i < 5; i++) {
        *(struct attempt_record *)rows_add(&storm->history.attempts, sizeof(copy)) = copy;
    }
}

static bool has_a_hint(const struct storm *storm)
{
    for (size_t i = 0; i < storm->history.attempts.count; i++) {
        const struct attempt_record *record = history_attempt(&storm->history, i);
        if (record->status == 503 && record->retry_after_ms >= 1000) return true;
    }
    return false;
}

static void call_within_a_hint(struct storm *storm)
{
    for (size_t i = 0; i < storm->history.attempts.count; i++) {
        struct attempt_record copy = *history_attempt(&storm->history, i);
        if (copy.status != 503 || copy.retry_after_ms < 1000) continue;
        copy.at.ns += 500 * BELAY_NS_PER_MS;
        copy.elapsed_ms = 0;
        copy.retry_after_ms = -1;
        *(struct attempt_record *)rows_add(&storm->history.attempts, sizeof(copy)) = copy;
        return;
    }
}

static struct operation_record *a_done_write(const struct storm *storm)
{
    for (size_t i = 0; i < storm->history.operations.count; i++) {
        struct operation_record *record = history_operation(&storm->history, i);
        if (strcmp(record->effect, "done") == 0) return record;
    }
    return NULL;
}

static bool has_a_done_write(const struct storm *storm)
{
    return a_done_write(storm) != NULL;
}

static void deny_an_effect(struct storm *storm)
{
    snprintf(a_done_write(storm)->effect, HISTORY_WORD_BYTES, "none");
}

static void invent_an_effect(struct storm *storm)
{
    storm->history.seen.count = 0;
}

static struct reply *refused_garbage(const struct storm *storm)
{
    for (size_t i = 0; i < storm->history.replies.count; i++) {
        struct reply *reply = history_reply(&storm->history, i);
        if (reply->garbage && reply->kind == REPLY_WHOLE) return reply;
    }
    return NULL;
}

static bool has_garbage(const struct storm *storm)
{
    return refused_garbage(storm) != NULL && storm->history.seen.count > 0;
}

static void pass_garbage_on(struct storm *storm)
{
    history_seen(&storm->history, 0)->garbage = true;
}

static void answer_garbage_well(struct storm *storm)
{
    refused_garbage(storm)->status = 200;
}

static void lose_an_accepted_request(struct storm *storm)
{
    struct reply *reply = a_success(storm);
    reply->kind = REPLY_CLOSED;
    reply->closing = false;
    reply->first = storm->rules.draining = true;
}

static void post_twice(struct storm *storm)
{
    struct seen copy = *a_plain_post(storm);
    copy.attempt = 2;
    *(struct seen *)rows_add(&storm->history.seen, sizeof(copy)) = copy;
}

static void call_it_unsent(struct storm *storm)
{
    const struct seen *seen = a_plain_post(storm);
    for (size_t i = 0; i < storm->history.attempts.count; i++) {
        struct attempt_record *record = history_attempt(&storm->history, i);
        if (strcmp(record->operation, seen->operation) == 0)
            snprintf(record->sent, sizeof(record->sent), "unsent");
    }
}

static void send_an_attempt_twice(struct storm *storm)
{
    struct seen copy = *history_seen(&storm->history, 0);
    *(struct seen *)rows_add(&storm->history.seen, sizeof(copy)) = copy;
}

static void call_without_a_record(struct storm *storm)
{
    history_seen(&storm->history, 0)->attempt = 9;
}

static void record_without_a_call(struct storm *storm)
{
    storm->history.seen.count = 0;
}

static void record_status_and_error(struct storm *storm)
{
    struct attempt_record *record = history_attempt(&storm->history, 0);
    record->status = 503;
    snprintf(record->error, sizeof(record->error), "reset");
}

static void change_a_body_on_its_way_in(struct storm *storm)
{
    a_plain_post(storm)->body_right = false;
}

static void change_a_body_on_its_way_out(struct storm *storm)
{
    a_success(storm)->body_right = false;
}

static void make_up_a_success(struct storm *storm)
{
    a_success(storm)->of_origin = false;
}

static void give_what_nobody_gave(struct storm *storm)
{
    a_success(storm)->status = 201;
}

static void write_what_nobody_can_read(struct storm *storm)
{
    storm->history.unreadable++;
}

static void never_answer(struct storm *storm)
{
    a_success(storm)->kind = REPLY_NONE;
}

static void answer_twice(struct storm *storm)
{
    a_success(storm)->kind = REPLY_WRONG;
}

static void close_without_a_word(struct storm *storm)
{
    struct reply *reply = a_success(storm);
    reply->kind = REPLY_CLOSED;
    reply->closing = storm->rules.draining = false;
}

static void record_another_answer(struct storm *storm)
{
    const struct reply *reply = a_success(storm);
    for (size_t i = 0; i < storm->history.operations.count; i++) {
        struct operation_record *record = history_operation(&storm->history, i);
        if (strcmp(record->operation, reply->operation) == 0) record->answer = 504;
    }
}

static const struct plant PLANTS[] = {
    {"numbered", "an attempt's record is lost", has_a_retry, drop_an_attempt},
    {"numbered", "a number is left out", has_a_retry, renumber},
    {"numbered", "an operation is recorded twice", has_a_retry, record_the_operation_twice},
    {"deadline", "an attempt starts after the deadline", has_a_retry, start_after_the_deadline},
    {"deadline", "remainingMs grows", has_a_retry, let_time_grow},
    {"deadline", "the origin is called after the deadline", has_a_plain_post,
     call_after_the_deadline},
    {"deadline", "an operation outlives its deadline", has_a_retry, outlive_the_deadline},
    {"wait", "a retry does not wait", has_a_retry, do_not_wait},
    {"wait", "a retry ignores Retry-After", has_a_retry, ignore_retry_after},
    {"wait", "an attempt follows a stop", has_a_retry, retry_against_the_decision},
    {"breaker", "a call goes through the open breaker", opened, call_through_the_open_breaker},
    {"breaker", "a retry is a probe", has_a_retry, retry_through_the_half_open_breaker},
    {"budget", "more retries than the budget", has_a_retry, spend_more_than_the_budget},
    {"bulkhead", "a call beside another", has_a_busy_bulkhead, call_beside_a_call},
    {"quota", "calls over the quota", has_a_quota, call_over_the_quota},
    {"hold", "a call before a hint has passed", has_a_hint, call_within_a_hint},
    {"effect", "an effect is denied", has_a_done_write, deny_an_effect},
    {"effect", "an effect is invented", has_a_done_write, invent_an_effect},
    {"calls", "garbage is passed on", has_garbage, pass_garbage_on},
    {"answer", "garbage is answered well", has_garbage, answer_garbage_well},
    {"answer", "draining loses an accepted request", has_a_success, lose_an_accepted_request},
    {"post", "a POST is seen twice", has_a_plain_post, post_twice},
    {"post", "what was sent is called unsent", has_a_plain_post, call_it_unsent},
    {"calls", "an attempt is sent twice", has_a_success, send_an_attempt_twice},
    {"calls", "a call has no record", has_a_success, call_without_a_record},
    {"calls", "a record has no call", has_a_success, record_without_a_call},
    {"calls", "a record has a status and an error", has_a_success, record_status_and_error},
    {"bytes", "a request's body changes", has_a_plain_post, change_a_body_on_its_way_in},
    {"bytes", "an answer's body changes", has_a_success, change_a_body_on_its_way_out},
    {"bytes", "a success is made up", has_a_success, make_up_a_success},
    {"bytes", "an answer has another status", has_a_success, give_what_nobody_gave},
    {"bytes", "a record is no JSON", has_a_success, write_what_nobody_can_read},
    {"answer", "a caller waits for ever", has_a_success, never_answer},
    {"answer", "a caller is answered twice", has_a_success, answer_twice},
    {"answer", "a connection closes without a word", has_a_success, close_without_a_word},
    {"answer", "the record tells another answer", has_a_success, record_another_answer},
};

static void each_checker_catches_what_it_is_for(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(PLANTS) / sizeof(PLANTS[0]); i++) {
        const struct plant *plant = &PLANTS[i];
        const struct checker *checker = check_find(plant->checker);
        struct storm storm;
        char why[CHECK_WHY_BYTES] = "";
        assert_non_null(checker);
        uint64_t seed = find_storm(&storm, plant->fits);
        const char *before = check_history(&storm.history, &storm.rules, why);
        if (before)
            fail_msg("seed %llu was not good: %s: %s", (unsigned long long)seed, before, why);
        plant->plant(&storm);
        if (checker->holds(&storm.history, &storm.rules, why)) {
            fail_msg("%s did not see it: %s (seed %llu)", plant->checker, plant->fault,
                     (unsigned long long)seed);
        }
        printf("%-9s %-42s %s\n", plant->checker, plant->fault, why);
        storm_deinit(&storm);
    }
}

static void no_checker_is_without_a_fault(void **state)
{
    (void)state;
    for (size_t i = 0; i < CHECKER_COUNT; i++) {
        size_t plants = 0;
        for (size_t p = 0; p < sizeof(PLANTS) / sizeof(PLANTS[0]); p++) {
            plants += strcmp(PLANTS[p].checker, CHECKERS[i].name) == 0;
        }
        if (plants == 0) fail_msg("%s was never shown to catch anything", CHECKERS[i].name);
    }
}

static void nobody_comes(struct rt_timer *timer)
{
    (void)timer;
}

static const char *leftovers_of(const struct check_leftovers *left)
{
    char why[CHECK_WHY_BYTES];
    const char *broken = check_leftovers(left, why);
    return broken ? broken : "";
}

static void what_is_left_is_seen(void **state)
{
    (void)state;
    struct rt *rt = rt_create(1);
    struct check_leftovers left = {0};
    sim_open(rt, &left.open);
    assert_string_equal(leftovers_of(&left), "");

    struct rt_timer forgotten;
    rt_timer_init(&forgotten, nobody_comes);
    rt_timer_arm(rt, &forgotten, belay_instant_never());
    sim_open(rt, &left.open);
    assert_string_equal(leftovers_of(&left), "leak");
    rt_timer_disarm(rt, &forgotten);

    static const struct rt_conn_events none;
    enum belay_error_class error;
    struct rt_addr addr = {.family = 4, .port = 1};
    struct rt_conn *conn = rt_connect(rt, &addr, &none, NULL, &error);
    sim_open(rt, &left.open);
    assert_string_equal(leftovers_of(&left), "leak");
    rt_conn_close(conn, RT_CLOSE_ABORT);
    sim_open(rt, &left.open);
    assert_string_equal(leftovers_of(&left), "");

    left.in_flight = 1;
    assert_string_equal(leftovers_of(&left), "leak");
    left = (struct check_leftovers){.waiting = 1};
    assert_string_equal(leftovers_of(&left), "leak");
    left = (struct check_leftovers){.running = 1};
    assert_string_equal(leftovers_of(&left), "stuck");
    left = (struct check_leftovers){.callers_waiting = 1};
    assert_string_equal(leftovers_of(&left), "stuck");
    rt_destroy(rt);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_checker_catches_what_it_is_for),
        cmocka_unit_test(no_checker_is_without_a_fault),
        cmocka_unit_test(what_is_left_is_seen),
    };
    return cmocka_run_group_tests_name("checkers", tests, NULL, NULL);
}
