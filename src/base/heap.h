/* heap.h: an intrusive binary heap of nodes that the caller owns; only its index is allocated.
 *
 * Guarantee: insert, remove and moved are O(log n). The order is the caller's `before`.
 */
#ifndef BASE_HEAP_H
#define BASE_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* In no heap when slot is 0; zero-initialised memory is a node that is in no heap. */
struct heap_node {
    size_t slot;
};

struct heap {
    struct heap_node **items; /* items[1..count] */
    size_t count, capacity, count_max;
    bool (*before)(const struct heap_node *a, const struct heap_node *b);
};

void heap_init(struct heap *heap, size_t count_max,
               bool (*before)(const struct heap_node *, const struct heap_node *));
void heap_deinit(struct heap *heap);
/* False when count_max is reached or no memory is left; the heap is then unchanged. */
bool heap_insert(struct heap *heap, struct heap_node *node) __attribute__((warn_unused_result));
void heap_remove(struct heap *heap, struct heap_node *node);
struct heap_node *heap_top(const struct heap *heap);        /* NULL when empty */
void heap_moved(struct heap *heap, struct heap_node *node); /* its key changed */

#endif
