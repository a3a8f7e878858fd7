/* shortage.c: loops, connections and look-ups in which every allocation fails once, those of libuv
 * and c-ares too; without descriptors; and a queue of connections that all died. */
#include "name_server.h"
#include "rt/rt_uv.h"
#include "shortage.h"
#include "world.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>

int __wrap_accept4(int fd, struct sockaddr *addr, socklen_t *length, int flags);
int __real_accept4(int fd, struct sockaddr *addr, socklen_t *length, int flags);

static int accept_errno; /* not 0: what every accept fails with */
static int accepts;

int __wrap_accept4(int fd, struct sockaddr *addr, socklen_t *length, int flags)
{
    accepts++;
    if (accept_errno == 0) return __real_accept4(fd, addr, length, flags);
    errno = accept_errno;
    return -1;
}

static const long WIDTHS[] = {1, 3, SHORTAGE_FOREVER};

/* The story for every n, until one passes in which nothing failed. */
static void fail_each(long (*story)(long n, long width))
{
    for (size_t w = 0; w < sizeof WIDTHS / sizeof WIDTHS[0]; w++) {
        long n = 0;
        while (story(n, WIDTHS[w]) > 0) n++;
        assert_true(n > 0);
    }
}

/* ---- a loop ---- */

static long make_a_loop(long n, long width)
{
    shortage_begin(n, width);
    struct rt *rt = rt_create(1);
    long failed = shortage_end();
    assert_int_equal(rt == NULL, failed > 0);
    if (rt) rt_destroy(rt);
    return failed;
}

static void every_allocation_of_a_loop_may_fail(void **state)
{
    (void)state;
    fail_each(make_a_loop);
}

/* ---- a connection ---- */

struct meeting {
    struct world world;
    struct rt_conn *caller, *called;
    char got[8];
    size_t got_bytes;
    bool over, failed;
    enum belay_error_class error;
};

static void caller_over(struct meeting *meeting)
{
    rt_conn_close(meeting->caller, RT_CLOSE_ABORT);
    meeting->caller = NULL;
    meeting->over = true;
    world_told(&meeting->world);
}

static void caller_ready(void *owner, unsigned ready)
{
    struct meeting *meeting = owner;
    if (ready & RT_WRITE) rt_conn_interest(meeting->caller, RT_READ);
    if (!(ready & RT_READ)) return;
    struct rt_io io = rt_conn_read(meeting->caller, meeting->got + meeting->got_bytes,
                                   sizeof meeting->got - meeting->got_bytes);
    if (io.kind == RT_IO_OK) meeting->got_bytes += io.count;
    if (io.kind == RT_IO_END || io.kind == RT_IO_ERROR) caller_over(meeting);
}

static void caller_failed(void *owner, enum belay_error_class error)
{
    struct meeting *meeting = owner;
    meeting->failed = true;
    meeting->error = error;
    caller_over(meeting);
}

static void called_ready(void *owner, unsigned ready)
{
    (void)owner, (void)ready;
}

static void greet(void *owner, struct rt_conn *conn)
{
    static const struct rt_conn_events events = {called_ready, caller_failed};
    struct meeting *meeting = owner;
    struct belay_slice hello = belay_slice_z("hello");
    rt_conn_own(conn, &events, meeting);
    assert_int_equal(rt_conn_write(conn, &hello, 1).count, 5);
    rt_conn_close(conn, RT_CLOSE_GRACEFUL);
}

static void meet(struct meeting *meeting)
{
    static const struct rt_listener_events accepts_and_greets = {greet};
    static const struct rt_conn_events events = {caller_ready, caller_failed};
    struct rt_addr addr = loopback(0);
    const char *why = NULL;
    meeting->got_bytes = 0;
    meeting->over = meeting->failed = false;
    struct rt_listener *listener =
        rt_listen(meeting->world.rt, &addr, &accepts_and_greets, meeting, &why);
    if (!listener) {
        assert_string_equal(why, "Cannot allocate memory");
        return;
    }
    rt_listener_addr(listener, &addr);
    meeting->error = BELAY_ERROR_NONE;
    meeting->caller = rt_connect(meeting->world.rt, &addr, &events, meeting, &meeting->error);
    if (meeting->caller)
        world_run(&meeting->world, 1);
    else
        assert_int_equal(meeting->error, BELAY_ERROR_CANCELLED);
    rt_listener_close(listener);
}

static long meet_without_memory(long n, long width)
{
    struct meeting meeting = {0};
    world_init(&meeting.world);
    shortage_begin(n, width);
    meet(&meeting);
    long failed = shortage_end();
    assert_false(meeting.failed);
    if (failed == 0) assert_int_equal(meeting.got_bytes, 5);
    meet(&meeting); /* the same loop, with memory */
    assert_int_equal(meeting.got_bytes, 5);
    world_deinit(&meeting.world);
    return failed;
}

static void every_allocation_of_a_connection_may_fail(void **state)
{
    (void)state;
    fail_each(meet_without_memory);
}

/* libuv's table of descriptors is as large as the largest: here it has to grow. */
static void every_allocation_may_fail_where_the_table_grows(void **state)
{
    (void)state;
    enum { HIGH = 1100 };
    static int taken[HIGH];
    struct rlimit limit;
    size_t count = 0;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    if (limit.rlim_cur < HIGH + 100) skip();
    while (count < HIGH && (count == 0 || taken[count - 1] < HIGH - 1)) {
        taken[count] = open("/dev/null", O_RDONLY | O_CLOEXEC);
        assert_true(taken[count] >= 0);
        count++;
    }
    /* The loops themselves are made of low descriptors, as at any start. */
    for (size_t i = 0; i < 20; i++) close(taken[--count]);
    for (size_t i = 0; i < 20; i++) close(taken[i]);
    struct meeting meeting = {0};
    bool grown = false;
    for (long n = 0; !grown; n++) {
        int low[64], lows = 0;
        memset(&meeting, 0, sizeof meeting);
        world_init(&meeting.world);
        for (int fd; (fd = open("/dev/null", O_RDONLY | O_CLOEXEC)) < HIGH;) low[lows++] = fd;
        shortage_begin(n, 1);
        meet(&meeting);
        grown = shortage_end() == 0;
        for (int i = 0; i < lows; i++) close(low[i]);
        world_deinit(&meeting.world);
    }
    assert_int_equal(meeting.got_bytes, 5);
    for (size_t i = 20; i < count; i++) close(taken[i]);
}

/* ---- a look-up ---- */

static struct name_server server;

static void on_done(void *owner, const struct rt_resolved *result)
{
    struct meeting *meeting = owner;
    meeting->error = result->error;
    meeting->got_bytes = result->count;
    world_told(&meeting->world);
}

static bool look_up(struct meeting *meeting, const char *host)
{
    meeting->got_bytes = 0;
    if (!rt_resolve(meeting->world.rt, belay_slice_z(host), 80, on_done, meeting)) return false;
    world_run(&meeting->world, 1);
    return true;
}

static void check_look_up(struct meeting *meeting, bool done)
{
    if (done && meeting->error != BELAY_ERROR_NONE)
        assert_string_equal(belay_error_class_name(meeting->error), "cancelled");
    assert_true(look_up(meeting, "known.test")); /* with memory */
    assert_int_equal(meeting->error, BELAY_ERROR_NONE);
    assert_int_equal(meeting->got_bytes, 1);
    world_deinit(&meeting->world);
}

static long ask_without_memory(long n, long width)
{
    struct meeting meeting = {0};
    world_init(&meeting.world);
    assert_true(dns_use_servers(meeting.world.rt, server.address));
    shortage_begin(n, width);
    bool asked = rt_resolve(meeting.world.rt, belay_slice_z("known.test"), 80, on_done, &meeting);
    long failed = shortage_end();
    if (asked) world_run(&meeting.world, 1);
    check_look_up(&meeting, asked);
    return failed;
}

/* c-ares asks again when it could not read an answer, a second later: so this is told once only. */
static long look_up_without_memory(long n, long width)
{
    struct meeting meeting = {0};
    world_init(&meeting.world);
    assert_true(dns_use_servers(meeting.world.rt, server.address));
    shortage_begin(n, width);
    bool done = look_up(&meeting, "known.test");
    long failed = shortage_end();
    check_look_up(&meeting, done);
    return failed;
}

static long look_up_first_without_memory(long n, long width)
{
    struct meeting meeting = {0};
    world_init(&meeting.world);
    shortage_begin(n, width);
    bool done = look_up(&meeting, "localhost");
    long failed = shortage_end();
    if (done && meeting.error != BELAY_ERROR_NONE)
        assert_string_equal(belay_error_class_name(meeting.error), "cancelled");
    world_deinit(&meeting.world);
    return failed;
}

static void every_allocation_of_a_look_up_may_fail(void **state)
{
    (void)state;
    name_server_start(&server);
    fail_each(ask_without_memory);
    long n = 0;
    while (look_up_without_memory(n, 1) > 0) n++;
    name_server_stop(&server);
}

static void every_allocation_of_the_first_look_up_may_fail(void **state)
{
    (void)state;
    fail_each(look_up_first_without_memory);
}

/* ---- descriptors ---- */

static void no_descriptor_is_no_fault_of_the_peer(void **state)
{
    (void)state;
    struct meeting meeting = {0};
    struct rlimit before, tight;
    name_server_start(&server);
    world_init(&meeting.world);
    assert_true(dns_use_servers(meeting.world.rt, server.address));
    int lowest_free = dup(0);
    close(lowest_free);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    tight = before;
    tight.rlim_cur = (rlim_t)lowest_free;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &tight), 0);
    bool done = look_up(&meeting, "known.test");
    enum belay_error_class look_up_error = meeting.error;
    static const struct rt_conn_events events = {caller_ready, caller_failed};
    struct rt_addr addr = loopback(9);
    assert_null(rt_connect(meeting.world.rt, &addr, &events, &meeting, &meeting.error));
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_true(done);
    assert_string_equal(belay_error_class_name(look_up_error), "cancelled");
    assert_string_equal(belay_error_class_name(meeting.error), "cancelled");
    assert_true(look_up(&meeting, "known.test"));
    assert_int_equal(meeting.error, BELAY_ERROR_NONE);
    world_deinit(&meeting.world);
    name_server_stop(&server);
}

/* ---- accepting ---- */

static void on_drained(void *owner)
{
    world_told(&((struct meeting *)owner)->world);
}

/* However long accept goes on telling of dead ones, draining ends: no more can have waited. */
static void draining_a_queue_of_the_dead_ends(void **state)
{
    (void)state;
    static const struct rt_listener_events greets = {greet};
    static const int errors[] = {ECONNABORTED, EPROTO, ENETDOWN, EHOSTUNREACH};
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
        struct meeting meeting = {0};
        struct rt_addr addr = loopback(0);
        const char *why;
        world_init(&meeting.world);
        struct rt_listener *listener = rt_listen(meeting.world.rt, &addr, &greets, &meeting, &why);
        assert_non_null(listener);
        accept_errno = errors[i];
        accepts = 0;
        rt_listener_drain(listener, on_drained);
        world_run(&meeting.world, 1);
        accept_errno = 0;
        assert_true(accepts > 1 && accepts <= SOMAXCONN + 1);
        rt_listener_close(listener);
        world_deinit(&meeting.world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_allocation_of_a_loop_may_fail),
        cmocka_unit_test(every_allocation_of_a_connection_may_fail),
        cmocka_unit_test(every_allocation_may_fail_where_the_table_grows),
        cmocka_unit_test(every_allocation_of_a_look_up_may_fail),
        cmocka_unit_test(every_allocation_of_the_first_look_up_may_fail),
        cmocka_unit_test(no_descriptor_is_no_fault_of_the_peer),
        cmocka_unit_test(draining_a_queue_of_the_dead_ends),
    };
    return cmocka_run_group_tests_name("shortage", tests, NULL, NULL);
}
