/* caller.c: makes the calls and notes what they are told (caller.h). */
#include "caller.h"

#include <string.h>

int64_t ms(const struct scene *scene)
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

void scene_named(struct scene *scene, const char *host)
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

void scene_init(struct scene *scene)
{
    scene_named(scene, "127.0.0.1");
}

void scene_deinit(struct scene *scene)
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

void pass(struct scene *scene, int64_t span_ms)
{
    struct rt_timer timer;
    struct belay_instant until = belay_instant_add(rt_now(scene->rt), belay_span_ms(span_ms));
    rt_timer_init(&timer, on_passed);
    rt_timer_arm(scene->rt, &timer, until);
    sim_run_until(scene->rt, until);
    rt_timer_disarm(scene->rt, &timer);
}

struct caller *start_with(struct scene *scene, const char *head, const char *body, bool body_ends)
{
    struct caller *caller = &scene->callers[scene->count++];
    caller->scene = scene;
    client_call_start(scene->client, &caller->call, &EVENTS, &scene->options, belay_slice_z(head),
                      belay_slice_z(body), body_ends);
    assert_int_equal(caller->heads + caller->ends + caller->failures + caller->writables,
                     0); /* only from the loop */
    return caller;
}

struct caller *start(struct scene *scene)
{
    return start_with(scene, "GET / HTTP/1.1\r\nHost: a\r\n\r\n", "", true);
}

struct caller *call(struct scene *scene)
{
    struct caller *caller = start(scene);
    pass(scene, 100);
    return caller;
}

struct client_stats stats(const struct scene *scene)
{
    struct client_stats out;
    client_stats(scene->client, &out);
    return out;
}

void assert_failed(const struct caller *caller, enum belay_error_class error,
                   enum belay_phase phase)
{
    assert_int_equal(caller->failures, 1);
    assert_int_equal(caller->ends, 0);
    assert_string_equal(belay_error_class_name(caller->failure.error),
                        belay_error_class_name(error));
    assert_string_equal(belay_phase_name(caller->failure.phase), belay_phase_name(phase));
}

void assert_answered(const struct caller *caller, int status, const char *body)
{
    assert_int_equal(caller->failures, 0);
    assert_int_equal(caller->heads, 1);
    assert_int_equal(caller->ends, 1);
    assert_int_equal(caller->status, status);
    assert_string_equal(caller->body, body);
}
