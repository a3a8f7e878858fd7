/* ring.c: the single-writer, single-reader ring of records (ring.h).
 *
 * A reservation that does not fit before the memory's end starts at its beginning; `wrap_at` tells
 * the reader where the gap begins. One such mark is enough: a second gap needs the room of a whole
 * lap, which the reader frees only by passing the first.
 */
#include "event/ring.h"

#include "base/check.h"

#include <stdlib.h>

#define CACHE_LINE_BYTES 64

bool ring_init(struct ring *ring, size_t bytes_max)
{
    CHECK(bytes_max >= CACHE_LINE_BYTES);
    uint64_t capacity = CACHE_LINE_BYTES;
    while (capacity <= bytes_max / 2) capacity *= 2;
    char *memory = malloc(capacity);
    if (!memory) return false;
    ring->memory = memory;
    ring->capacity = capacity;
    ring->reserved_at = ring->tail_seen = 0;
    atomic_init(&ring->head, 0);
    atomic_init(&ring->tail, 0);
    atomic_init(&ring->wrap_at, UINT64_MAX);
    return true;
}

void ring_deinit(struct ring *ring)
{
    free(ring->memory);
    ring->memory = NULL;
}

char *ring_reserve(struct ring *ring, size_t bytes)
{
    uint64_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);
    uint64_t place = head & (ring->capacity - 1);
    uint64_t gap = ring->capacity - place < bytes ? ring->capacity - place : 0;
    uint64_t end = head + gap + bytes;
    if (end - ring->tail_seen > ring->capacity) {
        ring->tail_seen = atomic_load_explicit(&ring->tail, memory_order_acquire);
        if (end - ring->tail_seen > ring->capacity) return NULL;
    }
    ring->reserved_at = head + gap;
    return ring->memory + (ring->reserved_at & (ring->capacity - 1));
}

void ring_commit(struct ring *ring, size_t bytes)
{
    if (bytes == 0) return;
    uint64_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);
    if (ring->reserved_at != head)
        atomic_store_explicit(&ring->wrap_at, head, memory_order_relaxed);
    atomic_store_explicit(&ring->head, ring->reserved_at + bytes, memory_order_release);
}

struct belay_slice ring_peek(struct ring *ring)
{
    uint64_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);
    uint64_t head = atomic_load_explicit(&ring->head, memory_order_acquire);
    uint64_t wrap_at = atomic_load_explicit(&ring->wrap_at, memory_order_relaxed);
    if (tail == wrap_at && tail < head) {
        tail += ring->capacity - (tail & (ring->capacity - 1));
        atomic_store_explicit(&ring->tail, tail, memory_order_release);
    }
    uint64_t place = tail & (ring->capacity - 1);
    uint64_t end = wrap_at > tail && wrap_at < head ? wrap_at : head;
    if (end - tail > ring->capacity - place) end = tail + ring->capacity - place;
    return belay_slice(ring->memory + place, (size_t)(end - tail));
}

void ring_drop(struct ring *ring, size_t bytes)
{
    uint64_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);
    atomic_store_explicit(&ring->tail, tail + bytes, memory_order_release);
}

uint64_t ring_waiting(const struct ring *ring)
{
    uint64_t tail = atomic_load_explicit(&ring->tail, memory_order_acquire);
    uint64_t head = atomic_load_explicit(&ring->head, memory_order_acquire);
    return head - tail;
}
