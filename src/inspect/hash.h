/* hash.h: a keyed hash of bytes: fast, and without the seed nobody can make ids that collide.
 *
 * Not for secrets. Each step multiplies 64 bits by 64 into 128 and folds them.
 */
#ifndef INSPECT_HASH_H
#define INSPECT_HASH_H

#include <belay/slice.h>
#include <stdint.h>

static inline uint64_t hash_mix(uint64_t a, uint64_t b)
{
    unsigned __int128 product = (unsigned __int128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline uint64_t hash_word(uint64_t seed, uint64_t word)
{
    return hash_mix(seed ^ word, UINT64_C(0x9e3779b97f4a7c15));
}

static inline uint64_t hash_bytes(uint64_t seed, struct belay_slice bytes)
{
    uint64_t word, hash = seed ^ (uint64_t)bytes.length;
    while (bytes.length >= sizeof word) {
        memcpy(&word, bytes.data, sizeof word);
        hash = hash_word(hash, word);
        bytes.data += sizeof word;
        bytes.length -= sizeof word;
    }
    word = 0;
    if (bytes.length > 0) memcpy(&word, bytes.data, bytes.length);
    return hash_mix(hash_word(hash, word), seed | 1);
}

#endif
