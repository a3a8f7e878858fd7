/* buf.c: the growing byte buffer with a limit (buf.h). */
#include "base/buf.h"

#include "base/check.h"

#include <stdlib.h>

void buf_init(struct buf *buf, size_t bytes_max)
{
    *buf = (struct buf){.bytes_max = bytes_max};
}

void buf_deinit(struct buf *buf)
{
    free(buf->data);
    *buf = (struct buf){.bytes_max = buf->bytes_max};
}

void buf_clear(struct buf *buf)
{
    buf->start = buf->end = 0;
}

static void compact(struct buf *buf)
{
    if (buf->start == 0) return;
    size_t length = buf_length(buf);
    if (length) memmove(buf->data, buf->data + buf->start, length);
    buf->start = 0;
    buf->end = length;
}

static bool grow(struct buf *buf, size_t total)
{
    size_t capacity = buf->capacity ? buf->capacity : 256;
    while (capacity < total) capacity *= 2;
    if (capacity > buf->bytes_max) capacity = buf->bytes_max;
    char *data = realloc(buf->data, capacity);
    if (!data) return false;
    buf->data = data;
    buf->capacity = capacity;
    return true;
}

char *buf_reserve(struct buf *buf, size_t want, size_t *room)
{
    size_t length = buf_length(buf);
    size_t left = buf->bytes_max - length;
    if (want > left) want = left;
    *room = 0;
    if (want == 0) return NULL;
    if (buf->capacity - buf->end < want) compact(buf);
    if (buf->capacity - buf->end < want && !grow(buf, length + want)) return NULL;
    *room = buf->capacity - buf->end;
    if (*room > left) *room = left;
    return buf->data + buf->end;
}

void buf_wrote(struct buf *buf, size_t count)
{
    CHECK(count <= buf->capacity - buf->end);
    buf->end += count;
}

void buf_drop(struct buf *buf, size_t count)
{
    CHECK(count <= buf_length(buf));
    buf->start += count;
    if (buf->start == buf->end) buf->start = buf->end = 0;
}

bool buf_add(struct buf *buf, const void *bytes, size_t count)
{
    if (count > buf->bytes_max - buf_length(buf)) return false;
    if (count == 0) return true;
    size_t room;
    char *at = buf_reserve(buf, count, &room);
    if (!at || room < count) return false;
    memcpy(at, bytes, count);
    buf->end += count;
    return true;
}
