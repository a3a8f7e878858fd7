/* date.h: HTTP-dates (RFC 9110 5.6.7): three forms read strictly, one written. */
#ifndef HTTP1_DATE_H
#define HTTP1_DATE_H

#include <belay/slice.h>
#include <belay/time.h>

/* The three HTTP-date forms, strict and case-sensitive, the weekday has to be right; `now` resolves
 * two-digit years. What a wall time cannot hold saturates. False for anything else, and *rule (may
 * be NULL) says what was wrong. */
bool http1_parse_date(struct belay_slice value, struct belay_wall now, struct belay_wall *out,
                      const char **rule);
/* The same in seconds since the epoch, which a wall time may be too small for. */
bool http1__date_seconds(struct belay_slice value, struct belay_wall now, int64_t *seconds,
                         const char **rule);
/* Writes an IMF-fixdate, 29 bytes. */
void http1_format_date(struct belay_wall t, char out[29]);

#endif
