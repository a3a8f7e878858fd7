/* curl_threads.c: threads, each with a handle and connections of its own, call one target through
 * libbelay-curl; tells as one JSON line what the target has counted. Driven by test_curl_multi.py,
 * under ThreadSanitizer too.
 *
 *     curl_threads THREADS CALLS MAX URL     MAX calls at once over all threads, the others wait
 */
#include <belay/curl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#define THREADS_MAX 64

struct shared {
    struct belay_policy policy;
    struct belay_target *target;
    const char *url;
    unsigned long calls;
    atomic_ulong good, attempts;
};

static size_t drop(char *data, size_t size, size_t count, void *user)
{
    (void)data, (void)user;
    return size * count;
}

static void on_attempt(void *user, const struct belay_attempt_event *event)
{
    struct shared *shared = user;
    (void)event;
    atomic_fetch_add(&shared->attempts, 1);
}

static void *work(void *user)
{
    struct shared *shared = user;
    CURL *easy = curl_easy_init();
    CURLM *connections = curl_multi_init();
    curl_easy_setopt(easy, CURLOPT_URL, shared->url);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, drop);
    struct belay_curl_call call = {.policy = &shared->policy,
                                   .target = shared->target,
                                   .adds_fields = true,
                                   .on_attempt = on_attempt,
                                   .user = shared,
                                   .multi = connections};
    for (unsigned long i = 0; i < shared->calls; i++) {
        CURLcode code = belay_curl_perform(easy, &call);
        if (code == CURLE_OK && call.result.status == 200) atomic_fetch_add(&shared->good, 1);
    }
    curl_easy_cleanup(easy);
    curl_multi_cleanup(connections);
    return NULL;
}

int main(int argc, char **argv)
{
    static struct shared shared;
    pthread_t threads[THREADS_MAX];
    if (argc != 5) return 2;
    unsigned long count = strtoul(argv[1], NULL, 10);
    if (count < 1 || count > THREADS_MAX || curl_global_init(CURL_GLOBAL_ALL)) return 2;
    shared.policy = belay_policy_default();
    shared.policy.bulkhead.max = (uint32_t)strtoul(argv[3], NULL, 10);
    shared.policy.bulkhead.queue = THREADS_MAX;
    shared.policy.backoff = (struct belay_backoff_config){
        .kind = BELAY_BACKOFF_FULL, .base = belay_span_ms(5), .max = belay_span_ms(5)};
    shared.policy.breaker.enabled = false;
    shared.target = belay_target_create(&shared.policy, 1);
    shared.url = argv[4];
    shared.calls = strtoul(argv[2], NULL, 10);
    for (unsigned long i = 0; i < count; i++)
        if (pthread_create(&threads[i], NULL, work, &shared)) return 3;
    for (unsigned long i = 0; i < count; i++) (void)pthread_join(threads[i], NULL);

    struct belay_target_stats stats;
    belay_target_stats(shared.target, belay_curl_now(), &stats);
    printf("{\"good\":%lu,\"events\":%lu,\"attempts\":%" PRIu64 ",\"operations\":%" PRIu64
           ",\"retries\":%" PRIu64 ",\"inFlight\":%u,\"peak\":%u,\"waiting\":%u}\n",
           shared.good, shared.attempts, stats.attempts, stats.operations, stats.retries,
           stats.in_flight, stats.in_flight_peak, stats.waiting);
    belay_target_destroy(shared.target);
    curl_global_cleanup();
    return 0;
}
