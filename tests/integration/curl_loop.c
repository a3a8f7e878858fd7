/* curl_loop.c: many operations of libbelay-curl in an event loop of epoll, driven by
 * curl_multi_socket_action; tells one JSON line a call. Driven by test_curl_multi.py.
 *
 *     curl_loop MAX QUEUE URL...     at most MAX at once, QUEUE may wait; a URL may begin with
 *                                    `ATTEMPTS@`, and is cancelled after 300 ms if with `!`
 */
#include <belay/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define CALLS_MAX 1024
#define CANCEL_AFTER_MS 300

struct loop {
    int epoll, woken; /* an eventfd: other threads may write to it */
    CURLM *curl;
    struct belay_curl_multi *multi;
    struct belay_instant timer_at; /* libcurl's */
};

struct one {
    struct belay_curl_call call;
    struct belay_policy policy;
    CURL *easy;
    size_t bytes;
    struct belay_instant cancel_at;
};

static size_t on_body(char *data, size_t size, size_t count, void *user)
{
    struct one *one = user;
    (void)data;
    one->bytes += size * count;
    return size * count;
}

static int on_socket(CURL *easy, curl_socket_t socket, int what, void *user, void *known)
{
    struct loop *loop = user;
    struct epoll_event event = {.data.fd = socket};
    (void)easy;
    if (what & CURL_POLL_IN) event.events |= EPOLLIN;
    if (what & CURL_POLL_OUT) event.events |= EPOLLOUT;
    if (what == CURL_POLL_REMOVE) return epoll_ctl(loop->epoll, EPOLL_CTL_DEL, socket, NULL), 0;
    (void)epoll_ctl(loop->epoll, known ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, socket, &event);
    curl_multi_assign(loop->curl, socket, loop);
    return 0;
}

static int on_timer(CURLM *curl, long ms, void *user)
{
    struct loop *loop = user;
    (void)curl;
    loop->timer_at =
        ms < 0 ? belay_instant_never() : belay_instant_add(belay_curl_now(), belay_span_ms(ms));
    return 0;
}

static void on_wake(void *user)
{
    struct loop *loop = user;
    uint64_t one = 1;
    if (write(loop->woken, &one, sizeof one) < 0) abort();
}

static void loop_open(struct loop *loop)
{
    struct epoll_event event = {.events = EPOLLIN};
    loop->epoll = epoll_create1(EPOLL_CLOEXEC);
    loop->woken = event.data.fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    (void)epoll_ctl(loop->epoll, EPOLL_CTL_ADD, loop->woken, &event);
    loop->timer_at = belay_instant_never();
    loop->curl = curl_multi_init();
    curl_multi_setopt(loop->curl, CURLMOPT_SOCKETFUNCTION, on_socket);
    curl_multi_setopt(loop->curl, CURLMOPT_SOCKETDATA, loop);
    curl_multi_setopt(loop->curl, CURLMOPT_TIMERFUNCTION, on_timer);
    curl_multi_setopt(loop->curl, CURLMOPT_TIMERDATA, loop);
    loop->multi = belay_curl_multi_create(loop->curl, on_wake, loop);
}

static void loop_close(struct loop *loop)
{
    belay_curl_multi_destroy(loop->multi);
    curl_multi_cleanup(loop->curl);
    close(loop->woken);
    close(loop->epoll);
}

/* Waits for a socket, a wake, or the earlier of the two timers. */
static void loop_turn(struct loop *loop)
{
    struct epoll_event events[16];
    int running, ms = belay_curl_multi_timeout_ms(loop->multi, 50);
    int64_t timer_ms = belay_span_ceil_ms(belay_instant_since(loop->timer_at, belay_curl_now()));
    if (timer_ms < ms) ms = (int)timer_ms;
    int count = epoll_wait(loop->epoll, events, 16, ms);
    for (int i = 0; i < count; i++) {
        uint64_t value;
        int fd = events[i].data.fd, bits = 0;
        if (fd == loop->woken) {
            if (read(fd, &value, sizeof value) < 0) abort();
            continue;
        }
        if (events[i].events & EPOLLIN) bits |= CURL_CSELECT_IN;
        if (events[i].events & EPOLLOUT) bits |= CURL_CSELECT_OUT;
        if (events[i].events & (EPOLLERR | EPOLLHUP)) bits |= CURL_CSELECT_ERR;
        curl_multi_socket_action(loop->curl, fd, bits, &running);
    }
    if (loop->timer_at.ns <= belay_curl_now().ns) {
        loop->timer_at = belay_instant_never();
        curl_multi_socket_action(loop->curl, CURL_SOCKET_TIMEOUT, 0, &running);
    }
    belay_curl_multi_run(loop->multi);
}

static void begin(struct loop *loop, struct one *one, struct belay_target *target, const char *url)
{
    one->cancel_at = belay_instant_never();
    if (*url == '!') {
        one->cancel_at = belay_instant_add(belay_curl_now(), belay_span_ms(CANCEL_AFTER_MS));
        url++;
    }
    const char *at = strchr(url, '@');
    if (at) one->policy.attempts_max = (uint32_t)strtoul(url, NULL, 10);
    one->call = (struct belay_curl_call){.policy = &one->policy,
                                         .target = target,
                                         .adds_fields = true,
                                         .target_name = "origin",
                                         .user = one};
    one->easy = curl_easy_init();
    curl_easy_setopt(one->easy, CURLOPT_URL, at ? at + 1 : url);
    curl_easy_setopt(one->easy, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(one->easy, CURLOPT_WRITEDATA, one);
    if (belay_curl_multi_add(loop->multi, one->easy, &one->call) != CURLE_OK) exit(3);
}

static void tell(const struct one *one, int index)
{
    const struct belay_curl_result *result = &one->call.result;
    printf("{\"call\":%d,\"code\":%d,\"status\":%d,\"word\":\"%s\",\"terminal\":\"%s\","
           "\"attempts\":%u,\"bytes\":%zu,\"elapsedMs\":%lld}\n",
           index, (int)result->code, result->status,
           result->ending.word ? result->ending.word : "success",
           belay_terminal_name(result->terminal), result->ending.attempts, one->bytes,
           (long long)belay_span_floor_ms(result->ending.elapsed));
    fflush(stdout);
}

int main(int argc, char **argv)
{
    static struct one all[CALLS_MAX];
    struct loop loop;
    int count = argc - 3, left = count;
    if (count < 1 || count > CALLS_MAX) return 2;
    struct belay_policy policy = belay_policy_default();
    policy.deadline_for = belay_span_ms(4000);
    policy.backoff = (struct belay_backoff_config){
        .kind = BELAY_BACKOFF_CONSTANT, .base = belay_span_ms(100), .max = belay_span_ms(100)};
    policy.bulkhead.max = (uint32_t)strtoul(argv[1], NULL, 10);
    policy.bulkhead.queue = (uint32_t)strtoul(argv[2], NULL, 10);
    policy.budget.burst = 1000;
    policy.breaker.enabled = false;
    struct belay_target *target = belay_target_create(&policy, 1);
    loop_open(&loop);
    for (int i = 0; i < count; i++) {
        all[i].policy = policy;
        begin(&loop, &all[i], target, argv[3 + i]);
    }
    while (left > 0) {
        struct belay_curl_call *call;
        loop_turn(&loop);
        for (int i = 0; i < count; i++) {
            if (all[i].cancel_at.ns > belay_curl_now().ns) continue;
            all[i].cancel_at = belay_instant_never();
            belay_curl_multi_cancel(loop.multi, &all[i].call);
        }
        while ((call = belay_curl_multi_take(loop.multi))) {
            struct one *one = call->user;
            tell(one, (int)(one - all));
            left--;
        }
    }
    loop_close(&loop);
    for (int i = 0; i < count; i++) curl_easy_cleanup(all[i].easy);
    belay_target_destroy(target);
    return 0;
}
