/* call_events.c: events as lines of a file (call_events.h). */
#include "app/call_events.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#define LOST_BYTES_MAX 128

bool call_events_open(struct call_events *events, const char *file)
{
    *events = (struct call_events){.file = file, .fd = -1};
    if (!file) return true;
    if (strcmp(file, "-") == 0) {
        events->fd = STDOUT_FILENO;
        return true;
    }
    events->fd = open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY, 0640);
    return events->fd >= 0;
}

static ssize_t write_whole(int fd, const char *bytes, size_t count)
{
    for (;;) {
        ssize_t wrote = write(fd, bytes, count);
        if (wrote >= 0 || errno != EINTR) return wrote;
    }
}

/* A newline for the record that was cut, the count of those that were lost, and this one. */
static void put(struct call_events *events, const char *line, size_t bytes)
{
    char out[1 + LOST_BYTES_MAX + BELAY_EVENT_BYTES_MAX];
    size_t used = 0;
    if (events->broken_line) out[used++] = '\n';
    if (events->lost > 0) {
        struct belay_lost_event lost = {events->lost};
        used += belay_lost_event_encode(&lost, out + used, LOST_BYTES_MAX);
    }
    const ssize_t told = (ssize_t)used;
    memcpy(out + used, line, bytes);
    used += bytes;
    ssize_t wrote = write_whole(events->fd, out, used);
    /* All but its newline is enough: that one is made up for. */
    if (wrote >= told - 1) events->lost = 0;
    if (wrote > 0) events->broken_line = out[wrote - 1] != '\n';
    if (wrote == (ssize_t)used) return;
    if (!events->error) events->error = wrote < 0 ? errno : ENOSPC;
    events->lost++;
}

void call_events_attempt(struct call_events *events, const struct belay_attempt_event *event)
{
    char line[BELAY_EVENT_BYTES_MAX];
    if (!events->file) return;
    size_t bytes = belay_attempt_event_encode(event, line, sizeof line);
    put(events, line, bytes);
}

void call_events_operation(struct call_events *events, const struct belay_operation_event *event)
{
    char line[BELAY_EVENT_BYTES_MAX];
    if (!events->file) return;
    size_t bytes = belay_operation_event_encode(event, line, sizeof line);
    put(events, line, bytes);
}

void call_events_close(struct call_events *events)
{
    if (events->fd > STDERR_FILENO) (void)close(events->fd);
}
