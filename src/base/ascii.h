/* ascii.h: the kinds of bytes that the core asks for, in no locale; text.h has the rest. */
#ifndef BASE_ASCII_H
#define BASE_ASCII_H

#include <stdbool.h>

static inline bool char_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static inline bool char_is_lower(char c)
{
    return c >= 'a' && c <= 'z';
}

static inline bool char_is_upper(char c)
{
    return c >= 'A' && c <= 'Z';
}

#endif
