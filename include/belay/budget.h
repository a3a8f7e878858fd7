/* budget.h: the retry budget of a target (semantics 7). */
#ifndef BELAY_BUDGET_H
#define BELAY_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct belay_budget_config {
    uint32_t ratio_ppm; /* [100000] retries a million operations: 10 % */
    uint32_t burst;     /* [10] */
};

#ifdef __cplusplus
}
#endif
#endif
