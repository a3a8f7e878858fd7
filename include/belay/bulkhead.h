/* bulkhead.h: how many calls to a target may be in flight, and how many may wait for a slot
 * (semantics 9).
 *
 * Only counts; who waits, and in which order, is the owner's list. A slot that becomes free while
 * somebody waits is promised to the first in the list, so that nobody overtakes. Guarantee:
 * in_flight + promised <= max and waiting <= queue, and waiting > 0 only while no slot is free.
 * Thread rule: the owner's lock; no shared state of its own.
 */
#ifndef BELAY_BULKHEAD_H
#define BELAY_BULKHEAD_H

#include <belay/export.h>

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct belay_bulkhead_config {
    bool enabled;   /* [true]; false: no limit, calls are only counted */
    uint32_t max;   /* [64] calls in flight */
    uint32_t queue; /* [0] callers that may wait for a slot */
};

struct belay_bulkhead { /* the counts may be read */
    struct belay_bulkhead_config config;
    uint32_t in_flight, in_flight_peak;
    uint32_t promised; /* slots kept for waiters that were told */
    uint32_t waiting;
};

enum belay_bulkhead_answer { BELAY_BULKHEAD_FREE, BELAY_BULKHEAD_QUEUE, BELAY_BULKHEAD_FULL };

BELAY_API void belay_bulkhead_init(struct belay_bulkhead *bulkhead,
                                   const struct belay_bulkhead_config *config);
/* For a newcomer. Takes nothing. */
BELAY_API enum belay_bulkhead_answer belay_bulkhead_decide(const struct belay_bulkhead *bulkhead);
/* A slot: a free one after decide said FREE, or the promised one. */
BELAY_API void belay_bulkhead_take(struct belay_bulkhead *bulkhead, bool promised);
/* A place in the queue, after decide said QUEUE; and when a waiter leaves it without a slot. */
BELAY_API void belay_bulkhead_on_wait(struct belay_bulkhead *bulkhead);
BELAY_API void belay_bulkhead_on_leave(struct belay_bulkhead *bulkhead);
/* The slot comes back (or the promise of one). True: it is now promised to the first waiter, who
 * leaves the queue and must be told. */
BELAY_API bool belay_bulkhead_give(struct belay_bulkhead *bulkhead, bool promised);

#ifdef __cplusplus
}
#endif
#endif
