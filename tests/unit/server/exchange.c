/* exchange.c: an answer is framed for its request, leaves in one write, and a cut one never looks
 * whole. */
#include "world.h"

#include "test.h"

#include <stdlib.h>

#define GET(path) "GET " path " HTTP/1.1\r\nHost: a\r\n\r\n"
#define POST(fields) "POST /a HTTP/1.1\r\nHost: a\r\n" fields "\r\n"

static struct belay_slice z(const char *text)
{
    return belay_slice_z(text);
}

static void begin(struct world *world, int status, enum http1_framing framing, uint64_t length,
                  bool has_length)
{
    server_answer_begin(world->exchange, status, z(http1_reason_phrase(status)));
    server_answer_start(world->exchange, framing, length, has_length);
}

static void end(struct world *world)
{
    struct server_exchange *exchange = world->exchange;
    world->exchange = NULL;
    server_answer_end(exchange);
}

static void answer_chunked(struct world *world)
{
    begin(world, 200, HTTP1_CHUNKED, 0, false);
    assert_true(server_answer_body(world->exchange, z("hello")));
    assert_true(server_answer_body(world->exchange, z("")));
    assert_true(server_answer_body(world->exchange, z("big world")));
    end(world);
}

static void answer_no_body(struct world *world)
{
    begin(world, 200, HTTP1_NO_BODY, 5, true);
    end(world);
}

static void answer_no_body_unknown(struct world *world)
{
    begin(world, 200, HTTP1_NO_BODY, 0, false);
    end(world);
}

static void answer_204(struct world *world)
{
    answer(world, 204, "never sent");
}

static void answer_304(struct world *world)
{
    begin(world, 304, HTTP1_NO_BODY, 7, true);
    end(world);
}

static void answer_304_unknown(struct world *world)
{
    begin(world, 304, HTTP1_CHUNKED, 0, false);
    end(world);
}

static void answer_until_close(struct world *world)
{
    begin(world, 200, HTTP1_UNTIL_CLOSE, 0, false);
    assert_true(server_answer_body(world->exchange, z("all")));
    end(world);
}

static void answers_are_framed_for_their_request(void **state)
{
    (void)state;
    static const struct {
        const char *request;
        void (*answer)(struct world *);
        const char *got;
        bool closed;
    } rows[] = {
        {GET("/"), answer_chunked,
         "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n9\r\nbig "
         "world\r\n0\r\n\r\n",
         false},
        {"GET / HTTP/1.0\r\n\r\n", answer_chunked,
         "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhellobig world", true},
        {"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", answer_chunked,
         "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhellobig world", true},
        {"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", answer_ok,
         "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: keep-alive\r\n\r\nok", false},
        {"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", answer_ok,
         "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok", true},
        {"HEAD / HTTP/1.1\r\nHost: a\r\n\r\n", answer_ok,
         "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n", false},
        {"HEAD / HTTP/1.1\r\nHost: a\r\n\r\n", answer_chunked,
         "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", false},
        {"HEAD / HTTP/1.1\r\nHost: a\r\n\r\n", answer_no_body,
         "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", false},
        {"HEAD / HTTP/1.1\r\nHost: a\r\n\r\n", answer_no_body_unknown, "HTTP/1.1 200 OK\r\n\r\n",
         false},
        {"HEAD / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", answer_chunked,
         "HTTP/1.1 200 OK\r\nConnection: keep-alive\r\n\r\n", false},
        {GET("/"), answer_no_body_unknown, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", false},
        {GET("/"), answer_204, "HTTP/1.1 204 No Content\r\n\r\n", false},
        {GET("/"), answer_304, "HTTP/1.1 304 Not Modified\r\nContent-Length: 7\r\n\r\n", false},
        {GET("/"), answer_304_unknown, "HTTP/1.1 304 Not Modified\r\n\r\n", false},
        {GET("/"), answer_until_close, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nall", true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct world world = {.on_request = rows[i].answer};
        world_start(&world);
        struct rt_conn *conn = world_request(&world, rows[i].request);
        assert_string_equal(client_got(conn), rows[i].got);
        assert_int_equal(conn->closed, rows[i].closed);
        assert_false(conn->aborted);
        assert_int_equal(conn->writes, 1);
        world_stop(&world);
    }
}

static void h48_http10_keeps_alive_twice(void **state)
{
    (void)state;
    struct world world = {.on_request = answer_ok};
    world_start(&world);
    struct rt_conn *conn =
        world_request(&world, "GET /1 HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    client_send(conn, "GET /2 HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    world_settle(&world);
    assert_string_equal(client_got(conn),
                        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: keep-alive\r\n\r\nok"
                        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: keep-alive\r\n\r\nok");
    world_stop(&world);
}

static void answer_with_date(struct world *world)
{
    server_answer_begin(world->exchange, 200, z("OK"));
    server_answer_field(world->exchange, z("date"), z("Sun, 06 Nov 1994 08:49:37 GMT"));
    server_answer_field(world->exchange, z("X-More"), z("1"));
    server_answer_start(world->exchange, HTTP1_NO_BODY, 0, false);
    end(world);
}

static void a_date_is_given_once(void **state)
{
    (void)state;
    struct world world = {.on_request = answer_with_date};
    world_start(&world);
    struct rt_conn *conn = world_request(&world, GET("/"));
    assert_string_equal(client_got(conn),
                        "HTTP/1.1 200 OK\r\ndate: Sun, 06 Nov 1994 08:49:37 GMT\r\nX-More: 1\r\n"
                        "Content-Length: 0\r\n\r\n");
    world.on_request = answer_ok;
    world_pass(&world, belay_span_ms(1000));
    client_send(conn, GET("/"));
    world_settle(&world);
    char *all = calloc(1, buf_length(&conn->out) + 1);
    memcpy(all, buf_slice(&conn->out).data, buf_length(&conn->out));
    assert_non_null(strstr(all, "Date: Thu, 01 Jan 1970 00:00:01 GMT\r\n"));
    free(all);
    world_stop(&world);
}

static void a_head_waits_for_its_first_piece_but_not_for_ever(void **state)
{
    (void)state;
    struct world world = {0};
    world_start(&world);
    struct rt_conn *conn = world_request(&world, GET("/"));
    begin(&world, 200, HTTP1_CHUNKED, 0, false);
    assert_int_equal(conn->writes, 0);
    world_settle(&world); /* the turn's end */
    assert_int_equal(conn->writes, 1);
    assert_string_equal(client_got(conn), "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    char big[5000];
    memset(big, 'x', sizeof big);
    assert_true(server_answer_body(world.exchange, belay_slice(big, sizeof big)));
    assert_int_equal(conn->writes, 2); /* a large piece goes at once, with its chunk's frame */
    end(&world);
    assert_int_equal(conn->writes, 3);
    world_stop(&world);
}

static void give_more(struct world *world)
{
    char piece[500];
    memset(piece, 'y', sizeof piece);
    while (server_answer_body(world->exchange, belay_slice(piece, sizeof piece))) continue;
}

static void a_slow_reader_pauses_the_handler(void **state)
{
    (void)state;
    for (size_t room = 0; room < 700; room += 7) {
        struct world world = {.on_writable = give_more};
        world_start(&world);
        struct rt_conn *conn = world_connect(&world);
        conn->write_room = room;
        client_send(conn, GET("/"));
        world_settle(&world);
        char big[4096];
        memset(big, 'x', sizeof big);
        begin(&world, 200, HTTP1_LENGTH, 1000000, true);
        assert_false(server_answer_body(world.exchange, belay_slice(big, sizeof big)));
        assert_story(&world, "GET /\n");
        conn->write_room = 2500;
        world_settle(&world);
        assert_story(&world, "GET /\n"); /* still over the low mark */
        conn->write_room = 2000;
        world_settle(&world);
        assert_story(&world, "GET /\nwritable\n");
        server_abort(world.exchange);
        world_settle(&world);
        assert_true(conn->aborted);
        assert_story(&world, "GET /\nwritable\n"); /* who aborts is not told */
        world_stop(&world);
    }
}

static void short_writes_lose_nothing(void **state)
{
    (void)state;
    for (size_t max = 1; max < 120; max++) {
        struct world world = {0};
        world_start(&world);
        struct rt_conn *conn = world_connect(&world);
        conn->write_max = max;
        client_send(conn, GET("/"));
        world_settle(&world);
        char big[5001] = {0};
        memset(big, 'x', sizeof big - 1);
        begin(&world, 200, HTTP1_CHUNKED, 0, false);
        bool more = server_answer_body(world.exchange, z(big));
        assert_false(more);
        end(&world);
        world_settle(&world);
        const char *got = client_got(conn);
        const char *body = strstr(got, "\r\n\r\n1388\r\n");
        assert_non_null(body);
        assert_memory_equal(body + 10, big, 5000);
        assert_string_equal(body + 5010, "\r\n0\r\n\r\n");
        assert_int_equal(conn->interest, RT_READ);
        world_stop(&world);
    }
}

static void a_length_that_is_not_met_is_a_reset(void **state)
{
    (void)state;
    struct world world = {0};
    world_start(&world);
    struct rt_conn *conn = world_request(&world, GET("/"));
    begin(&world, 200, HTTP1_LENGTH, 10, true);
    assert_true(server_answer_body(world.exchange, z("half")));
    end(&world);
    world_settle(&world);
    assert_true(conn->aborted);
    world_stop(&world);
}

static void abort_before_any_answer_is_a_reset(void **state)
{
    (void)state;
    struct world world = {0};
    world_start(&world);
    struct rt_conn *conn = world_request(&world, GET("/"));
    server_set_user(world.exchange, &world);
    assert_ptr_equal(server_user(world.exchange), &world);
    server_abort(world.exchange);
    world_settle(&world);
    assert_true(conn->aborted);
    assert_string_equal(client_got(conn), "");
    world_stop(&world);
}

/* ---- Expect: 100-continue ---- */

static void pausing(struct world *world)
{
    server_body_pause(world->exchange);
}

static void a_hundred_is_given_when_the_body_is_wanted(void **state)
{
    (void)state;
    struct world world = {.on_end = answer_echo};
    world_start(&world);
    struct rt_conn *conn =
        world_request(&world, POST("Content-Length: 2\r\nExpect: 100-continue\r\n"));
    assert_string_equal(client_got(conn), "HTTP/1.1 100 Continue\r\n\r\n");
    client_send(conn, "hi");
    world_settle(&world);
    assert_string_equal(client_got(conn), "HTTP/1.1 100 Continue\r\n\r\n"
                                          "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi");
    world_stop(&world);
}

static void a_hundred_waits_for_resume(void **state)
{
    (void)state;
    struct world world = {.on_request = pausing, .on_end = answer_echo};
    world_start(&world);
    struct rt_conn *conn =
        world_request(&world, POST("Content-Length: 2\r\nExpect: 100-continue\r\n"));
    assert_string_equal(client_got(conn), "");
    server_body_resume(world.exchange);
    assert_string_equal(client_got(conn), "HTTP/1.1 100 Continue\r\n\r\n");
    server_body_pause(world.exchange);
    server_body_resume(world.exchange); /* only one */
    client_send(conn, "hi");
    world_settle(&world);
    assert_string_equal(client_got(conn), "HTTP/1.1 100 Continue\r\n\r\n"
                                          "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi");
    world_stop(&world);
}

static void no_hundred_when_answered_or_not_awaited(void **state)
{
    (void)state;
    struct world refused = {.on_request = answer_ok};
    world_start(&refused);
    struct rt_conn *conn =
        world_request(&refused, POST("Content-Length: 2\r\nExpect: 100-continue\r\n"));
    assert_string_equal(client_got(conn),
                        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok");
    assert_true(conn->closed);
    world_stop(&refused);

    struct world eager = {.on_end = answer_echo};
    world_start(&eager);
    conn = world_request(&eager, POST("Content-Length: 2\r\nExpect: 100-continue\r\n") "hi");
    assert_string_equal(client_got(conn), "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi");
    world_stop(&eager);
}

/* ---- answers before the body is whole ---- */

static void an_early_answer_closes_unless_the_body_is_at_hand(void **state)
{
    (void)state;
    static const struct {
        const char *request;
        bool closes;
    } rows[] = {
        {POST("Content-Length: 4\r\n") "body", false},
        {POST("Content-Length: 0\r\n"), false},
        {POST("Content-Length: 5\r\n") "body", true},
        {POST("Transfer-Encoding: chunked\r\n") "4\r\nbody\r\n0\r\n\r\n", true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct world world = {.on_request = answer_ok};
        world_start(&world);
        struct rt_conn *conn = world_request(&world, rows[i].request);
        assert_int_equal(strstr(client_got(conn), "Connection: close") != NULL, rows[i].closes);
        assert_int_equal(conn->closed, rows[i].closes);
        assert_string_equal(world_story(&world), "POST /a\n");
        client_send(conn, GET("/next"));
        world_settle(&world);
        assert_string_equal(world_story(&world),
                            rows[i].closes ? "POST /a\n" : "POST /a\nGET /next\n");
        world_stop(&world);
    }
}

static void closing_after(struct world *world)
{
    server_close_after(world->exchange);
    answer_ok(world);
}

static void a_handler_may_close(void **state)
{
    (void)state;
    struct world world = {.on_request = closing_after};
    world_start(&world);
    struct rt_conn *conn = world_request(&world, GET("/"));
    assert_string_equal(client_got(conn),
                        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok");
    assert_true(conn->closed);
    assert_false(conn->aborted);
    world_stop(&world);
}

/* ---- raw ---- */

static void answer_garbage(struct world *world)
{
    server_answer_raw(world->exchange, z("HTTP/9 what\r\n\r\n"));
    end(world);
}

static void answer_half(struct world *world)
{
    begin(world, 200, HTTP1_LENGTH, 100, true);
    assert_true(server_answer_body(world->exchange, z("half")));
    server_answer_raw(world->exchange, z(""));
    end(world);
}

static void raw_bytes_go_as_they_are_and_close_without_a_reset(void **state)
{
    (void)state;
    struct world garbage = {.on_request = answer_garbage};
    world_start(&garbage);
    struct rt_conn *conn = world_request(&garbage, GET("/"));
    assert_string_equal(client_got(conn), "HTTP/9 what\r\n\r\n");
    assert_true(conn->closed);
    assert_false(conn->aborted);
    world_stop(&garbage);

    struct world half = {.on_request = answer_half};
    world_start(&half);
    conn = world_request(&half, GET("/"));
    assert_string_equal(client_got(conn), "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf");
    assert_true(conn->closed);
    assert_false(conn->aborted);
    world_stop(&half);
}

static void shutting_after(struct world *world)
{
    if (server_is_shut(world->exchange)) {
        server_abort(world->exchange);
        return;
    }
    server_shut_after(world->exchange);
    answer_ok(world);
}

static void what_still_comes_over_a_shut_connection_is_told(void **state)
{
    (void)state;
    static const char *const later[] = {GET("/late"), ""};
    for (size_t i = 0; i < 2; i++) {
        struct world world = {.on_request = shutting_after};
        world_start(&world);
        struct rt_conn *conn = world_request(&world, GET("/"));
        assert_string_equal(client_got(conn), "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
        assert_true(conn->shut);
        assert_false(conn->closed);
        client_send(conn, later[i]);
        conn->in_end = true;
        world_settle(&world);
        assert_true(conn->closed);
        assert_int_equal(conn->aborted, i == 0);
        assert_int_equal(world.requests, i == 0 ? 2 : 1);
        world_stop(&world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_are_framed_for_their_request),
        {.name = "H48 HTTP/1.0 keeps alive twice", .test_func = h48_http10_keeps_alive_twice},
        cmocka_unit_test(a_date_is_given_once),
        cmocka_unit_test(a_head_waits_for_its_first_piece_but_not_for_ever),
        cmocka_unit_test(a_slow_reader_pauses_the_handler),
        cmocka_unit_test(short_writes_lose_nothing),
        cmocka_unit_test(a_length_that_is_not_met_is_a_reset),
        cmocka_unit_test(abort_before_any_answer_is_a_reset),
        {.name = "H42 a hundred is given when the body is wanted",
         .test_func = a_hundred_is_given_when_the_body_is_wanted},
        cmocka_unit_test(a_hundred_waits_for_resume),
        {.name = "H42 no hundred when answered or not awaited",
         .test_func = no_hundred_when_answered_or_not_awaited},
        cmocka_unit_test(an_early_answer_closes_unless_the_body_is_at_hand),
        cmocka_unit_test(a_handler_may_close),
        cmocka_unit_test(raw_bytes_go_as_they_are_and_close_without_a_reset),
        cmocka_unit_test(what_still_comes_over_a_shut_connection_is_told),
    };
    return cmocka_run_group_tests_name("server exchange", tests, NULL, NULL);
}
