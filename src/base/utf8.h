/* utf8.h: where a character ends. */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stddef.h>

/* Length of the well-formed character at the front (RFC 3629: no overlong form, no surrogate), or
 * 0. `length` is at least 1. */
static inline size_t utf8_length(const unsigned char *s, size_t length)
{
    unsigned char lowest = 0x80, highest = 0xbf;
    size_t need;
    if (s[0] < 0x80) return 1;
    if (s[0] >= 0xc2 && s[0] <= 0xdf) {
        need = 2;
    } else if (s[0] >= 0xe0 && s[0] <= 0xef) {
        need = 3;
        if (s[0] == 0xe0) lowest = 0xa0;
        if (s[0] == 0xed) highest = 0x9f;
    } else if (s[0] >= 0xf0 && s[0] <= 0xf4) {
        need = 4;
        if (s[0] == 0xf0) lowest = 0x90;
        if (s[0] == 0xf4) highest = 0x8f;
    } else {
        return 0;
    }
    if (length < need || s[1] < lowest || s[1] > highest) return 0;
    for (size_t i = 2; i < need; i++) {
        if (s[i] < 0x80 || s[i] > 0xbf) return 0;
    }
    return need;
}

#endif
