/* breaker.h: the circuit breaker of a target (semantics 8). */
#ifndef BELAY_BREAKER_H
#define BELAY_BREAKER_H

#include <belay/outcome.h>
#include <belay/time.h>

#ifdef __cplusplus
extern "C" {
#endif

struct belay_breaker_config {
    bool enabled;                 /* [true] */
    struct belay_span window;     /* [10 s] in 10 buckets */
    uint32_t min_calls;           /* [20] */
    uint32_t failure_ppm;         /* [500000] 50 % */
    struct belay_span slow_after; /* [0: none] a call longer than this is slow */
    uint32_t slow_ppm;            /* [1000000] 100 % */
    uint32_t consecutive;         /* [10] failures in a row; 0: off */
    struct belay_span open_for;   /* [5 s] doubled on each re-opening */
    struct belay_span open_max;   /* [60 s] */
    uint32_t probes;              /* [1] at a time in half-open */
    uint32_t probe_successes;     /* [1] to close */
    struct belay_span min_timeout; /* [100 ms] a timeout of a shorter attempt is neutral */
};

#ifdef __cplusplus
}
#endif
#endif
