/* buf.h: a growing byte buffer with a limit in its constructor.
 *
 * Reads take from the front, writes go to the back. Ownership: the buffer owns its bytes; a slice
 * of them lives until the next call that changes the buffer.
 */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include <belay/slice.h>
#include <stdint.h>

struct buf {
    char *data;
    size_t start, end, capacity, bytes_max;
};

void buf_init(struct buf *buf, size_t bytes_max);
void buf_deinit(struct buf *buf); /* frees; usable again with the same limit */

static inline size_t buf_length(const struct buf *buf)
{
    return buf->end - buf->start;
}

static inline struct belay_slice buf_slice(const struct buf *buf)
{
    return belay_slice(buf->data ? buf->data + buf->start : NULL, buf_length(buf));
}

/* Room for at least `want` more bytes (or what the limit leaves, when that is less) and returns
 * where they go; *room is how many fit. NULL, with *room 0, at the limit or without memory. */
char *buf_reserve(struct buf *buf, size_t want, size_t *room) __attribute__((warn_unused_result));
void buf_wrote(struct buf *buf, size_t count); /* after buf_reserve: that many were filled in */
void buf_drop(struct buf *buf, size_t count);  /* that many left at the front */
void buf_clear(struct buf *buf);
/* All or nothing; false at the limit or without memory. */
bool buf_add(struct buf *buf, const void *bytes, size_t count) __attribute__((warn_unused_result));

#endif
