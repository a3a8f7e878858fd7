/* heap.c: the intrusive heap against a plain search, over random inserts, moves and removals. */
#include "base/heap.h"

#include "base/check.h"
#include "seed.h"
#include "test.h"

#include <string.h>

#define ITEMS_MAX 512

struct item {
    struct heap_node node;
    uint64_t key, tie;
};

static struct heap heap;
static struct item items[ITEMS_MAX];
static uint64_t ties;

static bool item_before(const struct item *a, const struct item *b)
{
    return a->key != b->key ? a->key < b->key : a->tie < b->tie;
}

static bool before(const struct heap_node *a, const struct heap_node *b)
{
    return item_before(CONTAINER_OF(a, struct item, node), CONTAINER_OF(b, struct item, node));
}

static void start(void)
{
    memset(items, 0, sizeof items);
    heap_init(&heap, before);
    ties = 0;
}

static void set_key(struct item *item, uint64_t key)
{
    item->key = key;
    item->tie = ties++;
}

static struct item *top(void)
{
    return heap.top ? CONTAINER_OF(heap.top, struct item, node) : NULL;
}

static struct item *naive_top(size_t count, size_t *held)
{
    struct item *first = NULL;
    *held = 0;
    for (size_t i = 0; i < count; i++) {
        if (!heap_holds(&items[i].node)) continue;
        (*held)++;
        if (!first || item_before(&items[i], first)) first = &items[i];
    }
    return first;
}

static void check_top(size_t count)
{
    size_t held;
    assert_ptr_equal(top(), naive_top(count, &held));
    assert_int_equal(heap.count, held);
}

static void test_random_changes_keep_the_order(void **state)
{
    (void)state;
    struct rng rng = test_rng("heap");
    static const size_t counts[] = {1, 2, 3, 7, 40, ITEMS_MAX};
    for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
        start();
        for (int step = 0; step < 20000; step++) {
            struct item *item = &items[test_below(&rng, counts[c])];
            bool held = heap_holds(&item->node);
            if (held && test_chance(&rng, 40)) {
                heap_remove(&heap, &item->node);
                assert_false(heap_holds(&item->node));
            } else if (test_chance(&rng, 10) && heap.top) {
                heap_remove(&heap, heap.top);
            } else {
                set_key(item, test_below(&rng, test_chance(&rng, 50) ? 4 : 1000));
                if (held)
                    heap_moved(&heap, &item->node);
                else
                    heap_insert(&heap, &item->node);
            }
            check_top(counts[c]);
        }
    }
}

static void empty_in_order(size_t count)
{
    struct item *last = NULL;
    for (size_t left = count; left > 0; left--) {
        struct item *item = top();
        assert_non_null(item);
        assert_true(!last || item_before(last, item));
        last = item;
        heap_remove(&heap, &item->node);
    }
    assert_null(heap.top);
    assert_int_equal(heap.count, 0);
}

/* Keys that come sorted make the deepest and the widest trees. */
static void test_sorted_keys_come_out_in_order(void **state)
{
    (void)state;
    for (int falling = 0; falling < 2; falling++) {
        start();
        for (size_t i = 0; i < ITEMS_MAX; i++) {
            set_key(&items[i], falling ? ITEMS_MAX - i : i);
            heap_insert(&heap, &items[i].node);
        }
        empty_in_order(ITEMS_MAX);
    }
}

static void test_every_node_may_leave_a_deep_tree(void **state)
{
    (void)state;
    enum { N = 64 };
    for (size_t leaves = 0; leaves < N; leaves++) {
        start();
        for (size_t i = 0; i < N; i++) {
            set_key(&items[i], (i * 37) % N);
            heap_insert(&heap, &items[i].node);
        }
        heap_remove(&heap, heap.top); /* what was flat becomes deep */
        if (heap_holds(&items[leaves].node)) heap_remove(&heap, &items[leaves].node);
        check_top(N);
        empty_in_order(heap.count);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_changes_keep_the_order),
        cmocka_unit_test(test_sorted_keys_come_out_in_order),
        cmocka_unit_test(test_every_node_may_leave_a_deep_tree),
    };
    return cmocka_run_group_tests_name("base/heap", tests, NULL, NULL);
}
