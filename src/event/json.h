/* json.h: appends JSON to memory that is known to be large enough; the hot path's own, as printf is
 * too slow.
 *
 * Each function writes at `at` and returns where the next one goes on. Nothing is checked here: the
 * caller has room for the bytes that each function states as its most (a record's sum is bounded by
 * its catalogue).
 */
#ifndef EVENT_JSON_H
#define EVENT_JSON_H

#include <belay/slice.h>
#include <belay/time.h>

#define JSON_NUMBER_BYTES_MAX 20
#define JSON_TIME_BYTES 26
/* Beyond what they return, functions may touch this many bytes more. */
#define JSON_SLACK_BYTES 20

char *event_json_number(char *at, int64_t value);
/* Escaped, without the quotes; what is no UTF-8 becomes U+FFFD. At most `bytes_max` bytes, cut
 * before the character that would not fit. */
char *event_json_escape(char *at, struct belay_slice text, size_t bytes_max);
/* "2026-01-06T12:00:00.123Z", quoted; before 1970 is shown as its first instant. */
char *event_json_time(char *at, struct belay_wall time);

/* Text as it is. */
static inline char *event_json_text(char *at, const char *text, size_t length)
{
    memcpy(at, text, length);
    return at + length;
}

/* A closed vocabulary's word, quoted: nothing in it needs escaping. */
static inline char *event_json_word(char *at, const char *word)
{
    *at++ = '"';
    while (*word) *at++ = *word++;
    *at++ = '"';
    return at;
}

/* Quoted and escaped. */
static inline char *event_json_string(char *at, struct belay_slice text, size_t bytes_max)
{
    *at = '"';
    at = event_json_escape(at + 1, text, bytes_max);
    *at = '"';
    return at + 1;
}

#endif
