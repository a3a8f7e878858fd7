/* world.h: one target, operations on it, and a clock that only the test moves. */
#ifndef TESTS_CALL_WORLD_H
#define TESTS_CALL_WORLD_H

#include <belay/operation.h>

#include "base/check.h"
#include "test.h"

#include <stdlib.h>

/* A test named after a row of the conformance cases. */
#define ROW(name, function)                                                                        \
    {                                                                                              \
        name, function, NULL, NULL, NULL                                                           \
    }

struct world {
    struct belay_policy policy;
    struct belay_target *target;
};

static const struct belay_traits get = {.safe_method = true};
static const struct belay_traits post = {.write = true};

static inline struct belay_instant at(int64_t ms)
{
    return (struct belay_instant){ms * BELAY_NS_PER_MS};
}

/* The policy is filled in by the test before. */
static inline void world_begin(struct world *world)
{
    world->target = belay_target_create(&world->policy, 1);
    CHECK(world->target != NULL);
}

static inline void world_end(struct world *world)
{
    belay_target_destroy(world->target);
}

/* The defaults, but waits without jitter: 200 ms, 400 ms, ... */
static inline struct world world_of_defaults(void)
{
    struct world world = {.policy = belay_policy_default()};
    world.policy.backoff.kind = BELAY_BACKOFF_NONE;
    return world;
}

/* What the documents' example says: 400 ms, constant waits of 40 ms, nothing in reserve. */
static inline struct world world_of_the_example(void)
{
    struct world world = world_of_defaults();
    world.policy.deadline_for = belay_span_ms(400);
    world.policy.reserve_for = belay_span_ms(0);
    world.policy.backoff.kind = BELAY_BACKOFF_CONSTANT;
    world.policy.backoff.base = belay_span_ms(40);
    return world;
}

static inline struct world world_with_slots(uint32_t max, uint32_t queue)
{
    struct world world = world_of_defaults();
    world.policy.bulkhead = (struct belay_bulkhead_config){true, max, queue};
    return world;
}

static inline struct belay_target_stats world_stats(struct world *world)
{
    struct belay_target_stats stats;
    belay_target_stats(world->target, at(0), &stats);
    return stats;
}

static inline void begin(struct world *world, struct belay_operation *op,
                         const struct belay_traits *traits, int64_t now_ms)
{
    struct belay_instant deadline_at = belay_instant_add(at(now_ms), world->policy.deadline_for);
    belay_operation_init(op, &world->policy, world->target, traits, at(now_ms), deadline_at, NULL);
}

static inline struct belay_outcome status(int code)
{
    return (struct belay_outcome){.status = code, .sent = BELAY_ANSWERED};
}

static inline struct belay_outcome hinted(int code, int64_t retry_after_ms)
{
    return (struct belay_outcome){.status = code,
                                  .sent = BELAY_ANSWERED,
                                  .has_retry_after = true,
                                  .retry_after_ms = retry_after_ms};
}

static inline struct belay_outcome error(enum belay_error_class error_class, enum belay_sent sent)
{
    return (struct belay_outcome){.error = error_class, .phase = BELAY_PHASE_HEADERS, .sent = sent};
}

static inline struct belay_verdict record(struct belay_operation *op, struct belay_outcome outcome,
                                          int64_t now_ms)
{
    return belay_operation_record(op, &outcome, at(now_ms), 0);
}

/* One whole operation of one attempt; returns what its attempt was decided to be. */
static inline enum belay_decision one_call(struct world *world, struct belay_outcome outcome,
                                           int64_t now_ms)
{
    struct belay_operation op;
    begin(world, &op, &get, now_ms);
    CHECK(belay_operation_admit(&op, at(now_ms)).kind == BELAY_ADMITTED);
    enum belay_decision decision = record(&op, outcome, now_ms).decision;
    (void)belay_operation_finish(&op, at(now_ms));
    return decision;
}

static inline void admitted(struct belay_operation *op, int64_t now_ms, uint32_t attempt,
                            int64_t remaining_ms)
{
    struct belay_admission admission = belay_operation_admit(op, at(now_ms));
    assert_int_equal(admission.kind, BELAY_ADMITTED);
    assert_int_equal(admission.attempt, attempt);
    assert_int_equal(admission.remaining.ns, belay_span_ms(remaining_ms).ns);
}

static inline void refused(struct belay_operation *op, int64_t now_ms, enum belay_terminal terminal)
{
    struct belay_admission admission = belay_operation_admit(op, at(now_ms));
    assert_int_equal(admission.kind, BELAY_REFUSED);
    assert_string_equal(belay_terminal_name(admission.terminal), belay_terminal_name(terminal));
}

static inline void decided(struct belay_verdict verdict, enum belay_decision decision,
                           enum belay_reason reason)
{
    assert_string_equal(belay_decision_name(verdict.decision), belay_decision_name(decision));
    assert_string_equal(belay_reason_name(verdict.reason), belay_reason_name(reason));
}

static inline void ended(struct belay_operation *op, int64_t now_ms, const char *word,
                         uint32_t attempts)
{
    struct belay_ending ending = belay_operation_finish(op, at(now_ms));
    if (word)
        assert_string_equal(ending.word, word);
    else
        assert_null(ending.word);
    assert_int_equal(ending.status > 0, word == NULL);
    assert_int_equal(ending.attempts, attempts);
}

static inline struct belay_admission admit(struct belay_operation *op, int64_t now_ms)
{
    return belay_operation_admit(op, at(now_ms));
}

static inline void goes(struct belay_operation *op, int64_t now_ms)
{
    assert_int_equal(admit(op, now_ms).kind, BELAY_ADMITTED);
}

static inline void waits(struct belay_operation *op, int64_t now_ms, int64_t until_ms)
{
    struct belay_admission admission = admit(op, now_ms);
    assert_int_equal(admission.kind, BELAY_WAIT);
    assert_int_equal(admission.at.ns, at(until_ms).ns);
}

static inline void done(struct belay_operation *op, int64_t now_ms)
{
    (void)record(op, status(200), now_ms);
    (void)belay_operation_finish(op, at(now_ms));
}

static inline void gone(struct belay_operation *op, int64_t now_ms)
{
    (void)belay_operation_finish(op, at(now_ms));
}

#endif
