/* shortage.c: transfers while every allocation fails once, ours and libcurl's: they come to an
 * honest end, hold nothing, and the next one succeeds. */
#include "shortage.h"

#include "base/check.h"
#include "test.h"

#include <arpa/inet.h>
#include <belay/curl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char url[64];
static pid_t origin;
static struct belay_policy policy;
static struct belay_target *target;

static void answer(int fd)
{
    static const char refusal[] =
        "HTTP/1.1 503 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
                      good[] =
                          "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok";
    char request[4096] = "";
    size_t used = 0;
    ssize_t got = 1;
    while (got > 0 && !strstr(request, "\r\n\r\n")) {
        got = read(fd, request + used, sizeof request - 1 - used);
        if (got > 0) used += (size_t)got;
    }
    const char *text = strstr(request, "X-Request-Attempt: 1") ? refusal : good;
    if (got > 0) (void)!write(fd, text, strlen(text));
    (void)close(fd);
}

/* A process of its own, which no shortage reaches: refuses the first attempt of each operation. */
static int set_up(void **state)
{
    (void)state;
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t length = sizeof at;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(bind(listener, (struct sockaddr *)&at, sizeof at) == 0 && listen(listener, 64) == 0);
    CHECK(getsockname(listener, (struct sockaddr *)&at, &length) == 0);
    (void)snprintf(url, sizeof url, "http://127.0.0.1:%d/", ntohs(at.sin_port));
    origin = fork();
    CHECK(origin >= 0);
    if (origin == 0) {
        (void)signal(SIGPIPE, SIG_IGN);
        for (;;) answer(accept(listener, NULL, NULL));
    }
    (void)close(listener);
    policy = belay_policy_default();
    policy.backoff.base = belay_span_ms(1);
    policy.breaker.enabled = false;
    policy.budget.burst = 100000;
    target = belay_target_create(&policy, 1);
    /* These go through the shortage, for this file is linked with it. */
    return (int)curl_global_init_mem(CURL_GLOBAL_DEFAULT, malloc, free, realloc, strdup, calloc);
}

static int tear_down(void **state)
{
    (void)state;
    CHECK(kill(origin, SIGKILL) == 0 && waitpid(origin, NULL, 0) == origin);
    belay_target_destroy(target);
    curl_global_cleanup();
    return 0;
}

static size_t drop(char *bytes, size_t size, size_t count, void *user)
{
    (void)bytes, (void)user;
    return size * count;
}

static CURL *handle(void)
{
    CURL *easy = curl_easy_init();
    bool set = easy && curl_easy_setopt(easy, CURLOPT_URL, url) == CURLE_OK &&
               curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, drop) == CURLE_OK;
    CHECK(set);
    return easy;
}

static void holds_nothing(void)
{
    struct belay_target_stats stats;
    belay_target_stats(target, belay_curl_now(), &stats);
    assert_int_equal(stats.in_flight, 0);
    assert_int_equal(stats.waiting, 0);
}

/* OK means the whole answer; whatever else needs a reason. */
static void is_honest(CURLcode code, const struct belay_curl_call *call, bool failed)
{
    assert_true(failed || code == CURLE_OK);
    if (code != CURLE_OK) return;
    assert_int_equal(call->result.code, CURLE_OK);
    assert_true(call->result.status == 200 || (failed && call->result.status == 503));
}

static void a_retried_get(void **state)
{
    (void)state;
    bool failed = true;
    for (long n = 0; failed; n++) {
        struct belay_curl_call call = {.policy = &policy, .target = target, .adds_fields = true};
        CURL *easy = handle();
        shortage_begin(n, 1);
        CURLcode code = belay_curl_perform(easy, &call);
        failed = shortage_end() > 0;
        is_honest(code, &call, failed);
        if (!failed) assert_int_equal(call.result.ending.attempts, 2);
        holds_nothing();
        assert_int_equal(belay_curl_perform(easy, &call), CURLE_OK); /* the same once more */
        assert_int_equal(call.result.status, 200);
        curl_easy_cleanup(easy);
    }
}

enum { CALLS = 3 };

/* What libcurl itself lost for want of memory ends at its deadline. */
static void drive(CURLM *curl, struct belay_curl_multi *multi, int left)
{
    while (left > 0) {
        int running;
        (void)curl_multi_perform(curl, &running);
        belay_curl_multi_run(multi);
        for (struct belay_curl_call *call; (call = belay_curl_multi_take(multi)); left--)
            is_honest(call->result.code, call, true);
        if (left > 0)
            (void)curl_multi_poll(curl, NULL, 0, belay_curl_multi_timeout_ms(multi, 100), NULL);
    }
}

static void a_multi(void **state)
{
    (void)state;
    bool failed = true;
    for (long n = 0; failed; n++) {
        struct belay_curl_call calls[CALLS];
        CURL *easy[CALLS];
        CURLM *curl = curl_multi_init();
        int begun = 0;
        for (int i = 0; i < CALLS; i++) easy[i] = handle();
        shortage_begin(n, 1);
        struct belay_curl_multi *multi = belay_curl_multi_create(curl, NULL, NULL);
        for (int i = 0; multi && i < CALLS; i++) {
            calls[i] = (struct belay_curl_call){
                .policy = &policy, .adds_fields = true, .deadline_for = belay_span_ms(300)};
            CURLcode code = belay_curl_multi_add(multi, easy[i], &calls[i]);
            assert_true(code == CURLE_OK || code == CURLE_OUT_OF_MEMORY);
            begun += code == CURLE_OK;
        }
        drive(curl, multi, begun);
        failed = shortage_end() > 0;
        assert_true(failed || begun == CALLS);
        belay_curl_multi_destroy(multi);
        for (int i = 0; i < CALLS; i++) curl_easy_cleanup(easy[i]);
        assert_int_equal(curl_multi_cleanup(curl), CURLM_OK);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_retried_get),
        cmocka_unit_test(a_multi),
    };
    return cmocka_run_group_tests_name("curl shortage", tests, set_up, tear_down);
}
