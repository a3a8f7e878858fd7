/* flaky_counts.c: counts are kept by name, and only so many of them. */
#include "app/flaky_counts.h"

#include "test.h"

#include <stdio.h>

static struct belay_slice z(const char *text)
{
    return belay_slice_z(text);
}

static void names_are_kept_apart(void **state)
{
    (void)state;
    struct flaky_counts *counts = flaky_counts_create(8);
    flaky_counts_take(counts, z("a"))->tally.calls = 1;
    flaky_counts_take(counts, z("b"))->tally.calls = 2;
    flaky_counts_take(counts, z(""))->tally.calls = 3;
    assert_int_equal(flaky_counts_take(counts, z("a"))->tally.calls, 1);
    assert_int_equal(flaky_counts_find(counts, z("b"))->tally.calls, 2);
    assert_int_equal(flaky_counts_find(counts, z(""))->tally.calls, 3);
    assert_null(flaky_counts_find(counts, z("c")));
    assert_int_equal(flaky_counts_entries(counts), 3);
    flaky_counts_reset(counts);
    assert_null(flaky_counts_find(counts, z("a")));
    assert_int_equal(flaky_counts_entries(counts), 0);
    flaky_counts_destroy(counts);
}

static void the_oldest_is_forgotten(void **state)
{
    (void)state;
    struct flaky_counts *counts = flaky_counts_create(5);
    char name[16];
    for (int i = 0; i < 1000; i++) {
        (void)snprintf(name, sizeof name, "op-%d", i);
        flaky_counts_take(counts, z(name))->turns = (uint64_t)i;
        flaky_counts_totals(counts)->calls++;
    }
    assert_int_equal(flaky_counts_entries(counts), 5);
    assert_int_equal(flaky_counts_forgotten(counts), 995);
    assert_int_equal(flaky_counts_totals(counts)->calls, 1000);
    for (int i = 0; i < 1000; i++) {
        (void)snprintf(name, sizeof name, "op-%d", i);
        const struct flaky_entry *entry = flaky_counts_find(counts, z(name));
        assert_int_equal(entry != NULL, i >= 995);
        if (entry) assert_int_equal(entry->turns, i);
    }
    flaky_counts_destroy(counts);
}

static void long_names_are_cut(void **state)
{
    (void)state;
    struct flaky_counts *counts = flaky_counts_create(1);
    char name[300];
    memset(name, 'n', sizeof name);
    flaky_counts_take(counts, belay_slice(name, sizeof name))->turns = 7;
    assert_int_equal(flaky_counts_find(counts, belay_slice(name, FLAKY_NAME_MAX))->turns, 7);
    flaky_counts_destroy(counts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_kept_apart),
        cmocka_unit_test(the_oldest_is_forgotten),
        cmocka_unit_test(long_names_are_cut),
    };
    return cmocka_run_group_tests_name("flaky counts", tests, NULL, NULL);
}
