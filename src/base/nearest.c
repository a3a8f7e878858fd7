/* nearest.c: edit distance over short names (nearest.h). */
#include "base/nearest.h"
#include "base/text.h"

#include <stdint.h>

#define WORD_BYTES_MAX 64

static char fold(char c)
{
    if (c == '-') return '_';
    return char_lower(c);
}

static uint8_t least(uint8_t a, uint8_t b)
{
    return a < b ? a : b;
}

/* Optimal string alignment: the row two back serves the swap of neighbours. */
static unsigned edits(struct belay_slice a, struct belay_slice b)
{
    uint8_t rows[3][WORD_BYTES_MAX + 1];
    for (size_t j = 0; j <= b.length; j++) rows[0][j] = (uint8_t)j;
    for (size_t i = 1; i <= a.length; i++) {
        uint8_t *row = rows[i % 3], *above = rows[(i + 2) % 3], *above2 = rows[(i + 1) % 3];
        row[0] = (uint8_t)i;
        for (size_t j = 1; j <= b.length; j++) {
            char x = fold(a.data[i - 1]), y = fold(b.data[j - 1]);
            uint8_t best = (uint8_t)(above[j - 1] + (x != y));
            best = least(best, (uint8_t)(above[j] + 1));
            best = least(best, (uint8_t)(row[j - 1] + 1));
            bool swapped = i > 1 && j > 1 && x == fold(b.data[j - 2]) && y == fold(a.data[i - 2]);
            if (swapped) best = least(best, (uint8_t)(above2[j - 2] + 1));
            row[j] = best;
        }
    }
    return rows[a.length % 3][b.length];
}

const char *nearest_name(struct belay_slice word, const char *const *names, size_t count)
{
    if (word.length == 0 || word.length > WORD_BYTES_MAX) return NULL;
    const char *nearest = NULL;
    unsigned fewest = UINT8_MAX;
    for (size_t i = 0; i < count; i++) {
        struct belay_slice name = belay_slice_z(names[i]);
        if (name.length > WORD_BYTES_MAX) continue;
        unsigned distance = edits(word, name);
        unsigned allowed = name.length < 6 ? 1 : (unsigned)name.length / 3;
        if (distance > allowed || distance >= fewest) continue;
        fewest = distance;
        nearest = names[i];
    }
    return nearest;
}
