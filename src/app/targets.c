/* targets.c: finds a target by its name and makes what is missing (targets.h). */
#include "app/targets.h"

#include "app/shared.h"
#include "base/check.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

struct entry {
    struct list node;
    bool in_use; /* while sweeping */
    char *name;
    struct belay_policy policy;
    struct belay_target *target;
    void *memory;
};

/* A configuration that was taken, and the targets its operations use. */
struct taken {
    struct list node;
    struct conf *conf;
    struct belay_target *used[]; /* one for each of conf.targets */
};

void targets_init(struct targets *targets)
{
    list_init(&targets->kept);
    list_init(&targets->taken);
}

static void entry_free(struct entry *entry)
{
    list_remove(&entry->node);
    if (entry->target) belay_target_deinit(entry->target);
    free(entry->memory);
    free(entry->name);
    free(entry);
}

static void taken_free(struct taken *taken)
{
    list_remove(&taken->node);
    conf_give(taken->conf);
    free(taken);
}

void targets_deinit(struct targets *targets)
{
    while (!list_empty(&targets->taken))
        taken_free(CONTAINER_OF(targets->taken.next, struct taken, node));
    while (!list_empty(&targets->kept))
        entry_free(CONTAINER_OF(targets->kept.next, struct entry, node));
}

static struct entry *make(struct targets *targets, const struct conf_target *conf_target)
{
    uint64_t seed = 0;
    struct entry *entry = calloc(1, sizeof *entry);
    if (!entry) return NULL;
    list_push_front(&targets->kept, &entry->node);
    entry->name = strdup(conf_target->name);
    /* On cache lines of its own, for all workers write to it. */
    entry->memory = aligned_alloc(64, (belay_target_size() + 63) / 64 * 64);
    if (!entry->name || !entry->memory) {
        entry_free(entry);
        return NULL;
    }
    (void)getrandom(&seed, sizeof seed, 0);
    entry->policy = conf_target->policy;
    entry->target = belay_target_init(entry->memory, &entry->policy, seed);
    return entry;
}

/* The newest of that name. */
static struct entry *find(const struct targets *targets, const char *name)
{
    for (struct list *node = targets->kept.next; node != &targets->kept; node = node->next) {
        struct entry *entry = CONTAINER_OF(node, struct entry, node);
        if (strcmp(entry->name, name) == 0) return entry;
    }
    return NULL;
}

bool targets_of(struct targets *targets, const struct conf *conf, struct belay_target **out)
{
    for (size_t i = 0; i < conf->target_count; i++) {
        const struct conf_target *wanted = &conf->targets[i];
        struct entry *entry = find(targets, wanted->name);
        if (!entry || shared_difference(&entry->policy, &wanted->policy))
            entry = make(targets, wanted);
        if (!entry) return false;
        out[i] = entry->target;
    }
    return true;
}

bool targets_keep(struct targets *targets, struct conf *conf, struct belay_target *const *used)
{
    struct taken *taken =
        malloc(sizeof *taken + conf->target_count * sizeof(struct belay_target *));
    if (!taken) return false;
    taken->conf = conf_take(conf);
    memcpy(taken->used, used, conf->target_count * sizeof(struct belay_target *));
    list_push_back(&targets->taken, &taken->node);
    return true;
}

static struct entry *entry_of(const struct targets *targets, const struct belay_target *target)
{
    for (struct list *node = targets->kept.next;; node = node->next) {
        CHECK(node != &targets->kept); /* a target in use is kept */
        struct entry *entry = CONTAINER_OF(node, struct entry, node);
        if (entry->target == target) return entry;
    }
}

static void mark(struct targets *targets, const struct taken *taken)
{
    for (size_t i = 0; i < taken->conf->target_count; i++)
        entry_of(targets, taken->used[i])->in_use = true;
}

void targets_sweep(struct targets *targets)
{
    for (struct list *node = targets->taken.next, *next; node != &targets->taken; node = next) {
        struct taken *taken = CONTAINER_OF(node, struct taken, node);
        next = node->next;
        if (conf_is_shared(taken->conf))
            mark(targets, taken);
        else
            taken_free(taken);
    }
    for (struct list *node = targets->kept.next, *next; node != &targets->kept; node = next) {
        struct entry *entry = CONTAINER_OF(node, struct entry, node);
        next = node->next;
        if (!entry->in_use)
            entry_free(entry);
        else
            entry->in_use = false;
    }
}
