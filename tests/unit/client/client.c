/* client.c: the pool of connections: what is reused, what is given up, and what an attempt is told
 * of its way. */
#include "test.h"

#include "client/client.h"

#include "base/check.h"
#include "client/conn.h"
#include "peer.h"
#include "world.h"

#include <stdio.h>
#include <string.h>

#define PORT 9000

struct caller { /* one call, and what came of it */
    struct client_call call;
    struct client_failure failure;
    int status, heads, ends, failures, writables;
    char body[256];
    size_t body_bytes, pause_at; /* 0: never pauses */
    int64_t ended_at_ms;
    struct scene *scene;
};

struct scene {
    struct rt *rt;
    struct peer peer;
    struct client *client;
    struct client_options options;
    struct caller callers[16];
    size_t count;
};

static int64_t ms(const struct scene *scene)
{
    return (rt_now(scene->rt).ns - SIM_START_NS) / BELAY_NS_PER_MS;
}

static void on_head(struct client_call *call, const struct http1_head *head)
{
    struct caller *caller = CONTAINER_OF(call, struct caller, call);
    caller->heads++;
    caller->status = head->status;
}

static bool on_body(struct client_call *call, struct belay_slice piece)
{
    struct caller *caller = CONTAINER_OF(call, struct caller, call);
    size_t room = sizeof caller->body - 1 - (caller->body_bytes < 255 ? caller->body_bytes : 255);
    memcpy(caller->body + sizeof caller->body - 1 - room, piece.data,
           piece.length < room ? piece.length : room);
    caller->body_bytes += piece.length;
    return caller->pause_at == 0 || caller->body_bytes < caller->pause_at;
}

static void on_end(struct client_call *call)
{
    struct caller *caller = CONTAINER_OF(call, struct caller, call);
    caller->ends++;
    caller->ended_at_ms = ms(caller->scene);
}

static void on_failed(struct client_call *call, const struct client_failure *failure)
{
    struct caller *caller = CONTAINER_OF(call, struct caller, call);
    caller->failures++;
    caller->failure = *failure;
    caller->ended_at_ms = ms(caller->scene);
}

static void on_writable(struct client_call *call)
{
    CONTAINER_OF(call, struct caller, call)->writables++;
}

static const struct client_events EVENTS = {on_head, on_body, on_end, on_failed, on_writable};

static void scene_named(struct scene *scene, const char *host)
{
    memset(scene, 0, sizeof *scene);
    scene->rt = rt_create(7);
    peer_start(&scene->peer, scene->rt, PORT);
    struct client_limits limits = {
        .http1 = http1_limits_default(), .idle_for = belay_span_ms(4000), .idle_max = 3};
    scene->client = client_create(scene->rt, &limits, belay_slice_z(host), PORT);
    scene->options = (struct client_options){.connect_for = belay_span_ms(300),
                                             .silence_for = belay_span_ms(5000),
                                             .method = BELAY_METHOD_GET};
}

static void scene_init(struct scene *scene)
{
    scene_named(scene, "127.0.0.1");
}

static void scene_deinit(struct scene *scene)
{
    struct sim_open open;
    client_destroy(scene->client);
    peer_stop(&scene->peer);
    rt_run(scene->rt);
    sim_open(scene->rt, &open);
    assert_int_equal(open.conns + open.listeners + open.resolves + open.timers, 0);
    rt_destroy(scene->rt);
}

static void on_passed(struct rt_timer *timer)
{
    (void)timer;
}

/* A world in which nothing can happen does not wait: a timer of our own makes time pass. */
static void pass(struct scene *scene, int64_t span_ms)
{
    struct rt_timer timer;
    struct belay_instant until = belay_instant_add(rt_now(scene->rt), belay_span_ms(span_ms));
    rt_timer_init(&timer, on_passed);
    rt_timer_arm(scene->rt, &timer, until);
    sim_run_until(scene->rt, until);
    rt_timer_disarm(scene->rt, &timer);
}

static struct caller *start_with(struct scene *scene, const char *head, const char *body,
                                 bool body_ends)
{
    struct caller *caller = &scene->callers[scene->count++];
    caller->scene = scene;
    client_call_start(scene->client, &caller->call, &EVENTS, &scene->options, belay_slice_z(head),
                      belay_slice_z(body), body_ends);
    assert_int_equal(caller->heads + caller->ends + caller->failures + caller->writables,
                     0); /* only from the loop */
    return caller;
}

static struct caller *start(struct scene *scene)
{
    return start_with(scene, "GET / HTTP/1.1\r\nHost: a\r\n\r\n", "", true);
}

/* One call, and time until it is over. */
static struct caller *call(struct scene *scene)
{
    struct caller *caller = start(scene);
    pass(scene, 100);
    return caller;
}

static struct client_stats stats(const struct scene *scene)
{
    struct client_stats out;
    client_stats(scene->client, &out);
    return out;
}

static void assert_failed(const struct caller *caller, enum belay_error_class error,
                          enum belay_phase phase)
{
    assert_int_equal(caller->failures, 1);
    assert_int_equal(caller->ends, 0);
    assert_string_equal(belay_error_class_name(caller->failure.error),
                        belay_error_class_name(error));
    assert_string_equal(belay_phase_name(caller->failure.phase), belay_phase_name(phase));
}

static void assert_answered(const struct caller *caller, int status, const char *body)
{
    assert_int_equal(caller->failures, 0);
    assert_int_equal(caller->heads, 1);
    assert_int_equal(caller->ends, 1);
    assert_int_equal(caller->status, status);
    assert_string_equal(caller->body, body);
}

/* ---- reuse ---- */

static void a_connection_is_reused(void **state)
{
    (void)state;
    struct scene scene;
    scene_init(&scene);
    for (int i = 0; i < 5; i++) {
        struct caller *caller = call(&scene);
        assert_answered(caller, 200, "ok");
        assert_int_equal(caller->call.reused, i > 0);
    }
    assert_int_equal(scene.peer.accepted, 1);
    assert_int_equal(scene.peer.requests, 5);
    assert_int_equal(stats(&scene).reuses, 4);
    scene_deinit(&scene);
}

static void the_latest_used_goes_first_and_few_are_kept(void **state)
{
    (void)state;
    struct scene scene;
    scene_init(&scene);
    for (int i = 0; i < 5; i++) start(&scene);
    pass(&scene, 10);
    assert_int_equal(scene.peer.accepted, 5);
    assert_int_equal(stats(&scene).idle, 3); /* idle_max */
    assert_int_equal(stats(&scene).open, 3);
    for (int i = 0; i < 3;
         i++) { /* one is enough for calls one after the other: the others grow old */
        pass(&scene, 1500);
        assert_answered(call(&scene), 200, "ok");
    }
    assert_int_equal(stats(&scene).idle, 1);
    pass(&scene, 4001);
    assert_int_equal(stats(&scene).idle, 0);
    assert_int_equal(peer_open(&scene.peer), 0);
    scene_deinit(&scene);
}

static void a_fresh_one_is_made_when_asked_for(void **state)
{
    (void)state;
    struct scene scene;
    scene_init(&scene);
    call(&scene);
    scene.options.fresh = true;
    assert_false(call(&scene)->call.reused);
    assert_int_equal(scene.peer.accepted, 2);
    scene_deinit(&scene);
}

static void what_ends_a_connection(void **state)
{
    (void)state;
    static const struct {
        const char *bytes, *body;
        enum belay_method method;
        enum peer_then then;
    } rows[] = {
        {"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok", "ok",
         BELAY_METHOD_GET, PEER_KEEP},
        {"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok", "ok", BELAY_METHOD_GET, PEER_KEEP},
        {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokEVIL", "ok", BELAY_METHOD_GET, PEER_KEEP},
        {"HTTP/1.1 200 OK\r\nContent-Length: 9\r\nTransfer-Encoding: "
         "chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
         "ok", BELAY_METHOD_GET, PEER_KEEP},
        {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", "", BELAY_METHOD_HEAD, PEER_KEEP},
        {"HTTP/1.1 204 No Content\r\n\r\nbody", "", BELAY_METHOD_GET, PEER_KEEP},
        {"HTTP/1.1 200 OK\r\n\r\nup to the close", "up to the close", BELAY_METHOD_GET, PEER_CLOSE},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\nHTTP/1.1 200 "
         "OK\r\n\r\n",
         "ok", BELAY_METHOD_GET, PEER_KEEP},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct scene scene;
        scene_init(&scene);
        struct peer_reply reply = {.bytes = rows[i].bytes, .then = rows[i].then};
        scene.peer.script = &reply;
        scene.options.method = rows[i].method;
        assert_answered(call(&scene), 200 + (i == 5 ? 4 : 0), rows[i].body);
        assert_int_equal(stats(&scene).idle, 0);
        assert_int_equal(stats(&scene).open, 0);
        scene_deinit(&scene);
    }
}

static void unsolicited_bytes_end_an_idle_connection(void **state)
{
    (void)state;
    struct scene scene;
    scene_init(&scene);
    call(&scene);
    peer_blurt(&scene.peer, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nEVIL");
    pass(&scene, 1);
    assert_int_equal(stats(&scene).idle, 0);
    assert_answered(call(&scene), 200, "ok");
    scene_deinit(&scene);
}

static void dropping_the_idle(void **state)
{
    (void)state;
    struct scene scene;
    scene_init(&scene);
    start(&scene);
    start(&scene);
    pass(&scene, 10);
    client_drop_idle(scene.client);
    assert_int_equal(stats(&scene).idle, 0);
    pass(&scene, 1);
    assert_int_equal(peer_open(&scene.peer), 0);
    scene_deinit(&scene);
}

/* ---- connections that were dead already (semantics 5a) ---- */

/* The other side is gone, and the loop has not told it yet. */
static void kill_idle(struct scene *scene, enum peer_then how)
{
    struct client_conn *idle = CONTAINER_OF(scene->client->idle.next, struct client_conn, node);
    rt_conn_interest(idle->rt_conn, 0);
    pass(scene, 1);
    peer_cut_all(&scene->peer, how);
    pass(scene, 1);
    assert_int_equal(stats(scene).idle, 1);
}

static void a_dead_one_is_found_by_the_peek(void **state)
{
    (void)state;
    for (enum peer_then how = PEER_CLOSE; how <= PEER_RESET; how++) {
        struct scene scene;
        scene_init(&scene);
        call(&scene);
        kill_idle(&scene, how);
        scene.options.probe_first = true;
        struct caller *caller = call(&scene);
        assert_answered(caller, 200, "ok");
        assert_false(caller->call.reused);
        assert_int_equal(scene.peer.requests, 2);
        scene_deinit(&scene);
    }
}

static void one_that_takes_no_byte_is_no_attempt(void **state)
{
    (void)state;
    struct scene scene;
    scene_init(&scene);
    call(&scene);
    kill_idle(&scene, PEER_RESET); /* the write itself fails */
    struct caller *caller = call(&scene);
    assert_answered(caller, 200, "ok");
    assert_false(caller->call.reused);
    assert_int_equal(stats(&scene).stale, 0);
    scene_deinit(&scene);
}

static void a_request_that_took_the_bytes_and_lost_them_is_stale(void **state)
{
    (void)state;
    static const struct peer_reply script[] = {
        {.bytes = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"},
        {.bytes = KEEP_SILENT, .then = PEER_CLOSE},
        {.bytes = KEEP_SILENT, .then = PEER_RESET},
        {.bytes = "H", .then = PEER_RESET, .then_ms = 1}};
    for (size_t i = 1; i < 4; i++) {
        struct scene scene;
        scene_init(&scene);
        struct peer_reply two[] = {script[0], script[i]};
        scene.peer.script = two;
        scene.peer.script_count = 2;
        call(&scene);
        struct caller *caller = call(&scene);
        assert_failed(caller, i == 1 ? BELAY_ERROR_CLOSED : BELAY_ERROR_RESET, BELAY_PHASE_HEADERS);
        assert_true(caller->failure.bytes_accepted);
        assert_int_equal(caller->failure.stale, i < 3); /* one byte of an answer: it was alive */
        assert_int_equal(stats(&scene).stale, i < 3);
        scene.options.fresh = true;
        assert_false(call(&scene)->failure.stale); /* a fresh connection is never stale */
        scene_deinit(&scene);
    }
}

/* ---- failures ---- */

static void nobody_listens(void **state)
{
    (void)state;
    struct scene scene;
    scene_init(&scene);
    rt_listener_close(scene.peer.listener);
    scene.peer.listener = NULL;
    struct caller *caller = call(&scene);
    assert_failed(caller, BELAY_ERROR_REFUSED, BELAY_PHASE_CONNECT);
    assert_false(caller->failure.bytes_accepted);
    scene_deinit(&scene);
}

static void connecting_takes_too_long(void **state)
{
    (void)state;
    struct scene scene;
    scene_init(&scene);
    struct sim_link link = sim_link_perfect();
    link.lost = 1000;
    sim_link_set(scene.rt, NULL, &link);
    struct caller *caller = start(&scene);
    pass(&scene, 299);
    assert_int_equal(caller->failures, 0);
    pass(&scene, 2);
    assert_failed(caller, BELAY_ERROR_TIMEOUT, BELAY_PHASE_CONNECT);
    assert_int_equal(caller->ended_at_ms, 300);
    scene_deinit(&scene);
}

static void no_descriptor_is_left(void **state)
{
    (void)state;
    struct scene scene;
    scene_init(&scene);
    struct sim_link link = sim_link_perfect();
    link.exhausted = 1000;
    sim_link_set(scene.rt, NULL, &link);
    assert_failed(call(&scene), BELAY_ERROR_REFUSED, BELAY_PHASE_CONNECT);
    scene_deinit(&scene);
}

static void set_name(struct scene *scene, int64_t takes_ms, size_t count,
                     enum belay_error_class error)
{
    struct sim_name name = {.host = "orders.test", .takes = belay_span_ms(takes_ms)};
    name.result = (struct rt_resolved){.error = error, .count = count, .ttl = belay_span_ms(10000)};
    for (size_t i = 0; i < count; i++) { /* only the last of them has a listener */
        name.result.addrs[i] =
            (struct rt_addr){.family = 4, .ip = {127, 0, 0, (uint8_t)(count - i)}};
    }
    sim_name_set(scene->rt, &name);
}

static void names_are_resolved_and_kept_for_their_time(void **state)
{
    (void)state;
    struct scene scene;
    scene_named(&scene, "orders.test");
    scene.options.fresh = true;
    set_name(&scene, 40, 3, BELAY_ERROR_NONE);
    struct caller *caller = call(&scene); /* two addresses refuse, the third answers */
    assert_answered(caller, 200, "ok");
    assert_int_equal(caller->ended_at_ms, 40);
    set_name(&scene, 40, 0, BELAY_ERROR_DNS);
    assert_answered(call(&scene), 200, "ok");
    pass(&scene, 10000);
    caller = call(&scene);
    assert_failed(caller, BELAY_ERROR_DNS, BELAY_PHASE_DNS);
    assert_false(caller->failure.bytes_accepted);
    scene_deinit(&scene);
}

static void a_name_server_that_is_silent(void **state)
{
    (void)state;
    struct scene scene;
    scene_named(&scene, "orders.test");
    set_name(&scene, 10000, 1, BELAY_ERROR_NONE);
    struct caller *caller = start(&scene);
    pass(&scene, 400);
    assert_failed(caller, BELAY_ERROR_TIMEOUT, BELAY_PHASE_DNS);
    assert_int_equal(caller->ended_at_ms, 300);
    scene_deinit(&scene);
}

static void silence_is_measured_from_the_last_byte(void **state)
{
    (void)state;
    struct scene scene;
    scene_init(&scene);
    PEER_SAYS(&scene.peer,
              {.bytes = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nok", .after_ms = 4000});
    struct caller *caller = start(&scene);
    struct caller *other = NULL;
    pass(&scene, 2000);
    other = start(&scene);
    pass(&scene, 6999);
    assert_int_equal(caller->failures, 0);
    pass(&scene, 2);
    assert_failed(caller, BELAY_ERROR_TIMEOUT, BELAY_PHASE_BODY);
    assert_int_equal(caller->ended_at_ms, 9000);
    assert_true(caller->failure.head_read);
    assert_int_equal(other->failures, 0);
    pass(&scene, 2000);
    assert_int_equal(other->ended_at_ms, 11000);
    scene_deinit(&scene);
}

static void dripping_is_not_silence(void **state)
{
    (void)state;
    struct scene scene;
    scene_init(&scene);
    PEER_SAYS(&scene.peer,
              {.bytes = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ndrip", .drip_ms = 4900});
    struct caller *caller = start(&scene);
    pass(&scene, 4900 * 50);
    assert_answered(caller, 200, "drip");
    scene_deinit(&scene);
}

static void what_is_no_answer(void **state)
{
    (void)state;
    static char flood[40000];
    static const struct {
        const char *bytes;
        enum belay_error_class error;
        enum belay_phase phase;
        enum peer_then then;
    } rows[] = {
        {"HTTP/1.1 99 X\r\n\r\n", BELAY_ERROR_PROTOCOL, BELAY_PHASE_HEADERS, PEER_KEEP},
        {"HTTP/3 200\r\n\r\n", BELAY_ERROR_PROTOCOL, BELAY_PHASE_HEADERS, PEER_KEEP},
        {"garbage\r\n\r\n", BELAY_ERROR_PROTOCOL, BELAY_PHASE_HEADERS, PEER_KEEP},
        {"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
         BELAY_ERROR_PROTOCOL, BELAY_PHASE_HEADERS, PEER_KEEP},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", BELAY_ERROR_PROTOCOL,
         BELAY_PHASE_BODY, PEER_KEEP},
        {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel", BELAY_ERROR_CLOSED, BELAY_PHASE_BODY,
         PEER_CLOSE},
        {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel", BELAY_ERROR_RESET, BELAY_PHASE_BODY,
         PEER_RESET},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n", BELAY_ERROR_CLOSED,
         BELAY_PHASE_BODY, PEER_CLOSE},
        {"HTTP/1.1 200 OK\r\n\r\nup to", BELAY_ERROR_RESET, BELAY_PHASE_BODY, PEER_RESET},
        {"HTTP/1.1 200 OK\r\nConte", BELAY_ERROR_CLOSED, BELAY_PHASE_HEADERS, PEER_CLOSE},
        {"", BELAY_ERROR_CLOSED, BELAY_PHASE_HEADERS, PEER_CLOSE},
        {flood, BELAY_ERROR_TOO_LARGE, BELAY_PHASE_HEADERS, PEER_KEEP},
    };
    memset(flood, 'x', sizeof flood - 1);
    memcpy(flood, "HTTP/1.1 200 OK\r\nX: ", 20);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct scene scene;
        scene_init(&scene);
        struct peer_reply reply = {.bytes = rows[i].bytes, .then = rows[i].then, .then_ms = 1};
        scene.peer.script = &reply;
        struct caller *caller = call(&scene);
        assert_failed(caller, rows[i].error, rows[i].phase);
        assert_true(caller->failure.bytes_accepted);
        assert_false(caller->failure.stale);
        assert_int_equal(stats(&scene).open, 0);
        scene_deinit(&scene);
    }
}

static void interim_answers_are_dropped_up_to_a_number(void **state)
{
    (void)state;
    char bytes[4096] = "";
    for (int count = 0; count < 20; count += 4) {
        struct scene scene;
        scene_init(&scene);
        bytes[0] = '\0';
        for (int i = 0; i < count; i++) {
            strcat(bytes, i % 2 ? "HTTP/1.1 100 C\r\n\r\n" : "HTTP/1.1 103 E\r\nLink: x\r\n\r\n");
        }
        strcat(bytes, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
        struct peer_reply reply = {.bytes = bytes};
        scene.peer.script = &reply;
        struct caller *caller = call(&scene);
        if (count <= 16)
            assert_answered(caller, 200, "ok");
        else
            assert_failed(caller, BELAY_ERROR_PROTOCOL, BELAY_PHASE_HEADERS);
        scene_deinit(&scene);
    }
}

/* ---- cancelling, pausing, streaming ---- */

static void a_cancelled_call_is_heard_of_no_more(void **state)
{
    (void)state;
    static const int64_t moments_ms[] = {0, 1, 50, 99};
    for (size_t i = 0; i < 4; i++) {
        struct scene scene;
        scene_init(&scene);
        PEER_SAYS(&scene.peer,
                  {.bytes = "HTTP/1.1 200 OK\r\nContent-Length: 60\r\n\r\nok", .after_ms = 50});
        struct caller *caller = start(&scene);
        pass(&scene, moments_ms[i]);
        client_call_cancel(&caller->call);
        pass(&scene, 10000);
        assert_int_equal(caller->ends + caller->failures, 0);
        assert_int_equal(stats(&scene).open, 0);
        assert_int_equal(peer_open(&scene.peer), 0);
        scene_deinit(&scene);
    }
}

static void a_pause_stops_the_bytes_and_the_clock(void **state)
{
    (void)state;
    struct scene scene;
    scene_init(&scene);
    PEER_SAYS(&scene.peer, {.bytes = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                                     "2\r\nab\r\n2\r\ncd\r\n2\r\nef\r\n0\r\n\r\n"});
    struct caller *caller = start(&scene);
    caller->pause_at = 2;
    pass(&scene, 60000);
    assert_string_equal(caller->body, "ab");
    assert_int_equal(caller->failures + caller->ends, 0);
    caller->pause_at = 4;
    client_call_resume(&caller->call);
    assert_string_equal(caller->body, "ab"); /* not from inside */
    pass(&scene, 60000);
    assert_string_equal(caller->body, "abcd");
    caller->pause_at = 0;
    client_call_resume(&caller->call);
    pass(&scene, 1);
    assert_answered(caller, 200, "abcdef");
    assert_int_equal(stats(&scene).idle, 1);
    scene_deinit(&scene);
}

static void a_body_is_streamed(void **state)
{
    (void)state;
    struct scene scene;
    scene_init(&scene);
    static const char head[] = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n";
    struct caller *caller = start_with(&scene, head, "abc", false);
    pass(&scene, 1);
    assert_int_equal(caller->writables, 1);
    pass(&scene, 60000); /* the caller owes bytes: no clock runs */
    assert_int_equal(caller->failures, 0);
    assert_int_equal(client_call_body(&caller->call, belay_slice_z("def"), false), 3);
    pass(&scene, 60000);
    assert_int_equal(caller->failures, 0);
    assert_int_equal(client_call_body(&caller->call, belay_slice_z("ghi"), true), 3);
    pass(&scene, 1);
    assert_answered(caller, 200, "ok");
    assert_non_null(strstr(peer_seen(&scene.peer), "\r\n\r\nabcdefghi\n--\n"));
    assert_int_equal(stats(&scene).idle, 1);
    scene_deinit(&scene);
}

static void a_body_that_is_not_taken_waits(void **state)
{
    (void)state;
    static char bytes[200000];
    struct scene scene;
    scene_init(&scene);
    memset(bytes, 'b', sizeof bytes - 1);
    PEER_SAYS(&scene.peer, {.bytes = KEEP_SILENT, .at_head = true, .deaf = true});
    static const char head[] = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 200000\r\n\r\n";
    struct caller *caller = start_with(&scene, head, "", false);
    pass(&scene, 1);
    size_t taken = client_call_body(&caller->call, belay_slice_z(bytes), false);
    assert_true(taken < sizeof bytes - 1);
    assert_int_equal(client_call_phase(&caller->call), BELAY_PHASE_SEND);
    pass(&scene, 5000);
    assert_int_equal(caller->writables, 1);
    assert_failed(caller, BELAY_ERROR_TIMEOUT, BELAY_PHASE_SEND);
    scene_deinit(&scene);
}

static void an_early_answer_is_given_and_ends_the_connection(void **state)
{
    (void)state;
    struct scene scene;
    scene_init(&scene);
    PEER_SAYS(&scene.peer,
              {.bytes = "HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno", .at_head = true});
    static const char head[] = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n";
    struct caller *caller = start_with(&scene, head, "abc", false);
    pass(&scene, 10);
    assert_answered(caller, 413, "no");
    assert_int_equal(stats(&scene).open, 0);
    scene_deinit(&scene);
}

static void any_cut_of_the_bytes_gives_the_same(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        struct scene scene;
        scene_init(&scene);
        struct sim_link link = sim_link_perfect();
        link.short_read = link.short_write = 700;
        link.spurious = 300;
        sim_link_set(scene.rt, NULL, &link);
        PEER_SAYS(&scene.peer,
                  {.bytes =
                       "HTTP/1.1 100 C\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                       "2;x\r\nab\r\n3\r\ncde\r\n0\r\nT: u\r\n\r\n"});
        for (uint64_t skip = 0; skip < seed; skip++) (void)sim_luck(scene.rt, 2);
        for (int i = 0; i < 3; i++) {
            assert_answered(call(&scene), 200, "abcde");
        }
        assert_int_equal(scene.peer.accepted, 1);
        scene_deinit(&scene);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_connection_is_reused),
        cmocka_unit_test(the_latest_used_goes_first_and_few_are_kept),
        cmocka_unit_test(a_fresh_one_is_made_when_asked_for),
        cmocka_unit_test(what_ends_a_connection),
        cmocka_unit_test(unsolicited_bytes_end_an_idle_connection),
        cmocka_unit_test(dropping_the_idle),
        cmocka_unit_test(a_dead_one_is_found_by_the_peek),
        cmocka_unit_test(one_that_takes_no_byte_is_no_attempt),
        cmocka_unit_test(a_request_that_took_the_bytes_and_lost_them_is_stale),
        cmocka_unit_test(nobody_listens),
        cmocka_unit_test(connecting_takes_too_long),
        cmocka_unit_test(no_descriptor_is_left),
        cmocka_unit_test(names_are_resolved_and_kept_for_their_time),
        cmocka_unit_test(a_name_server_that_is_silent),
        cmocka_unit_test(silence_is_measured_from_the_last_byte),
        cmocka_unit_test(dripping_is_not_silence),
        cmocka_unit_test(what_is_no_answer),
        cmocka_unit_test(interim_answers_are_dropped_up_to_a_number),
        cmocka_unit_test(a_cancelled_call_is_heard_of_no_more),
        cmocka_unit_test(a_pause_stops_the_bytes_and_the_clock),
        cmocka_unit_test(a_body_is_streamed),
        cmocka_unit_test(a_body_that_is_not_taken_waits),
        cmocka_unit_test(an_early_answer_is_given_and_ends_the_connection),
        cmocka_unit_test(any_cut_of_the_bytes_gives_the_same),
    };
    return cmocka_run_group_tests_name("client/client", tests, NULL, NULL);
}
