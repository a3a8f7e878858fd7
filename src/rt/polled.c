/* polled.c: descriptors that libuv polls. It ends the process when its table of them cannot grow
 * (uv_poll_start, uv_loop_init), so the room is taken first, where it may still fail. */
#include "rt/rt_uv.h"

#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>

#define SLOTS_AT_FIRST 1024 /* no descriptor of a new loop is larger, in any honest process */
#define SLOTS_BEYOND 3      /* libuv keeps two for itself, and counts from 1 */

static _Thread_local struct {
    void *bytes;
    size_t size;
} reserve;

static bool take_reserve(size_t slots)
{
    size_t size = slots * sizeof(void *);
    void *bytes = malloc(size);
    if (!bytes) return false;
    reserve.bytes = bytes;
    reserve.size = size;
    return true;
}

static void drop_reserve(void)
{
    free(reserve.bytes);
    reserve.bytes = NULL;
    reserve.size = 0;
}

/* libuv's realloc. */
static void *grow(void *old, size_t size)
{
    if (size == 0) {
        free(old);
        return NULL;
    }
    size_t had = malloc_usable_size(old);
    if (old && size <= had) return old;
    if (size > reserve.size) return realloc(old, size);
    void *bytes = reserve.bytes;
    reserve.bytes = NULL;
    reserve.size = 0;
    if (old) memcpy(bytes, old, had); /* less than size */
    free(old);
    return bytes;
}

static void use_allocator(void)
{
    (void)uv_replace_allocator(malloc, grow, calloc, free);
}

bool polled_begin(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, use_allocator);
    return take_reserve(SLOTS_AT_FIRST);
}

void polled_begun(void)
{
    drop_reserve();
}

static void on_nothing(uv_poll_t *poll, int status, int events)
{
    (void)poll, (void)status, (void)events; /* it never polls */
}

bool polled_init(struct rt *rt, uv_poll_t *poll, int fd)
{
    size_t slots = 1;
    while (slots < (size_t)fd + SLOTS_BEYOND) slots *= 2;
    bool grows = slots > rt->poll_slots;
    if (grows && !take_reserve(slots)) return false;
    bool good = uv_poll_init(&rt->loop, poll, fd) == 0;
    if (good && grows) {
        (void)uv_poll_start(poll, UV_READABLE, on_nothing);
        (void)uv_poll_stop(poll);
        rt->poll_slots = slots;
    }
    drop_reserve();
    return good;
}
