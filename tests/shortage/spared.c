/* spared.c: allocates what no shortage is to reach (spared.h). */
#include "spared.h"

#include "base/check.h"

#include <stdlib.h>

volatile int shortage_spared;

void *spared_calloc(size_t count, size_t size)
{
    shortage_spared++;
    void *bytes = calloc(count, size);
    shortage_spared--;
    CHECK(bytes);
    return bytes;
}

void *spared_realloc(void *old, size_t size)
{
    shortage_spared++;
    void *bytes = realloc(old, size);
    shortage_spared--;
    CHECK(bytes);
    return bytes;
}

void spared_add(struct buf *buf, const void *bytes, size_t count)
{
    shortage_spared++;
    bool added = buf_add(buf, bytes, count);
    shortage_spared--;
    CHECK(added);
}

char *spared_reserve(struct buf *buf, size_t want, size_t *room)
{
    shortage_spared++;
    char *at = buf_reserve(buf, want, room);
    shortage_spared--;
    CHECK(at && *room > 0);
    return at;
}
