/* hold.h: a target's "not before", as its Retry-After said (semantics 6). */
#ifndef BELAY_HOLD_H
#define BELAY_HOLD_H

#include <belay/time.h>

#ifdef __cplusplus
extern "C" {
#endif

enum belay_hold_scope { BELAY_HOLD_TARGET, BELAY_HOLD_ROUTE, BELAY_HOLD_KEY };

struct belay_hold_config {
    struct belay_span max;       /* [60 s] the longest a hint may hold the target; 0: off */
    enum belay_hold_scope scope; /* [target] */
};

#ifdef __cplusplus
}
#endif
#endif
