/* out.c: encodes a record straight into the room of its destination (out.h). */
#include "event/out.h"

bool event_out_attempt(struct event_out *out, const struct belay_attempt_event *event)
{
    if (!out) return true;
    char *room = out->reserve(out, BELAY_EVENT_BYTES_MAX);
    if (!room) return false;
    out->commit(out, belay_attempt_event_encode(event, room, BELAY_EVENT_BYTES_MAX));
    return true;
}

bool event_out_operation(struct event_out *out, const struct belay_operation_event *event)
{
    if (!out) return true;
    char *room = out->reserve(out, BELAY_EVENT_BYTES_MAX);
    if (!room) return false;
    out->commit(out, belay_operation_event_encode(event, room, BELAY_EVENT_BYTES_MAX));
    return true;
}
