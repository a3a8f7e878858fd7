/* deadline.h: one monotonic instant for the whole operation, and what still fits before it
 * (semantics 1, 3, 4).
 *
 * Guarantees: a remainder is never negative; nothing is started, and nothing waited for, that would
 * leave `reserve` or less of it; an attempt never ends after its operation. Thread rule: pure
 * functions of values.
 */
#ifndef BELAY_DEADLINE_H
#define BELAY_DEADLINE_H

#include <belay/export.h>
#include <belay/time.h>

#ifdef __cplusplus
extern "C" {
#endif

/* started_at + min(configured, incoming): a caller's deadline only ever shortens ours. A negative
 * span is 0; without one from the caller, pass the configured span twice. */
BELAY_API struct belay_instant belay_deadline_at(struct belay_instant started_at,
                                                 struct belay_span configured,
                                                 struct belay_span incoming);
/* max(0, deadline_at - now). */
static inline struct belay_span belay_deadline_remaining(struct belay_instant deadline_at,
                                                         struct belay_instant now)
{
    return belay_span_max(belay_instant_since(deadline_at, now), belay_span_ns(0));
}
/* remaining > wait + reserve: is there time left for a call after `wait`? */
static inline bool belay_deadline_allows(struct belay_span remaining, struct belay_span wait,
                                         struct belay_span reserve)
{
    return remaining.ns > belay_span_add(wait, reserve).ns;
}
/* min(now + attempt_timeout, deadline_at); a timeout of 0 is none. */
BELAY_API struct belay_instant belay_deadline_attempt_end(struct belay_instant now,
                                                          struct belay_instant deadline_at,
                                                          struct belay_span attempt_timeout);

#ifdef __cplusplus
}
#endif
#endif
