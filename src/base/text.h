/* text.h: the bytes of ASCII text, whole numbers in it, literals as slices. Knows no locale. */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include "base/ascii.h"

#include <belay/slice.h>
#include <stdint.h>

#define TEXT(literal) belay_slice(literal, sizeof(literal) - 1)

static inline bool char_is_letter(char c)
{
    return char_is_lower(c) || char_is_upper(c);
}

static inline bool char_is_letter_or_digit(char c)
{
    return char_is_letter(c) || char_is_digit(c);
}

/* What names and methods of HTTP are made of (RFC 9110 5.6.2). */
static inline bool char_is_token(char c)
{
    return char_is_letter_or_digit(c) || (c != '\0' && strchr("!#$%&'*+-.^_`|~", c));
}

static inline char char_lower(char c)
{
    if (!char_is_upper(c)) return c;
    return (char)(c | 0x20);
}

/* -1 for what is no hex digit. */
static inline int char_hex(char c)
{
    if (char_is_digit(c)) return c - '0';
    char folded = (char)(c | 0x20);
    return folded >= 'a' && folded <= 'f' ? folded - 'a' + 10 : -1;
}

/* One digit or more and nothing else, `max` at the most; false, *out untouched, for other text. */
bool text_read_number(struct belay_slice text, uint64_t max, uint64_t *out)
    __attribute__((warn_unused_result));

/* A TCP port of at most five digits. */
bool text_read_port(struct belay_slice text, uint16_t *out) __attribute__((warn_unused_result));

/* Fills the end of `out`; the slice is what was needed. */
#define TEXT_NUMBER_BYTES_MAX 20
struct belay_slice text_write_number(uint64_t value, char out[TEXT_NUMBER_BYTES_MAX]);

#endif
