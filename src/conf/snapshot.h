/* snapshot.h: the memory of one configuration: everything it points to lives and dies with it. */
#ifndef CONF_SNAPSHOT_H
#define CONF_SNAPSHOT_H

#include "conf/conf.h"

#include <stdatomic.h>

struct snapshot_block;

struct snapshot {
    struct conf conf;
    atomic_uint references;
    struct snapshot_block *blocks;
};

/* With one reference, every field zero. NULL without memory. */
struct snapshot *snapshot_create(void) __attribute__((warn_unused_result));
/* Zeroed bytes that live as long as the snapshot; NULL without memory. Never called once the
 * snapshot is shared. */
void *snapshot_alloc(struct snapshot *snapshot, size_t count, size_t size)
    __attribute__((warn_unused_result));
/* A NUL-terminated copy. */
char *snapshot_text(struct snapshot *snapshot, struct belay_slice text)
    __attribute__((warn_unused_result));

#endif
