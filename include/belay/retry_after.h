/* retry_after.h: what a Retry-After field asks for (RFC 9110 10.2.3, semantics 6).
 *
 * Whole seconds or one of the three HTTP-date forms, strictly; anything else (-5, +5, 1.5, 120s,
 * two values) is no hint. Thread rule: a pure function of values.
 */
#ifndef BELAY_RETRY_AFTER_H
#define BELAY_RETRY_AFTER_H

#include <belay/export.h>
#include <belay/slice.h>
#include <belay/time.h>

#ifdef __cplusplus
extern "C" {
#endif

/* True, with *ms >= 0 the wait from `now` on in whole milliseconds, rounded up: huge saturates, a
 * past date is 0. False for anything else, *ms untouched, and *rule (may be NULL) is a constant
 * sentence that says what was wrong. `now` is the wall clock: a date is measured against it. */
BELAY_API bool belay_retry_after_parse(struct belay_slice value, struct belay_wall now, int64_t *ms,
                                       const char **rule) BELAY_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
