/* target_state.c: what a target knows outlives its process, and several processes share it. */
#include "world.h"

#include "seed.h"

#include <belay/target_state.h>
#include <stdio.h>
#include <string.h>

/* ---- a store that all processes of a test share, on one global clock ---- */

struct store {
    bool known, unreachable;
    int64_t exported_ns; /* global */
    unsigned char bytes[BELAY_TARGET_STATE_BYTES];
};

struct process {
    struct belay_target_share share;
    struct store *store;
    struct belay_target *target;
    int64_t clock_ns; /* what its own clock says at the global instant 0 */
    int stores;
};

static bool load(struct belay_target_share *share, struct belay_instant now,
                 struct belay_instant *at)
{
    struct process *process = CONTAINER_OF(share, struct process, share);
    struct store *store = process->store;
    (void)now;
    if (store->unreachable) return false;
    at->ns = store->exported_ns + process->clock_ns;
    if (!store->known) {
        belay_target_state_init(&share->state, 1);
    } else {
        assert_null(belay_target_state_decode(store->bytes, &share->state));
    }
    return true;
}

static void keep(struct belay_target_share *share, struct belay_instant at)
{
    struct process *process = CONTAINER_OF(share, struct process, share);
    belay_target_state_encode(&share->state, process->store->bytes);
    process->store->exported_ns = at.ns - process->clock_ns;
    process->store->known = true;
    process->stores++;
}

static void process_begin(struct process *process, struct store *store,
                          const struct belay_policy *policy, int64_t clock_ns)
{
    *process = (struct process){
        .share = {.load = load, .store = keep}, .store = store, .clock_ns = clock_ns};
    void *memory = malloc(belay_target_size());
    CHECK(memory != NULL);
    process->target = belay_target_init(memory, policy, 1);
    belay_target_share_with(process->target, &process->share);
}

static void process_end(struct process *process)
{
    belay_target_deinit(process->target);
    free(process->target);
}

/* Its memory goes, and nothing was given back: kill -9. */
static void process_kill(struct process *process)
{
    free(process->target);
}

static struct belay_instant local(const struct process *process, int64_t global_ns)
{
    return (struct belay_instant){global_ns + process->clock_ns};
}

/* ---- property: many that share decide as one ---- */

enum { OPERATIONS = 6, PROCESSES = 4, STEPS = 4000 };

enum life { IDLE, READY, IN_FLIGHT };

struct pair {
    struct belay_operation alone, sharing;
    struct process *process;
    enum life life;
};

struct story {
    struct belay_policy policy;
    struct belay_target *alone;
    struct store store;
    struct process processes[PROCESSES];
    struct pair pairs[OPERATIONS];
    struct rng rng;
    int64_t now_ns;
};

/* Everything is a few nanoseconds long, so that a wait's jitter, which two targets would draw from
 * dice of their own, is 0. */
static struct belay_policy tiny_policy(struct rng *rng)
{
    struct belay_policy policy = belay_policy_default();
    policy.deadline_for = belay_span_ns(1000000);
    policy.reserve_for = belay_span_ns(5);
    policy.attempt_timeout_for = belay_span_ns(20);
    policy.attempts_max = 1 + (uint32_t)test_below(rng, 4);
    policy.backoff =
        (struct belay_backoff_config){BELAY_BACKOFF_CONSTANT, belay_span_ns(0), belay_span_ns(0)};
    policy.budget.burst = (uint32_t)test_below(rng, 5);
    policy.breaker.window = belay_span_ns(100);
    policy.breaker.min_calls = 3 + (uint32_t)test_below(rng, 8);
    policy.breaker.consecutive = 2 + (uint32_t)test_below(rng, 5);
    policy.breaker.slow_after = belay_span_ns(6);
    policy.breaker.open_for = belay_span_ns(5);
    policy.breaker.open_max = belay_span_ns(9);
    policy.breaker.probes = 1 + (uint32_t)test_below(rng, 2);
    policy.breaker.min_timeout = belay_span_ns(0);
    policy.bulkhead.enabled = false;
    policy.hold.max = belay_span_ns(7);
    policy.hold.pace = belay_span_ns(2);
    policy.quota = (struct belay_quota_config){rng_next(rng) % 2 == 0, belay_span_ns(2), 4, 0};
    return policy;
}

static struct belay_outcome random_outcome(struct rng *rng)
{
    switch (test_below(rng, 8)) {
    case 0: return hinted(503, 1);
    case 1: return hinted(429, 1);
    case 2: return status(429);
    case 3: return status(503);
    case 4: return error(BELAY_ERROR_TIMEOUT, BELAY_SENT);
    case 5: return error(BELAY_ERROR_CANCELLED, BELAY_SENT);
    default: return status(200);
    }
}

static void both_begin(struct story *story, struct pair *pair)
{
    pair->process = &story->processes[test_below(&story->rng, PROCESSES)];
    struct belay_instant here = {story->now_ns}, there = local(pair->process, story->now_ns);
    const struct belay_policy *policy = &story->policy;
    belay_operation_init(&pair->alone, policy, story->alone, &get, here,
                         belay_instant_add(here, policy->deadline_for), NULL);
    belay_operation_init(&pair->sharing, policy, pair->process->target, &get, there,
                         belay_instant_add(there, policy->deadline_for), NULL);
    pair->life = READY;
}

static void both_finish(struct story *story, struct pair *pair)
{
    struct belay_ending alone =
        belay_operation_finish(&pair->alone, (struct belay_instant){story->now_ns});
    struct belay_ending sharing =
        belay_operation_finish(&pair->sharing, local(pair->process, story->now_ns));
    assert_int_equal(alone.status, sharing.status);
    assert_int_equal(alone.attempts, sharing.attempts);
    assert_true(alone.word == sharing.word);
    pair->life = IDLE;
}

static void both_admit(struct story *story, struct pair *pair)
{
    struct belay_admission alone =
        belay_operation_admit(&pair->alone, (struct belay_instant){story->now_ns});
    struct belay_admission sharing =
        belay_operation_admit(&pair->sharing, local(pair->process, story->now_ns));
    assert_int_equal(alone.kind, sharing.kind);
    assert_int_equal(alone.terminal, sharing.terminal);
    assert_int_equal(alone.retry_hint.ns, sharing.retry_hint.ns);
    if (alone.kind == BELAY_WAIT)
        assert_int_equal(alone.at.ns, sharing.at.ns - pair->process->clock_ns);
    if (alone.kind == BELAY_ADMITTED) pair->life = IN_FLIGHT;
    if (alone.kind == BELAY_REFUSED) both_finish(story, pair);
}

static void both_record(struct story *story, struct pair *pair)
{
    struct belay_outcome outcome = random_outcome(&story->rng);
    struct belay_verdict alone =
        belay_operation_record(&pair->alone, &outcome, (struct belay_instant){story->now_ns}, 0);
    struct belay_verdict sharing =
        belay_operation_record(&pair->sharing, &outcome, local(pair->process, story->now_ns), 0);
    assert_string_equal(belay_reason_name(alone.reason), belay_reason_name(sharing.reason));
    pair->life = READY;
    if (alone.decision != BELAY_DECISION_RETRY) both_finish(story, pair);
}

static bool is_at_rest(const struct story *story, const struct process *process)
{
    for (int i = 0; i < OPERATIONS; i++) {
        if (story->pairs[i].life != IDLE && story->pairs[i].process == process) return false;
    }
    return true;
}

/* A process ends, and another begins, on another machine for all it knows. */
static void succeed(struct story *story, struct process *process)
{
    if (!is_at_rest(story, process)) return;
    process_end(process);
    process_begin(process, &story->store, &story->policy,
                  (int64_t)test_below(&story->rng, (uint64_t)1 << 50));
}

static void story_step(struct story *story)
{
    struct pair *pair = &story->pairs[test_below(&story->rng, OPERATIONS)];
    story->now_ns += (int64_t)test_below(&story->rng, 4);
    uint64_t chance = test_below(&story->rng, 20);
    if (chance == 0) succeed(story, &story->processes[test_below(&story->rng, PROCESSES)]);
    if (chance == 1 && pair->life != IDLE) {
        both_finish(story, pair);
    } else if (pair->life == IDLE) {
        both_begin(story, pair);
    } else if (pair->life == READY) {
        both_admit(story, pair);
    } else {
        both_record(story, pair);
    }
}

static void tell_story(uint64_t seed)
{
    struct story story = {0};
    rng_seed(&story.rng, seed);
    story.policy = tiny_policy(&story.rng);
    story.alone = malloc(belay_target_size());
    CHECK(story.alone != NULL);
    story.alone = belay_target_init(story.alone, &story.policy, 1);
    for (int i = 0; i < PROCESSES; i++)
        process_begin(&story.processes[i], &story.store, &story.policy, i * 1000);
    for (int i = 0; i < STEPS; i++) story_step(&story);
    for (int i = 0; i < OPERATIONS; i++) {
        if (story.pairs[i].life != IDLE) both_finish(&story, &story.pairs[i]);
    }
    struct belay_target_stats stats;
    belay_target_stats(story.alone, (struct belay_instant){story.now_ns}, &stats);
    assert_true(stats.attempts > STEPS / 20); /* it was not one long refusal */
    for (int i = 0; i < PROCESSES; i++) process_end(&story.processes[i]);
    belay_target_deinit(story.alone);
    free(story.alone);
}

static void test_targets_that_share_decide_as_one(void **state)
{
    (void)state;
    struct rng seeds = test_rng("targets that share");
    for (int i = 0; i < 200; i++) tell_story(rng_next(&seeds));
}

/* ---- kill -9 ---- */

static void begin_in(struct process *process, struct belay_operation *op,
                     const struct belay_policy *policy, int64_t now_ms)
{
    struct belay_instant now = at(now_ms);
    belay_operation_init(op, policy, process->target, &get, now,
                         belay_instant_add(now, policy->deadline_for), NULL);
}

static struct belay_verdict fail_once(struct process *process, struct belay_operation *op,
                                      const struct belay_policy *policy, int code, int64_t now_ms)
{
    begin_in(process, op, policy, now_ms);
    goes(op, now_ms);
    return record(op, status(code), now_ms);
}

static void test_a_token_of_a_killed_process_comes_back_after_its_deadline(void **state)
{
    (void)state;
    struct belay_policy policy = belay_policy_default();
    policy.budget = (struct belay_budget_config){.ratio_ppm = 1000000, .burst = 1};
    policy.breaker.enabled = false;
    struct store store = {0};
    struct process dead, alive;
    struct belay_operation lost, op;
    process_begin(&dead, &store, &policy, 0);
    process_begin(&alive, &store, &policy, 0);
    assert_int_equal(fail_once(&dead, &lost, &policy, 503, 0).decision, BELAY_DECISION_RETRY);
    process_kill(&dead);
    assert_int_equal(fail_once(&alive, &op, &policy, 503, 9999).decision,
                     BELAY_DECISION_BUDGET_EXHAUSTED);
    gone(&op, 9999);
    /* It vanished, spent: there is room again, for what the next operation earns. */
    assert_int_equal(fail_once(&alive, &op, &policy, 503, 10001).decision, BELAY_DECISION_RETRY);
    gone(&op, 10001);
    process_end(&alive);
}

static void test_a_token_that_others_gave_up_may_still_be_sent_or_given_back(void **state)
{
    (void)state;
    struct belay_policy policy = belay_policy_default();
    policy.budget = (struct belay_budget_config){.ratio_ppm = 1000000, .burst = 1};
    policy.breaker.enabled = false;
    struct store store = {0};
    struct process stopped, other;
    struct belay_operation late, op;
    process_begin(&stopped, &store, &policy, 0);
    process_begin(&other, &store, &policy, 0);
    assert_int_equal(fail_once(&stopped, &late, &policy, 503, 0).decision, BELAY_DECISION_RETRY);
    assert_int_equal(fail_once(&other, &op, &policy, 503, 20000).decision, BELAY_DECISION_RETRY);
    gone(&late, 20001); /* both have one now, of a budget of one */
    gone(&op, 20002);
    struct belay_target_state left;
    assert_null(belay_target_state_decode(store.bytes, &left));
    assert_int_equal(left.budget.free, 1000000);
    assert_int_equal(left.budget.reserved, 0);
    process_end(&stopped);
    process_end(&other);
}

static void test_a_probe_of_a_killed_process_comes_back_after_its_lease(void **state)
{
    (void)state;
    struct belay_policy policy = belay_policy_default();
    struct store store = {0};
    struct process dead, alive;
    struct belay_operation op;
    process_begin(&dead, &store, &policy, 0);
    for (int i = 0; i < 10; i++) {
        (void)fail_once(&dead, &op, &policy, 500, 0);
        gone(&op, 0);
    }
    begin_in(&dead, &op, &policy, 6000);
    goes(&op, 6000); /* the probe */
    process_kill(&dead);
    process_begin(&alive, &store, &policy, 0);
    begin_in(&alive, &op, &policy, 17000);
    refused(&op, 17000, BELAY_TERMINAL_BREAKER_OPEN);
    gone(&op, 17000);
    begin_in(&alive, &op, &policy, 17001);
    goes(&op, 17001);
    done(&op, 17001);
    begin_in(&alive, &op, &policy, 17002);
    goes(&op, 17002);
    done(&op, 17002);
    process_end(&alive);
}

/* ---- the store ---- */

static void test_without_its_store_a_target_goes_on_alone(void **state)
{
    (void)state;
    struct belay_policy policy = belay_policy_default();
    struct store store = {.unreachable = true};
    struct process process;
    struct belay_operation op;
    process_begin(&process, &store, &policy, 0);
    for (int i = 0; i < 10; i++) {
        (void)fail_once(&process, &op, &policy, 500, 0);
        gone(&op, 0);
    }
    begin_in(&process, &op, &policy, 1);
    refused(&op, 1, BELAY_TERMINAL_BREAKER_OPEN);
    gone(&op, 1);
    assert_int_equal(process.stores, 0);
    process_end(&process);
}

static void test_a_policy_leaves_what_it_turns_off(void **state)
{
    (void)state;
    struct belay_policy policy = belay_policy_default(), plain = policy;
    policy.quota = (struct belay_quota_config){true, belay_span_ms(1000), 1, 0};
    plain.breaker.enabled = false;
    plain.hold.max = belay_span_ms(0);
    struct store store = {0};
    struct process first, second;
    struct belay_operation op;
    process_begin(&first, &store, &policy, 0);
    process_begin(&second, &store, &plain, 0);
    for (int i = 0; i < 10; i++) {
        begin_in(&first, &op, &policy, i * 2000);
        goes(&op, i * 2000);
        (void)record(&op, hinted(503, 1000), i * 2000);
        gone(&op, i * 2000);
    }
    begin_in(&second, &op, &plain, 18500); /* no breaker, no hold, no quota for this one */
    goes(&op, 18500);
    done(&op, 18500);
    begin_in(&first, &op, &policy, 18999);
    struct belay_admission admission = admit(&op, 18999);
    assert_int_equal(admission.terminal, BELAY_TERMINAL_BREAKER_OPEN);
    assert_true(admission.retry_hint.ns >= belay_span_ms(4001).ns &&
                admission.retry_hint.ns <= belay_span_ms(4501).ns);
    gone(&op, 18999);
    struct belay_target_state left;
    assert_null(belay_target_state_decode(store.bytes, &left));
    assert_int_equal(left.holds[0].until_at.ns, belay_span_ms(1).ns); /* 19000 */
    assert_int_equal(left.quota.theoretical_at.ns, belay_span_ms(1).ns);
    process_end(&first);
    process_end(&second);
}

static void test_a_smaller_budget_and_another_window_are_respected(void **state)
{
    (void)state;
    struct belay_policy policy = belay_policy_default(), other = policy;
    struct belay_target_state known;
    struct world world = {.policy = policy}, second = {.policy = other};
    second.policy.budget.burst = 3;
    second.policy.breaker.window = belay_span_ms(1000);
    world_begin(&world);
    world_begin(&second);
    for (int i = 0; i < 9; i++) (void)one_call(&world, status(200), 0);
    belay_target_export(world.target, at(0), &known);
    assert_int_equal(known.breaker.buckets[known.breaker.newest].calls, 9);
    belay_target_import(second.target, at(0), &known);
    belay_target_export(second.target, at(0), &known);
    assert_int_equal(known.budget.free, 3000000);
    assert_int_equal(known.breaker.buckets[known.breaker.newest].calls, 0);
    world_end(&world);
    world_end(&second);
}

static int slots_taken;

static bool take_slot(struct belay_target_share *share, uint32_t max)
{
    (void)share;
    if ((uint32_t)slots_taken >= max) return false;
    slots_taken++;
    return true;
}

static void give_slot(struct belay_target_share *share)
{
    (void)share;
    slots_taken--;
}

static void test_slots_of_all_processes_are_taken_for_an_attempt_only(void **state)
{
    (void)state;
    struct belay_policy policy = belay_policy_default();
    policy.bulkhead.max = 1;
    struct store store = {0};
    struct process first, second;
    struct belay_operation one, two;
    process_begin(&first, &store, &policy, 0);
    process_begin(&second, &store, &policy, 0);
    first.share.take_slot = second.share.take_slot = take_slot;
    first.share.give_slot = second.share.give_slot = give_slot;
    assert_int_equal(fail_once(&first, &one, &policy, 503, 0).decision, BELAY_DECISION_RETRY);
    assert_int_equal(slots_taken, 0); /* it waits */
    begin_in(&second, &two, &policy, 0);
    goes(&two, 0);
    refused(&one, 5000, BELAY_TERMINAL_BULKHEAD_FULL);
    gone(&one, 5000);
    assert_int_equal(slots_taken, 1);
    gone(&two, 5000); /* abandoned */
    assert_int_equal(slots_taken, 0);
    begin_in(&first, &one, &policy, 5000);
    goes(&one, 5000);
    done(&one, 5000);
    assert_int_equal(slots_taken, 0);
    process_end(&first);
    process_end(&second);
}

/* ---- bytes ---- */

static struct belay_target_state some_state(void)
{
    struct belay_target_state known;
    belay_target_state_init(&known, 77);
    known.budget = (struct belay_state_budget){5, 6, {-7}};
    known.breaker.newest = 3;
    for (uint32_t i = 0; i < BELAY_BREAKER_BUCKETS; i++)
        known.breaker.buckets[i] = (struct belay_breaker_counts){10 + i, 5 + i, i};
    known.breaker.bucket_for = belay_span_ms(1000);
    known.breaker.newest_at = belay_span_ms(-20);
    known.quota = (struct belay_state_quota){{1}, {-2}, {3}, {4}, 2};
    known.holds[15] = (struct belay_state_hold){UINT64_MAX, 9, {INT64_MIN}, {-1}};
    return known;
}

static void test_bytes_read_back_to_what_they_were_made_of(void **state)
{
    (void)state;
    struct belay_target_state known = some_state(), read;
    unsigned char bytes[BELAY_TARGET_STATE_BYTES], again[BELAY_TARGET_STATE_BYTES];
    belay_target_state_encode(&known, bytes);
    assert_null(belay_target_state_decode(bytes, &read));
    belay_target_state_encode(&read, again);
    assert_memory_equal(bytes, again, sizeof bytes);
    assert_int_equal(read.holds[15].key, UINT64_MAX);
    assert_int_equal(read.breaker.newest_at.ns, belay_span_ms(-20).ns);
    assert_int_equal(bytes[0], 5); /* the first field, its lowest byte first */
    assert_int_equal(bytes[8], 6);
}

static void refuses(const struct belay_target_state *known, const char *rule)
{
    unsigned char bytes[BELAY_TARGET_STATE_BYTES];
    struct belay_target_state read = {.budget = {.free = 4}};
    belay_target_state_encode(known, bytes);
    const char *fault = belay_target_state_decode(bytes, &read);
    assert_non_null(fault);
    assert_non_null(strstr(fault, rule));
    assert_int_equal(read.budget.free, 4); /* untouched */
}

static void test_what_no_target_can_have_been_is_refused(void **state)
{
    (void)state;
    struct belay_target_state known;
    const struct belay_target_state good = some_state();
#define BROKEN(change, rule)                                                                       \
    known = good;                                                                                  \
    change;                                                                                        \
    refuses(&known, rule)
    BROKEN(known.budget.free = UINT64_MAX, "budget");
    BROKEN(known.budget.reserved = UINT64_MAX, "budget");
    BROKEN(known.budget.reserved_for.ns = INT64_MAX, "token");
    BROKEN(known.breaker.state = (enum belay_breaker_state)3, "state");
    BROKEN(known.breaker.newest = 10, "newest");
    BROKEN(known.breaker.buckets[4].failures = 100, "failures");
    BROKEN(known.breaker.buckets[4].slow = 100, "failures");
    BROKEN(known.breaker.buckets[0].calls = UINT32_MAX, "too many");
    BROKEN(known.breaker.newest_at.ns = 1, "ahead");
    BROKEN(known.breaker.bucket_for.ns = -1, "ahead");
    BROKEN(known.breaker.retry_at.ns = INT64_MAX, "breaker");
    BROKEN(known.breaker.lease_at.ns = INT64_MAX, "breaker");
    BROKEN(known.quota.slowed = 4, "quota");
    BROKEN(known.quota.slowed_at.ns = 1, "quota");
    BROKEN(known.quota.limit_pace.ns = -1, "quota");
    BROKEN(known.quota.theoretical_at.ns = INT64_MAX, "quota");
    BROKEN(known.quota.limit_until.ns = INT64_MAX, "quota");
    BROKEN(known.holds[7].until_at.ns = INT64_MAX, "hold");
    BROKEN(known.holds[0].release_at.ns = INT64_MAX, "hold");
}

/* Whatever decode lets pass, a target lives with it. */
static void test_no_bytes_harm_a_target(void **state)
{
    (void)state;
    struct rng rng = test_rng("bytes of a state");
    int accepted = 0;
    for (int round = 0; round < 3000; round++) {
        unsigned char bytes[BELAY_TARGET_STATE_BYTES];
        struct belay_target_state known = some_state();
        struct world world = {.policy = tiny_policy(&rng)};
        belay_target_state_encode(&known, bytes);
        for (uint64_t n = test_below(&rng, 4); n > 0; n--)
            bytes[test_below(&rng, sizeof bytes)] = (unsigned char)rng_next(&rng);
        if (belay_target_state_decode(bytes, &known)) continue;
        accepted++;
        world_begin(&world);
        belay_target_import(world.target, at(1000), &known);
        for (int i = 0; i < 20; i++) {
            struct belay_operation op;
            begin(&world, &op, &get, 1000 + i);
            if (admit(&op, 1000 + i).kind == BELAY_ADMITTED)
                (void)record(&op, random_outcome(&rng), 1000 + i);
            gone(&op, 1000 + i);
        }
        belay_target_export(world.target, at(2000), &known);
        belay_target_state_encode(&known, bytes);
        assert_null(belay_target_state_decode(bytes, &known));
        world_end(&world);
    }
    assert_true(accepted > 500);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_targets_that_share_decide_as_one),
        cmocka_unit_test(test_a_token_of_a_killed_process_comes_back_after_its_deadline),
        cmocka_unit_test(test_a_token_that_others_gave_up_may_still_be_sent_or_given_back),
        cmocka_unit_test(test_a_probe_of_a_killed_process_comes_back_after_its_lease),
        cmocka_unit_test(test_without_its_store_a_target_goes_on_alone),
        cmocka_unit_test(test_a_policy_leaves_what_it_turns_off),
        cmocka_unit_test(test_a_smaller_budget_and_another_window_are_respected),
        cmocka_unit_test(test_slots_of_all_processes_are_taken_for_an_attempt_only),
        cmocka_unit_test(test_bytes_read_back_to_what_they_were_made_of),
        cmocka_unit_test(test_what_no_target_can_have_been_is_refused),
        cmocka_unit_test(test_no_bytes_harm_a_target),
    };
    return cmocka_run_group_tests_name("target_state", tests, NULL, NULL);
}
