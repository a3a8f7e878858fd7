/* libuv.c: GETs in an event loop: nothing blocks, and all calls share one target.
 *
 * Two calls at a time may be under way to the origin; the others wait in the target's queue until
 * a slot is given to them.
 *
 *   belay flaky --fail-first 2 &
 *   cc -o libuv libuv.c $(pkg-config --cflags --libs belay libuv)
 *   ./libuv 9000 /orders/1 /orders/2 /orders/3 /orders/4
 */
#include <belay/belay.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

struct call {
    struct belay_operation op; /* first, so that an operation's address is its call's */
    const char *path;
    struct sockaddr_in origin;
    uv_timer_t timer; /* until the next admit, or the end of an attempt */
    uv_async_t woken; /* a slot is free: maybe said by another thread */
    bool queued;
    uv_tcp_t socket; /* of the attempt under way */
    uv_connect_t connecting;
    uv_write_t writing;
    enum belay_sent sent;
    struct belay_outcome outcome; /* of the attempt, known when its socket closes */
    char request[512], answer[4096];
    size_t got;
};

static void step(struct call *call);

static struct belay_instant now(void)
{
    return belay_instant_of(0, (int64_t)uv_hrtime());
}

static void arm(struct call *call, struct belay_instant at, uv_timer_cb then)
{
    int64_t ms = belay_span_ceil_ms(belay_instant_since(at, now()));
    uv_timer_start(&call->timer, then, (uint64_t)ms, 0);
}

static void end(struct call *call)
{
    struct belay_ending ending = belay_operation_finish(&call->op, now());
    printf("%s: %s after %u attempts\n", call->path, ending.status ? "answered" : ending.word,
           ending.attempts);
    uv_close((uv_handle_t *)&call->timer, NULL);
    uv_close((uv_handle_t *)&call->woken, NULL);
}

/* ---- an attempt: connect, write, read to the end, close; then its outcome is recorded ---- */

static void on_closed(uv_handle_t *handle)
{
    struct call *call = handle->data;
    uint64_t luck;
    uv_random(NULL, NULL, &luck, sizeof luck, 0, NULL);
    struct belay_verdict verdict = belay_operation_record(&call->op, &call->outcome, now(), luck);
    if (verdict.decision == BELAY_DECISION_RETRY) {
        step(call);
    } else {
        end(call);
    }
}

static void come_to(struct call *call, struct belay_outcome outcome)
{
    if (uv_is_closing((uv_handle_t *)&call->socket)) return;
    call->outcome = outcome;
    uv_timer_stop(&call->timer);
    uv_close((uv_handle_t *)&call->socket, on_closed);
}

static void fail(struct call *call, enum belay_phase phase, int error)
{
    enum belay_error_class kind = error == UV_ECONNREFUSED ? BELAY_ERROR_REFUSED
                                  : error == UV_ETIMEDOUT  ? BELAY_ERROR_TIMEOUT
                                  : error == UV_EOF        ? BELAY_ERROR_CLOSED
                                                           : BELAY_ERROR_RESET;
    come_to(call, belay_outcome_error(kind, phase, call->sent));
}

static void on_limit(uv_timer_t *timer)
{
    struct call *call = timer->data;
    fail(call, call->sent == BELAY_UNSENT ? BELAY_PHASE_CONNECT : BELAY_PHASE_HEADERS,
         UV_ETIMEDOUT);
}

static void on_room(uv_handle_t *handle, size_t wanted, uv_buf_t *out)
{
    struct call *call = handle->data;
    (void)wanted;
    *out = uv_buf_init(call->answer + call->got, (unsigned)(sizeof call->answer - 1 - call->got));
}

/* The answer to HTTP/1.0 ends with its connection. */
static void on_read(uv_stream_t *stream, ssize_t length, const uv_buf_t *room)
{
    struct call *call = stream->data;
    int status;
    (void)room;
    if (length >= 0) {
        call->got += (size_t)length;
    } else if (length == UV_EOF && sscanf(call->answer, "HTTP/1.1 %3d", &status) == 1) {
        come_to(call, belay_outcome_status(status));
    } else {
        fail(call, BELAY_PHASE_HEADERS, (int)length);
    }
}

static void on_written(uv_write_t *write, int error)
{
    struct call *call = write->data;
    if (error) fail(call, BELAY_PHASE_SEND, error);
}

static void on_connected(uv_connect_t *connecting, int error)
{
    struct call *call = connecting->data;
    if (error) {
        fail(call, BELAY_PHASE_CONNECT, error);
        return;
    }
    uv_buf_t bytes = uv_buf_init(call->request, (unsigned)strlen(call->request));
    call->sent = BELAY_SENT;
    uv_write(&call->writing, (uv_stream_t *)&call->socket, &bytes, 1, on_written);
    uv_read_start((uv_stream_t *)&call->socket, on_room, on_read);
}

static void attempt(struct call *call, const struct belay_admission *may)
{
    call->sent = BELAY_UNSENT;
    call->got = 0;
    memset(call->answer, 0, sizeof call->answer);
    uv_tcp_init(call->timer.loop, &call->socket);
    call->socket.data = call->connecting.data = call->writing.data = call;
    arm(call, may->at, on_limit);
    uv_tcp_connect(&call->connecting, &call->socket, (struct sockaddr *)&call->origin,
                   on_connected);
}

/* ---- the operation: asks, waits, or makes the attempt ---- */

static void on_time(uv_timer_t *timer)
{
    step(timer->data);
}

/* The word may come late: after the timer, when the call waits for nothing any more. */
static void on_woken(uv_async_t *woken)
{
    struct call *call = woken->data;
    if (call->queued) step(call);
}

/* From whichever thread gave the slot back: only passes the word on. */
static void wake(struct belay_waiter *waiter)
{
    uv_async_send(&((struct call *)belay_operation_of(waiter))->woken);
}

static void step(struct call *call)
{
    struct belay_admission may = belay_operation_admit(&call->op, now());
    uv_timer_stop(&call->timer);
    call->queued = may.kind == BELAY_QUEUED;
    switch (may.kind) {
    case BELAY_ADMITTED: attempt(call, &may); break;
    case BELAY_WAIT:
    case BELAY_QUEUED: arm(call, may.at, on_time); break;
    case BELAY_REFUSED: end(call); break;
    }
}

static void begin(struct call *call, const struct belay_policy *policy, struct belay_target *target)
{
    struct belay_traits traits = belay_traits_of(BELAY_METHOD_GET);
    struct belay_instant start = now();
    uv_loop_t *loop = uv_default_loop();
    uv_timer_init(loop, &call->timer);
    uv_async_init(loop, &call->woken, on_woken);
    call->timer.data = call->woken.data = call;
    belay_operation_init(&call->op, policy, target, &traits, start,
                         belay_instant_add(start, policy->deadline_for), wake);
    step(call);
}

int main(int argc, char **argv)
{
    if (argc < 3) return 2;
    struct belay_policy policy = belay_policy_default();
    policy.bulkhead.max = 2;
    policy.bulkhead.queue = 100;
    struct belay_target *target = belay_target_create(&policy, uv_hrtime());
    struct call *calls = calloc((size_t)argc, sizeof *calls);
    if (!target || !calls) return 1;
    for (int i = 2; i < argc; i++) {
        uv_ip4_addr("127.0.0.1", atoi(argv[1]), &calls[i].origin);
        calls[i].path = argv[i];
        int length =
            snprintf(calls[i].request, sizeof calls[i].request, "GET %s HTTP/1.0\r\n\r\n", argv[i]);
        if (length >= (int)sizeof calls[i].request) return 2;
        begin(&calls[i], &policy, target);
    }
    int unfinished = uv_run(uv_default_loop(), UV_RUN_DEFAULT);
    belay_target_destroy(target);
    free(calls);
    return unfinished;
}
