/* rt_sim.c: the simulated world's loop: virtual time, timers, posts, hooks and names. */
#include "rt_sim.h"

#include "base/check.h"

#include <stdio.h>
#include <stdlib.h>

/* More turns than any honest work needs at one instant. */
#define TURNS_AT_ONE_INSTANT_MAX 100000

struct belay_instant rt_now(struct rt *rt)
{
    return rt->now;
}

struct belay_wall rt_wall(struct rt *rt)
{
    return (struct belay_wall){SIM_EPOCH_NS + rt->now.ns - SIM_START_NS};
}

uint64_t rt_random(struct rt *rt)
{
    return rng_next(&rt->luck);
}

uint64_t sim_luck(struct rt *rt, uint64_t bound)
{
    return rng_scale(rng_next(&rt->world_luck), bound);
}

bool sim_chance(struct rt *rt, uint32_t per_thousand)
{
    return per_thousand > 0 && sim_luck(rt, 1000) < per_thousand;
}

void rt_timer_arm(struct rt *rt, struct rt_timer *timer, struct belay_instant at)
{
    timers_arm(&rt->timers, timer, at);
}

void rt_timer_disarm(struct rt *rt, struct rt_timer *timer)
{
    timers_disarm(&rt->timers, timer);
}

/* ---- posts and hooks ---- */

void rt_post(struct rt *rt, struct rt_post *post)
{
    post->next = NULL;
    *rt->posts_end = post;
    rt->posts_end = &post->next;
}

static void run_posts(struct rt *rt)
{
    struct rt_post *post = rt->posts;
    rt->posts = NULL;
    rt->posts_end = &rt->posts;
    while (post) {
        struct rt_post *next = post->next;
        post->run(post);
        post = next;
    }
}

void rt_hook_turn_end(struct rt *rt, struct rt_hook *hook)
{
    hook->next = NULL;
    *rt->hooks_end = hook;
    rt->hooks_end = &hook->next;
    rt->hook_count++;
}

void rt_hook_remove(struct rt *rt, struct rt_hook *hook)
{
    if (rt->hook_following == hook) rt->hook_following = hook->next;
    struct rt_hook **link = &rt->hooks;
    while (*link && *link != hook) link = &(*link)->next;
    if (!*link) return;
    *link = hook->next;
    if (rt->hooks_end == &hook->next) rt->hooks_end = link;
    rt->hook_count--;
}

static void run_hooks(struct rt *rt)
{
    for (struct rt_hook *hook = rt->hooks; hook; hook = rt->hook_following) {
        rt->hook_following = hook->next;
        hook->run(hook);
    }
}

/* ---- names ---- */

struct rt_resolve {
    struct rt *rt;
    struct rt_timer timer;
    struct rt_resolved result;
    void (*done)(void *owner, const struct rt_resolved *result);
    void *owner;
};

void sim_name_set(struct rt *rt, const struct sim_name *name)
{
    size_t i = 0;
    while (i < rt->name_count && strcmp(rt->names[i].host, name->host) != 0) i++;
    CHECK(i < SIM_NAMES_MAX);
    rt->names[i] = *name;
    if (i == rt->name_count) rt->name_count++;
}

static void on_resolved(struct rt_timer *timer)
{
    struct rt_resolve *resolve = CONTAINER_OF(timer, struct rt_resolve, timer);
    struct rt_resolve copy = *resolve;
    rt_resolve_cancel(resolve);
    copy.done(copy.owner, &copy.result);
}

static struct belay_span look_up(struct rt *rt, struct belay_slice host, uint16_t port,
                                 struct rt_resolved *out)
{
    *out = (struct rt_resolved){.error = BELAY_ERROR_DNS};
    if (rt_addr_parse(host, port, &out->addrs[0])) {
        out->error = BELAY_ERROR_NONE;
        out->count = 1;
        out->ttl.ns = INT64_MAX;
        return belay_span_ms(0);
    }
    for (size_t i = 0; i < rt->name_count; i++) {
        if (!belay_slice_equal(belay_slice_z(rt->names[i].host), host)) continue;
        *out = rt->names[i].result;
        for (size_t a = 0; a < out->count; a++) out->addrs[a].port = port;
        return rt->names[i].takes;
    }
    return belay_span_ms(0);
}

struct rt_resolve *rt_resolve(struct rt *rt, struct belay_slice host, uint16_t port,
                              void (*done)(void *owner, const struct rt_resolved *result),
                              void *owner)
{
    struct rt_resolve *resolve = calloc(1, sizeof(*resolve));
    if (!resolve) return NULL;
    resolve->rt = rt;
    resolve->done = done;
    resolve->owner = owner;
    rt_timer_init(&resolve->timer, on_resolved);
    struct belay_span takes = look_up(rt, host, port, &resolve->result);
    rt_timer_arm(rt, &resolve->timer, belay_instant_add(rt->now, takes));
    rt->resolves++;
    return resolve;
}

void rt_resolve_cancel(struct rt_resolve *resolve)
{
    rt_timer_disarm(resolve->rt, &resolve->timer);
    resolve->rt->resolves--;
    free(resolve);
}

/* ---- the loop ---- */

static void turn(struct rt *rt)
{
    run_posts(rt);
    network_signal(rt);
    timers_fire(&rt->timers, rt->now);
    run_hooks(rt);
    network_turn_end(rt);
}

bool sim_run_until(struct rt *rt, struct belay_instant until)
{
    int turns = 0;
    rt->stopped = false;
    while (!rt->stopped) {
        struct belay_instant next = timers_next_at(&rt->timers);
        bool busy = rt->posts || network_pending(rt) || next.ns <= rt->now.ns;
        if (!busy && (belay_instant_is_never(next) || belay_instant_before(until, next))) {
            if (belay_instant_is_never(next)) return true;
            rt->now = until;
            return false;
        }
        if (!busy) {
            rt->now = next;
            turns = 0;
        }
        if (++turns > TURNS_AT_ONE_INSTANT_MAX) {
            fprintf(stderr, "the loop spins at %lld ns\n", (long long)rt->now.ns);
            abort();
        }
        turn(rt);
    }
    return false;
}

void rt_run(struct rt *rt)
{
    (void)sim_run_until(rt, belay_instant_never());
}

void rt_stop(struct rt *rt)
{
    rt->stopped = true;
}

void sim_shuffle(struct rt *rt, bool on)
{
    rt->shuffled = on;
}

void sim_open(const struct rt *rt, struct sim_open *out)
{
    *out = (struct sim_open){
        .conns = network_conns(rt),
        .listeners = network_listeners(rt),
        .resolves = rt->resolves,
        .timers = rt->timers.heap.count,
        .hooks = rt->hook_count,
    };
}

struct rt *rt_create(uint64_t seed)
{
    struct rt *rt = calloc(1, sizeof(*rt));
    CHECK(rt);
    rt->now.ns = SIM_START_NS;
    rt->posts_end = &rt->posts;
    rt->hooks_end = &rt->hooks;
    rt->default_link = sim_link_perfect();
    rng_seed(&rt->luck, seed);
    rng_seed(&rt->world_luck, ~seed);
    timers_init(&rt->timers);
    network_init(rt);
    return rt;
}

void rt_destroy(struct rt *rt)
{
    network_deinit(rt);
    free(rt);
}
