/* heap.c: the intrusive heap keeps its order under random inserts, moves and removals. */
#include "base/heap.h"

#include "base/check.h"
#include "base/rng.h"
#include "test.h"

struct item {
    struct heap_node node;
    uint64_t key;
};

static bool before(const struct heap_node *a, const struct heap_node *b)
{
    const struct item *x = (const struct item *)(const void *)a,
                      *y = (const struct item *)(const void *)b;
    return x->key < y->key;
}

static void test_pops_in_order_after_random_changes(void **state)
{
    (void)state;
    enum { N = 500 };
    static struct item items[N];
    struct heap heap;
    struct rng rng;
    rng_seed(&rng, 1);
    heap_init(&heap, N, before);
    for (int i = 0; i < N; i++) {
        items[i] = (struct item){.key = rng_next(&rng) % 1000};
        assert_true(heap_insert(&heap, &items[i].node));
    }
    for (int i = 0; i < N; i += 3) heap_remove(&heap, &items[i].node);
    for (int i = 1; i < N; i += 3) {
        items[i].key = rng_next(&rng) % 1000;
        heap_moved(&heap, &items[i].node);
    }
    uint64_t last = 0;
    size_t popped = 0;
    for (struct heap_node *top; (top = heap_top(&heap)); popped++) {
        uint64_t key = ((struct item *)(void *)top)->key;
        assert_true(key >= last);
        last = key;
        heap_remove(&heap, top);
        assert_int_equal(top->slot, 0);
    }
    assert_int_equal(popped, N - (N + 2) / 3);
    heap_deinit(&heap);
}

static void test_refuses_more_than_its_limit(void **state)
{
    (void)state;
    struct item items[3] = {0};
    struct heap heap;
    heap_init(&heap, 2, before);
    assert_true(heap_insert(&heap, &items[0].node));
    assert_true(heap_insert(&heap, &items[1].node));
    assert_false(heap_insert(&heap, &items[2].node));
    assert_int_equal(items[2].node.slot, 0);
    heap_deinit(&heap);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pops_in_order_after_random_changes),
        cmocka_unit_test(test_refuses_more_than_its_limit),
    };
    return cmocka_run_group_tests_name("base/heap", tests, NULL, NULL);
}
