/* sink.h: one thread that writes the workers' records to a file or to the standard output.
 *
 * Each worker has a bounded buffer of its own; the thread writes what has gathered, every 100 ms or
 * when 64 KiB have. Guarantees:
 *   - a worker never waits: when its buffer is full the record is counted as lost;
 *   - once the file takes records again, `{"v":1,"event":"lost","records":N}` stands in it;
 *   - every line is whole: a record that a full disk has cut is continued, or, when the file has
 *     been changed or replaced meanwhile, left, counted as lost, and followed by a line of its own.
 * Thread rule: an `event_out` belongs to its worker; reopen and stats may come from any thread.
 */
#ifndef EVENT_SINK_H
#define EVENT_SINK_H

#include "event/out.h"

struct event_sink;

struct event_sink_stats {
    uint64_t written_bytes, writes;
    uint64_t lost;          /* records, all in all */
    uint64_t waiting_bytes; /* in the buffers now */
    uint64_t reopened, failures;
};

/* `file` is a path, opened for appending, or "-". `buffer_bytes` is the sum over `workers` buffers
 * (each has at least 16 KiB). `notice` (may be NULL) is told of failures and of recoveries, from
 * the sink's thread. NULL, and *error a text that needs no freeing, when the file cannot be opened
 * or memory is short. */
struct event_sink *event_sink_create(const char *file, size_t buffer_bytes, uint32_t workers,
                                     void (*notice)(const char *text), const char **error);
struct event_out *event_sink_out(struct event_sink *sink, uint32_t worker);
/* Starts the thread. False without one. */
bool event_sink_start(struct event_sink *sink) __attribute__((warn_unused_result));
/* Opens the path anew with the next batch (it has been renamed). When that fails the old file stays
 * in use. */
void event_sink_reopen(struct event_sink *sink);
void event_sink_stats(struct event_sink *sink, struct event_sink_stats *out);
/* Writes what is left, for at most about a second when nothing moves; returns the records that no
 * line tells of. */
uint64_t event_sink_destroy(struct event_sink *sink);

/* One round of the thread's work, for a sink whose thread was not started. False: something could
 * not be written. */
bool event_sink_turn(struct event_sink *sink);

#endif
