/* micro.c: what the decision core costs, in nanoseconds per operation, on this machine.
 *
 * In-process, on one thread, the clock passed in, nothing allocated. Each row is the median of
 * several runs of a fixed number of rounds, so that the program ends by itself; it measures, and
 * judges nothing.
 */
#include <belay/operation.h>

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { RUNS = 9, ROUNDS = 1000000 };

static uint64_t ticks_ns(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * BELAY_NS_PER_S + (uint64_t)t.tv_nsec;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void measure(const char *name, void (*rounds)(void *), void *arg)
{
    double ns[RUNS];
    for (int run = 0; run < RUNS; run++) {
        uint64_t began = ticks_ns();
        rounds(arg);
        ns[run] = (double)(ticks_ns() - began) / ROUNDS;
    }
    qsort(ns, RUNS, sizeof ns[0], compare);
    printf("%-44s %7.1f ns (best %.1f, worst %.1f)\n", name, ns[RUNS / 2], ns[0], ns[RUNS - 1]);
}

/* A millisecond later each time, over all runs. */
static struct belay_instant tick(void)
{
    static int64_t ns;
    return (struct belay_instant){ns += BELAY_NS_PER_MS};
}

static const struct belay_traits read_traits = {.safe_method = true};

static void must(bool condition)
{
    if (!condition) abort();
}

struct world {
    struct belay_policy policy;
    struct belay_target *target;
};

static void successes(void *arg)
{
    struct world *world = arg;
    struct belay_outcome ok = {.status = 200, .sent = BELAY_ANSWERED};
    for (int i = 0; i < ROUNDS; i++) {
        struct belay_instant now = tick();
        struct belay_operation op;
        belay_operation_init(&op, &world->policy, world->target, &read_traits, now,
                             belay_instant_add(now, world->policy.deadline_for), NULL);
        must(belay_operation_admit(&op, now).kind == BELAY_ADMITTED);
        must(belay_operation_record(&op, &ok, now, (uint64_t)i).decision == BELAY_DECISION_RETURN);
        must(belay_operation_finish(&op, now).status == 200);
    }
}

/* 503, then 200: two attempts, a token, a wait. Every tenth operation, so that the budget bears it.
 */
static void survivals(void *arg)
{
    struct world *world = arg;
    struct belay_outcome ok = {.status = 200, .sent = BELAY_ANSWERED};
    struct belay_outcome busy = {.status = 503, .sent = BELAY_ANSWERED};
    for (int i = 0; i < ROUNDS; i++) {
        struct belay_instant now = tick();
        struct belay_operation op;
        belay_operation_init(&op, &world->policy, world->target, &read_traits, now,
                             belay_instant_add(now, world->policy.deadline_for), NULL);
        must(belay_operation_admit(&op, now).kind == BELAY_ADMITTED);
        if (i % 10 == 0) {
            struct belay_verdict verdict = belay_operation_record(&op, &busy, now, (uint64_t)i);
            must(verdict.decision == BELAY_DECISION_RETRY);
            now = verdict.retry_at;
            must(belay_operation_admit(&op, now).kind == BELAY_ADMITTED);
        }
        must(belay_operation_record(&op, &ok, now, (uint64_t)i).decision == BELAY_DECISION_RETURN);
        must(belay_operation_finish(&op, now).status == 200);
    }
}

static void breaker_rounds(void *arg)
{
    struct belay_breaker *breaker = arg;
    struct belay_breaker_result good = {.health = BELAY_HEALTH_GOOD, .elapsed = {1000000}};
    for (int i = 0; i < ROUNDS; i++) {
        struct belay_instant now = tick();
        must(belay_breaker_decide(breaker, now, false).kind == BELAY_BREAKER_PASS);
        struct belay_breaker_permit permit = belay_breaker_take(breaker, now);
        belay_breaker_on_result(breaker, permit, &good, now, 0);
    }
}

int main(void)
{
    struct world world = {.policy = belay_policy_default()};
    world.policy.breaker.slow_after = belay_span_ms(1000);
    world.policy.bulkhead.queue = 16;
    world.policy.quota = (struct belay_quota_config){
        .enabled = true, .per_call = belay_span_ns(1000), .burst = 1000, .queue = 16};
    void *memory = malloc(belay_target_size());
    must(memory != NULL);
    world.target = belay_target_init(memory, &world.policy, 1);
    measure("admit + record + finish, all policies on", successes, &world);
    measure("the same, one in ten retried", survivals, &world);
    belay_target_deinit(world.target);
    free(memory);

    struct belay_breaker breaker;
    belay_breaker_init(&breaker, &world.policy.breaker);
    measure("breaker permit + record, without the lock", breaker_rounds, &breaker);
    return 0;
}
