/* same.h: two policies are the same, option by option, also in what is switched off. */
#ifndef TESTS_CONF_SAME_H
#define TESTS_CONF_SAME_H

#include "conf/value.h"

#include "test.h"

static inline void check_same_policy(const struct belay_policy *a, const struct belay_policy *b)
{
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        const struct option *option = &OPTIONS[i];
        if (option->scope != SCOPE_POLICY || !value_has_number(option) || option->member) continue;
        long long left = value_number(option, a), right = value_number(option, b);
        if (left != right) fail_msg("%s: %lld is not %lld", option->name, left, right);
    }
    assert_memory_equal(&a->retry_on, &b->retry_on, sizeof a->retry_on);
}

#endif
