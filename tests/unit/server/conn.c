/* conn.c: requests come in whole and in order, however they are cut, and every way a connection
 * ends is told. */
#include "world.h"

#include "test.h"

#include <stdio.h>
#include <stdlib.h>

#define OK_ANSWER "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
#define GET(path) "GET " path " HTTP/1.1\r\nHost: a\r\n\r\n"

static const char three[] =
    GET("/1") "POST /2 HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello"
              "POST /3 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
              "3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n";
static const char three_story[] = "GET /1\nPOST /2\nbody hello\nPOST /3\nbody abcde\n";
static const char three_answers[] = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
                                    "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
                                    "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabcde";

static void one_request_is_one_read_and_one_write(void **state)
{
    (void)state;
    struct world world = {.on_request = answer_ok};
    world_start(&world);
    struct rt_conn *conn = world_request(&world, GET("/a"));
    unsigned timers = world.rt.timers_armed;
    client_send(conn, GET("/b"));
    world_settle(&world);
    assert_story(&world, "GET /a\nGET /b\n");
    assert_string_equal(client_got(conn), OK_ANSWER OK_ANSWER);
    assert_int_equal(conn->reads, 2);
    assert_int_equal(conn->writes, 2);
    assert_int_equal(world.rt.interest_changes, 0);
    assert_int_equal(world.rt.timers_armed, timers); /* the usual request touches no timer */
    struct server_stats stats;
    server_stats(world.server, &stats);
    assert_int_equal(stats.accepted, 1);
    assert_int_equal(stats.requests, 2);
    assert_int_equal(stats.idle, 1);
    world_stop(&world);
}

static void requests_survive_every_split(void **state)
{
    (void)state;
    for (size_t split = 0; split < sizeof three; split++) {
        struct world world = {.on_end = answer_echo};
        world_start(&world);
        char first[sizeof three] = {0};
        memcpy(first, three, split);
        struct rt_conn *conn = world_request(&world, first);
        client_send(conn, three + split);
        world_settle(&world);
        assert_story(&world, three_story);
        assert_string_equal(client_got(conn), three_answers);
        world_stop(&world);
    }
}

static void requests_survive_reads_and_writes_of_one_byte(void **state)
{
    (void)state;
    struct world world = {.on_end = answer_echo};
    world_start(&world);
    struct rt_conn *conn = world_connect(&world);
    conn->read_max = conn->write_max = 1;
    client_send(conn, three);
    world_settle(&world);
    assert_story(&world, three_story);
    assert_string_equal(client_got(conn), three_answers);
    assert_int_equal(conn->interest, RT_READ);
    world_stop(&world);
}

/* A reset after every number of bytes read, and at every write: never a crash, and the handler is
 * told of every request whose answer it has not ended. */
static void resets_may_come_anywhere(void **state)
{
    (void)state;
    for (size_t split = 0; split < sizeof three; split++) {
        struct world world = {0};
        world_start(&world);
        char first[sizeof three] = {0};
        memcpy(first, three, split);
        struct rt_conn *conn = world_request(&world, first);
        conn->in_reset = true;
        bool waiting = world.exchange != NULL;
        world_settle(&world);
        assert_true(conn->closed);
        assert_int_equal(waiting, strstr(world_story(&world), "gone\n") != NULL);
        struct server_stats stats;
        server_stats(world.server, &stats);
        assert_int_equal(stats.connections, 0);
        assert_int_equal(stats.idle, 0);
        world_stop(&world);
    }
}

static void a_failed_write_is_told_later_and_once(void **state)
{
    (void)state;
    struct world world = {0};
    world_start(&world);
    struct rt_conn *conn = world_request(&world, GET("/a"));
    struct server_exchange *exchange = world.exchange;
    conn->in_reset = true;
    char big[8192];
    memset(big, 'x', sizeof big);
    server_answer_begin(exchange, 200, belay_slice_z("OK"));
    server_answer_start(exchange, HTTP1_LENGTH, 2 * sizeof big, true);
    assert_true(server_answer_body(exchange, belay_slice(big, sizeof big)));
    assert_story(&world, "GET /a\n"); /* not from inside the call */
    assert_true(server_answer_body(exchange, belay_slice(big, sizeof big)));
    world_settle(&world);
    assert_story(&world, "GET /a\ngone\n");
    world_stop(&world);
}

static void pipelined_requests_wait_for_the_answer_before(void **state)
{
    (void)state;
    struct world world = {0};
    world_start(&world);
    struct rt_conn *conn = world_request(&world, GET("/1") GET("/2") GET("/3"));
    assert_story(&world, "GET /1\n");
    answer_ok(&world);
    assert_story(&world, "GET /1\n"); /* not from inside the call */
    world_settle(&world);
    assert_story(&world, "GET /1\nGET /2\n");
    answer_ok(&world);
    world_settle(&world);
    answer_ok(&world);
    world_settle(&world);
    assert_string_equal(client_got(conn), OK_ANSWER OK_ANSWER OK_ANSWER);
    world_stop(&world);
}

static void pipelined_bytes_are_bounded(void **state)
{
    (void)state;
    struct world world = {0};
    world_start(&world);
    struct rt_conn *conn = world_connect(&world);
    size_t count = 2000;
    for (size_t i = 0; i < count; i++)
        client_send(conn, GET("/0123456789012345678901234567890123456789"));
    world_settle(&world);
    assert_int_equal(conn->interest, 0); /* no more is read until an answer is given */
    assert_true(buf_length(&conn->in) > 0);
    for (size_t i = 0; i < count; i++) {
        answer_ok(&world);
        world_settle(&world);
    }
    assert_int_equal(world.requests, count);
    assert_int_equal(buf_length(&conn->in), 0);
    assert_int_equal(conn->interest, RT_READ);
    world_stop(&world);
}

static void a_pipelined_request_begins_when_it_came(void **state)
{
    (void)state;
    struct world world = {0};
    world_start(&world);
    world_pass(&world, belay_span_ms(10));
    struct rt_conn *conn = world_request(&world, GET("/1") GET("/2"));
    assert_int_equal(server_request_began_at(world.exchange).ns, 10 * BELAY_NS_PER_MS);
    assert_int_equal(server_request_number(world.exchange), 0);
    world_pass(&world, belay_span_ms(300));
    answer_ok(&world);
    world_settle(&world);
    assert_int_equal(server_request_began_at(world.exchange).ns, 10 * BELAY_NS_PER_MS);
    assert_int_equal(server_request_number(world.exchange), 1);
    assert_false(conn->closed);
    world_stop(&world);
}

/* The end of its head may be in the kernel still: reading had stopped, or it comes just now. */
static void a_pipelined_head_has_its_time_after_the_answer_before(void **state)
{
    (void)state;
    struct world world = {0};
    world_start(&world);
    struct rt_conn *conn = world_request(&world, GET("/1") "GET /2 HTTP/1.1\r\nHost");
    world_pass(&world, belay_span_ms(1500)); /* a head may take 1 s */
    answer_ok(&world);
    world_settle(&world);
    assert_false(conn->closed);
    world_pass(&world, belay_span_ms(900));
    client_send(conn, ": a\r\n\r\n");
    world_settle(&world);
    assert_story(&world, "GET /1\nGET /2\n");
    answer_ok(&world);
    world_settle(&world);
    client_send(conn, "GET");
    world_settle(&world);
    world_pass(&world, belay_span_ms(900));
    client_send(conn, " /3");
    world_settle(&world);
    world_pass(&world, belay_span_ms(100)); /* a byte now and then gives no more time */
    assert_non_null(strstr(client_got(conn), "HTTP/1.1 408 "));
    world_stop(&world);
}

static void body_pieces_are_not_copied_and_the_head_stays(void **state)
{
    (void)state;
    struct world world = {.on_end = answer_echo};
    world_start(&world);
    struct rt_conn *conn =
        world_request(&world, "POST /a?q HTTP/1.1\r\nHost: a\r\nContent-Length: 60000\r\n\r\n");
    const struct http1_head *head = server_request_head(world.exchange);
    char piece[6001] = {0};
    memset(piece, 'b', 6000);
    for (int i = 0; i < 10; i++) {
        client_send(conn, piece);
        world_settle(&world);
        assert_memory_equal(head->target.data, "/a?q", 4);
    }
    assert_true(strstr(client_got(conn), "200 OK") != NULL);
    world_stop(&world);
}

static void pausing(struct world *world)
{
    server_body_pause(world->exchange);
}

static void a_paused_body_is_bounded_and_no_clock_runs(void **state)
{
    (void)state;
    struct world world = {.on_request = pausing};
    world_start(&world);
    struct rt_conn *conn =
        world_request(&world, "POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n");
    char *body = calloc(1, 100001);
    memset(body, 'b', 100000);
    client_send(conn, body);
    free(body);
    world_pass(&world, belay_span_ms(100000));
    assert_story(&world, "POST /a\n");
    assert_int_equal(conn->interest, 0);
    assert_true(buf_length(&conn->in) > 50000);
    server_body_resume(world.exchange);
    assert_int_equal(world.body_length, 0); /* not from inside the call */
    server_body_resume(world.exchange);     /* twice is once */
    world_settle(&world);
    assert_int_equal(buf_length(&conn->in), 0);
    answer_ok(&world);
    world_settle(&world);
    assert_false(conn->closed);
    world_stop(&world);
}

static void the_end_may_come_while_a_body_is_paused(void **state)
{
    (void)state;
    struct world world = {.on_request = pausing, .on_end = answer_echo};
    world_start(&world);
    struct rt_conn *conn =
        world_request(&world, "POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi");
    conn->in_end = true;
    world_settle(&world);
    assert_false(conn->closed);
    server_body_resume(world.exchange);
    world_settle(&world);
    assert_string_equal(client_got(conn), "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi");
    assert_true(conn->closed);
    assert_false(conn->aborted);
    world_stop(&world);
}

static void a_half_closed_client_gets_its_answers(void **state)
{
    (void)state;
    struct world world = {0};
    world_start(&world);
    struct rt_conn *conn = world_request(&world, GET("/1") GET("/2"));
    conn->in_end = true;
    world_settle(&world);
    assert_int_equal(conn->interest, 0); /* or a level-triggered loop would spin */
    answer_ok(&world);
    world_settle(&world);
    answer_ok(&world);
    world_settle(&world);
    assert_story(&world, "GET /1\nhalf closed\nGET /2\n");
    assert_string_equal(client_got(conn), OK_ANSWER OK_ANSWER);
    assert_true(conn->closed);
    assert_false(conn->aborted);
    world_stop(&world);
}

static void an_end_within_a_body_is_told(void **state)
{
    (void)state;
    struct world world = {0};
    world_start(&world);
    struct rt_conn *conn =
        world_request(&world, "POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nhalf");
    conn->in_end = true;
    world_settle(&world);
    assert_story(&world, "POST /a\ngone\n");
    assert_true(conn->closed);
    world_stop(&world);
}

static void an_end_within_a_head_is_refused(void **state)
{
    (void)state;
    struct world world = {0};
    world_start(&world);
    struct rt_conn *conn = world_request(&world, "GET / HT");
    conn->in_end = true;
    world_settle(&world);
    assert_story(&world, "bad 400 at 0ms\n");
    assert_true(strstr(client_got(conn), "HTTP/1.1 400 Bad Request\r\n") == client_got(conn));
    assert_true(conn->closed);
    world_stop(&world);
}

static void an_empty_line_alone_is_no_request(void **state)
{
    (void)state;
    for (int leaves = 0; leaves < 2; leaves++) {
        struct world world = {.on_end = answer_echo};
        world_start(&world);
        struct rt_conn *conn =
            world_request(&world, "POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi\r\n");
        conn->in_end = leaves;
        world_pass(&world, belay_span_ms(1000));
        assert_story(&world, "POST /a\nbody hi\n");
        assert_string_equal(client_got(conn), "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi");
        assert_true(conn->closed);
        assert_false(conn->aborted);
        world_stop(&world);
    }
}

static void an_idle_client_may_leave(void **state)
{
    (void)state;
    struct world world = {0};
    world_start(&world);
    struct rt_conn *conn = world_connect(&world);
    conn->in_end = true;
    world_settle(&world);
    assert_true(conn->closed);
    assert_story(&world, "");
    world_stop(&world);
}

static void signals_for_nothing_do_nothing(void **state)
{
    (void)state;
    struct world world = {0};
    world_start(&world);
    struct rt_conn *conn = world_connect(&world);
    conn->events->ready(conn->owner, RT_READ | RT_WRITE);
    world_settle(&world);
    client_send(conn, GET("/a"));
    world_settle(&world);
    conn->events->ready(conn->owner, RT_READ | RT_WRITE);
    answer_ok(&world);
    conn->events->ready(conn->owner, RT_READ | RT_WRITE);
    world_settle(&world);
    assert_string_equal(client_got(conn), OK_ANSWER);
    conn->events->failed(conn->owner, BELAY_ERROR_RESET);
    assert_true(conn->closed);
    world_stop(&world);
}

/* ---- bad requests ---- */

static void bad_heads_are_answered_and_closed(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        int status;
    } rows[] = {
        {"GET /\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\n\r\n", 400},
        {"GET / HTTP/3.0\r\nHost: a\r\n\r\n", 505},
        {"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", 501},
        {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct world world = {0};
        world_start(&world);
        struct rt_conn *conn = world_request(&world, rows[i].bytes);
        client_send(conn, GET("/never")); /* what follows is dropped */
        world_settle(&world);
        char story[64], status[32];
        (void)snprintf(story, sizeof story, "bad %d at 0ms\n", rows[i].status);
        (void)snprintf(status, sizeof status, "HTTP/1.1 %d ", rows[i].status);
        assert_story(&world, story);
        const char *got = client_got(conn);
        assert_memory_equal(got, status, strlen(status));
        assert_non_null(strstr(got, "Connection: close\r\n"));
        assert_non_null(strstr(got, "Content-Type: application/problem+json\r\n"));
        assert_true(conn->closed);
        assert_false(conn->aborted); /* rt lingers, so that no reset overtakes the answer */
        world_stop(&world);
    }
}

static void a_long_head_is_refused_while_it_comes(void **state)
{
    (void)state;
    struct world world = {0};
    world_start(&world);
    struct rt_conn *conn = world_request(&world, "GET / HTTP/1.1\r\nHost: a\r\n");
    char line[1025] = {0};
    memset(line, 'x', 1024);
    memcpy(line, "X: ", 3);
    memcpy(line + 1022, "\r\n", 2);
    for (int i = 0; i < 40 && !conn->closed; i++) {
        client_send(conn, line);
        world_settle(&world);
    }
    assert_story(&world, "bad 431 at 0ms\n");
    assert_true(conn->closed);
    world_stop(&world);
}

static void a_broken_body_is_answered_by_the_server(void **state)
{
    (void)state;
    struct world world = {0};
    world_start(&world);
    struct rt_conn *conn = world_request(
        &world, "POST /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0x2\r\nab");
    assert_story(&world, "POST /a\ngone 400\n");
    assert_non_null(strstr(client_got(conn), "HTTP/1.1 400 "));
    assert_true(conn->closed);
    world_stop(&world);
}

static void a_body_broken_after_the_answer_began_cuts_it(void **state)
{
    (void)state;
    struct world world = {0};
    world_start(&world);
    struct rt_conn *conn =
        world_request(&world, "POST /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
    server_answer_begin(world.exchange, 200, belay_slice_z("OK"));
    server_answer_start(world.exchange, HTTP1_CHUNKED, 0, false);
    client_send(conn, "zz\r\n");
    world_settle(&world);
    assert_story(&world, "POST /a\ngone\n");
    assert_true(conn->aborted);
    world_stop(&world);
}

/* ---- clocks ---- */

static void a_dripping_head_is_cut_by_an_absolute_clock(void **state)
{
    (void)state;
    struct world world = {0};
    world_start(&world);
    world_pass(&world, belay_span_ms(500));
    struct rt_conn *conn = world_connect(&world);
    const char *head = GET("/a-long-path-that-takes-longer-than-the-clock-allows-at-this-pace");
    for (const char *at = head; *at && !conn->closed; at++) {
        char byte[2] = {*at, 0};
        client_send(conn, byte);
        world_pass(&world, belay_span_ms(50));
    }
    assert_story(&world, "bad 408 at 500ms\n");
    assert_non_null(strstr(client_got(conn), "HTTP/1.1 408 "));
    assert_int_equal(world.rt.now.ns, 1500 * BELAY_NS_PER_MS);
    struct server_stats stats;
    server_stats(world.server, &stats);
    assert_int_equal(stats.head_timeouts, 1);
    world_stop(&world);
}

static void an_idle_connection_is_closed_in_time(void **state)
{
    (void)state;
    struct world world = {.on_request = answer_ok};
    world_start(&world);
    struct rt_conn *conn = world_connect(&world);
    world_pass(&world, belay_span_ms(3000));
    client_send(conn, GET("/a"));
    world_settle(&world);
    world_pass(&world, belay_span_ms(3999));
    assert_false(conn->closed);
    world_pass(&world, belay_span_ms(1));
    assert_true(conn->closed);
    assert_false(conn->aborted);
    world_stop(&world);
}

static void a_request_that_races_the_idle_clock_is_served(void **state)
{
    (void)state;
    struct world world = {.on_request = answer_ok};
    world_start(&world);
    struct rt_conn *conn = world_connect(&world);
    conn->interest = 0; /* the signal comes late */
    client_send(conn, GET("/a"));
    world_pass(&world, belay_span_ms(4000));
    assert_string_equal(client_got(conn), OK_ANSWER);
    assert_false(conn->closed);
    world_stop(&world);
}

static void a_silent_upload_is_cut_and_each_byte_restarts_the_clock(void **state)
{
    (void)state;
    struct world world = {0};
    world_start(&world);
    struct rt_conn *conn =
        world_request(&world, "POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n");
    for (int i = 0; i < 5; i++) {
        world_pass(&world, belay_span_ms(1999));
        assert_story(&world, "POST /a\n");
        client_send(conn, "x");
        world_settle(&world);
    }
    world_pass(&world, belay_span_ms(2000));
    assert_story(&world, "POST /a\ngone 408\n");
    struct server_stats stats;
    server_stats(world.server, &stats);
    assert_int_equal(stats.silent_clients, 1);
    world_stop(&world);
}

static void a_client_that_takes_nothing_is_cut(void **state)
{
    (void)state;
    struct world world = {.on_request = answer_ok};
    world_start(&world);
    struct rt_conn *conn = world_connect(&world);
    conn->write_room = 5;
    client_send(conn, GET("/a"));
    world_pass(&world, belay_span_ms(1999));
    assert_false(conn->closed);
    conn->write_room = 5; /* it takes a little: the clock starts anew */
    world_pass(&world, belay_span_ms(1999));
    assert_false(conn->closed);
    world_pass(&world, belay_span_ms(1));
    assert_true(conn->aborted);
    assert_story(&world, "GET /a\n"); /* the handler had done its part */
    world_stop(&world);
}

static void a_waiting_handler_has_no_clock(void **state)
{
    (void)state;
    struct world world = {0};
    world_start(&world);
    struct rt_conn *conn = world_request(&world, GET("/a"));
    world_pass(&world, belay_span_ms(1000000));
    assert_false(conn->closed);
    answer_ok(&world);
    assert_string_equal(client_got(conn), OK_ANSWER);
    world_stop(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_request_is_one_read_and_one_write),
        cmocka_unit_test(requests_survive_every_split),
        cmocka_unit_test(requests_survive_reads_and_writes_of_one_byte),
        cmocka_unit_test(resets_may_come_anywhere),
        cmocka_unit_test(a_failed_write_is_told_later_and_once),
        {.name = "H41 pipelined requests wait for the answer before",
         .test_func = pipelined_requests_wait_for_the_answer_before},
        cmocka_unit_test(pipelined_bytes_are_bounded),
        cmocka_unit_test(a_pipelined_request_begins_when_it_came),
        cmocka_unit_test(a_pipelined_head_has_its_time_after_the_answer_before),
        cmocka_unit_test(body_pieces_are_not_copied_and_the_head_stays),
        cmocka_unit_test(a_paused_body_is_bounded_and_no_clock_runs),
        cmocka_unit_test(the_end_may_come_while_a_body_is_paused),
        cmocka_unit_test(a_half_closed_client_gets_its_answers),
        cmocka_unit_test(an_end_within_a_body_is_told),
        cmocka_unit_test(an_end_within_a_head_is_refused),
        cmocka_unit_test(an_empty_line_alone_is_no_request),
        cmocka_unit_test(an_idle_client_may_leave),
        cmocka_unit_test(signals_for_nothing_do_nothing),
        cmocka_unit_test(bad_heads_are_answered_and_closed),
        cmocka_unit_test(a_long_head_is_refused_while_it_comes),
        cmocka_unit_test(a_broken_body_is_answered_by_the_server),
        cmocka_unit_test(a_body_broken_after_the_answer_began_cuts_it),
        cmocka_unit_test(a_dripping_head_is_cut_by_an_absolute_clock),
        cmocka_unit_test(an_idle_connection_is_closed_in_time),
        cmocka_unit_test(a_request_that_races_the_idle_clock_is_served),
        cmocka_unit_test(a_silent_upload_is_cut_and_each_byte_restarts_the_clock),
        cmocka_unit_test(a_client_that_takes_nothing_is_cut),
        cmocka_unit_test(a_waiting_handler_has_no_clock),
    };
    return cmocka_run_group_tests_name("server conn", tests, NULL, NULL);
}
