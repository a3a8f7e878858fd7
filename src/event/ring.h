/* ring.h: bytes of whole records from one writer thread to one reader thread, without a lock.
 *
 * Guarantees: what is committed is read in order and once; a record is never split over the ring's
 * end; reserve and commit never block. Ownership: the ring owns its memory; a peeked slice lives
 * until it is dropped.
 */
#ifndef EVENT_RING_H
#define EVENT_RING_H

#include <belay/slice.h>
#include <stdatomic.h>
#include <stdint.h>

struct ring {
    char *memory;
    uint64_t capacity; /* a power of two */
    /* Positions count up for ever; a position modulo the capacity is a place in the memory. */
    _Alignas(64) _Atomic uint64_t head; /* written by the writer: everything before is committed */
    _Atomic uint64_t wrap_at; /* of the writer: from here to the memory's end there is nothing */
    uint64_t reserved_at, tail_seen;    /* the writer's own */
    _Alignas(64) _Atomic uint64_t tail; /* written by the reader: everything before is free again */
};

/* The largest power of two up to `bytes_max`. False without memory. */
bool ring_init(struct ring *ring, size_t bytes_max) __attribute__((warn_unused_result));
void ring_deinit(struct ring *ring);

/* The writer's. */
char *ring_reserve(struct ring *ring, size_t bytes); /* NULL: no room now */
void ring_commit(struct ring *ring, size_t bytes);   /* 0 gives the room back */

/* The reader's. */
/* Committed bytes that lie together; empty: none. */
struct belay_slice ring_peek(struct ring *ring);
void ring_drop(struct ring *ring, size_t bytes);

/* Anybody's; exact only while neither side moves. */
uint64_t ring_waiting(const struct ring *ring);

#endif
