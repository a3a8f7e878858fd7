/* backoff.h: how long to wait before the next attempt (semantics 5). */
#ifndef BELAY_BACKOFF_H
#define BELAY_BACKOFF_H

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

#ifdef __cplusplus
}
#endif
#endif
