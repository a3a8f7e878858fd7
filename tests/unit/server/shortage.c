/* shortage.c: an echoing handler while every allocation of the server fails once: each exchange
 * ends once, each client has the right answer, a 503 or a cut, and the next one is served. */
#include "test.h"

#include "base/check.h"
#include "caller.h"
#include "server/server.h"
#include "shortage.h"

#include <string.h>

#define ANSWER_BYTES 150000 /* over the backlog's mark: the handler is told to pause */
#define PIECE_BYTES 20000

struct desk {
    struct rt *rt;
    struct history history;
    struct server *server;
    struct rt_addr addr;
    int begun, over;
    size_t left; /* of the answer under way: one client comes after the other */
};

static void desk_give(struct desk *desk, struct server_exchange *exchange)
{
    static char piece[PIECE_BYTES];
    while (desk->left > 0) {
        size_t some = desk->left < sizeof piece ? desk->left : sizeof piece;
        desk->left -= some;
        if (!server_answer_body(exchange, belay_slice(piece, some))) return;
    }
    desk->over++;
    server_answer_end(exchange);
}

static void desk_answer(struct desk *desk, struct server_exchange *exchange)
{
    desk->left = ANSWER_BYTES;
    server_answer_begin(exchange, 200, belay_slice_z("OK"));
    server_answer_field(exchange, belay_slice_z("X-Operation-Id"), belay_slice_z("op"));
    server_answer_start(exchange, HTTP1_CHUNKED, 0, false);
    desk_give(desk, exchange);
}

static void on_request(void *owner, struct server_exchange *exchange)
{
    struct desk *desk = owner;
    desk->begun++;
    if (server_request_head(exchange)->framing == HTTP1_NO_BODY) desk_answer(desk, exchange);
}

static void on_body(void *owner, struct server_exchange *exchange, struct belay_slice piece,
                    bool end)
{
    (void)piece;
    if (end) desk_answer(owner, exchange);
}

static void on_writable(void *owner, struct server_exchange *exchange)
{
    desk_give(owner, exchange);
}

static void on_gone(void *owner, struct server_exchange *exchange, const struct http1_error *error)
{
    (void)exchange, (void)error;
    ((struct desk *)owner)->over++;
}

static void on_bad_request(void *owner, const struct http1_error *error,
                           struct belay_instant began_at)
{
    (void)owner, (void)error, (void)began_at;
}

static void desk_init(struct desk *desk)
{
    static const struct server_handler handler = {.request = on_request,
                                                  .body = on_body,
                                                  .writable = on_writable,
                                                  .gone = on_gone,
                                                  .bad_request = on_bad_request};
    struct server_limits limits = {.http1 = http1_limits_default(),
                                   .head_for = belay_span_ms(1000),
                                   .idle_for = belay_span_ms(1000),
                                   .silence_for = belay_span_ms(1000),
                                   .connections_max = 4,
                                   .backlog_bytes_max = 65536};
    struct sim_link link = sim_link_perfect();
    const char *error;
    *desk = (struct desk){.rt = rt_create(1), .addr = {.family = 4, .ip = {127, 0, 0, 1}}};
    link.window_bytes = 3000;
    sim_link_set(desk->rt, NULL, &link);
    history_init(&desk->history, desk->rt);
    desk->server = server_create(desk->rt, &limits, &handler, desk);
    assert_non_null(desk->server);
    assert_true(server_listen(desk->server, &desk->addr, &error));
    server_addr(desk->server, &desk->addr);
}

static void desk_deinit(struct desk *desk)
{
    struct server_stats stats;
    struct sim_open open;
    server_stats(desk->server, &stats);
    assert_int_equal(stats.connections, 0);
    assert_int_equal(desk->begun, desk->over);
    server_destroy(desk->server);
    (void)sim_run_until(desk->rt, belay_instant_never());
    sim_open(desk->rt, &open);
    assert_int_equal(open.conns + open.listeners + open.timers + open.hooks, 0);
    rt_destroy(desk->rt);
    history_deinit(&desk->history);
}

static void ask(struct desk *desk, const struct caller_plan *plan, bool short_of_memory)
{
    struct caller_plan own = *plan;
    own.to = desk->addr;
    struct caller *caller = caller_create(&desk->history, &own);
    (void)sim_run_until(desk->rt, belay_instant_add(rt_now(desk->rt), belay_span_ms(10000)));
    assert_true(caller_done(caller));
    for (size_t i = 0; i < plan->count; i++) {
        const struct reply *reply = caller_reply(caller, i);
        bool good =
            reply->kind == REPLY_WHOLE && reply->status == (plan->requests[i].garbage ? 400 : 200);
        bool full = reply->kind == REPLY_WHOLE && reply->status == 503;
        bool late = i > 0 && (reply->kind == REPLY_UNSENT || reply->kind == REPLY_CLOSED ||
                              reply->kind == REPLY_RESET);
        assert_true(good || (short_of_memory && (full || late || reply->kind == REPLY_CUT)));
    }
    caller_destroy(caller);
}

static void every_allocation_of_the_server_may_fail(void **state)
{
    (void)state;
    static const long widths[] = {1, 3, SHORTAGE_FOREVER};
    static const struct caller_plan plans[] = {
        {.requests = {{.method = "GET"}}, .count = 1},
        {.requests = {{.method = "POST", .body_bytes = 50000, .expects_continue = true}},
         .count = 1},
        {.requests = {{.method = "POST", .body_bytes = 5000, .chunked = true}}, .count = 1},
        {.requests = {{.method = "GET"}, {.method = "GET"}}, .count = 2, .pipelined = true},
        {.requests = {{.method = "GET"}, {.method = "POST", .body_bytes = 100}}, .count = 2},
        {.requests = {{.garbage = "GET /garbage HTTP/1.1\r\nHost : a\r\n\r\n"}}, .count = 1},
    };
    for (size_t p = 0; p < sizeof plans / sizeof plans[0] * 3; p++) {
        bool failed = true;
        for (long n = 0; failed; n++) {
            static const struct caller_plan next = {.requests = {{.method = "GET"}}, .count = 1};
            struct desk desk;
            desk_init(&desk);
            shortage_begin(n, widths[p % 3]);
            ask(&desk, &plans[p / 3], true);
            failed = shortage_end() > 0;
            if (!failed) ask(&desk, &plans[p / 3], false);
            ask(&desk, &next, false);
            desk_deinit(&desk);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_allocation_of_the_server_may_fail)};
    return cmocka_run_group_tests_name("server/shortage", tests, NULL, NULL);
}
