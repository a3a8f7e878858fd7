/* call_state.c: the shared file: what it keeps, what damages it survives, and that runs truly share
 * it. */
#include "app/call_state.h"

#include "../test.h"
#include "base/check.h"
#include "base/hash.h"

#include <belay/operation.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { FILE_SIZE = 64 + 64 * 2 * 1088, RECORD = CALL_STATE_RECORD_BYTES };

static char folder[] = "/tmp/belay_call_state_XXXXXX";
static char file[64];
static char said[1024]; /* the last notice */
static int notices;
static bool stopped;
static int64_t time_left_ms;

static const struct belay_traits get = {.safe_method = true};

static int set_up(void **state)
{
    (void)state;
    assert_non_null(mkdtemp(folder));
    (void)snprintf(file, sizeof file, "%s/state", folder);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    (void)unlink(file);
    return rmdir(folder);
}

static int anew(void **state)
{
    (void)state;
    (void)unlink(file);
    notices = 0;
    stopped = false;
    time_left_ms = 10000;
    said[0] = '\0';
    return 0;
}

static void on_notice(void *user, const char *text)
{
    (void)user;
    notices++;
    (void)snprintf(said, sizeof said, "%s", text);
}

static struct belay_instant now(void)
{
    struct timespec time;
    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return belay_instant_of(time.tv_sec, time.tv_nsec);
}

static bool is_stopped(void *user)
{
    (void)user;
    return stopped;
}

static const struct call_state_owner owner = {on_notice, is_stopped, NULL};
static struct belay_instant deadline(void)
{
    return belay_instant_add(now(), belay_span_ms(time_left_ms));
}

static bool open_for(struct call_state *call_state, const char *target)
{
    return call_state_open(call_state, file, belay_slice_z(target), deadline(), &owner);
}

static struct belay_policy policy(void)
{
    struct belay_policy defaults = belay_policy_default();
    defaults.backoff = (struct belay_backoff_config){BELAY_BACKOFF_CONSTANT, {0}, {0}};
    defaults.breaker.consecutive = 2;
    return defaults;
}

/* One operation of a run: attempts that all come to `status`; returns how it ended. */
static struct belay_ending run_once(const char *name, const struct belay_policy *with, int status)
{
    struct call_state call_state;
    struct belay_operation op;
    struct belay_outcome outcome = {.status = status, .sent = BELAY_ANSWERED};
    void *memory = malloc(belay_target_size());
    CHECK(memory && open_for(&call_state, name));
    struct belay_target *target = belay_target_init(memory, with, 1);
    belay_target_share_with(target, &call_state.share);
    struct belay_instant start = now();
    belay_operation_init(&op, with, target, &get, start,
                         belay_instant_add(start, with->deadline_for), NULL);
    while (belay_operation_admit(&op, now()).kind == BELAY_ADMITTED) {
        if (belay_operation_record(&op, &outcome, now(), 0).decision != BELAY_DECISION_RETRY) break;
    }
    struct belay_ending ending = belay_operation_finish(&op, now());
    belay_target_deinit(target);
    free(memory);
    call_state_close(&call_state);
    return ending;
}

static const char *word_of(const char *name, int status)
{
    struct belay_policy with = policy();
    const char *word = run_once(name, &with, status).word;
    return word ? word : "";
}

/* Two failures open it; each run has one attempt. */
static void open_breaker(const char *name)
{
    struct belay_policy with = policy();
    with.attempts_max = 1;
    for (int i = 0; i < 2; i++) (void)run_once(name, &with, 503);
    assert_string_equal(word_of(name, 200), "breaker_open");
}

/* ---- bytes of the file ---- */

static unsigned char image[FILE_SIZE + 1];

static size_t read_image(void)
{
    FILE *stream = fopen(file, "rb");
    assert_non_null(stream);
    size_t length = fread(image, 1, sizeof image, stream);
    (void)fclose(stream);
    return length;
}

static void write_image(size_t length)
{
    FILE *stream = fopen(file, "wb");
    assert_non_null(stream);
    assert_int_equal(fwrite(image, 1, length, stream), length);
    assert_int_equal(fclose(stream), 0);
}

static unsigned char *record_at(int slot, int copy)
{
    return image + 64 + (slot * 2 + copy) * RECORD;
}

static uint64_t sequence_of(const unsigned char *record)
{
    uint64_t value;
    memcpy(&value, record + 8, sizeof value);
    return value;
}

static unsigned char *newest_at(int slot)
{
    unsigned char *one = record_at(slot, 0), *two = record_at(slot, 1);
    return sequence_of(one) > sequence_of(two) ? one : two;
}

/* As the file's own description says: FNV-1a of all that follows it. */
static void sign(unsigned char *record)
{
    uint64_t sum = hash_bytes(belay_slice((const char *)record + 8, RECORD - 8));
    memcpy(record, &sum, sizeof sum);
}

/* ---- what it keeps ---- */

static void test_a_breaker_that_one_run_opened_refuses_the_next(void **state)
{
    (void)state;
    open_breaker("a:80");
    assert_string_equal(word_of("b:80", 200), ""); /* another target */
    assert_int_equal(notices, 0);
    struct stat about;
    assert_int_equal(stat(file, &about), 0);
    assert_int_equal(about.st_mode & 07777, 0600);
    assert_int_equal(about.st_size, FILE_SIZE);
}

static void test_the_sixty_fifth_target_takes_the_place_of_the_oldest(void **state)
{
    (void)state;
    char name[32];
    open_breaker("first:1");
    for (int i = 0; i < 63; i++) {
        (void)snprintf(name, sizeof name, "t%d:1", i);
        assert_string_equal(word_of(name, 200), "");
    }
    assert_string_equal(word_of("first:1", 200), "breaker_open"); /* just called */
    assert_string_equal(word_of("new:1", 200), "");               /* for t0 */
    assert_string_equal(word_of("first:1", 200), "breaker_open");
    struct stat about;
    assert_int_equal(stat(file, &about), 0);
    assert_int_equal(about.st_size, FILE_SIZE);
}

static void test_after_a_reboot_the_wall_clock_says_what_has_passed(void **state)
{
    (void)state;
    static const int64_t ages_s[] = {1, 100, -3600}; /* the breaker is open for 5 s */
    for (int i = 0; i < 3; i++) {
        (void)unlink(file);
        open_breaker("a:80");
        (void)read_image();
        unsigned char *record = newest_at(0);
        int64_t wall;
        memcpy(&wall, record + 24, sizeof wall);
        wall -= ages_s[i] * BELAY_NS_PER_S;
        memcpy(record + 24, &wall, sizeof wall);
        record[32] ^= 1;              /* another boot */
        memset(record + 16, 0x7f, 7); /* whose clock means nothing here */
        sign(record);
        write_image(FILE_SIZE);
        assert_string_equal(word_of("a:80", 200), ages_s[i] == 100 ? "" : "breaker_open");
    }
    assert_int_equal(notices, 0);
}

/* ---- damage ---- */

static void test_a_record_that_was_cut_leaves_the_one_before(void **state)
{
    (void)state;
    open_breaker("a:80");
    (void)read_image();
    static unsigned char good[sizeof image];
    memcpy(good, image, sizeof good);
    for (size_t at = 0; at < RECORD; at += 7) {
        memcpy(image, good, sizeof good);
        memset(newest_at(0) + at, 0x5a, RECORD - at); /* from here on something else */
        write_image(FILE_SIZE);
        assert_string_equal(word_of("a:80", 200), "breaker_open");
    }
    assert_int_equal(notices, 0);
}

static void test_two_bad_copies_are_told_once_and_begin_anew(void **state)
{
    (void)state;
    open_breaker("a:80");
    (void)read_image();
    record_at(0, 0)[400] ^= 1;
    record_at(0, 1)[700] ^= 1;
    write_image(FILE_SIZE);
    assert_string_equal(word_of("a:80", 200), "");
    assert_int_equal(notices, 1);
    assert_non_null(strstr(said, file));
    assert_non_null(strstr(said, "entry 0"));
    assert_non_null(strstr(said, "checksum"));
    assert_string_equal(word_of("a:80", 200), "");
    assert_int_equal(notices, 1);
}

static void test_a_state_that_cannot_be_is_told(void **state)
{
    (void)state;
    open_breaker("a:80");
    (void)read_image();
    unsigned char *record = newest_at(0);
    record[320 + 24] = 9; /* the breaker's state */
    sign(record);
    write_image(FILE_SIZE);
    assert_string_equal(word_of("a:80", 200), "");
    assert_int_equal(notices, 1);
    assert_non_null(strstr(said, "breaker has no state"));
}

static void test_what_is_not_ours_is_left_as_it_is(void **state)
{
    (void)state;
    static const char *const texts[] = {"#!/bin/sh\necho precious\n", "b", "x",
                                        "belay state, version 2\nwhatever",
                                        "belay state, version 1x"};
    struct call_state call_state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        size_t length = strlen(texts[i]);
        if (i == 1) continue; /* the beginning of a header: the next test */
        memset(image, 0, sizeof image);
        memcpy(image, texts[i], length);
        write_image(length);
        assert_false(open_for(&call_state, "a:80"));
        assert_non_null(strstr(said, "left as it is"));
        assert_int_equal(read_image(), length);
        assert_memory_equal(image, texts[i], length);
    }
    assert_false(call_state_open(&call_state, folder, belay_slice_z("a:80"), deadline(), &owner));
    assert_false(call_state_open(&call_state, "/dev/null", belay_slice_z("a"), deadline(), &owner));
    assert_non_null(strstr(said, "no regular file"));
}

static void test_a_file_that_was_cut_at_any_byte_is_used(void **state)
{
    (void)state;
    open_breaker("a:80");
    (void)read_image();
    static unsigned char good[sizeof image];
    memcpy(good, image, sizeof good);
    for (size_t length = 0; length < 64 + 2 * RECORD + 100; length += length < 70 ? 1 : 97) {
        memcpy(image, good, sizeof good);
        write_image(length);
        (void)word_of("a:80", 200);
        assert_string_equal(word_of("a:80", 200), word_of("a:80", 200));
    }
}

/* ---- other runs ---- */

static void test_a_lock_that_cannot_be_had_is_told_and_the_run_goes_on_alone(void **state)
{
    (void)state;
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    struct call_state call_state;
    struct belay_instant at;
    assert_true(open_for(&call_state, "a:80"));
    int other = open(file, O_RDWR | O_CLOEXEC);
    assert_int_equal(fcntl(other, F_OFD_SETLK, &whole), 0);
    assert_false(call_state.share.load(&call_state.share, now(), &at));
    assert_non_null(strstr(said, "lock"));
    (void)close(other);
    assert_false(call_state.share.load(&call_state.share, now(), &at)); /* nor later */
    assert_int_equal(notices, 1);
    call_state_close(&call_state);
}

/* The file with its whole range locked, as by a run that was stopped; close it to unlock. */
static int hold_lock(void)
{
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    int other = open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(fcntl(other, F_OFD_SETLK, &whole), 0);
    return other;
}

static int64_t ms_since(struct belay_instant start)
{
    return belay_span_floor_ms(belay_instant_since(now(), start));
}

static void test_a_lock_held_at_the_opening_is_told_and_the_run_goes_on_alone(void **state)
{
    (void)state;
    struct belay_policy with = policy();
    int other = hold_lock();
    time_left_ms = 100;
    assert_int_equal(run_once("a:80", &with, 200).status, 200);
    assert_int_equal(notices, 1);
    assert_non_null(strstr(said, "another run holds its lock; this run goes on without it"));
    (void)close(other);
    struct stat about;
    assert_int_equal(stat(file, &about), 0);
    assert_int_equal(about.st_size, 0); /* another's, while it was locked */
}

static void test_a_lock_is_waited_for_within_the_deadline(void **state)
{
    (void)state;
    struct call_state call_state;
    struct belay_instant at, start;
    static const int64_t left_ms[] = {100, 1, -50};
    for (int i = 0; i < 3; i++) {
        time_left_ms = left_ms[i];
        assert_true(open_for(&call_state, "a:80"));
        int other = hold_lock();
        start = now();
        assert_false(call_state.share.load(&call_state.share, now(), &at));
        assert_true(ms_since(start) < 1000); /* two seconds is what it may take at most */
        (void)close(other);
        call_state_close(&call_state);
    }
}

static void test_a_signal_ends_the_waiting_for_a_lock(void **state)
{
    (void)state;
    struct call_state call_state;
    struct belay_instant at, start = now();
    assert_true(open_for(&call_state, "a:80"));
    int other = hold_lock();
    stopped = true;
    assert_false(call_state.share.load(&call_state.share, now(), &at));
    assert_true(ms_since(start) < 1000);
    (void)close(other);
    call_state_close(&call_state);
}

static void test_twenty_runs_at_once_share_one_budget(void **state)
{
    (void)state;
    enum { RUNS = 20, EACH = 5 };
    uint32_t *attempts =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(attempts != MAP_FAILED);
    for (int i = 0; i < RUNS; i++) {
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid > 0) continue;
        struct belay_policy with = policy();
        with.breaker.enabled = false;
        for (int n = 0; n < EACH; n++) {
            uint32_t made = run_once("dead:1", &with, 503).attempts;
            __atomic_add_fetch(attempts, made, __ATOMIC_RELAXED);
        }
        _exit(notices);
    }
    for (int i = 0; i < RUNS; i++) {
        int status;
        assert_true(wait(&status) > 0);
        assert_int_equal(status, 0);
    }
    uint32_t retries = *attempts - RUNS * EACH;
    assert_true(retries <= 10 + RUNS * EACH / 10);     /* burst + ratio * operations */
    assert_true(retries >= 10 + RUNS * EACH / 10 - 2); /* less what came while it was full */
    (void)munmap(attempts, 4096);
}

static void test_calls_in_flight_are_counted_over_all_runs(void **state)
{
    (void)state;
    struct call_state runs[4];
    struct belay_instant at;
    int told[2];
    char word;
    for (int i = 0; i < 4; i++) assert_true(open_for(&runs[i], i == 3 ? "b:80" : "a:80"));
    assert_int_equal(pipe(told), 0);
    for (int i = 0; i < 4; i++) { /* a step, so that each knows its target's place */
        assert_true(runs[i].share.load(&runs[i].share, now(), &at));
        runs[i].share.store(&runs[i].share, now());
    }
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        struct call_state own; /* what is inherited would be shared with the parent */
        CHECK(open_for(&own, "a:80") && own.share.load(&own.share, now(), &at));
        own.share.store(&own.share, now());
        word = own.share.take_slot(&own.share, 2) ? 'y' : 'n';
        CHECK(write(told[1], &word, 1) == 1);
        for (;;) (void)pause();
    }
    assert_int_equal(read(told[0], &word, 1), 1);
    assert_int_equal(word, 'y');
    assert_true(runs[0].share.take_slot(&runs[0].share, 2));
    assert_false(runs[1].share.take_slot(&runs[1].share, 2));
    assert_true(runs[3].share.take_slot(&runs[3].share, 2)); /* another target */
    runs[0].share.give_slot(&runs[0].share);
    assert_true(runs[1].share.take_slot(&runs[1].share, 2));
    assert_false(runs[2].share.take_slot(&runs[2].share, 2));
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_true(runs[2].share.take_slot(&runs[2].share, 2)); /* the killed one's */
    for (int i = 0; i < 4; i++) call_state_close(&runs[i]);
    (void)close(told[0]);
    (void)close(told[1]);
}

static void test_a_run_that_is_killed_leaves_a_good_file(void **state)
{
    (void)state;
    for (int round = 0; round < 40; round++) {
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
            struct belay_policy with = policy();
            for (;;) (void)run_once(round % 2 ? "a:80" : "b:80", &with, 200);
        }
        struct timespec pause = {.tv_nsec = 1000000 + round * 37000};
        (void)nanosleep(&pause, NULL);
        assert_int_equal(kill(pid, SIGKILL), 0);
        assert_int_equal(waitpid(pid, NULL, 0), pid);
        assert_string_equal(word_of("a:80", 200), "");
        assert_string_equal(word_of("b:80", 200), "");
    }
    assert_int_equal(notices, 0);
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup(function, anew)
    const struct CMUnitTest tests[] = {
        TEST(test_a_breaker_that_one_run_opened_refuses_the_next),
        TEST(test_the_sixty_fifth_target_takes_the_place_of_the_oldest),
        TEST(test_after_a_reboot_the_wall_clock_says_what_has_passed),
        TEST(test_a_record_that_was_cut_leaves_the_one_before),
        TEST(test_two_bad_copies_are_told_once_and_begin_anew),
        TEST(test_a_state_that_cannot_be_is_told),
        TEST(test_what_is_not_ours_is_left_as_it_is),
        TEST(test_a_file_that_was_cut_at_any_byte_is_used),
        TEST(test_a_lock_that_cannot_be_had_is_told_and_the_run_goes_on_alone),
        TEST(test_a_lock_held_at_the_opening_is_told_and_the_run_goes_on_alone),
        TEST(test_a_lock_is_waited_for_within_the_deadline),
        TEST(test_a_signal_ends_the_waiting_for_a_lock),
        TEST(test_twenty_runs_at_once_share_one_budget),
        TEST(test_calls_in_flight_are_counted_over_all_runs),
        TEST(test_a_run_that_is_killed_leaves_a_good_file),
    };
    return cmocka_run_group_tests_name("call_state", tests, set_up, tear_down);
}
