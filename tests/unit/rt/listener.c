/* listener.c: one socket shared by workers, draining that loses nothing, and what happens without
 * descriptors. */
#include "world.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

struct counter {
    struct world *world;
    int accepted;
};

static void count_and_close(void *owner, struct rt_conn *conn)
{
    struct counter *counter = owner;
    counter->accepted++;
    rt_conn_close(conn, RT_CLOSE_ABORT);
    world_told(counter->world);
}

static const struct rt_listener_events COUNT = {count_and_close};

static struct rt_listener *must_listen(struct counter *counter, struct rt_addr *addr)
{
    const char *why = NULL;
    struct rt_listener *listener = rt_listen(counter->world->rt, addr, &COUNT, counter, &why);
    if (!listener) fail_msg("listen: %s", why);
    rt_listener_addr(listener, addr);
    return listener;
}

/* A plain socket that has begun to connect. */
static int begin_connect(const struct rt_addr *addr)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(addr->port)};
    memcpy(&to.sin_addr, addr->ip, 4);
    int status = connect(fd, (const struct sockaddr *)&to, sizeof(to));
    assert_true(status == 0 || errno == EINPROGRESS);
    return fd;
}

static bool is_connected(int fd)
{
    struct pollfd poll_fd = {.fd = fd, .events = POLLOUT};
    int error = 0;
    socklen_t length = sizeof(error);
    return poll(&poll_fd, 1, 0) == 1 &&
           getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) == 0 && error == 0;
}

static void two_workers_share_one_socket(void **state)
{
    (void)state;
    struct world a, b;
    world_init(&a);
    world_init(&b);
    struct counter in_a = {.world = &a}, in_b = {.world = &b};
    struct rt_addr addr = loopback(0);
    struct rt_listener *first = must_listen(&in_a, &addr), *second = must_listen(&in_b, &addr);
    int one = begin_connect(&addr);
    world_run(&a, 1);
    int two = begin_connect(&addr);
    world_run(&b, 1);
    rt_listener_close(first);
    int three = begin_connect(&addr);
    assert_true(is_connected(three)); /* the other worker's listening goes on */
    world_run(&b, 1);
    assert_int_equal(in_a.accepted, 1);
    assert_int_equal(in_b.accepted, 2);
    rt_listener_close(second);
    close(one), close(two), close(three);
    world_deinit(&a);
    world_deinit(&b);
}

static void an_address_in_use_is_told(void **state)
{
    (void)state;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof(at);
    assert_int_equal(bind(fd, (struct sockaddr *)&at, length), 0);
    assert_int_equal(listen(fd, 1), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &length), 0);
    struct world world;
    world_init(&world);
    struct rt_addr addr = loopback(ntohs(at.sin_port));
    const char *why = NULL;
    assert_null(rt_listen(world.rt, &addr, &COUNT, NULL, &why));
    assert_string_equal(why, "Address already in use");
    close(fd);
    world_deinit(&world);
}

static void drained(void *owner)
{
    struct counter *counter = owner;
    world_told(counter->world);
}

#define QUEUED 50

static void draining_takes_what_was_accepted_and_nothing_new(void **state)
{
    (void)state;
    struct world world;
    world_init(&world);
    struct counter counter = {.world = &world};
    struct rt_addr addr = loopback(0);
    struct rt_listener *listener = must_listen(&counter, &addr);
    int queued[QUEUED];
    for (int i = 0; i < QUEUED; i++) {
        queued[i] = begin_connect(&addr);
        assert_true(is_connected(queued[i]));
    }
    rt_listener_drain(listener, drained);
    int late = begin_connect(&addr);
    world_run(&world, QUEUED + 1);
    assert_int_equal(counter.accepted, QUEUED);
    assert_false(is_connected(late));
    rt_listener_close(listener);
    for (int i = 0; i < QUEUED; i++) close(queued[i]);
    close(late);
    world_deinit(&world);
}

static void draining_by_two_workers_loses_nothing(void **state)
{
    (void)state;
    struct world a, b;
    world_init(&a);
    world_init(&b);
    struct counter in_a = {.world = &a}, in_b = {.world = &b};
    struct rt_addr addr = loopback(0);
    struct rt_listener *first = must_listen(&in_a, &addr), *second = must_listen(&in_b, &addr);
    rt_listener_drain(first, drained);
    world_run(&a, 1);
    rt_listener_close(first);
    /* The address refuses for all that share it, once one drains: the process stops as a whole. */
    int late = begin_connect(&addr);
    assert_false(is_connected(late));
    rt_listener_drain(second, drained);
    world_run(&b, 1);
    rt_listener_close(second);
    assert_int_equal(in_a.accepted + in_b.accepted, 0);
    close(late);
    world_deinit(&a);
    world_deinit(&b);
}

/* A configuration that takes an address away and the next one that brings it back: the second may
 * come before the first has drained it. */
static void listening_anew_on_what_is_being_drained_takes_connections(void **state)
{
    (void)state;
    struct world world;
    world_init(&world);
    struct counter before = {.world = &world}, after = {.world = &world};
    struct rt_addr addr = loopback(0);
    struct rt_listener *old = must_listen(&before, &addr);
    rt_listener_drain(old, drained);
    struct rt_listener *anew = must_listen(&after, &addr);
    int client = begin_connect(&addr);
    assert_true(is_connected(client));
    world_run(&world, 2); /* it is accepted, by either, and the old one is drained */
    assert_int_equal(before.accepted + after.accepted, 1);
    rt_listener_close(old);
    int later = begin_connect(&addr);
    assert_true(is_connected(later));
    world_run(&world, 1);
    assert_int_equal(before.accepted + after.accepted, 2);
    rt_listener_close(anew);
    close(client), close(later);
    world_deinit(&world);
}

static void without_descriptors_the_listener_rests_and_comes_back(void **state)
{
    (void)state;
    struct world world;
    world_init(&world);
    struct counter counter = {.world = &world};
    struct rt_addr addr = loopback(0);
    struct rt_listener *listener = must_listen(&counter, &addr);
    int client = begin_connect(&addr);
    struct rlimit before, tight;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    int lowest_free = dup(client);
    close(lowest_free);
    tight = before;
    tight.rlim_cur = (rlim_t)lowest_free;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &tight), 0);
    world_run_ms(&world, 20);
    assert_int_equal(rt_listener_exhausted(listener), 1);
    assert_int_equal(counter.accepted, 0);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    world_run(&world, 1);
    assert_int_equal(counter.accepted, 1);
    rt_listener_close(listener);
    close(client);
    world_deinit(&world);
}

static void close_listener(void *owner, struct rt_conn *conn)
{
    struct world *world = owner;
    rt_conn_close(conn, RT_CLOSE_ABORT);
    rt_listener_close(world->listener);
    world->listener = NULL;
    world_told(world);
}

static void nothing_is_accepted_after_close(void **state)
{
    (void)state;
    static const struct rt_listener_events events = {close_listener};
    struct world world;
    world_init(&world);
    struct rt_addr addr = loopback(0);
    const char *why;
    world.listener = rt_listen(world.rt, &addr, &events, &world, &why);
    rt_listener_addr(world.listener, &addr);
    int one = begin_connect(&addr), two = begin_connect(&addr);
    world_run(&world, 1); /* a second one would close a listener that is gone */
    close(one), close(two);
    world_deinit(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_workers_share_one_socket),
        cmocka_unit_test(an_address_in_use_is_told),
        cmocka_unit_test(draining_takes_what_was_accepted_and_nothing_new),
        cmocka_unit_test(draining_by_two_workers_loses_nothing),
        cmocka_unit_test(listening_anew_on_what_is_being_drained_takes_connections),
        cmocka_unit_test(without_descriptors_the_listener_rests_and_comes_back),
        cmocka_unit_test(nothing_is_accepted_after_close),
    };
    return cmocka_run_group_tests_name("listener", tests, NULL, NULL);
}
