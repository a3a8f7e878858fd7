/* digits.h: the numbers that field values write, which may be larger than anything here. */
#ifndef HTTP1_DIGITS_H
#define HTTP1_DIGITS_H

#include "base/ascii.h"

#include <belay/slice.h>
#include <stdint.h>

/* One digit or more and nothing else; saturates at `max`, and then *over is set. */
static inline bool digits_read(struct belay_slice text, uint64_t max, uint64_t *out, bool *over)
{
    if (text.length == 0) return false;
    uint64_t value = 0;
    *over = false;
    for (size_t i = 0; i < text.length; i++) {
        if (!char_is_digit(text.data[i])) return false;
        uint64_t digit = (uint64_t)(text.data[i] - '0');
        *over = *over || value > (max - digit) / 10;
        if (!*over) value = value * 10 + digit;
    }
    *out = *over ? max : value;
    return true;
}

#endif
