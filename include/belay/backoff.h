/* backoff.h: how long to wait before the next attempt (semantics 5, and the hint of rule 5 in
 * section 3).
 *
 * Guarantees, with b = min(base * 2^(n-1), max) for the n-th retry, in whole milliseconds, for
 * every n: additive b <= w <= 2b; full 0 <= w <= b; equal b/2 <= w <= b; none w = b; constant w =
 * base; decorrelated base <= w <= min(max, 3 * previous wait). The jitter is drawn after the cap,
 * so it never vanishes there. Nothing overflows: the arithmetic saturates. Spans are taken in whole
 * milliseconds, rounded down, but at least 1 ms when they are above 0. Thread rule: pure functions
 * of values; `luck` is 64 uniform random bits.
 */
#ifndef BELAY_BACKOFF_H
#define BELAY_BACKOFF_H

#include <belay/export.h>
#include <belay/time.h>

#ifdef __cplusplus
extern "C" {
#endif

enum belay_backoff_kind {
    BELAY_BACKOFF_ADDITIVE, /* b + U(0,b) */
    BELAY_BACKOFF_FULL,     /* U(0,b) */
    BELAY_BACKOFF_EQUAL,    /* b/2 + U(0,b/2) */
    BELAY_BACKOFF_DECORRELATED,
    BELAY_BACKOFF_NONE,     /* b, growth without jitter */
    BELAY_BACKOFF_CONSTANT, /* base: no growth, no jitter, none on hints either */
};

struct belay_backoff_config {
    enum belay_backoff_kind kind; /* [additive] */
    struct belay_span base;       /* [200 ms] */
    struct belay_span max;        /* [5 s] caps b, so an additive wait is at most 2 * max */
};

/* The wait before the `n`-th retry (from 1; 0 is taken as 1). `previous` is the wait this gave for
 * the retry before, 0 for the first; only decorrelated looks at it. */
BELAY_API struct belay_span belay_backoff_decide(const struct belay_backoff_config *config,
                                                 uint32_t n, struct belay_span previous,
                                                 uint64_t luck);

/* The wait when the server gave a hint: w = max(hint, base) + jitter, where
 *   0 <= jitter <= w/10  and  jitter <= spare - max(hint, base) - 1 ms,
 * so that nothing is called earlier than the server asked, and jitter alone never ends an
 * operation. `spare` is what remains of the deadline less the reserve. */
BELAY_API struct belay_span belay_backoff_decide_hint(const struct belay_backoff_config *config,
                                                      struct belay_span hint,
                                                      struct belay_span spare, uint64_t luck);

#ifdef __cplusplus
}
#endif
#endif
