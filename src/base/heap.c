/* heap.c: the intrusive pairing heap (heap.h): Fredman, Sedgewick, Sleator and Tarjan, 1986. */
#include "base/heap.h"

#include "base/check.h"

void heap_init(struct heap *heap,
               bool (*before)(const struct heap_node *, const struct heap_node *))
{
    *heap = (struct heap){.before = before};
}

/* Two trees without siblings become one: the later top is the earlier one's first child. */
static struct heap_node *join(const struct heap *heap, struct heap_node *a, struct heap_node *b)
{
    if (heap->before(b, a)) {
        struct heap_node *earlier = b;
        b = a;
        a = earlier;
    }
    b->next = a->child;
    if (b->next) b->next->link = &b->next;
    a->child = b;
    b->link = &a->child;
    return a;
}

static struct heap_node *take_first(struct heap_node **siblings)
{
    struct heap_node *first = *siblings;
    *siblings = first->next;
    first->next = NULL;
    return first;
}

/* One tree of many: first in pairs, then all pairs from the last to the first, which is what keeps
 * the trees flat. */
static struct heap_node *join_all(const struct heap *heap, struct heap_node *siblings)
{
    struct heap_node *pairs = NULL;
    while (siblings) {
        struct heap_node *pair = take_first(&siblings);
        if (siblings) pair = join(heap, pair, take_first(&siblings));
        pair->next = pairs;
        pairs = pair;
    }
    struct heap_node *all = take_first(&pairs);
    while (pairs) all = join(heap, all, take_first(&pairs));
    return all;
}

static void add_tree(struct heap *heap, struct heap_node *tree)
{
    heap->top = heap->top ? join(heap, heap->top, tree) : tree;
    heap->top->link = &heap->top;
}

void heap_insert(struct heap *heap, struct heap_node *node)
{
    CHECK(!heap_holds(node));
    heap->count++;
    add_tree(heap, node);
}

void heap_remove(struct heap *heap, struct heap_node *node)
{
    CHECK(heap_holds(node));
    struct heap_node *children = node->child;
    *node->link = node->next;
    if (node->next) node->next->link = node->link;
    *node = (struct heap_node){0};
    heap->count--;
    if (children) add_tree(heap, join_all(heap, children));
}

void heap_moved(struct heap *heap, struct heap_node *node)
{
    heap_remove(heap, node);
    heap_insert(heap, node);
}
