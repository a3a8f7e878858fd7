/* sink.c: whole lines, in order, nothing lost without a line that says so: with a good file, a full
 * one, none. */
#include "event/sink.h"

#include "test.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[64], path[96], moved[96];
static char content[1 << 20];
static char noticed[4096];

static void notice(const char *text)
{
    strncat(noticed, text, sizeof noticed - strlen(noticed) - 1);
    strncat(noticed, "\n", sizeof noticed - strlen(noticed) - 1);
}

static int setup(void **state)
{
    (void)state;
    (void)signal(SIGXFSZ, SIG_IGN);
    (void)signal(SIGPIPE, SIG_IGN);
    strcpy(folder, "/tmp/belay-sink-XXXXXX");
    noticed[0] = 0;
    if (!mkdtemp(folder)) return -1;
    snprintf(path, sizeof path, "%s/events", folder);
    snprintf(moved, sizeof moved, "%s/moved", folder);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    (void)unlink(path);
    (void)unlink(moved);
    return rmdir(folder);
}

static struct event_sink *open_sink(uint32_t workers)
{
    const char *error = NULL;
    struct event_sink *sink = event_sink_create(path, 0, workers, notice, &error);
    if (!sink) fail_msg("%s", error);
    return sink;
}

/* A record of `bytes` bytes with its newline: worker, number, padding. */
static bool put(struct event_sink *sink, uint32_t worker, int number, size_t bytes)
{
    struct event_out *out = event_sink_out(sink, worker);
    char *room = out->reserve(out, BELAY_EVENT_BYTES_MAX);
    if (!room) return false;
    memset(room, '.', bytes);
    int length = snprintf(room, bytes, "%u:%d", worker, number);
    room[length] = '.';
    room[bytes - 1] = '\n';
    out->commit(out, bytes);
    return true;
}

static const char *read_file(const char *name)
{
    FILE *file = fopen(name, "r");
    assert_non_null(file);
    size_t length = fread(content, 1, sizeof content - 1, file);
    content[length] = 0;
    (void)fclose(file);
    return content;
}

static void write_file(const char *name, const char *text)
{
    FILE *file = fopen(name, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

/* Every line is a whole record; adds up the records and what `lost` lines tell. */
static void count_lines(const char *text, uint64_t *records, uint64_t *lost)
{
    for (const char *line = text; *line;) {
        const char *end = strchr(line, '\n');
        assert_non_null(end);
        unsigned long long told;
        if (sscanf(line, "{\"v\":1,\"event\":\"lost\",\"records\":%llu}", &told) == 1) {
            *lost += told;
        } else if (end - line > 1) {
            assert_true(line[0] >= '0' && line[0] <= '9' && end[-1] == '.');
            *records += 1;
        }
        line = end + 1;
    }
}

static void limit_file_size(rlim_t bytes)
{
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = bytes;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void test_batches_keep_each_workers_order(void **state)
{
    (void)state;
    struct event_sink *sink = open_sink(2);
    assert_true(put(sink, 0, 1, 10));
    assert_true(put(sink, 1, 1, 10));
    assert_true(put(sink, 0, 2, 10));
    assert_string_equal(read_file(path), "");
    assert_true(event_sink_turn(sink));
    assert_string_equal(read_file(path), "0:1......\n0:2......\n1:1......\n");
    struct event_sink_stats stats;
    event_sink_stats(sink, &stats);
    assert_int_equal(stats.writes, 2);
    assert_int_equal(stats.written_bytes, 30);
    assert_int_equal(stats.waiting_bytes, 0);
    assert_int_equal(event_sink_destroy(sink), 0);
}

static void test_the_end_writes_what_is_left(void **state)
{
    (void)state;
    struct event_sink *sink = open_sink(1);
    assert_true(event_sink_start(sink));
    for (int i = 0; i < 30; i++) assert_true(put(sink, 0, i, 100));
    assert_int_equal(event_sink_destroy(sink), 0);
    uint64_t records = 0, lost = 0;
    count_lines(read_file(path), &records, &lost);
    assert_int_equal(records, 30);
    assert_int_equal(lost, 0);
}

static void test_a_file_that_ends_within_a_line_gets_a_fresh_one(void **state)
{
    (void)state;
    write_file(path, "half a line");
    struct event_sink *sink = open_sink(1);
    assert_true(put(sink, 0, 1, 6));
    assert_true(event_sink_turn(sink));
    assert_int_equal(event_sink_destroy(sink), 0);
    assert_string_equal(read_file(path), "half a line\n0:1..\n");
}

static void test_a_renamed_file_is_left_for_a_new_one(void **state)
{
    (void)state;
    struct event_sink *sink = open_sink(1);
    assert_true(put(sink, 0, 1, 6));
    assert_true(event_sink_turn(sink));
    assert_int_equal(rename(path, moved), 0);
    assert_true(put(sink, 0, 2, 6));
    assert_true(event_sink_turn(sink));
    event_sink_reopen(sink);
    assert_true(put(sink, 0, 3, 6));
    assert_true(event_sink_turn(sink));
    assert_int_equal(event_sink_destroy(sink), 0);
    assert_string_equal(read_file(moved), "0:1..\n0:2..\n");
    assert_string_equal(read_file(path), "0:3..\n");
}

static void test_a_reopening_that_fails_keeps_the_old_file(void **state)
{
    (void)state;
    struct event_sink *sink = open_sink(1);
    assert_int_equal(rename(path, moved), 0);
    assert_int_equal(mkdir(path, 0700), 0);
    event_sink_reopen(sink);
    assert_true(put(sink, 0, 1, 6));
    assert_true(event_sink_turn(sink));
    assert_non_null(strstr(noticed, "cannot write"));
    assert_string_equal(read_file(moved), "0:1..\n");
    assert_int_equal(event_sink_destroy(sink), 0);
    assert_int_equal(rmdir(path), 0);
}

/* Whatever byte of a record the disk is full at, the record is whole once there is room again. */
static void test_a_record_cut_by_a_full_disk_is_continued(void **state)
{
    (void)state;
    for (rlim_t room = 0; room <= 30; room++) {
        struct event_sink *sink = open_sink(2);
        limit_file_size(room);
        assert_true(put(sink, 0, 1, 10));
        assert_true(put(sink, 1, 2, 10));
        assert_true(put(sink, 1, 3, 10));
        assert_int_equal(event_sink_turn(sink), room == 30);
        assert_int_equal(event_sink_turn(sink), room == 30);
        limit_file_size(RLIM_INFINITY);
        assert_true(event_sink_turn(sink));
        assert_int_equal(event_sink_destroy(sink), 0);
        assert_string_equal(read_file(path), "0:1......\n1:2......\n1:3......\n");
        assert_int_equal(unlink(path), 0);
    }
    assert_non_null(strstr(noticed, "cannot write"));
    assert_non_null(strstr(noticed, "writing again"));
}

/* Somebody empties the file, or another program appends to it, while a record is cut. */
static void test_a_cut_record_is_left_when_the_file_has_changed(void **state)
{
    (void)state;
    static const char *const CHANGED[][2] = {
        {"", "0:2..\n{\"v\":1,\"event\":\"lost\",\"records\":1}\n"},
        {"0:1", "0:1\n0:2..\n{\"v\":1,\"event\":\"lost\",\"records\":1}\n"},
        {"other\n", "other\n0:2..\n{\"v\":1,\"event\":\"lost\",\"records\":1}\n"},
    };
    for (size_t i = 0; i < sizeof CHANGED / sizeof CHANGED[0]; i++) {
        struct event_sink *sink = open_sink(1);
        assert_true(put(sink, 0, 1, 10));
        assert_true(put(sink, 0, 2, 6));
        limit_file_size(4);
        assert_false(event_sink_turn(sink));
        limit_file_size(RLIM_INFINITY);
        write_file(path, CHANGED[i][0]);
        assert_true(event_sink_turn(sink));
        assert_int_equal(event_sink_destroy(sink), 0);
        assert_string_equal(read_file(path), CHANGED[i][1]);
        assert_int_equal(unlink(path), 0);
    }
}

static void test_a_cut_record_is_not_continued_in_another_file(void **state)
{
    (void)state;
    struct event_sink *sink = open_sink(1);
    assert_true(put(sink, 0, 1, 10));
    assert_true(put(sink, 0, 2, 6));
    limit_file_size(4);
    assert_false(event_sink_turn(sink));
    limit_file_size(RLIM_INFINITY);
    assert_int_equal(rename(path, moved), 0);
    event_sink_reopen(sink);
    assert_true(event_sink_turn(sink));
    assert_int_equal(event_sink_destroy(sink), 0);
    assert_string_equal(read_file(path), "0:2..\n{\"v\":1,\"event\":\"lost\",\"records\":1}\n");
}

static void test_a_cut_record_is_continued_in_the_same_file_opened_anew(void **state)
{
    (void)state;
    struct event_sink *sink = open_sink(1);
    assert_true(put(sink, 0, 1, 10));
    limit_file_size(4);
    assert_false(event_sink_turn(sink));
    limit_file_size(RLIM_INFINITY);
    event_sink_reopen(sink);
    assert_true(event_sink_turn(sink));
    assert_int_equal(event_sink_destroy(sink), 0);
    assert_string_equal(read_file(path), "0:1......\n");
}

static void test_what_did_not_fit_is_counted_in_the_stream(void **state)
{
    (void)state;
    struct event_sink *sink = open_sink(2);
    limit_file_size(0);
    uint64_t given = 0, refused = 0;
    for (int i = 0; i < 1000; i++, given++) refused += !put(sink, (uint32_t)i % 2, i, 100);
    assert_true(refused > 0);
    assert_false(event_sink_turn(sink));
    for (int i = 0; i < 10; i++, given++) refused += !put(sink, 0, i, 100);
    limit_file_size(RLIM_INFINITY);
    assert_true(event_sink_turn(sink));
    assert_true(put(sink, 1, 7, 100));
    given++;
    struct event_sink_stats stats;
    event_sink_stats(sink, &stats);
    assert_int_equal(stats.lost, refused);
    assert_int_equal(event_sink_destroy(sink), 0);
    uint64_t records = 0, lost = 0;
    count_lines(read_file(path), &records, &lost);
    assert_int_equal(lost, refused);
    assert_int_equal(records + lost, given);
}

static void test_what_no_line_tells_of_is_returned_at_the_end(void **state)
{
    (void)state;
    struct event_sink *sink = open_sink(1);
    limit_file_size(25);
    uint64_t given = 0;
    for (int i = 0; i < 300; i++, given++) (void)put(sink, 0, i, 100);
    uint64_t untold = event_sink_destroy(sink);
    limit_file_size(RLIM_INFINITY);
    assert_int_equal(untold, given);
}

static void test_a_pipe_that_nobody_reads_stalls_nothing(void **state)
{
    (void)state;
    assert_int_equal(mkfifo(path, 0600), 0);
    struct event_sink *sink = open_sink(1);
    int reader = open(path, O_RDONLY | O_NONBLOCK);
    assert_true(reader >= 0);
    uint64_t given = 0, refused = 0, records = 0, lost = 0;
    for (int turn = 0; turn < 8; turn++) {
        for (int i = 0; i < 100; i++, given++) refused += !put(sink, 0, i, 200);
        (void)event_sink_turn(sink);
    }
    assert_true(refused > 0);
    size_t length = 0;
    for (bool all = false; !all;) {
        all = event_sink_turn(sink);
        ssize_t got = read(reader, content + length, sizeof content - 1 - length);
        if (got > 0) length += (size_t)got;
    }
    ssize_t got = read(reader, content + length, sizeof content - 1 - length);
    if (got > 0) length += (size_t)got;
    content[length] = 0;
    (void)close(reader);
    assert_int_equal(event_sink_destroy(sink), 0);
    count_lines(content, &records, &lost);
    assert_int_equal(lost, refused);
    assert_int_equal(records + lost, given);
}

static void test_the_thread_writes_while_workers_go_on(void **state)
{
    (void)state;
    struct event_sink *sink = open_sink(1);
    assert_true(event_sink_start(sink));
    uint64_t given = 0, refused = 0, records = 0, lost = 0;
    for (int i = 0; i < 5000; i++, given++) {
        refused += !put(sink, 0, i, 100);
        if (i % 1000 == 0) event_sink_reopen(sink);
    }
    assert_int_equal(event_sink_destroy(sink), 0);
    count_lines(read_file(path), &records, &lost);
    assert_int_equal(lost, refused);
    assert_int_equal(records + lost, given);
}

static void test_a_file_that_cannot_be_opened_is_an_error(void **state)
{
    (void)state;
    const char *error = NULL;
    assert_null(event_sink_create("/nowhere/at/all", 0, 1, NULL, &error));
    assert_string_equal(error, "No such file or directory");
    struct event_sink *sink = open_sink(1);
    assert_int_equal(event_sink_destroy(sink), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_batches_keep_each_workers_order),
        TEST(test_the_end_writes_what_is_left),
        TEST(test_a_file_that_ends_within_a_line_gets_a_fresh_one),
        TEST(test_a_renamed_file_is_left_for_a_new_one),
        TEST(test_a_reopening_that_fails_keeps_the_old_file),
        TEST(test_a_record_cut_by_a_full_disk_is_continued),
        TEST(test_a_cut_record_is_left_when_the_file_has_changed),
        TEST(test_a_cut_record_is_not_continued_in_another_file),
        TEST(test_a_cut_record_is_continued_in_the_same_file_opened_anew),
        TEST(test_what_did_not_fit_is_counted_in_the_stream),
        TEST(test_what_no_line_tells_of_is_returned_at_the_end),
        TEST(test_a_pipe_that_nobody_reads_stalls_nothing),
        TEST(test_the_thread_writes_while_workers_go_on),
        TEST(test_a_file_that_cannot_be_opened_is_an_error),
    };
    return cmocka_run_group_tests_name("event/sink", tests, NULL, NULL);
}
