/* test_shortage.c: whole stories through the proxy, in which every allocation fails once: alone,
 * with the two after it, or with all that follow until the story is over.
 *
 * Whatever fails, every checker of a storm holds; the caller is given what it would be given
 * anyway, an honest error of ours, or a cut that it can see; nobody but us is blamed; and the next
 * request goes through as if nothing had been.
 */
#include "test.h"

#include "caller.h"
#include "check.h"
#include "egress.h"
#include "origin.h"
#include "shortage.h"

#include <stdlib.h>

#define SPAN_MS 30000
#define REQUESTS_MAX 3

struct story {
    const char *name, *script;
    struct caller_plan plan;
    int status;                           /* what each request is given when memory is there */
    bool short_reads, short_writes, slow; /* the origin's link, the caller */
};

static const struct story STORIES[] = {
    {"two 503, then 200",
     "503 5ms body 700b\n503 body 50b chunked\nok body 700b\n",
     {.requests = {{"op", "GET", "/any/1"}}, .count = 1},
     .status = 200},
    {"three held answers, the last is given",
     "503 body 700b\n503 body 700b\n503 body 700b\nok\n",
     {.requests = {{"op", "GET", "/any/1"}}, .count = 1},
     .status = 503},
    {"a held answer that is too large",
     "503 body 20KiB\n503 body 20KiB\n503 body 20KiB\nok\n",
     {.requests = {{"op", "GET", "/any/1"}}, .count = 1},
     .status = 503},
    {"a collected body",
     "ok body 50b\n",
     {.requests = {{"op", "POST", "/any/1", .body_bytes = 900}}, .count = 1},
     .status = 200},
    {"a collected body, repeated",
     "503 10ms\nok body 50b\n",
     {.requests = {{"op", "POST", "/keyed/1", .body_bytes = 900, .keyed = true}}, .count = 1},
     .status = 200},
    {"a collected body in chunks",
     "ok body 50b\n",
     {.requests = {{"op", "POST", "/any/1", .body_bytes = 900, .chunked = true}}, .count = 1},
     .status = 200},
    {"a streamed body",
     "ok body 50b\n",
     {.requests = {{"op", "POST", "/any/1", .body_bytes = 200000}}, .count = 1},
     .status = 200,
     .short_writes = true},
    {"a streamed body in chunks",
     "ok body 50b\n",
     {.requests = {{"op", "POST", "/any/1", .body_bytes = 90000, .chunked = true}}, .count = 1},
     .status = 200,
     .short_writes = true},
    {"a body that waits for a 100",
     "ok continue body 50b\n",
     {.requests = {{"op", "POST", "/any/1", .body_bytes = 900, .expects_continue = true}},
      .count = 1},
     .status = 200},
    {"a long answer to a slow reader",
     "ok body 200KiB\n",
     {.requests = {{"op", "GET", "/any/1"}}, .count = 1},
     .status = 200,
     .slow = true},
    {"a long answer in chunks to a slow reader",
     "ok body 200KiB chunked\n",
     {.requests = {{"op", "GET", "/any/1"}}, .count = 1},
     .status = 200,
     .slow = true},
    {"an answer in little pieces",
     "ok body 700b chunked\n",
     {.requests = {{"op", "GET", "/any/1"}}, .count = 1},
     .status = 200,
     .short_reads = true},
    {"an answer that ends by closing",
     "ok body 20KiB until-close\n",
     {.requests = {{"op", "GET", "/any/1"}}, .count = 1},
     .status = 200,
     .short_reads = true},
    {"three requests on one connection",
     "ok body 700b\n",
     {.requests = {{"op", "GET", "/any/1"}, {"op2", "HEAD", "/any/2"}, {"op3", "GET", "/any/3"}},
      .count = 3},
     .status = 200},
    {"three pipelined requests",
     "ok body 700b\n",
     {.requests = {{"op", "GET", "/any/1"}, {"op2", "GET", "/any/2"}, {"op3", "GET", "/any/3"}},
      .count = 3,
      .pipelined = true},
     .status = 200},
    {"a pooled connection that dies",
     "ok body 50b\nclose on reuse\nok body 50b\n",
     {.requests = {{"op", "GET", "/any/1"}, {"op2", "GET", "/any/2"}}, .count = 2},
     .status = 200},
    {"no route", "ok\n", {.requests = {{"op", "GET", "/none"}}, .count = 1}, .status = 404},
    {"no request",
     "ok\n",
     {.requests = {{"op", .garbage = "GET /garbage HTTP/1.1\r\nHost : a\r\n\r\n"}}, .count = 1},
     .status = 400},
};

static const char YAML[] =
    "targets:\n  sim:\n    addresses: [ sim.test:9000 ]\n    policy:\n"
    "      deadline: 10s\n"
    "      attempts: 3\n"
    "      backoff: { kind: constant, base: 20ms }\n"
    "      breaker: { consecutive: 4 }\n"
    "      bulkhead: { max: 4, queue: 4 }\n"
    "      replay_buffer: 1KiB\n"
    "listeners:\n  - listen: 127.0.0.1:8080\n    kind: egress\n    routes:\n"
    "      - { path: '/keyed/{id}', target: sim, idempotency_key: honoured }\n"
    "      - { path: '/any/{id}', target: sim }\n";

struct world {
    struct rt *rt;
    struct history history;
    struct origin *origin;
    struct egress egress;
};

static void world_init(struct world *world, const struct story *story)
{
    struct sim_name name = {.host = "sim.test", .takes = belay_span_ms(5)};
    struct sim_link link = sim_link_perfect(), near = sim_link_perfect();
    struct rt_addr origin = {.family = 4, .port = 9000, .ip = {127, 0, 0, 1}};
    world->rt = rt_create(1);
    name.result.count = 1;
    name.result.addrs[0] = origin;
    name.result.ttl = belay_span_ms(10);
    sim_name_set(world->rt, &name);
    link.short_read = story->short_reads ? 900 : 0;
    link.short_write = story->short_writes ? 900 : 0;
    link.window_bytes = story->short_writes ? 500 : link.window_bytes;
    sim_link_set(world->rt, &origin, &link);
    near.window_bytes = story->slow ? 2000 : near.window_bytes;
    sim_link_set(world->rt, NULL, &near);
    history_init(&world->history, world->rt);
    world->history.tracing = getenv("BELAY_TRACE") != NULL;
    world->origin = origin_create(&world->history, "origin", 9000, story->script, ORIGIN_IN_TURN);
    egress_init(&world->egress, &world->history, YAML);
}

static struct caller *play(struct world *world, struct caller_plan plan)
{
    plan.to = world->egress.addr;
    struct caller *caller = caller_create(&world->history, &plan);
    (void)sim_run_until(world->rt, belay_instant_add(rt_now(world->rt), belay_span_ms(SPAN_MS)));
    return caller;
}

/* An error that says what it is: 503, or that the effect of what was sent is not known. */
static bool is_honest(const struct story *story, const struct reply *reply)
{
    bool unknown = reply->status == 504 && strcmp(reply->method, "POST") == 0;
    return reply->status == story->status || reply->status == 503 || unknown;
}

static void check_replies(const struct story *story, const struct caller *caller)
{
    assert_true(caller_done(caller));
    for (size_t n = 0; n < story->plan.count; n++) {
        const struct reply *reply = caller_reply(caller, n);
        bool cut = reply->kind == REPLY_CUT && reply->status == story->status;
        /* The answer before it announced that its connection would close. */
        bool late = n > 0 && (reply->kind == REPLY_UNSENT || reply->kind == REPLY_CLOSED);
        bool honest = reply->kind == REPLY_WHOLE && is_honest(story, reply);
        assert_true(honest || cut || late);
    }
}

/* What is ours is told as ours: the target did what its script says, and nothing else is said of
 * it.
 */
static void check_blame(const struct world *world)
{
    for (size_t i = 0; i < world->history.attempts.count; i++) {
        const struct attempt_record *record = history_attempt(&world->history, i);
        bool ours = record->error[0] == '\0' || strcmp(record->error, "cancelled") == 0;
        assert_true(ours || record->stale);
    }
    struct belay_target_stats stats;
    egress_target_stats(&world->egress, 0, &stats);
    assert_int_equal(stats.breaker_state, BELAY_BREAKER_CLOSED);
    assert_int_equal(stats.in_flight + stats.waiting, 0);
}

static void check_next_request(struct world *world)
{
    struct caller_plan plan = {.requests = {{"next", "GET", "/any/9"}}, .count = 1};
    origin_script(world->origin, "ok body 700b\n");
    struct caller *caller = play(world, plan);
    assert_int_equal(caller_reply(caller, 0)->kind, REPLY_WHOLE);
    assert_int_equal(caller_reply(caller, 0)->status, 200);
    caller_destroy(caller);
}

static void check_world(struct world *world, const char *what, long n)
{
    struct check_rules rules = {.policy = world->egress.conf->targets[0].policy,
                                .short_of_memory = true};
    char why[CHECK_WHY_BYTES];
    const char *broken = check_history(&world->history, &rules, why);
    if (broken) print_message("%s, allocation %ld: %s: %s\n", what, n, broken, why);
    assert_null(broken);
}

static void take_down(struct world *world)
{
    struct check_leftovers left = {0};
    char why[CHECK_WHY_BYTES];
    egress_deinit(&world->egress);
    origin_destroy(world->origin);
    (void)sim_run_until(world->rt, belay_instant_never());
    sim_open(world->rt, &left.open);
    assert_null(check_leftovers(&left, why));
    rt_destroy(world->rt);
    history_deinit(&world->history);
}

/* How many allocations found no memory. */
static long tell(const struct story *story, long n, long width)
{
    struct world world;
    struct caller_plan plan = story->plan;
    world_init(&world, story);
    if (world.history.tracing) print_message("%s, allocation %ld of %ld\n", story->name, n, width);
    if (story->slow) {
        plan.read_bytes = 1500;
        plan.read_gap = belay_span_ms(1);
    }
    shortage_begin(n, width);
    struct caller *caller = play(&world, plan);
    long failed = shortage_end();
    struct belay_slice trace = buf_slice(&world.history.trace);
    if (trace.length) print_message("%.*s", (int)trace.length, trace.data);
    check_replies(story, caller);
    check_blame(&world);
    caller_destroy(caller);
    check_next_request(&world);
    check_world(&world, story->name, n);
    take_down(&world);
    return failed;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    static const long widths[] = {1, 3, SHORTAGE_FOREVER};
    long runs = 0;
    for (size_t i = 0; i < sizeof STORIES / sizeof STORIES[0]; i++) {
        for (size_t w = 0; w < sizeof widths / sizeof widths[0]; w++) {
            long n = 0;
            while (tell(&STORIES[i], n, widths[w]) > 0) n++;
            assert_true(n > 2);
            runs += n;
        }
    }
    print_message("%ld stories with too little memory\n", runs);
}

static void with_memory_every_story_ends_well(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof STORIES / sizeof STORIES[0]; i++) {
        struct world world;
        world_init(&world, &STORIES[i]);
        struct caller *caller = play(&world, STORIES[i].plan);
        for (size_t n = 0; n < STORIES[i].plan.count; n++) {
            assert_int_equal(caller_reply(caller, n)->kind, REPLY_WHOLE);
            assert_int_equal(caller_reply(caller, n)->status, STORIES[i].status);
        }
        caller_destroy(caller);
        take_down(&world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(with_memory_every_story_ends_well),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests_name("shortage", tests, NULL, NULL);
}
