/* deadline.c: what still fits before an operation's deadline (deadline.h). */
#include <belay/deadline.h>

struct belay_instant belay_deadline_at(struct belay_instant started_at,
                                       struct belay_span configured, struct belay_span incoming)
{
    struct belay_span least = belay_span_min(configured, incoming);
    return belay_instant_add(started_at, belay_span_max(least, belay_span_ns(0)));
}

struct belay_instant belay_deadline_attempt_end(struct belay_instant now,
                                                struct belay_instant deadline_at,
                                                struct belay_span attempt_timeout)
{
    if (attempt_timeout.ns <= 0) return deadline_at;
    return belay_instant_min(belay_instant_add(now, attempt_timeout), deadline_at);
}
