/* slice.h: bytes that somebody else owns: a pointer and a length, never NUL-terminated by promise.
 */
#ifndef BELAY_SLICE_H
#define BELAY_SLICE_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* `data` may be NULL only when `length` is 0. Lives as long as the bytes' owner says. */
struct belay_slice {
    const char *data;
    size_t length;
};

static inline struct belay_slice belay_slice(const char *data, size_t length)
{
    struct belay_slice s = {data, length};
    return s;
}

static inline struct belay_slice belay_slice_z(const char *text)
{
    return belay_slice(text, text ? strlen(text) : 0);
}

static inline bool belay_slice_equal(struct belay_slice a, struct belay_slice b)
{
    return a.length == b.length && (a.length == 0 || memcmp(a.data, b.data, a.length) == 0);
}

#ifdef __cplusplus
}
#endif
#endif
