/* target_threads.c: one target under several threads: limits hold, every queued caller is told,
 * nothing is lost. */
#include "world.h"

#include "seed.h"
#include "test.h"

#include <pthread.h>

enum { THREADS = 4, OPERATIONS = 4000, SLOTS = 2, BURST = 5, RATIO_PPM = 200000 };

/* Where a thread sleeps until one of its callers is told. */
struct bell {
    pthread_mutex_t mutex;
    pthread_cond_t rung;
};

struct caller {
    struct belay_operation op;
    struct bell *bell;
    unsigned wakes; /* under the bell's mutex */
};

struct worker {
    pthread_t thread;
    struct world *world;
    struct bell bell;
    struct rng rng;
    int64_t now_ms;
    unsigned queued, attempts, retries, operations;
};

static void wake(struct belay_waiter *waiter)
{
    struct caller *caller = CONTAINER_OF(waiter, struct caller, op.waiter);
    struct bell *bell = caller->bell;
    (void)pthread_mutex_lock(&bell->mutex);
    caller->wakes++;
    (void)pthread_cond_signal(&bell->rung);
    (void)pthread_mutex_unlock(&bell->mutex);
}

/* Sleeps until this caller is told; if nobody ever tells it, the test hangs, and its time limit
 * fails it. */
static void await_wake(struct caller *caller, unsigned wakes_before)
{
    (void)pthread_mutex_lock(&caller->bell->mutex);
    while (caller->wakes == wakes_before)
        (void)pthread_cond_wait(&caller->bell->rung, &caller->bell->mutex);
    (void)pthread_mutex_unlock(&caller->bell->mutex);
}

static unsigned wakes_of(struct caller *caller)
{
    (void)pthread_mutex_lock(&caller->bell->mutex);
    unsigned wakes = caller->wakes;
    (void)pthread_mutex_unlock(&caller->bell->mutex);
    return wakes;
}

/* Asks until it is let in; false when it is refused, or leaves by itself. */
static bool get_in(struct worker *worker, struct caller *caller)
{
    for (;;) {
        unsigned wakes_before = wakes_of(caller);
        struct belay_admission admission = belay_operation_admit(&caller->op, at(worker->now_ms));
        if (admission.kind == BELAY_ADMITTED) return true;
        if (admission.kind == BELAY_REFUSED) return false;
        if (admission.kind == BELAY_WAIT) {
            worker->now_ms = belay_span_ceil_ms(belay_span_ns(admission.at.ns));
            continue;
        }
        worker->queued++;
        if (test_chance(&worker->rng, 20)) return false; /* its caller has gone */
        await_wake(caller, wakes_before);
    }
}

static void run_operation(struct worker *worker)
{
    struct caller *caller =
        malloc(sizeof *caller); /* freed at once: a late wake would be seen by the sanitizers */
    CHECK(caller != NULL);
    caller->bell = &worker->bell;
    caller->wakes = 0;
    belay_operation_init(&caller->op, &worker->world->policy, worker->world->target, &get,
                         at(worker->now_ms), belay_instant_never(), wake);
    while (get_in(worker, caller)) {
        worker->operations += caller->op.attempts == 1;
        worker->retries += caller->op.attempts > 1;
        worker->attempts++;
        if (test_chance(&worker->rng, 30)) (void)sched_yield();
        if (test_chance(&worker->rng, 5)) break; /* cut off in the middle */
        struct belay_outcome outcome = status(test_chance(&worker->rng, 60) ? 503 : 200);
        struct belay_verdict verdict = belay_operation_record(
            &caller->op, &outcome, at(++worker->now_ms), rng_next(&worker->rng));
        if (verdict.decision != BELAY_DECISION_RETRY) break;
        worker->now_ms = belay_span_ceil_ms(belay_span_ns(verdict.retry_at.ns));
    }
    (void)belay_operation_finish(&caller->op, at(worker->now_ms));
    free(caller);
}

static void *work(void *arg)
{
    struct worker *worker = arg;
    for (int i = 0; i < OPERATIONS; i++) run_operation(worker);
    return NULL;
}

static void test_several_threads_share_one_target(void **state)
{
    (void)state;
    struct rng rng = test_rng("threads");
    struct world world = world_of_defaults();
    world.policy.bulkhead = (struct belay_bulkhead_config){true, SLOTS, THREADS};
    world.policy.budget = (struct belay_budget_config){RATIO_PPM, BURST};
    world.policy.breaker.consecutive = 50;
    world.policy.breaker.failure_ppm = 950000;
    world_begin(&world);
    struct worker workers[THREADS] = {0};
    for (int i = 0; i < THREADS; i++) {
        workers[i].world = &world;
        rng_seed(&workers[i].rng, rng_next(&rng));
        (void)pthread_mutex_init(&workers[i].bell.mutex, NULL);
        (void)pthread_cond_init(&workers[i].bell.rung, NULL);
    }
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    }
    uint64_t attempts = 0, retries = 0, operations = 0, queued = 0;
    for (int i = 0; i < THREADS; i++) {
        (void)pthread_join(workers[i].thread, NULL);
        attempts += workers[i].attempts;
        retries += workers[i].retries;
        operations += workers[i].operations;
        queued += workers[i].queued;
        (void)pthread_cond_destroy(&workers[i].bell.rung);
        (void)pthread_mutex_destroy(&workers[i].bell.mutex);
    }
    struct belay_target_stats stats = world_stats(&world);
    printf("attempts %lu, retries %lu, operations %lu, queued %lu\n", (unsigned long)attempts,
           (unsigned long)retries, (unsigned long)operations, (unsigned long)queued);
    assert_int_equal(stats.attempts, attempts);
    assert_int_equal(stats.retries, retries);
    assert_int_equal(stats.operations, operations);
    assert_true(retries > 0 &&
                retries * 1000000 <= operations * RATIO_PPM + (uint64_t)BURST * 1000000);
    assert_true(stats.in_flight_peak <= SLOTS);
    assert_int_equal(stats.in_flight, 0);
    assert_int_equal(stats.waiting, 0);
    world_end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_several_threads_share_one_target),
    };
    return cmocka_run_group_tests_name("call/target_threads", tests, NULL, NULL);
}
