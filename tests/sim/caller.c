/* caller.c: the scripted client: sends its requests its own way, and judges the answers (caller.h).
 */
#include "caller.h"

#include "base/check.h"
#include "spared.h"
#include "wire.h"

#include <stdarg.h>
#include <stdlib.h>

#define OUT_BYTES_MAX ((size_t)8 << 20)
#define READ_BYTES 16384

struct caller {
    struct history *history;
    struct rt *rt;
    struct caller_plan plan;
    struct rt_conn *io;
    struct buf out;
    struct wire wire;
    struct rt_timer start, write_timer, read_timer, vanish;
    size_t first_row;
    size_t composed, asked, answered;    /* requests: put into `out`, written whole, done */
    size_t ends_at[CALLER_REQUESTS_MAX]; /* of the bytes ever composed: where each request ends */
    size_t bytes_composed;
    bool connected, done, closing;
};

static struct reply *row(const struct caller *caller, size_t n)
{
    return history_reply(caller->history, caller->first_row + n);
}

/* ---- the end of it ---- */

static void finish(struct caller *caller, enum rt_close how)
{
    struct rt *rt = caller->rt;
    rt_timer_disarm(rt, &caller->start);
    rt_timer_disarm(rt, &caller->write_timer);
    rt_timer_disarm(rt, &caller->read_timer);
    rt_timer_disarm(rt, &caller->vanish);
    if (caller->io) rt_conn_close(caller->io, how);
    caller->io = NULL;
    caller->done = true;
}

static void settle(struct caller *caller, size_t n, enum reply_kind kind)
{
    struct reply *reply = row(caller, n);
    reply->kind = kind;
    reply->closing = caller->closing;
    reply->at = rt_now(caller->rt);
    if (kind == REPLY_WHOLE) {
        history_note(caller->history, caller->plan.name, "is given %d, %llu bytes", reply->status,
                     (unsigned long long)caller->wire.body_bytes);
    } else {
        history_note(caller->history, caller->plan.name, "request %zu: %s", n + 1,
                     reply_kind_name(kind));
    }
}

/* The connection is over: what that means for each request that has no answer yet. */
static void connection_over(struct caller *caller, enum reply_kind without_a_byte)
{
    size_t n = caller->answered;
    if (n < caller->plan.count && caller->wire.head_length > 0) {
        row(caller, n)->status = caller->wire.status;
        settle(caller, n++, REPLY_CUT);
    }
    for (; n < caller->plan.count; n++)
        settle(caller, n, n < caller->asked ? without_a_byte : REPLY_UNSENT);
    finish(caller, RT_CLOSE_ABORT);
}

static void on_vanish(struct rt_timer *timer)
{
    struct caller *caller = CONTAINER_OF(timer, struct caller, vanish);
    for (size_t n = caller->answered; n < caller->plan.count; n++) settle(caller, n, REPLY_GONE);
    finish(caller, caller->plan.vanishes_with_reset ? RT_CLOSE_ABORT : RT_CLOSE_GRACEFUL);
}

/* ---- sending ---- */

static void add(struct caller *caller, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void add(struct caller *caller, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    CHECK(length > 0 && (size_t)length < sizeof(text));
    spared_add(&caller->out, text, (size_t)length);
    caller->bytes_composed += (size_t)length;
}

static void add_body(struct caller *caller, uint64_t seed, size_t offset, size_t count)
{
    while (count > 0) {
        size_t room;
        char *at = spared_reserve(&caller->out, count, &room);
        size_t part = room < count ? room : count;
        wire_fill(at, seed, offset, part);
        buf_wrote(&caller->out, part);
        caller->bytes_composed += part;
        offset += part;
        count -= part;
    }
}

static void compose_body(struct caller *caller, const struct caller_request *request, uint64_t seed)
{
    if (!request->chunked) {
        add_body(caller, seed, 0, request->body_bytes);
        return;
    }
    size_t half = request->body_bytes / 2, rest = request->body_bytes - half;
    if (half > 0) {
        add(caller, "%zX;ext=1\r\n", half);
        add_body(caller, seed, 0, half);
        add(caller, "\r\n");
    }
    if (rest > 0) {
        add(caller, "%zx\r\n", rest);
        add_body(caller, seed, half, rest);
        add(caller, "\r\n");
    }
    add(caller, "0\r\n\r\n");
}

static void compose(struct caller *caller)
{
    size_t n = caller->composed++;
    const struct caller_request *request = &caller->plan.requests[n];
    uint64_t seed = sim_luck(caller->rt, 1000);
    struct reply *reply = row(caller, n);
    bool has_body = request->body_bytes > 0 || request->chunked;
    reply->sent_at = rt_now(caller->rt);
    reply->held_up = n > caller->answered || caller->plan.split_bytes > 0;
    reply->first = n == 0;
    reply->garbage = request->garbage != NULL;
    if (request->garbage) {
        add(caller, "%s", request->garbage);
        caller->ends_at[n] = caller->bytes_composed;
        history_note(caller->history, caller->plan.name, "sends garbage");
        return;
    }
    add(caller, "%s %s HTTP/1.1\r\nHost: sim.test\r\n", reply->method,
        request->path ? request->path : "/");
    if (request->operation[0]) add(caller, "X-Operation-Id: %s\r\n", request->operation);
    if (request->keyed) add(caller, "Idempotency-Key: \"key-%s\"\r\n", request->operation);
    if (request->expects_continue) add(caller, "Expect: 100-continue\r\n");
    if (has_body) {
        add(caller, "X-Body-Seed: %llu\r\nX-Body-Length: %zu\r\n", (unsigned long long)seed,
            request->body_bytes);
    }
    if (request->chunked)
        add(caller, "Transfer-Encoding: chunked\r\n");
    else if (has_body)
        add(caller, "Content-Length: %zu\r\n", request->body_bytes);
    add(caller, "\r\n");
    if (has_body) compose_body(caller, request, seed);
    caller->ends_at[n] = caller->bytes_composed;
    history_note(caller->history, caller->plan.name, "sends %s %s", reply->method,
                 request->operation);
}

static unsigned reads(const struct caller *caller)
{
    return caller->plan.read_gap.ns > 0 ? 0 : RT_READ;
}

/* Writes what the plan allows now. */
static void pump(struct caller *caller)
{
    bool split = caller->plan.split_bytes > 0;
    if (split && rt_timer_armed(&caller->write_timer)) return;
    while (buf_length(&caller->out) > 0) {
        struct belay_slice piece = buf_slice(&caller->out);
        if (split && piece.length > caller->plan.split_bytes)
            piece.length = caller->plan.split_bytes;
        struct rt_io io = rt_conn_write(caller->io, &piece, 1);
        if (io.kind == RT_IO_AGAIN) {
            rt_conn_interest(caller->io, reads(caller) | RT_WRITE);
            return;
        }
        if (io.kind != RT_IO_OK) break; /* reading tells the same, and what had come before */
        buf_drop(&caller->out, io.count);
        size_t sent = caller->bytes_composed - buf_length(&caller->out);
        while (caller->asked < caller->composed && sent >= caller->ends_at[caller->asked])
            caller->asked++;
        if (split && buf_length(&caller->out) > 0) {
            rt_timer_arm(caller->rt, &caller->write_timer,
                         belay_instant_add(rt_now(caller->rt), caller->plan.split_gap));
            break;
        }
    }
    rt_conn_interest(caller->io, reads(caller));
    bool all = caller->composed == caller->plan.count && buf_length(&caller->out) == 0;
    if (all && caller->plan.half_closes) rt_conn_shutdown_write(caller->io);
}

static void on_write_timer(struct rt_timer *timer)
{
    struct caller *caller = CONTAINER_OF(timer, struct caller, write_timer);
    if (caller->composed == caller->answered && buf_length(&caller->out) == 0)
        compose(caller); /* a pause is over */
    pump(caller);
}

/* ---- answers ---- */

static void begin_answer(struct caller *caller)
{
    bool any = caller->answered < caller->plan.count;
    wire_init(&caller->wire, true,
              any && strcmp(row(caller, caller->answered)->method, "HEAD") == 0);
}

static void answer_whole(struct caller *caller)
{
    struct reply *reply = row(caller, caller->answered);
    const struct wire *wire = &caller->wire;
    reply->status = wire->status;
    reply->of_origin = wire->has_seed;
    reply->body_right = wire_body_is_right(wire);
    if (!reply->operation[0])
        (void)wire_field(wire, "X-Operation-Id", reply->operation, sizeof(reply->operation));
    bool early = caller->asked <= caller->answered;
    if (early) caller->asked = caller->answered + 1; /* answered before all of it was sent */
    bool keep_alive = wire->keep_alive;
    settle(caller, caller->answered++, REPLY_WHOLE);
    caller->closing |= !keep_alive;
    if (caller->answered == caller->plan.count) {
        finish(caller, RT_CLOSE_GRACEFUL);
        return;
    }
    begin_answer(caller);
    if (!keep_alive || early) return; /* its end will come */
    if (caller->composed == caller->answered) {
        rt_timer_arm(caller->rt, &caller->write_timer,
                     belay_instant_add(rt_now(caller->rt), caller->plan.pause));
    }
}

static void take(struct caller *caller, const char *bytes, size_t count)
{
    while (count > 0 && !caller->done) {
        size_t used;
        enum wire_step step = wire_feed(&caller->wire, bytes, count, &used);
        bytes += used;
        count -= used;
        bool unasked = caller->answered >= caller->composed;
        if (step == WIRE_BAD || unasked) {
            settle(caller, caller->answered, REPLY_WRONG);
            caller->answered++;
            connection_over(caller, REPLY_RESET);
            return;
        }
        if (step == WIRE_DONE) answer_whole(caller);
    }
    if (caller->done && count > 0) row(caller, caller->plan.count - 1)->kind = REPLY_WRONG;
}

static void read_some(struct caller *caller)
{
    char bytes[READ_BYTES];
    size_t wanted = caller->plan.read_bytes,
           room = wanted > 0 && wanted < READ_BYTES ? wanted : READ_BYTES;
    struct rt_io io = rt_conn_read(caller->io, bytes, room);
    switch (io.kind) {
    case RT_IO_AGAIN: return;
    case RT_IO_OK: take(caller, bytes, io.count); return;
    case RT_IO_END:
        if (wire_ends_with_close(&caller->wire)) {
            answer_whole(caller);
            if (caller->done) return;
        }
        connection_over(caller, REPLY_CLOSED);
        return;
    case RT_IO_ERROR: connection_over(caller, REPLY_RESET); return;
    }
}

static void on_read_timer(struct rt_timer *timer)
{
    struct caller *caller = CONTAINER_OF(timer, struct caller, read_timer);
    rt_timer_arm(caller->rt, timer, belay_instant_add(rt_now(caller->rt), caller->plan.read_gap));
    read_some(caller);
}

static void on_ready(void *owner, unsigned ready)
{
    struct caller *caller = owner;
    if (!caller->connected) {
        caller->connected = true;
        if (caller->plan.read_gap.ns > 0) {
            rt_timer_arm(caller->rt, &caller->read_timer,
                         belay_instant_add(rt_now(caller->rt), caller->plan.read_gap));
        }
        do compose(caller);
        while (caller->plan.pipelined && caller->composed < caller->plan.count);
        pump(caller);
        return;
    }
    if (ready & RT_WRITE) pump(caller);
    if (ready & RT_READ) read_some(caller);
}

static void on_failed(void *owner, enum belay_error_class error)
{
    (void)error;
    struct caller *caller = owner;
    for (size_t n = 0; n < caller->plan.count; n++) settle(caller, n, REPLY_REFUSED);
    finish(caller, RT_CLOSE_ABORT);
}

/* ---- life ---- */

static void on_start(struct rt_timer *timer)
{
    static const struct rt_conn_events events = {on_ready, on_failed};
    struct caller *caller = CONTAINER_OF(timer, struct caller, start);
    enum belay_error_class error;
    shortage_spared++;
    caller->io = rt_connect(caller->rt, &caller->plan.to, &events, caller, &error);
    shortage_spared--;
    if (!caller->io) {
        on_failed(caller, error);
        return;
    }
    if (caller->plan.vanishes_after.ns > 0) {
        rt_timer_arm(caller->rt, &caller->vanish,
                     belay_instant_add(rt_now(caller->rt), caller->plan.vanishes_after));
    }
}

struct caller *caller_create(struct history *history, const struct caller_plan *plan)
{
    struct caller *caller = spared_calloc(1, sizeof(*caller));
    CHECK(plan->count > 0 && plan->count <= CALLER_REQUESTS_MAX);
    caller->history = history;
    caller->rt = history->rt;
    caller->plan = *plan;
    if (!caller->plan.name[0]) snprintf(caller->plan.name, sizeof(caller->plan.name), "caller");
    caller->first_row = history->replies.count;
    buf_init(&caller->out, OUT_BYTES_MAX);
    for (size_t n = 0; n < plan->count; n++) {
        struct reply *reply = history_reply(history, history_add_reply(history));
        memcpy(reply->operation, plan->requests[n].operation, sizeof(reply->operation));
        snprintf(reply->method, sizeof(reply->method), "%s",
                 plan->requests[n].method ? plan->requests[n].method : "GET");
    }
    begin_answer(caller);
    rt_timer_init(&caller->start, on_start);
    rt_timer_init(&caller->write_timer, on_write_timer);
    rt_timer_init(&caller->read_timer, on_read_timer);
    rt_timer_init(&caller->vanish, on_vanish);
    rt_timer_arm(caller->rt, &caller->start,
                 belay_instant_add(rt_now(caller->rt), plan->starts_after));
    return caller;
}

bool caller_done(const struct caller *caller)
{
    return caller->done;
}

const struct reply *caller_reply(const struct caller *caller, size_t n)
{
    return row(caller, n);
}

void caller_destroy(struct caller *caller)
{
    if (!caller->done) finish(caller, RT_CLOSE_ABORT);
    buf_deinit(&caller->out);
    free(caller);
}
