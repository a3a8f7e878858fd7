/* ring.c: every committed byte is read once and in order, whatever the sizes and whoever is faster.
 */
#include "event/ring.h"

#include "base/rng.h"
#include "test.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

enum { RECORD_MAX = 200, CAPACITY = 1024 };

/* Record n is n % 150 + 1 bytes long, each of them n's low byte, so that a reader can check it
 * alone. */
static size_t record_bytes(uint64_t n)
{
    return (size_t)(n % 150) + 1;
}

static bool write_record(struct ring *ring, uint64_t n)
{
    char *room = ring_reserve(ring, RECORD_MAX);
    if (!room) return false;
    memset(room, (int)(n & 0xff), record_bytes(n));
    ring_commit(ring, record_bytes(n));
    return true;
}

struct reader {
    uint64_t record;
    size_t into;
};

static void check_bytes(struct reader *reader, struct belay_slice run)
{
    for (size_t i = 0; i < run.length; i++) {
        if ((unsigned char)run.data[i] != (reader->record & 0xff)) {
            fail_msg("record %llu", (unsigned long long)reader->record);
        }
        if (++reader->into < record_bytes(reader->record)) continue;
        reader->record++;
        reader->into = 0;
    }
}

static void test_random_turns_keep_order_and_bytes(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct ring ring;
        struct rng rng;
        struct reader reader = {0};
        uint64_t written = 0;
        rng_seed(&rng, seed);
        assert_true(ring_init(&ring, CAPACITY + 5));
        assert_int_equal(ring.capacity, CAPACITY);
        for (int step = 0; step < 2000; step++) {
            uint64_t luck = rng_next(&rng);
            if (luck % 8 < 5) {
                written += write_record(&ring, written);
            } else if (luck % 8 == 5) {
                if (ring_reserve(&ring, (size_t)(luck >> 8) % RECORD_MAX)) ring_commit(&ring, 0);
            } else {
                struct belay_slice run = ring_peek(&ring);
                size_t take = run.length ? (size_t)((luck >> 8) % (run.length + 1)) : 0;
                check_bytes(&reader, belay_slice(run.data, take));
                ring_drop(&ring, take);
            }
        }
        for (struct belay_slice run; (run = ring_peek(&ring)).length > 0;
             ring_drop(&ring, run.length)) {
            check_bytes(&reader, run);
        }
        if (reader.record != written || reader.into)
            fail_msg("seed %llu", (unsigned long long)seed);
        assert_int_equal(ring_waiting(&ring), 0);
        ring_deinit(&ring);
    }
}

static void test_a_full_ring_says_so_and_loses_nothing(void **state)
{
    (void)state;
    struct ring ring;
    struct reader reader = {0};
    uint64_t written = 0;
    assert_true(ring_init(&ring, CAPACITY));
    while (write_record(&ring, written)) written++;
    assert_true(written > 0);
    for (int lap = 0; lap < 50; lap++) {
        struct belay_slice run = ring_peek(&ring);
        check_bytes(&reader, run);
        ring_drop(&ring, run.length);
        while (write_record(&ring, written)) written++;
    }
    assert_true(written > 100);
    ring_deinit(&ring);
}

enum { THREAD_RECORDS = 200000 };

static void *write_all(void *argument)
{
    struct ring *ring = argument;
    for (uint64_t n = 0; n < THREAD_RECORDS;) {
        if (write_record(ring, n)) {
            n++;
        } else {
            (void)sched_yield();
        }
    }
    return NULL;
}

static void test_two_threads(void **state)
{
    (void)state;
    struct ring ring;
    struct reader reader = {0};
    pthread_t writer;
    assert_true(ring_init(&ring, CAPACITY));
    assert_int_equal(pthread_create(&writer, NULL, write_all, &ring), 0);
    while (reader.record < THREAD_RECORDS) {
        struct belay_slice run = ring_peek(&ring);
        check_bytes(&reader, run);
        ring_drop(&ring, run.length);
        if (run.length == 0) (void)sched_yield();
    }
    assert_int_equal(pthread_join(writer, NULL), 0);
    ring_deinit(&ring);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_turns_keep_order_and_bytes),
        cmocka_unit_test(test_a_full_ring_says_so_and_loses_nothing),
        cmocka_unit_test(test_two_threads),
    };
    return cmocka_run_group_tests_name("event/ring", tests, NULL, NULL);
}
