/* call_events.h: where `belay call` writes its events: whole lines, appended.
 *
 * Several runs may write one file: each line is one write. A file that cannot be written is told
 * once and costs no answer; what was lost stands in the file itself once it takes records again.
 */
#ifndef APP_CALL_EVENTS_H
#define APP_CALL_EVENTS_H

#include <belay/event.h>

struct call_events {
    const char *file; /* NULL: nobody asked for events */
    int fd;
    int64_t lost;
    bool broken_line; /* the next record begins on a line of its own */
    int error;        /* errno of the first loss; 0: none */
};

/* `file` is a path, "-" for the standard output, or NULL. False, with errno, when it cannot be
 * opened. */
bool call_events_open(struct call_events *events, const char *file)
    __attribute__((warn_unused_result));
void call_events_attempt(struct call_events *events, const struct belay_attempt_event *event);
void call_events_operation(struct call_events *events, const struct belay_operation_event *event);
void call_events_close(struct call_events *events);

#endif
