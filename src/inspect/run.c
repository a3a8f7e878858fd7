/* run.c: the attempts of an operation in their order (run.h). */
#include "inspect/run.h"

#include <stdlib.h>

static int by_order(const void *left, const void *right)
{
    const struct entry *a = *(const struct entry *const *)left;
    const struct entry *b = *(const struct entry *const *)right;
    if (a->number != b->number) return a->number < b->number ? -1 : 1;
    if (a->start_ms != b->start_ms) return a->start_ms < b->start_ms ? -1 : 1;
    return a->line < b->line ? -1 : a->line > b->line;
}

bool run_is_rerun(const struct entry *a, const struct entry *b)
{
    return a->number == b->number && a->number > 0 && a->span != b->span && a->span != 0 &&
           b->span != 0;
}

/* Entries of one target, or of all with ENTRY_NO_TARGET. */
static void gather(const struct operation *operation, bool all, uint16_t target, struct run *run)
{
    *run = (struct run){.operation = operation, .target = target};
    for (size_t i = 0; i < operation->count; i++) {
        const struct entry *entry = &operation->entries[i];
        if (!all && entry->target != target) continue;
        if (!entry_is_ending(entry)) {
            run->attempts[run->count++] = entry;
        } else if (run->endings++ == 0) {
            run->ending = entry;
        }
    }
    if (run->count > 1) qsort(run->attempts, run->count, sizeof(struct entry *), by_order);
    run->tangled = run->endings > 1;
    for (size_t i = 1; i < run->count; i++) {
        run->tangled |= run_is_rerun(run->attempts[i - 1], run->attempts[i]);
    }
}

static bool is_first_of_target(const struct operation *operation, size_t index)
{
    for (size_t i = 0; i < index; i++) {
        if (operation->entries[i].target == operation->entries[index].target) return false;
    }
    return true;
}

void run_each(const struct operation *operation, void (*visit)(void *context, const struct run *),
              void *context)
{
    struct run run;
    if (operation->count == 0) return;
    gather(operation, true, 0, &run);
    run.uncounted = operation->uncounted;
    run.target = run.count > 0 ? run.attempts[0]->target : run.ending->target;
    if (!run.tangled) {
        visit(context, &run);
        return;
    }
    for (size_t i = 0; i < operation->count; i++) {
        if (!is_first_of_target(operation, i)) continue;
        gather(operation, false, operation->entries[i].target, &run);
        if (i == 0) run.uncounted = operation->uncounted;
        visit(context, &run);
    }
}

unsigned run_made(const struct run *run)
{
    unsigned made = run->count > 0 ? run->attempts[run->count - 1]->number : 0;
    if (run->ending && run->ending->number > made) made = run->ending->number;
    return made > 0 ? made : (unsigned)run->count;
}
