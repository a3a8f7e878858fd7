/* series.h: counts over time in at most INSPECT_SERIES_MAX points, whatever the time spanned.
 *
 * Points begin at multiples of the width, which is a power of two and doubles when they no longer
 * suffice: the result does not depend on the order of what is added.
 */
#ifndef INSPECT_SERIES_H
#define INSPECT_SERIES_H

#include "inspect/report.h"

#define SERIES_NO_DECISION BELAY_DECISION_COUNT

struct series {
    struct inspect_series shown;
    uint64_t firsts[INSPECT_SERIES_MAX], retries[INSPECT_SERIES_MAX];
};

/* One attempt; `decision` may be SERIES_NO_DECISION. */
void series_add(struct series *series, int64_t start_ms, int64_t elapsed_ms, unsigned decision,
                bool is_retry);
/* Attempts under way in the busiest point, as its mean; 0 without times. */
double series_peak(const struct series *series);

#endif
