/* heap.h: an intrusive pairing heap of nodes that the caller owns; nothing is allocated, so that
 * nothing can fail.
 *
 * Guarantee: top, insert and removing a node without children are O(1); removing any other is
 * O(log n), amortised. The order is the caller's `before`, which must be strict and total. A heap
 * with nodes in it stays where it is in memory.
 */
#ifndef BASE_HEAP_H
#define BASE_HEAP_H

#include <stdbool.h>
#include <stddef.h>

/* Zero-initialised memory is a node that is in no heap. */
struct heap_node {
    struct heap_node *child, *next; /* its first child, its next sibling */
    struct heap_node **link;        /* what points at it; NULL: it is in no heap */
};

struct heap {
    struct heap_node *top; /* NULL when empty */
    size_t count;
    bool (*before)(const struct heap_node *a, const struct heap_node *b);
};

void heap_init(struct heap *heap,
               bool (*before)(const struct heap_node *, const struct heap_node *));
void heap_insert(struct heap *heap, struct heap_node *node);
void heap_remove(struct heap *heap, struct heap_node *node);
void heap_moved(struct heap *heap, struct heap_node *node); /* its key changed */

static inline bool heap_holds(const struct heap_node *node)
{
    return node->link != NULL;
}

#endif
