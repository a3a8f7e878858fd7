/* rt_uv.c: one worker's loop over libuv: the clock, timers, posts and the turn's end.
 *
 * A turn is one poll and its callbacks. It ends in libuv's prepare phase, right before the next
 * poll: connects that failed at once, due timers, hooks, changed interest, the wake-up. What was
 * closed is freed by libuv just before.
 */
#include "rt/rt_uv.h"

#include "base/check.h"

#include <stdlib.h>
#include <time.h>

/* The one place where the clock is read. */
struct belay_instant rt_now(struct rt *rt)
{
    if (!rt->now_known) {
        rt->now.ns = (int64_t)uv_hrtime();
        rt->now_known = true;
    }
    return rt->now;
}

struct belay_wall rt_wall(struct rt *rt)
{
    if (!rt->wall_known) {
        struct timespec time = {0};
        (void)clock_gettime(CLOCK_REALTIME, &time);
        rt->wall.ns = (int64_t)time.tv_sec * BELAY_NS_PER_S + time.tv_nsec;
        rt->wall_known = true;
    }
    return rt->wall;
}

uint64_t rt_random(struct rt *rt)
{
    return rng_next(&rt->rng);
}

void rt_timer_arm(struct rt *rt, struct rt_timer *timer, struct belay_instant at)
{
    timers_arm(&rt->timers, timer, at);
}

void rt_timer_disarm(struct rt *rt, struct rt_timer *timer)
{
    timers_disarm(&rt->timers, timer);
}

static void on_wakeup(uv_timer_t *timer)
{
    struct rt *rt = timer->data;
    rt->wakeup_armed = false;
}

/* Lazily: a wake-up that is too early costs one idle turn, so only an earlier one is told to libuv.
 * Rounded up. */
static void arm_wakeup(struct rt *rt)
{
    struct belay_instant next = timers_next_at(&rt->timers);
    if (belay_instant_is_never(next)) return;
    uint64_t at_ms = (uint64_t)belay_span_ceil_ms(belay_span_ns(next.ns));
    if (rt->wakeup_armed && rt->wakeup_at_ms <= at_ms) return;
    uint64_t uv_now_ms = uv_now(&rt->loop);
    CHECK(uv_timer_start(&rt->wakeup, on_wakeup, at_ms > uv_now_ms ? at_ms - uv_now_ms : 0, 0) ==
          0);
    rt->wakeup_armed = true;
    rt->wakeup_at_ms = at_ms;
}

static void run_hooks(struct rt *rt)
{
    for (struct rt_hook *hook = rt->hooks; hook; hook = rt->hook_following) {
        rt->hook_following = hook->next;
        hook->run(hook);
    }
}

static void on_turn_end(uv_prepare_t *prepare)
{
    struct rt *rt = prepare->data;
    conn_fail_pending(rt);
    timers_fire(&rt->timers, rt_now(rt));
    run_hooks(rt);
    conn_apply_interest(rt);
    arm_wakeup(rt);
    rt->now_known = rt->wall_known = false;
}

void rt_hook_turn_end(struct rt *rt, struct rt_hook *hook)
{
    hook->next = NULL;
    *rt->hooks_end = hook;
    rt->hooks_end = &hook->next;
}

void rt_hook_remove(struct rt *rt, struct rt_hook *hook)
{
    if (rt->hook_following == hook) rt->hook_following = hook->next;
    struct rt_hook **link = &rt->hooks;
    while (*link && *link != hook) link = &(*link)->next;
    if (!*link) return;
    *link = hook->next;
    if (rt->hooks_end == &hook->next) rt->hooks_end = link;
}

/* A post that waits is never touched by a later one: once the loop has ended for good its owner may
 * free it. */
void rt_post(struct rt *rt, struct rt_post *post)
{
    lock_take(&rt->posts_lock);
    bool wake = rt->posts == NULL;
    post->next = rt->posts;
    rt->posts = post;
    lock_give(&rt->posts_lock);
    if (wake) (void)uv_async_send(&rt->posted);
}

static void on_posted(uv_async_t *async)
{
    struct rt *rt = async->data;
    lock_take(&rt->posts_lock);
    struct rt_post *newest = rt->posts, *post = NULL;
    rt->posts = NULL;
    lock_give(&rt->posts_lock);
    while (newest) { /* turned round: the oldest runs first */
        struct rt_post *older = newest->next;
        newest->next = post;
        post = newest;
        newest = older;
    }
    while (post) {
        struct rt_post *next = post->next; /* `run` may free its node or post it again */
        post->run(post);
        post = next;
    }
}

static bool make_loop(struct rt *rt)
{
    if (!polled_begin()) return false;
    bool good = uv_loop_init(&rt->loop) == 0;
    if (good && uv_async_init(&rt->loop, &rt->posted, on_posted) != 0) {
        (void)uv_loop_close(&rt->loop);
        good = false;
    }
    polled_begun();
    return good;
}

struct rt *rt_create(uint64_t seed)
{
    struct rt *rt = calloc(1, sizeof(*rt));
    if (!rt || !make_loop(rt)) {
        free(rt);
        return NULL;
    }
    CHECK(uv_prepare_init(&rt->loop, &rt->turn_end) == 0);
    CHECK(uv_prepare_start(&rt->turn_end, on_turn_end) == 0);
    CHECK(uv_timer_init(&rt->loop, &rt->wakeup) == 0);
    rt->posted.data = rt->turn_end.data = rt->wakeup.data = rt;
    timers_init(&rt->timers);
    rng_seed(&rt->rng, seed);
    lock_init(&rt->posts_lock);
    rt->hooks_end = &rt->hooks;
    conn_rt_init(rt);
    return rt;
}

void rt_run(struct rt *rt)
{
    rt->now_known = rt->wall_known = false;
    (void)uv_run(&rt->loop, UV_RUN_DEFAULT);
}

void rt_stop(struct rt *rt)
{
    uv_stop(&rt->loop);
}

void rt_destroy(struct rt *rt)
{
    if (rt->dns) dns_destroy(rt->dns);
    conn_rt_deinit(rt);
    uv_close((uv_handle_t *)&rt->turn_end, NULL);
    uv_close((uv_handle_t *)&rt->wakeup, NULL);
    uv_close((uv_handle_t *)&rt->posted, NULL);
    (void)uv_run(&rt->loop, UV_RUN_DEFAULT);
    CHECK(uv_loop_close(&rt->loop) == 0);
    lock_deinit(&rt->posts_lock);
    free(rt);
}
