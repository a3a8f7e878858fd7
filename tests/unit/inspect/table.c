/* table.c: operations are found whatever their hashes are, and whoever left in between. */
#include "inspect/table.h"

#include "seed.h"
#include "test.h"

#define COUNT 400

static struct belay_slice name_of(unsigned i, char room[16])
{
    (void)snprintf(room, 16, "op-%u", i);
    return belay_slice_z(room);
}

/* Inserts and removes at random; `hash_of` is as bad as can be. */
static void churn(uint64_t (*hash_of)(unsigned))
{
    struct rng rng = test_rng("churn");
    struct table table;
    struct operation *known[COUNT] = {0};
    char room[16];
    assert_true(table_init(&table, COUNT));
    for (unsigned step = 0; step < 20000; step++) {
        unsigned i = (unsigned)test_below(&rng, COUNT);
        struct belay_slice id = name_of(i, room);
        assert_ptr_equal(table_find(&table, hash_of(i), id), known[i]);
        if (known[i]) {
            table_remove(&table, known[i]);
            known[i] = NULL;
        } else {
            known[i] = table_insert(&table, hash_of(i), id);
            assert_non_null(known[i]);
        }
    }
    table_deinit(&table);
}

static uint64_t one_for_all(unsigned i)
{
    (void)i;
    return 42;
}

static uint64_t last_slots(unsigned i)
{
    return UINT64_MAX - i % 3; /* the probes wrap around */
}

static uint64_t crowded(unsigned i)
{
    return (uint64_t)i / 7 * 5;
}

static void collisions(void **state)
{
    (void)state;
    churn(one_for_all);
    churn(last_slots);
    churn(crowded);
}

static void growth(void **state)
{
    struct table table;
    char room[16];
    (void)state;
    assert_true(table_init(&table, 100000));
    for (unsigned i = 0; i < 50000; i++) {
        assert_non_null(table_insert(&table, i * UINT64_C(0x9e3779b97f4a7c15), name_of(i, room)));
    }
    for (unsigned i = 0; i < 50000; i++) {
        assert_non_null(table_find(&table, i * UINT64_C(0x9e3779b97f4a7c15), name_of(i, room)));
    }
    table_deinit(&table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(collisions), cmocka_unit_test(growth)};
    return cmocka_run_group_tests_name("table", tests, NULL, NULL);
}
