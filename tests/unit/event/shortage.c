/* shortage.c: a sink without memory is none, and leaves nothing behind; one that stands needs none.
 */
#include "event/sink.h"

#include "shortage.h"
#include "test.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char path[] = "/tmp/belay-shortage-XXXXXX";

/* The lowest free one: the same before and after, when none leaks. */
static int lowest_free(void)
{
    int fd = dup(0);
    close(fd);
    return fd;
}

static void a_sink_without_memory_is_none(void **state)
{
    (void)state;
    struct event_sink *sink = NULL;
    int before = lowest_free();
    long n = 0;
    for (; !sink; n++) {
        const char *error = NULL;
        shortage_begin(n, 1);
        sink = event_sink_create(path, 1 << 20, 3, NULL, &error);
        assert_int_equal(shortage_end() == 0, sink != NULL);
        if (sink) break;
        assert_string_equal(error, "Cannot allocate memory");
        assert_int_equal(lowest_free(), before);
    }
    assert_true(n > 3);
    assert_int_equal(event_sink_destroy(sink), 0);
}

/* More than the buffer holds: what does not fit is counted, and told in the stream. */
static void events_are_written_and_losses_told_without_memory(void **state)
{
    (void)state;
    enum { RECORDS = 2000 };
    const char *error;
    uint64_t kept = 0, lost = 0;
    struct event_sink_stats stats;
    struct event_sink *sink = event_sink_create(path, 0, 1, NULL, &error);
    assert_non_null(sink);
    struct event_out *out = event_sink_out(sink, 0);
    struct belay_operation_event event = {.operation_id = belay_slice_z("op-42"),
                                          .method = belay_slice_z("GET"),
                                          .target = belay_slice_z("shop"),
                                          .ending = {.status = 200, .attempts = 1}};
    shortage_begin(0, SHORTAGE_FOREVER);
    for (int i = 0; i < RECORDS; i++) {
        if (event_out_operation(out, &event))
            kept++;
        else
            lost++;
        if (i % 500 == 499) assert_true(event_sink_turn(sink));
    }
    event_sink_stats(sink, &stats);
    assert_int_equal(event_sink_destroy(sink), 0);
    assert_int_equal(shortage_end(), 0);
    assert_true(kept > 0 && lost > 0);
    assert_int_equal(stats.lost, lost);

    static char text[1 << 20];
    FILE *file = fopen(path, "r");
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    uint64_t records = 0, told = 0;
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        const char *number = strstr(line, "\"records\":");
        if (number)
            told += strtoull(number + strlen("\"records\":"), NULL, 10);
        else
            records++;
    }
    assert_int_equal(records, kept);
    assert_int_equal(told, lost);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sink_without_memory_is_none),
        cmocka_unit_test(events_are_written_and_losses_told_without_memory),
    };
    int fd = mkstemp(path);
    if (fd < 0) return 1;
    close(fd);
    int failed = cmocka_run_group_tests_name("event/shortage", tests, NULL, NULL);
    (void)unlink(path);
    return failed;
}
