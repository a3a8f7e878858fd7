/* classify.h: is this outcome worth repeating, and is it safe? (semantics 1 and 3) */
#ifndef BELAY_CLASSIFY_H
#define BELAY_CLASSIFY_H

#include <belay/outcome.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The outcomes that are worth repeating [timeout reset closed refused dns 429 502 503 504]. */
struct belay_retry_on {
    uint32_t errors;     /* bit n: enum belay_error_class n */
    uint64_t status[10]; /* bit s of the 640: status s */
};

#ifdef __cplusplus
}
#endif
#endif
