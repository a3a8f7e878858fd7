/* perform.c: one operation to its end, on the caller's thread. */
#include "curl/run.h"

#define PROGRESS_MS 100
#define WAIT_MS_MAX 60000

/* Of the only operation that there is. */
static bool is_wanted(const struct belay_curl_multi *multi)
{
    const struct run *run = CONTAINER_OF(multi->running.next, struct run, ring);
    const struct belay_curl_call *call = run->call;
    struct belay_instant now = belay_curl_now();
    bool waiting = run->state == RUN_ASKING;
    struct belay_span zero = {0}, wait = belay_instant_since(run->due_at, now),
                      remaining = belay_instant_since(run->deadline_at, now);
    struct belay_curl_progress progress = {
        .attempt = run->op.attempts,
        .waiting = waiting,
        .wait = waiting ? belay_span_max(wait, zero) : zero,
        .remaining = belay_span_max(remaining, zero),
        .last = run->ended_one ? &run->outcome : NULL,
    };
    return !call->on_progress || call->on_progress(call->user, &progress) == 0;
}

static void perform(struct belay_curl_multi *multi, struct belay_curl_call *call)
{
    for (;;) {
        int running;
        CURLMcode driven = curl_multi_perform(multi->multi, &running);
        belay_curl_multi_run(multi);
        if (belay_curl_multi_take(multi)) return;
        if (driven != CURLM_OK || !is_wanted(multi)) {
            belay_curl_multi_cancel(multi, call);
            continue;
        }
        int wait_ms =
            belay_curl_multi_timeout_ms(multi, call->on_progress ? PROGRESS_MS : WAIT_MS_MAX);
        (void)curl_multi_poll(multi->multi, NULL, 0, wait_ms, NULL);
    }
}

CURLcode belay_curl_perform(CURL *easy, struct belay_curl_call *call)
{
    CURLM *own = call->multi ? NULL : curl_multi_init();
    CURLM *curl_multi = call->multi ? call->multi : own;
    struct belay_curl_multi *multi =
        curl_multi ? belay_curl_multi_create(curl_multi, NULL, NULL) : NULL;
    CURLcode code = multi ? belay_curl_multi_add(multi, easy, call) : CURLE_OUT_OF_MEMORY;
    if (code == CURLE_OK) {
        perform(multi, call);
        code = call->result.code;
    }
    belay_curl_multi_destroy(multi);
    (void)curl_multi_cleanup(own);
    return code;
}
