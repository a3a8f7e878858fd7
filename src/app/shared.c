/* shared.c: compares the target-wide part of two policies, by the option table (shared.h). */
#include "app/shared.h"

#include "conf/option.h"
#include "conf/value.h"

const char *shared_difference(const struct belay_policy *a, const struct belay_policy *b)
{
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        const struct option *option = &OPTIONS[i];
        if (option->scope != SCOPE_POLICY || !option->target_only || !value_has_number(option))
            continue;
        if (value_number(option, a) != value_number(option, b)) return option->name;
    }
    return NULL;
}

void shared_take(const struct belay_policy *shared, struct belay_policy *policy)
{
    policy->budget = shared->budget;
    policy->breaker = shared->breaker;
    policy->bulkhead = shared->bulkhead;
    policy->quota = shared->quota;
    policy->hold = shared->hold;
}
