/* bulkhead.h: how many calls to a target may be in flight (semantics 9). */
#ifndef BELAY_BULKHEAD_H
#define BELAY_BULKHEAD_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct belay_bulkhead_config {
    bool enabled;   /* [true] */
    uint32_t max;   /* [64] calls in flight */
    uint32_t queue; /* [0] callers that may wait for a slot */
};

#ifdef __cplusplus
}
#endif
#endif
