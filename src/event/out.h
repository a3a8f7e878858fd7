/* out.h: where an engine puts its records: room is reserved, a whole record is written into it,
 * then committed.
 *
 * One writer: an `event_out` belongs to one worker's thread. No call blocks, allocates or asks the
 * system. Two implementations: the sink (sink.h) and the simulated world's memory.
 */
#ifndef EVENT_OUT_H
#define EVENT_OUT_H

#include <belay/event.h>

struct event_out {
    /* `bytes` of room, or NULL when there is none: that record is then counted as lost, by the
     * implementation. */
    char *(*reserve)(struct event_out *out, size_t bytes);
    /* The first `bytes` of the room hold one record with its newline; 0 gives the room back. */
    void (*commit)(struct event_out *out, size_t bytes);
};

/* Encode and hand over. False: lost, and counted so. `out` may be NULL: nobody asked for events;
 * that is no loss. */
bool event_out_attempt(struct event_out *out, const struct belay_attempt_event *event);
bool event_out_operation(struct event_out *out, const struct belay_operation_event *event);

#endif
