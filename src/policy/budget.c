/* budget.c: the retry budget (budget.h). */
#include <belay/budget.h>

#include "base/check.h"

enum { TOKEN = 1000000 };

void belay_budget_init(struct belay_budget *budget, const struct belay_budget_config *config)
{
    uint64_t burst = (uint64_t)config->burst * TOKEN;
    *budget = (struct belay_budget){.ratio = config->ratio_ppm, .burst = burst, .free = burst};
}

void belay_budget_on_operation(struct belay_budget *budget)
{
    uint64_t room = budget->burst - budget->free - budget->reserved;
    budget->free += budget->ratio < room ? budget->ratio : room;
}

bool belay_budget_take(struct belay_budget *budget)
{
    if (budget->free < TOKEN) return false;
    budget->free -= TOKEN;
    budget->reserved += TOKEN;
    return true;
}

void belay_budget_on_retry(struct belay_budget *budget)
{
    CHECK(budget->reserved >= TOKEN);
    budget->reserved -= TOKEN;
}

void belay_budget_give(struct belay_budget *budget)
{
    CHECK(budget->reserved >= TOKEN);
    budget->reserved -= TOKEN;
    budget->free += TOKEN;
}

void belay_budget_restore(struct belay_budget *budget, uint64_t free, uint64_t reserved,
                          uint32_t own)
{
    uint64_t least = (uint64_t)own * TOKEN;
    CHECK(least <= budget->burst);
    if (reserved > budget->burst) reserved = budget->burst;
    budget->reserved = reserved > least ? reserved : least;
    uint64_t room = budget->burst - budget->reserved;
    budget->free = free < room ? free : room;
}
