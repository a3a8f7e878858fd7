/* call_events.c: whole lines, and a loss that the file itself tells. */
#include "app/call_events.h"

#include "../test.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static char file[] = "/tmp/belay_call_events_XXXXXX";
static char text[1 << 16];

static int set_up(void **state)
{
    (void)state;
    int fd = mkstemp(file);
    (void)signal(SIGXFSZ, SIG_IGN);
    return fd < 0 ? -1 : close(fd);
}

static int tear_down(void **state)
{
    (void)state;
    return unlink(file);
}

static size_t read_back(void)
{
    FILE *stream = fopen(file, "rb");
    assert_non_null(stream);
    size_t length = fread(text, 1, sizeof text - 1, stream);
    text[length] = '\0';
    (void)fclose(stream);
    return length;
}

static void one(struct call_events *events, const char *id)
{
    struct belay_operation_event event = {.operation_id = belay_slice_z(id),
                                          .method = belay_slice("GET", 3)};
    call_events_operation(events, &event);
}

/* A disk that is full at this size. */
static void full_at(rlim_t bytes)
{
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = bytes;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void test_a_line_that_was_cut_is_left_and_told(void **state)
{
    (void)state;
    struct call_events events;
    assert_true(call_events_open(&events, file));
    one(&events, "first");
    size_t whole = read_back();
    full_at(whole + 10);
    one(&events, "cut");
    one(&events, "gone");
    assert_int_equal(read_back(), whole + 10);
    assert_int_equal(events.error, ENOSPC);
    full_at(RLIM_INFINITY);
    one(&events, "last");
    (void)read_back();
    static const char told[] = "\n{\"v\":1,\"event\":\"lost\",\"records\":2}\n{\"v\":1,";
    const char *after = text + whole + 10;
    assert_int_equal(strncmp(after, told, sizeof told - 1), 0);
    assert_non_null(strstr(after, "\"operationId\":\"last\""));
    assert_null(strstr(text, "gone"));
    one(&events, "more");
    (void)read_back();
    assert_null(strstr(strstr(text, "\"last\""), "lost"));
    call_events_close(&events);
}

/* Cut at every byte: each loss is told once, and the lines that are whole are lines. */
static void test_a_loss_is_told_once_wherever_the_telling_is_cut(void **state)
{
    (void)state;
    struct call_events events;
    for (rlim_t room = 0; room < 120; room++) {
        assert_true(call_events_open(&events, file));
        size_t begin = read_back();
        full_at(begin + 5);
        one(&events, "cut");
        full_at(begin + 5 + room);
        one(&events, "cut-again");
        full_at(RLIM_INFINITY);
        one(&events, "last");
        (void)read_back();
        int told = 0;
        static const char key[] = "{\"v\":1,\"event\":\"lost\",\"records\":";
        for (char *at = text + begin; (at = strstr(at, key)); at += sizeof key - 1) {
            int records = atoi(at + sizeof key - 1);
            bool whole = at[sizeof key - 1 + 1] == '}' && at[sizeof key - 1 + 2] == '\n';
            if (whole) told += records;
            assert_int_equal(at[-1], '\n');
        }
        assert_int_equal(told, 2);
        assert_null(strstr(text + begin, "\n\n"));
        call_events_close(&events);
        assert_int_equal(truncate(file, 0), 0);
    }
}

static void test_it_is_appended_to(void **state)
{
    (void)state;
    struct call_events events;
    size_t before = read_back();
    for (int i = 0; i < 2; i++) {
        assert_true(call_events_open(&events, file));
        one(&events, "again");
        call_events_close(&events);
    }
    assert_true(read_back() > before);
    assert_int_equal(text[strlen(text) - 1], '\n');
}

static void test_nobody_asked_for_them(void **state)
{
    (void)state;
    struct call_events events;
    assert_true(call_events_open(&events, NULL));
    one(&events, "nowhere");
    assert_int_equal(events.error, 0);
    call_events_close(&events);
    assert_false(call_events_open(&events, "/nowhere/at/all"));
    assert_int_equal(errno, ENOENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_line_that_was_cut_is_left_and_told),
        cmocka_unit_test(test_a_loss_is_told_once_wherever_the_telling_is_cut),
        cmocka_unit_test(test_it_is_appended_to),
        cmocka_unit_test(test_nobody_asked_for_them),
    };
    return cmocka_run_group_tests_name("call_events", tests, set_up, tear_down);
}
