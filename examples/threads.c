/* threads.c: many threads call one recipient; its limits hold for all of them together.
 *
 * The recipient here is made up: it fails now and then. Each thread waits in the target's queue on
 * a semaphore of its own, which `wake` posts.
 *
 *   cc -o threads threads.c $(pkg-config --cflags --libs belay) -pthread && ./threads
 */
#define _GNU_SOURCE /* sem_clockwait */
#include <belay/belay.h>

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { THREADS = 8, OPERATIONS = 500, SLOTS = 3 };

static struct belay_policy policy;
static struct belay_target *target;
static atomic_int in_flight, most;

struct caller {
    struct belay_operation op; /* first, so that an operation's address is its caller's */
    sem_t woken;
    pthread_t thread;
    unsigned seed;
};

static struct belay_instant now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return belay_instant_of(t.tv_sec, t.tv_nsec);
}

/* The recipient: every fourth call or so is answered with 503. */
static struct belay_outcome attempt(struct caller *caller)
{
    int seen = atomic_fetch_add(&in_flight, 1) + 1;
    for (int before = atomic_load(&most); seen > before;) {
        if (atomic_compare_exchange_weak(&most, &before, seen)) break;
    }
    struct timespec work = {0, 100000};
    nanosleep(&work, NULL);
    atomic_fetch_sub(&in_flight, 1);
    return belay_outcome_status(rand_r(&caller->seed) % 4 == 0 ? 503 : 200);
}

/* From the thread that gave the slot back: only passes the word on. */
static void wake(struct belay_waiter *waiter)
{
    sem_post(&((struct caller *)belay_operation_of(waiter))->woken);
}

/* Returns at once when a word is left over from an earlier stay: asking too early does no harm. */
static void wait_until(struct caller *caller, const struct belay_admission *may)
{
    struct timespec at = {may->at.ns / BELAY_NS_PER_S, may->at.ns % BELAY_NS_PER_S};
    if (may->kind == BELAY_QUEUED) {
        sem_clockwait(&caller->woken, CLOCK_MONOTONIC, &at);
    } else {
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
    }
}

static void operate(struct caller *caller)
{
    struct belay_traits traits = belay_traits_of(BELAY_METHOD_GET);
    struct belay_instant start = now();
    struct belay_admission may;
    belay_operation_init(&caller->op, &policy, target, &traits, start,
                         belay_instant_add(start, policy.deadline_for), wake);
    while ((may = belay_operation_admit(&caller->op, now())).kind != BELAY_REFUSED) {
        if (may.kind != BELAY_ADMITTED) {
            wait_until(caller, &may);
            continue;
        }
        struct belay_outcome outcome = attempt(caller);
        uint64_t luck = ((uint64_t)(unsigned)rand_r(&caller->seed) << 33) ^ caller->seed;
        if (belay_operation_record(&caller->op, &outcome, now(), luck).decision !=
            BELAY_DECISION_RETRY) {
            break;
        }
    }
    belay_operation_finish(&caller->op, now());
}

static void *call_many(void *argument)
{
    for (int i = 0; i < OPERATIONS; i++) operate(argument);
    return NULL;
}

int main(void)
{
    static struct caller callers[THREADS];
    struct belay_target_stats stats;
    policy = belay_policy_default();
    policy.bulkhead.max = SLOTS;
    policy.bulkhead.queue = THREADS;
    policy.backoff.base = belay_span_ms(1);
    target = belay_target_create(&policy, 1);
    if (!target) return 1;
    for (unsigned i = 0; i < THREADS; i++) {
        callers[i].seed = i + 1;
        sem_init(&callers[i].woken, 0, 0);
        pthread_create(&callers[i].thread, NULL, call_many, &callers[i]);
    }
    for (int i = 0; i < THREADS; i++) pthread_join(callers[i].thread, NULL);
    belay_target_stats(target, now(), &stats);
    belay_target_destroy(target);

    uint64_t allowed = stats.operations / 10 + policy.budget.burst; /* ratio: a tenth */
    printf("%llu operations, never more than %d calls at once, retries %s the budget\n",
           (unsigned long long)stats.operations, atomic_load(&most),
           stats.retries <= allowed ? "within" : "over");
    return atomic_load(&most) <= SLOTS && stats.retries <= allowed ? 0 : 1;
}
