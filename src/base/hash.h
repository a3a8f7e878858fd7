/* hash.h: a hash for tables of names: fast and even, and no defence against who picks the names. */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <belay/slice.h>
#include <stdint.h>

/* FNV-1a. */
static inline uint64_t hash_bytes(struct belay_slice bytes)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < bytes.length; i++)
        hash = (hash ^ (unsigned char)bytes.data[i]) * UINT64_C(0x100000001b3);
    return hash;
}

#endif
