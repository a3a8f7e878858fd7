/* loopback.c: the server on real sockets: what the scripted world cannot know. */
#include "server/server.h"

#include "base/check.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>

/* A client on the same loop: what it got, and how it ended. */
struct peer {
    struct rt_conn *conn;
    const char *send;
    size_t sent;
    char got[4096];
    size_t got_length;
    bool ended;
    enum belay_error_class error;
    bool half_close; /* once all is sent */
};

struct stage {
    struct rt *rt;
    struct server *server;
    struct rt_addr addr;
    struct rt_hook hook;
    struct rt_timer watchdog;
    bool (*done)(struct stage *stage);
    struct peer peers[2];
    struct server_exchange *waiting; /* /wait is answered by the test */
    unsigned gone;
    bool drained, timed_out;
};

/* ---- the handler ---- */

static void answer(struct server_exchange *exchange, const char *body)
{
    server_answer_begin(exchange, 200, belay_slice_z("OK"));
    server_answer_start(exchange, HTTP1_LENGTH, strlen(body), true);
    server_answer_body(exchange, belay_slice_z(body));
    server_answer_end(exchange);
}

static void on_request(void *owner, struct server_exchange *exchange)
{
    struct stage *stage = owner;
    struct belay_slice path = server_request_head(exchange)->path;
    if (belay_slice_equal(path, belay_slice_z("/wait"))) {
        stage->waiting = exchange;
    } else if (belay_slice_equal(path, belay_slice_z("/abort"))) {
        server_abort(exchange);
    } else {
        answer(exchange, "ok");
    }
}

static void on_body(void *owner, struct server_exchange *exchange, struct belay_slice piece,
                    bool end)
{
    (void)owner;
    (void)exchange;
    (void)piece;
    (void)end;
}

static void on_writable(void *owner, struct server_exchange *exchange)
{
    (void)owner;
    (void)exchange;
}

static void on_gone(void *owner, struct server_exchange *exchange, const struct http1_error *error)
{
    struct stage *stage = owner;
    (void)error;
    assert_ptr_equal(stage->waiting, exchange);
    stage->waiting = NULL;
    stage->gone++;
}

static void on_bad_request(void *owner, const struct http1_error *error,
                           struct belay_instant began_at)
{
    (void)owner;
    (void)error;
    (void)began_at;
}

static void on_drained(void *owner)
{
    struct stage *stage = owner;
    stage->drained = true;
}

/* ---- the peers ---- */

static void on_ready(void *owner, unsigned ready)
{
    struct peer *peer = owner;
    size_t left = strlen(peer->send) - peer->sent;
    if ((ready & RT_WRITE) && left > 0) {
        struct belay_slice piece = belay_slice(peer->send + peer->sent, left);
        struct rt_io io = rt_conn_write(peer->conn, &piece, 1);
        assert_int_equal(io.kind, RT_IO_OK);
        peer->sent += io.count;
        if (peer->half_close) rt_conn_shutdown_write(peer->conn);
        rt_conn_interest(peer->conn, RT_READ);
    }
    if (!(ready & RT_READ) || peer->ended) return;
    struct rt_io io = rt_conn_read(peer->conn, peer->got + peer->got_length,
                                   sizeof peer->got - 1 - peer->got_length);
    if (io.kind == RT_IO_OK) peer->got_length += io.count;
    if (io.kind == RT_IO_END || io.kind == RT_IO_ERROR) {
        peer->ended = true;
        peer->error = io.error;
        rt_conn_interest(peer->conn, 0);
    }
}

static void on_failed(void *owner, enum belay_error_class error)
{
    (void)owner;
    fail_msg("the connect failed: %s", belay_error_class_name(error));
}

static struct peer *connect_peer(struct stage *stage, size_t index, const char *send)
{
    static const struct rt_conn_events events = {.ready = on_ready, .failed = on_failed};
    struct peer *peer = &stage->peers[index];
    enum belay_error_class error;
    *peer = (struct peer){.send = send};
    peer->conn = rt_connect(stage->rt, &stage->addr, &events, peer, &error);
    assert_non_null(peer->conn);
    return peer;
}

/* ---- the stage ---- */

static void on_turn_end(struct rt_hook *hook)
{
    struct stage *stage = CONTAINER_OF(hook, struct stage, hook);
    if (stage->done(stage)) rt_stop(stage->rt);
}

static void on_watchdog(struct rt_timer *timer)
{
    struct stage *stage = CONTAINER_OF(timer, struct stage, watchdog);
    stage->timed_out = true;
    rt_stop(stage->rt);
}

static void run_until(struct stage *stage, bool (*done)(struct stage *stage))
{
    stage->done = done;
    rt_timer_arm(stage->rt, &stage->watchdog,
                 belay_instant_add(rt_now(stage->rt), belay_span_ms(10000)));
    rt_run(stage->rt);
    rt_timer_disarm(stage->rt, &stage->watchdog);
    assert_false(stage->timed_out);
}

static void stage_start(struct stage *stage)
{
    static const struct server_handler handler = {.request = on_request,
                                                  .body = on_body,
                                                  .writable = on_writable,
                                                  .gone = on_gone,
                                                  .bad_request = on_bad_request};
    struct server_limits limits = {.http1 = http1_limits_default(),
                                   .head_for = belay_span_ms(60000),
                                   .idle_for = belay_span_ms(60000),
                                   .silence_for = belay_span_ms(60000),
                                   .connections_max = 1,
                                   .backlog_bytes_max = 65536};
    *stage = (struct stage){.rt = rt_create(1)};
    assert_non_null(stage->rt);
    stage->server = server_create(stage->rt, &limits, &handler, stage);
    struct rt_addr any = {.family = 4, .ip = {127, 0, 0, 1}};
    const char *error = NULL;
    assert_true(server_listen(stage->server, &any, &error));
    server_addr(stage->server, &stage->addr);
    assert_true(stage->addr.port != 0);
    stage->hook.run = on_turn_end;
    rt_hook_turn_end(stage->rt, &stage->hook);
    rt_timer_init(&stage->watchdog, on_watchdog);
}

static void stage_stop(struct stage *stage)
{
    for (size_t i = 0; i < 2; i++) {
        if (stage->peers[i].conn) rt_conn_close(stage->peers[i].conn, RT_CLOSE_ABORT);
    }
    rt_hook_remove(stage->rt, &stage->hook);
    server_destroy(stage->server);
    rt_destroy(stage->rt);
}

static bool first_has_answer(struct stage *stage)
{
    return strstr(stage->peers[0].got, "\r\n\r\nok") != NULL;
}

static bool first_ended(struct stage *stage)
{
    return stage->peers[0].ended;
}

static bool second_ended(struct stage *stage)
{
    return stage->peers[1].ended;
}

static bool is_waiting(struct stage *stage)
{
    return stage->waiting != NULL;
}

static bool is_gone(struct stage *stage)
{
    return stage->gone > 0;
}

static bool is_drained(struct stage *stage)
{
    return stage->drained;
}

/* ---- the tests ---- */

static void a_request_is_answered(void **state)
{
    (void)state;
    struct stage stage;
    stage_start(&stage);
    connect_peer(&stage, 0, "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    run_until(&stage, first_has_answer);
    assert_false(stage.peers[0].ended);
    stage_stop(&stage);
}

static void a_half_closed_client_gets_its_answer(void **state)
{
    (void)state;
    struct stage stage;
    stage_start(&stage);
    connect_peer(&stage, 0, "GET /wait HTTP/1.1\r\nHost: a\r\n\r\n")->half_close = true;
    run_until(&stage, is_waiting);
    answer(stage.waiting, "ok");
    run_until(&stage, first_ended);
    assert_true(first_has_answer(&stage));
    assert_int_equal(stage.peers[0].error, BELAY_ERROR_NONE);
    stage_stop(&stage);
}

static void a_client_that_resets_is_told(void **state)
{
    (void)state;
    struct stage stage;
    stage_start(&stage);
    struct peer *peer = connect_peer(&stage, 0, "GET /wait HTTP/1.1\r\nHost: a\r\n\r\n");
    run_until(&stage, is_waiting);
    rt_conn_close(peer->conn, RT_CLOSE_ABORT);
    peer->conn = NULL;
    run_until(&stage, is_gone);
    stage_stop(&stage);
}

static void an_abort_is_seen_as_a_reset(void **state)
{
    (void)state;
    struct stage stage;
    stage_start(&stage);
    connect_peer(&stage, 0, "GET /abort HTTP/1.1\r\nHost: a\r\n\r\n");
    run_until(&stage, first_ended);
    assert_int_equal(stage.peers[0].error, BELAY_ERROR_RESET);
    stage_stop(&stage);
}

/* The body is never read, and yet the refusal reaches the client whole, without a reset. */
static void a_refusal_reaches_a_client_that_is_sending(void **state)
{
    (void)state;
    struct stage stage;
    static char big[300000];
    int head = snprintf(big, sizeof big,
                        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0%s\r\n\r\n", "0x10");
    memset(big + head, 'x', sizeof big - 1 - (size_t)head);
    stage_start(&stage);
    connect_peer(&stage, 0, big);
    run_until(&stage, first_ended);
    assert_memory_equal(stage.peers[0].got, "HTTP/1.1 400 ", 13);
    assert_int_equal(stage.peers[0].error, BELAY_ERROR_NONE);
    stage_stop(&stage);
}

static void one_too_many_is_answered_and_closed(void **state)
{
    (void)state;
    struct stage stage;
    stage_start(&stage);
    connect_peer(&stage, 0, "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    run_until(&stage, first_has_answer);
    connect_peer(&stage, 1, "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    run_until(&stage, second_ended);
    assert_memory_equal(stage.peers[1].got, "HTTP/1.1 503 ", 13);
    stage_stop(&stage);
}

static void a_drain_ends_when_the_last_client_is_answered(void **state)
{
    (void)state;
    struct stage stage;
    stage_start(&stage);
    connect_peer(&stage, 0, "GET /wait HTTP/1.1\r\nHost: a\r\n\r\n");
    run_until(&stage, is_waiting);
    server_drain(stage.server, belay_span_ms(1), on_drained);
    answer(stage.waiting, "ok");
    run_until(&stage, is_drained);
    run_until(&stage, first_ended);
    assert_non_null(strstr(stage.peers[0].got, "Connection: close\r\n"));
    stage_stop(&stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_request_is_answered),
        cmocka_unit_test(a_half_closed_client_gets_its_answer),
        cmocka_unit_test(a_client_that_resets_is_told),
        cmocka_unit_test(an_abort_is_seen_as_a_reset),
        cmocka_unit_test(a_refusal_reaches_a_client_that_is_sending),
        cmocka_unit_test(one_too_many_is_answered_and_closed),
        cmocka_unit_test(a_drain_ends_when_the_last_client_is_answered),
    };
    return cmocka_run_group_tests_name("server on loopback", tests, NULL, NULL);
}
