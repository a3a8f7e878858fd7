/* heap.c: the intrusive binary heap (heap.h). */
#include "base/heap.h"

#include "base/check.h"

#include <stdlib.h>

void heap_init(struct heap *heap, size_t count_max,
               bool (*before)(const struct heap_node *, const struct heap_node *))
{
    *heap = (struct heap){.count_max = count_max, .before = before};
}

void heap_deinit(struct heap *heap)
{
    free(heap->items);
    heap->items = NULL;
    heap->count = heap->capacity = 0;
}

static void place(struct heap *heap, size_t slot, struct heap_node *node)
{
    heap->items[slot] = node;
    node->slot = slot;
}

static void sift_up(struct heap *heap, struct heap_node *node)
{
    size_t slot = node->slot;
    while (slot > 1 && heap->before(node, heap->items[slot / 2])) {
        place(heap, slot, heap->items[slot / 2]);
        slot /= 2;
    }
    place(heap, slot, node);
}

static void sift_down(struct heap *heap, struct heap_node *node)
{
    size_t slot = node->slot;
    for (;;) {
        size_t child = slot * 2;
        if (child > heap->count) break;
        if (child < heap->count && heap->before(heap->items[child + 1], heap->items[child]))
            child++;
        if (!heap->before(heap->items[child], node)) break;
        place(heap, slot, heap->items[child]);
        slot = child;
    }
    place(heap, slot, node);
}

static bool grow(struct heap *heap)
{
    size_t capacity = heap->capacity ? heap->capacity * 2 : 64;
    if (capacity > heap->count_max) capacity = heap->count_max;
    struct heap_node **items = realloc(heap->items, (capacity + 1) * sizeof(struct heap_node *));
    if (!items) return false;
    heap->items = items;
    heap->capacity = capacity;
    return true;
}

bool heap_insert(struct heap *heap, struct heap_node *node)
{
    CHECK(node->slot == 0);
    if (heap->count >= heap->count_max) return false;
    if (heap->count >= heap->capacity && !grow(heap)) return false;
    node->slot = ++heap->count;
    sift_up(heap, node);
    return true;
}

void heap_remove(struct heap *heap, struct heap_node *node)
{
    size_t slot = node->slot;
    CHECK(slot > 0 && slot <= heap->count && heap->items[slot] == node);
    struct heap_node *last = heap->items[heap->count--];
    node->slot = 0;
    if (last == node) return;
    last->slot = slot;
    heap_moved(heap, last);
}

struct heap_node *heap_top(const struct heap *heap)
{
    return heap->count ? heap->items[1] : NULL;
}

void heap_moved(struct heap *heap, struct heap_node *node)
{
    sift_up(heap, node);
    sift_down(heap, node);
}
