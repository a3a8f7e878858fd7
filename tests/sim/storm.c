/* storm.c: draws a world from its seed, lets it happen, and takes it down (storm.h). */
#include "storm.h"

#include "base/check.h"
#include "caller.h"
#include "egress.h"
#include "origin.h"

#include <stdarg.h>
#include <stdlib.h>

#define CALLERS_MAX 16
#define RESTARTS_MAX 3
#define TEXT_BYTES 4096
#define HORIZON belay_span_ms(300000)

struct restart {
    struct rt_timer timer;
    struct origin *origin;
};

struct world {
    struct storm *storm;
    struct rt *rt;
    struct rng dice; /* draws the world; what happens in it has its own */
    struct origin *origin;
    struct egress egress;
    struct caller *callers[CALLERS_MAX];
    size_t caller_count;
    struct restart restarts[RESTARTS_MAX];
    struct rt_timer drain;
    bool drained, drains;
    char yaml[TEXT_BYTES], script[TEXT_BYTES];
};

/* ---- dice ---- */

static uint64_t below(struct world *world, uint64_t bound)
{
    return rng_scale(rng_next(&world->dice), bound);
}

static bool one_in(struct world *world, uint64_t n)
{
    return below(world, n) == 0;
}

#define PICK(world, ...)                                                                           \
    (((const char *const[]){                                                                       \
        __VA_ARGS__})[below(world, sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))])

static void append(char text[TEXT_BYTES], const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void append(char text[TEXT_BYTES], const char *format, ...)
{
    size_t length = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    int more = vsnprintf(text + length, TEXT_BYTES - length, format, arguments);
    va_end(arguments);
    CHECK(more >= 0 && length + (size_t)more < TEXT_BYTES);
}

/* ---- the policy ---- */

static void draw_policy(struct world *world)
{
    char *yaml = world->yaml;
    append(yaml, "targets:\n  sim:\n    addresses: [ %s:9000 ]\n    policy:\n",
           PICK(world, "127.0.0.1", "sim.test"));
    append(yaml, "      deadline: %s\n", PICK(world, "300ms", "1s", "3s", "10s"));
    append(yaml, "      connect_timeout: %s\n", PICK(world, "50ms", "200ms"));
    append(yaml, "      silence_timeout: %s\n", PICK(world, "100ms", "250ms"));
    append(yaml, "      attempt_timeout: %s\n", PICK(world, "none", "100ms", "280ms"));
    append(yaml, "      attempts: %s\n", PICK(world, "1", "2", "3", "5"));
    append(yaml, "      backoff: { kind: %s, base: %s, max: 1s }\n",
           PICK(world, "additive", "full", "equal", "decorrelated", "none", "constant"),
           PICK(world, "1ms", "50ms"));
    append(yaml, "      budget: { ratio: %s, burst: %s }\n", PICK(world, "0%", "10%", "100%"),
           PICK(world, "1", "3", "10"));
    append(yaml, "      breaker: %s\n",
           PICK(world, "off",
                "{ window: 1s, min_calls: 3, consecutive: 3, open_for: 100ms, open_max: 1s }",
                "{ window: 10s, min_calls: 10, failure_rate: 20%, open_for: 1s, open_max: 5s, "
                "probes: 2 }"));
    append(yaml, "      bulkhead: %s\n",
           PICK(world, "{ max: 64, queue: 0 }", "{ max: 1, queue: 8 }", "{ max: 2, queue: 1 }",
                "{ max: 1, queue: 0 }"));
    append(yaml, "      quota: %s\n",
           PICK(world, "off", "off", "{ rate: 5/s, burst: 2, queue: 4 }"));
    append(yaml, "      hold: { max: %s, scope: target }\n", PICK(world, "1s", "60s"));
    append(yaml, "      replay_buffer: %s\n", PICK(world, "1KiB", "256KiB"));
    append(yaml, "      keep_alive: { idle: %s, max: %s }\n", PICK(world, "20ms", "4s"),
           PICK(world, "1", "256"));
    append(yaml, "listeners:\n  - listen: 127.0.0.1:8080\n    kind: egress\n    routes:\n"
                 "      - { path: '/keyed/{id}', target: sim, idempotency_key: honoured }\n"
                 "      - { path: '/put/{id}', target: sim, idempotent: [ PUT ] }\n"
                 "      - { path: '/any/{id}', target: sim }\n");
}

/* ---- the origin and its link ---- */

static void draw_script(struct world *world)
{
    uint64_t steps = 2 + below(world, 6);
    append(world->script, "ok %s\n", PICK(world, "", "1ms", "20ms"));
    for (uint64_t i = 0; i < steps; i++) {
        const char *delay = PICK(world, "", "1ms", "30ms", "120ms");
        const char *body = PICK(world, "", "body 0b", "body 700b", "body 20KiB", "body 100KiB");
        const char *framing = PICK(world, "", "", "chunked", "until-close");
        const char *what =
            PICK(world, "ok", "ok", "ok then close", "ok continue", "503", "503 retry-after 1s",
                 "503 retry-after 2s", "502", "429", "429 retry-after 1s", "504", "status 404",
                 "status 500", "status 204", "status 304", "silence", "close before",
                 "reset before", "close on reuse", "reset on reuse", "garbage", "ok early",
                 "503 early", "ok drip 1KiB/20ms", "ok drip 1b/90ms", "ok drip 1b/120ms");
        append(world->script, "%s %s %s %s\n", what, delay, body, framing);
    }
    if (one_in(world, 2)) {
        append(world->script, "%s body 8KiB\n",
               PICK(world, "close mid-length", "close mid-chunk", "reset mid-body",
                    "reset after head", "reset mid-body chunked", "reset mid-body until-close"));
    }
}

static uint32_t draw_share(struct world *world, uint32_t most)
{
    return one_in(world, 2) ? 0 : (uint32_t)below(world, most + 1);
}

static void draw_links(struct world *world)
{
    struct sim_link link = sim_link_perfect();
    link.latency_max = belay_span_ms((int64_t)below(world, 4) * 5);
    link.latency_min = one_in(world, 2) ? link.latency_max : belay_span_ms(0);
    link.window_bytes = one_in(world, 3) ? 500 : 64 * 1024;
    link.lost = draw_share(world, 100);
    link.refused = draw_share(world, 200);
    link.late = draw_share(world, 200);
    link.late_for = belay_span_ms(150);
    link.exhausted = draw_share(world, 50);
    link.short_read = draw_share(world, 800);
    link.short_write = draw_share(world, 800);
    link.spurious = draw_share(world, 300);
    link.reset = draw_share(world, 30);
    struct rt_addr origin = {.family = 4, .port = 9000, .ip = {127, 0, 0, 1}};
    sim_link_set(world->rt, &origin, &link);
    world->storm->rules.latency_max = link.latency_max;

    struct sim_link callers = sim_link_perfect();
    callers.latency_max = belay_span_ms((int64_t)below(world, 3));
    callers.window_bytes = one_in(world, 3) ? 300 : 64 * 1024;
    callers.short_read = draw_share(world, 800);
    callers.short_write = draw_share(world, 800);
    callers.spurious = draw_share(world, 300);
    callers.reset = draw_share(world, 10);
    sim_link_set(world->rt, NULL, &callers);
}

static void draw_name(struct world *world)
{
    struct sim_name name = {.host = "sim.test",
                            .takes = belay_span_ms((int64_t)below(world, 3) * 20)};
    if (one_in(world, 10)) {
        name.result.error = BELAY_ERROR_DNS;
    } else {
        name.result.count = 1;
        name.result.addrs[0] = (struct rt_addr){.family = 4, .ip = {127, 0, 0, 1}};
        name.result.ttl = belay_span_ms((int64_t)below(world, 2) * 500);
    }
    sim_name_set(world->rt, &name);
}

static void on_restart(struct rt_timer *timer)
{
    origin_restart(CONTAINER_OF(timer, struct restart, timer)->origin);
}

static void on_drained(void *owner)
{
    struct world *world = owner;
    world->drained = true;
}

static void on_drain(struct rt_timer *timer)
{
    struct world *world = CONTAINER_OF(timer, struct world, drain);
    history_note(&world->storm->history, "world", "drains");
    proxy_announce_drain(world->egress.proxy);
    proxy_drain(world->egress.proxy, belay_span_ms(200), on_drained, world);
}

static struct belay_instant in_ms(struct world *world, uint64_t ms)
{
    return belay_instant_add(rt_now(world->rt), belay_span_ms((int64_t)ms));
}

static void draw_turns_of_fate(struct world *world)
{
    for (int i = 0; i < RESTARTS_MAX; i++) {
        world->restarts[i].origin = world->origin;
        rt_timer_init(&world->restarts[i].timer, on_restart);
        if (one_in(world, 2))
            rt_timer_arm(world->rt, &world->restarts[i].timer, in_ms(world, below(world, 5000)));
    }
    rt_timer_init(&world->drain, on_drain);
    world->drains = one_in(world, 4);
    world->storm->rules.draining = world->drains;
    if (world->drains) rt_timer_arm(world->rt, &world->drain, in_ms(world, below(world, 5000)));
}

/* ---- the callers ---- */

static void draw_request(struct world *world, struct caller_request *request, size_t caller,
                         size_t n)
{
    static const struct {
        const char *method, *path;
        bool keyed, body;
    } kinds[] = {
        {"GET", "/any/1", false, false},  {"GET", "/any/1", false, false},
        {"HEAD", "/any/2", false, false}, {"POST", "/any/3", false, true},
        {"POST", "/any/3", false, true},  {"POST", "/keyed/4", true, true},
        {"PUT", "/put/5", false, true},   {"DELETE", "/any/6", false, false},
    };
    static const char *const garbage[] = {
        "GET /garbage HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        "GET /garbage HTTP/2.0\r\nHost: a\r\n\r\n",
        "GET  /garbage HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET /garbage HTTP/1.1\r\nHost : a\r\n\r\n",
        ("POST /garbage HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n"
         "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        "POST /garbage HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
        "POST /garbage HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n",
        "\x16\x03\x01\x02\x00\x01/garbage\r\n\r\n",
    };
    if (one_in(world, 25)) {
        request->garbage = garbage[below(world, sizeof(garbage) / sizeof(garbage[0]))];
        return;
    }
    uint64_t kind = below(world, sizeof(kinds) / sizeof(kinds[0]));
    static const size_t sizes[] = {0, 1, 50, 900, 1500, 20000, 300000};
    snprintf(request->operation, sizeof(request->operation), "op-%zu-%zu", caller, n);
    request->method = kinds[kind].method;
    request->path = kinds[kind].path;
    request->keyed = kinds[kind].keyed;
    if (!kinds[kind].body) return;
    request->body_bytes = sizes[below(world, sizeof(sizes) / sizeof(sizes[0]))];
    request->chunked = one_in(world, 3);
    request->expects_continue = one_in(world, 8);
}

static void draw_caller(struct world *world)
{
    struct caller_plan plan = {.to = world->egress.addr, .count = 1 + (size_t)below(world, 4)};
    size_t number = world->caller_count;
    for (size_t n = 0; n < plan.count; n++) draw_request(world, &plan.requests[n], number, n);
    snprintf(plan.name, sizeof(plan.name), "caller%u", (unsigned)number % CALLERS_MAX);
    plan.starts_after = belay_span_ms((int64_t)below(world, one_in(world, 2) ? 50 : 4000));
    plan.pipelined = one_in(world, 4);
    plan.pause = belay_span_ms((int64_t)below(world, 3) * 30);
    if (one_in(world, 4)) {
        plan.split_bytes = 1 + (size_t)below(world, 400);
        plan.split_gap = belay_span_ms((int64_t)below(world, 3));
    }
    if (one_in(world, 5)) {
        plan.read_bytes = 50 + (size_t)below(world, 2000);
        plan.read_gap = belay_span_ms(1 + (int64_t)below(world, 20));
    }
    if (one_in(world, 6)) {
        plan.vanishes_after = belay_span_ms(1 + (int64_t)below(world, 800));
        plan.vanishes_with_reset = one_in(world, 2);
    }
    plan.half_closes = one_in(world, 8);
    world->callers[world->caller_count++] = caller_create(&world->storm->history, &plan);
}

/* ---- from beginning to end ---- */

static void note_world(struct world *world)
{
    history_note(&world->storm->history, "world", "configuration and script");
    if (!world->storm->history.tracing) return;
    CHECK(buf_add(&world->storm->history.trace, world->yaml, strlen(world->yaml)));
    CHECK(buf_add(&world->storm->history.trace, world->script, strlen(world->script)));
}

static void count_what_waits(struct world *world)
{
    struct check_leftovers *left = &world->storm->left;
    struct belay_target_stats target;
    struct proxy_stats proxy;
    for (size_t i = 0; i < world->caller_count; i++)
        left->callers_waiting += !caller_done(world->callers[i]);
    egress_target_stats(&world->egress, 0, &target);
    proxy_stats(world->egress.proxy, &proxy);
    left->in_flight = target.in_flight;
    left->waiting = target.waiting;
    left->running = proxy.running + (world->drains && !world->drained ? 1 : 0);
}

static void take_down(struct world *world)
{
    for (size_t i = 0; i < world->caller_count; i++) caller_destroy(world->callers[i]);
    egress_deinit(&world->egress);
    origin_destroy(world->origin);
    for (int i = 0; i < RESTARTS_MAX; i++) rt_timer_disarm(world->rt, &world->restarts[i].timer);
    rt_timer_disarm(world->rt, &world->drain);
    (void)sim_run_until(world->rt, belay_instant_never());
    sim_open(world->rt, &world->storm->left.open);
}

void storm_run(struct storm *storm, uint64_t seed, bool tracing)
{
    struct world world = {.storm = storm, .rt = rt_create(seed)};
    *storm = (struct storm){0};
    rng_seed(&world.dice, seed ^ UINT64_C(0x5740524d));
    history_init(&storm->history, world.rt);
    storm->history.tracing = tracing;
    sim_shuffle(world.rt, one_in(&world, 2));
    draw_policy(&world);
    draw_script(&world);
    draw_links(&world);
    draw_name(&world);
    note_world(&world);
    world.origin = origin_create(&storm->history, "origin", 9000, world.script, ORIGIN_BY_LUCK);
    egress_init(&world.egress, &storm->history, world.yaml);
    storm->rules.policy = world.egress.conf->targets[0].policy;
    draw_turns_of_fate(&world);
    for (uint64_t count = 2 + below(&world, CALLERS_MAX - 2); count > 0; count--)
        draw_caller(&world);
    (void)sim_run_until(world.rt, belay_instant_add(rt_now(world.rt), HORIZON));
    count_what_waits(&world);
    take_down(&world);
    rt_destroy(world.rt);
    storm->history.rt = NULL;
}

void storm_deinit(struct storm *storm)
{
    history_deinit(&storm->history);
}
