/* quota.h: the pace towards a target, a generic cell rate algorithm (semantics 6). */
#ifndef BELAY_QUOTA_H
#define BELAY_QUOTA_H

#include <belay/time.h>

#ifdef __cplusplus
extern "C" {
#endif

struct belay_quota_config {
    bool enabled;           /* [false] */
    struct belay_span per_call; /* emission interval: 1 s / rate */
    uint32_t burst;         /* calls that may go at once, >= 1 */
    uint32_t queue;         /* [0] callers that may wait for their instant */
};

#ifdef __cplusplus
}
#endif
#endif
