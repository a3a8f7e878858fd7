/* rt_uv.c: the loop: timers on the real clock are never early, posts come from any thread, hooks
 * end a turn. */
#include "world.h"

#include <pthread.h>
#include <time.h>

/* Another reading of the same clock, apart from the turn's sample. */
static int64_t monotonic_ns(void)
{
    struct timespec time;
    assert_int_equal(clock_gettime(CLOCK_MONOTONIC, &time), 0);
    return (int64_t)time.tv_sec * BELAY_NS_PER_S + time.tv_nsec;
}

struct alarm {
    struct rt_timer timer;
    struct world *world;
    int64_t fired_ns;
    int *sequence;
    int place;
};

static void on_alarm(struct rt_timer *timer)
{
    struct alarm *alarm = CONTAINER_OF(timer, struct alarm, timer);
    alarm->fired_ns = monotonic_ns();
    if (alarm->sequence) alarm->place = (*alarm->sequence)++;
    world_told(alarm->world);
}

static void timers_are_never_early_and_soon(void **state)
{
    (void)state;
    struct world world;
    world_init(&world);
    struct alarm alarms[40];
    int64_t start = rt_now(world.rt).ns;
    int64_t latest_ns = 0;
    for (int i = 0; i < 40; i++) {
        alarms[i] = (struct alarm){.world = &world};
        rt_timer_init(&alarms[i].timer, on_alarm);
        /* Odd nanoseconds, not in order. */
        struct belay_instant at = {start + (int64_t)((i * 7) % 40) * 1234567 + i};
        rt_timer_arm(world.rt, &alarms[i].timer, at);
    }
    world_run(&world, 40);
    for (int i = 0; i < 40; i++) {
        int64_t late_ns = alarms[i].fired_ns - alarms[i].timer.at.ns;
        assert_true(late_ns >= 0);
        if (late_ns > latest_ns) latest_ns = late_ns;
    }
    printf("latest timer: %lld us\n", (long long)(latest_ns / 1000));
    assert_true(latest_ns <
                50 * BELAY_NS_PER_MS); /* the promise for a deadline, on a busy machine too */
    world_deinit(&world);
}

static void an_earlier_timer_moves_the_wakeup(void **state)
{
    (void)state;
    struct world world;
    world_init(&world);
    int sequence = 0;
    struct alarm late = {.world = &world, .sequence = &sequence}, soon = late, past = late;
    struct belay_instant now = rt_now(world.rt);
    rt_timer_init(&late.timer, on_alarm);
    rt_timer_init(&soon.timer, on_alarm);
    rt_timer_init(&past.timer, on_alarm);
    rt_timer_arm(world.rt, &late.timer, belay_instant_add(now, belay_span_ms(30)));
    rt_timer_arm(world.rt, &soon.timer, belay_instant_add(now, belay_span_ms(10)));
    rt_timer_arm(world.rt, &past.timer, (struct belay_instant){now.ns - 1});
    world_run(&world, 3);
    assert_int_equal(past.place, 0);
    assert_int_equal(soon.place, 1);
    assert_int_equal(late.place, 2);
    world_deinit(&world);
}

struct sampler {
    struct rt_timer timer;
    struct world *world;
    struct belay_instant first, again;
    struct belay_wall wall, wall_again;
};

static void sample(struct rt_timer *timer)
{
    struct sampler *sampler = CONTAINER_OF(timer, struct sampler, timer);
    struct rt *rt = sampler->world->rt;
    sampler->first = rt_now(rt);
    sampler->wall = rt_wall(rt);
    int64_t until = monotonic_ns() + 2 * BELAY_NS_PER_MS;
    while (monotonic_ns() < until) {
    }
    sampler->again = rt_now(rt);
    sampler->wall_again = rt_wall(rt);
    world_told(sampler->world);
}

static void the_clock_stands_still_within_a_turn_and_moves_between(void **state)
{
    (void)state;
    struct world world;
    world_init(&world);
    struct sampler samplers[2] = {{.world = &world}, {.world = &world}};
    for (int i = 0; i < 2; i++) {
        rt_timer_init(&samplers[i].timer, sample);
        rt_timer_arm(world.rt, &samplers[i].timer,
                     belay_instant_add(rt_now(world.rt), belay_span_ms(10 * i)));
    }
    world_run(&world, 2);
    for (int i = 0; i < 2; i++) {
        assert_true(samplers[i].first.ns == samplers[i].again.ns);
        assert_true(samplers[i].wall.ns == samplers[i].wall_again.ns);
    }
    assert_true(samplers[1].first.ns > samplers[0].first.ns);
    world_deinit(&world);
}

#define POSTS 10000
#define POSTERS 4

struct numbered_post {
    struct rt_post post;
    struct world *world;
    int poster, number;
};

static struct numbered_post posts[POSTERS][POSTS];
static int next_number[POSTERS];

static void on_post(struct rt_post *post)
{
    struct numbered_post *numbered = CONTAINER_OF(post, struct numbered_post, post);
    assert_int_equal(numbered->number, next_number[numbered->poster]);
    next_number[numbered->poster]++;
    world_told(numbered->world);
}

static void *post_all(void *arg)
{
    struct numbered_post *mine = arg;
    for (int i = 0; i < POSTS; i++) rt_post(mine[i].world->rt, &mine[i].post);
    return NULL;
}

static void posts_of_threads_all_come_in_each_ones_order(void **state)
{
    (void)state;
    struct world world;
    world_init(&world);
    pthread_t threads[POSTERS];
    for (int t = 0; t < POSTERS; t++) {
        for (int i = 0; i < POSTS; i++) {
            posts[t][i] = (struct numbered_post){
                .post.run = on_post, .world = &world, .poster = t, .number = i};
        }
        assert_int_equal(pthread_create(&threads[t], NULL, post_all, posts[t]), 0);
    }
    world_run(&world, POSTERS * POSTS);
    for (int t = 0; t < POSTERS; t++) {
        assert_int_equal(pthread_join(threads[t], NULL), 0);
        assert_int_equal(next_number[t], POSTS);
    }
    world_deinit(&world);
}

struct tracked_hook {
    struct rt_hook hook;
    struct alarm *alarm;
    int runs, runs_after_alarm;
};

static void on_turn_end(struct rt_hook *hook)
{
    struct tracked_hook *tracked = CONTAINER_OF(hook, struct tracked_hook, hook);
    tracked->runs++;
    if (tracked->alarm->fired_ns) tracked->runs_after_alarm++;
}

static void a_hook_runs_after_the_turns_timers(void **state)
{
    (void)state;
    struct world world;
    world_init(&world);
    struct alarm alarm = {.world = &world};
    struct tracked_hook first = {.hook.run = on_turn_end, .alarm = &alarm}, second = first;
    rt_hook_turn_end(world.rt, &first.hook);
    rt_hook_turn_end(world.rt, &second.hook);
    rt_timer_init(&alarm.timer, on_alarm);
    rt_timer_arm(world.rt, &alarm.timer, belay_instant_add(rt_now(world.rt), belay_span_ms(3)));
    world_run(&world, 1);
    assert_int_equal(first.runs, second.runs);
    assert_int_equal(first.runs_after_alarm, 1); /* the loop was stopped in that turn */
    world_deinit(&world);
}

struct removing_hook {
    struct rt_hook hook;
    struct world *world;
    struct rt_hook *victims[2];
    int runs;
};

static void remove_victims(struct rt_hook *hook)
{
    struct removing_hook *removing = CONTAINER_OF(hook, struct removing_hook, hook);
    removing->runs++;
    for (int i = 0; i < 2; i++) {
        if (removing->victims[i]) rt_hook_remove(removing->world->rt, removing->victims[i]);
    }
}

static void a_hook_may_remove_itself_and_the_next(void **state)
{
    (void)state;
    struct world world;
    world_init(&world);
    struct removing_hook hooks[4];
    for (int i = 0; i < 4; i++)
        hooks[i] = (struct removing_hook){.hook.run = remove_victims, .world = &world};
    hooks[1].victims[0] = &hooks[1].hook;
    hooks[1].victims[1] = &hooks[2].hook;
    hooks[3].victims[0] = &hooks[3].hook; /* the last */
    for (int i = 0; i < 4; i++) rt_hook_turn_end(world.rt, &hooks[i].hook);
    world_run_ms(&world, 5);
    rt_hook_remove(world.rt, &hooks[2].hook); /* not in: nothing happens */
    struct removing_hook late = {.hook.run = remove_victims, .world = &world};
    rt_hook_turn_end(world.rt, &late.hook);
    world_run_ms(&world, 1);
    assert_true(hooks[0].runs > 1);
    assert_int_equal(hooks[1].runs, 1);
    assert_int_equal(hooks[2].runs, 0);
    assert_int_equal(hooks[3].runs, 1);
    assert_true(late.runs >= 1);
    world_deinit(&world);
}

static void luck_comes_from_the_seed(void **state)
{
    (void)state;
    struct rt *a = rt_create(7), *b = rt_create(7), *c = rt_create(8);
    uint64_t first = rt_random(a);
    assert_true(first == rt_random(b));
    assert_true(first != rt_random(c));
    rt_destroy(a);
    rt_destroy(b);
    rt_destroy(c);
}

static void a_waiting_post_is_not_touched_by_a_later_one(void **state)
{
    (void)state;
    struct rt *rt = rt_create(1);
    assert_non_null(rt);
    struct rt_post gone = {.run = NULL}, later = {.run = NULL};
    rt_post(rt, &gone);
    memset(&gone, 0xa5, sizeof gone); /* as memory that its owner has freed */
    struct rt_post before = gone;
    rt_post(rt, &later);
    assert_memory_equal(&gone, &before, sizeof gone);
    rt_destroy(rt);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(timers_are_never_early_and_soon),
        cmocka_unit_test(an_earlier_timer_moves_the_wakeup),
        cmocka_unit_test(the_clock_stands_still_within_a_turn_and_moves_between),
        cmocka_unit_test(posts_of_threads_all_come_in_each_ones_order),
        cmocka_unit_test(a_waiting_post_is_not_touched_by_a_later_one),
        cmocka_unit_test(a_hook_runs_after_the_turns_timers),
        cmocka_unit_test(a_hook_may_remove_itself_and_the_next),
        cmocka_unit_test(luck_comes_from_the_seed),
    };
    return cmocka_run_group_tests_name("rt_uv", tests, NULL, NULL);
}
