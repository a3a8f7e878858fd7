/* snapshot.c: allocates for a configuration, counts its references, frees it whole. */
#include "conf/snapshot.h"

#include "base/check.h"

#include <stdalign.h>
#include <stdlib.h>

struct snapshot_block {
    struct snapshot_block *next;
    alignas(max_align_t) char bytes[];
};

struct snapshot *snapshot_create(void)
{
    struct snapshot *snapshot = calloc(1, sizeof *snapshot);
    if (snapshot) atomic_init(&snapshot->references, 1);
    return snapshot;
}

void *snapshot_alloc(struct snapshot *snapshot, size_t count, size_t size)
{
    CHECK(size > 0 && count <= (SIZE_MAX - sizeof(struct snapshot_block)) / size);
    struct snapshot_block *block = calloc(1, sizeof *block + count * size);
    if (!block) return NULL;
    block->next = snapshot->blocks;
    snapshot->blocks = block;
    return block->bytes;
}

char *snapshot_text(struct snapshot *snapshot, struct belay_slice text)
{
    char *copy = snapshot_alloc(snapshot, text.length + 1, 1);
    if (copy && text.length) memcpy(copy, text.data, text.length);
    return copy;
}

struct belay_span conf_longest_deadline(const struct conf *conf)
{
    struct belay_span longest = {0};
    for (size_t i = 0; i < conf->listener_count; i++) {
        const struct conf_listener *listener = &conf->listeners[i];
        for (size_t j = 0; j < listener->route_count; j++)
            longest = belay_span_max(longest, listener->routes[j].policy.deadline_for);
    }
    return longest;
}

struct conf *conf_take(struct conf *conf)
{
    struct snapshot *snapshot = CONTAINER_OF(conf, struct snapshot, conf);
    unsigned before = atomic_fetch_add_explicit(&snapshot->references, 1, memory_order_relaxed);
    CHECK(before > 0);
    return conf;
}

bool conf_is_shared(const struct conf *conf)
{
    const struct snapshot *snapshot = CONTAINER_OF(conf, const struct snapshot, conf);
    return atomic_load_explicit(&snapshot->references, memory_order_acquire) > 1;
}

void conf_give(struct conf *conf)
{
    struct snapshot *snapshot = CONTAINER_OF(conf, struct snapshot, conf);
    /* The last one out must see what all others did before they left. */
    unsigned before = atomic_fetch_sub_explicit(&snapshot->references, 1, memory_order_acq_rel);
    CHECK(before > 0);
    if (before > 1) return;
    while (snapshot->blocks) {
        struct snapshot_block *next = snapshot->blocks->next;
        free(snapshot->blocks);
        snapshot->blocks = next;
    }
    free(snapshot);
}
