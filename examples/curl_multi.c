/* curl_multi.c: many GETs at once with libcurl's multi interface, of which at most eight are under
 * way; the others wait their turn inside their deadline. One line a call to standard output.
 *
 *     cc curl_multi.c $(pkg-config --cflags --libs belay-curl) -o curl_multi
 *     belay flaky --listen 127.0.0.1:9000 --fail-first 2 &
 *     ./curl_multi http://127.0.0.1:9000/orders/42 100
 */
#include <belay/curl.h>
#include <stdio.h>
#include <stdlib.h>

static size_t drop(char *data, size_t size, size_t count, void *user)
{
    (void)data, (void)user;
    return size * count;
}

/* Drives them all, and does whatever is done with a call that has ended. */
static int run(CURLM *curl, struct belay_curl_multi *multi, int count)
{
    int good = 0;
    while (count > 0) {
        int running;
        struct belay_curl_call *call;
        curl_multi_perform(curl, &running);
        belay_curl_multi_run(multi);
        while ((call = belay_curl_multi_take(multi))) {
            const struct belay_curl_result *result = &call->result;
            printf("%d after %u attempts, %s\n", result->status, result->ending.attempts,
                   result->ending.word ? result->ending.word : "success");
            good += result->code == CURLE_OK && result->status == 200;
            count--;
        }
        if (count > 0)
            curl_multi_poll(curl, NULL, 0, belay_curl_multi_timeout_ms(multi, 1000), NULL);
    }
    return good;
}

int main(int argc, char **argv)
{
    int count = argc == 3 ? atoi(argv[2]) : 0;
    if (count <= 0) return 2;
    CURLM *curl = curl_multi_init();
    struct belay_curl_multi *multi = curl ? belay_curl_multi_create(curl, NULL, NULL) : NULL;
    struct belay_policy policy = belay_policy_default();
    policy.bulkhead = (struct belay_bulkhead_config){.enabled = true, .max = 8, .queue = 1000};
    policy.budget.burst = 1000; /* to be shown how every call fails twice */
    policy.breaker.enabled = false;
    struct belay_target *target = belay_target_create(&policy, 1);

    CURL **easy = calloc((size_t)count, sizeof(CURL *));
    struct belay_curl_call *calls = calloc((size_t)count, sizeof *calls);
    if (!multi || !target || !easy || !calls) return 1;
    int begun = 0;
    for (int i = 0; i < count; i++) {
        easy[i] = curl_easy_init();
        curl_easy_setopt(easy[i], CURLOPT_URL, argv[1]);
        curl_easy_setopt(easy[i], CURLOPT_WRITEFUNCTION, drop);
        calls[i] = (struct belay_curl_call){
            .policy = &policy, .target = target, .target_name = "orders", .adds_fields = true};
        CURLcode code = belay_curl_multi_add(multi, easy[i], &calls[i]);
        if (code != CURLE_OK) fprintf(stderr, "not begun: %s\n", curl_easy_strerror(code));
        begun += code == CURLE_OK; /* else take will not give it */
    }
    int good = run(curl, multi, begun);

    belay_curl_multi_destroy(multi);
    for (int i = 0; i < count; i++) curl_easy_cleanup(easy[i]);
    curl_multi_cleanup(curl);
    belay_target_destroy(target);
    free(easy);
    free(calls);
    return good == count ? 0 : 1;
}
