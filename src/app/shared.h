/* shared.h: what all operations of a target share of a policy: budget, breaker, bulkhead, quota,
 * hold. */
#ifndef APP_SHARED_H
#define APP_SHARED_H

#include <belay/policy.h>

/* The first option of these that differs, or NULL. */
const char *shared_difference(const struct belay_policy *a, const struct belay_policy *b);
/* Into `policy`, from `shared`. */
void shared_take(const struct belay_policy *shared, struct belay_policy *policy);

#endif
