/* json.h: appends JSON to memory of a fixed size; the hot path's own, because printf is ten times slower.
 *
 * Nothing is written past `end`: the first piece that does not fit sets `full`, and what follows is dropped.
 */
#ifndef EVENT_JSON_H
#define EVENT_JSON_H

#include <belay/slice.h>
#include <belay/time.h>

struct json {
    char *at, *end;
    bool full;
};

void json_text(struct json *json, const char *text, size_t length); /* as it is */
void json_number(struct json *json, int64_t value);
/* Quoted and escaped; what is no UTF-8 becomes U+FFFD. At most `bytes_max` bytes between the quotes, cut before the
 * character that would not fit. */
void json_string(struct json *json, struct belay_slice text, size_t bytes_max);
void json_escape(struct json *json, struct belay_slice text, size_t bytes_max); /* without the quotes */
/* "2026-01-06T12:00:00.123Z"; before 1970 is shown as its first instant. */
void json_time(struct json *json, struct belay_wall time);

#endif
