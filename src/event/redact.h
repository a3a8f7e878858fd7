/* redact.h: what of a caller's words may leave in an event (semantics 2). */
#ifndef EVENT_REDACT_H
#define EVENT_REDACT_H

#include <belay/slice.h>

#define EVENT_ENDPOINT_BYTES_MAX 256

/* The endpoint of a request: the route's template when it has one; else the path alone (no scheme,
 * userinfo, authority, query, fragment or path parameter), with {} in place of every segment that
 * could be an id, a token or somebody's name: no letters, a run of four digits, UUID, long hex or
 * base64, e-mail, anything escaped. Returns `route` or a slice of `room`; never longer than the
 * room: a longer path ends in "/...". */
struct belay_slice event_endpoint(struct belay_slice path, struct belay_slice route,
                                  char room[EVENT_ENDPOINT_BYTES_MAX]);

/* May this id, given by a caller, be an operation's? 1 to BELAY_OPERATION_ID_MAX letters, digits
 * and - _ . : + = ~ */
bool event_id_valid(struct belay_slice id);

#endif
