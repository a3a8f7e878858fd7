/* chars.h: which bytes may stand where (RFC 9110 5.5 and 5.6.2, RFC 3986 2), and fast ways over runs of them. */
#ifndef HTTP1_CHARS_H
#define HTTP1_CHARS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum {
    CHAR_TOKEN = 1,  /* tchar: methods and names */
    CHAR_VALUE = 2,  /* field values and reason phrases: no control but HTAB */
    CHAR_TARGET = 4, /* request targets: visible ASCII but '#' */
    CHAR_HOST = 8,   /* unreserved: what a registered name is made of besides %xx */
};

extern const uint8_t http1__chars[256];

static inline bool char_is(char c, unsigned kind)
{
    return (http1__chars[(unsigned char)c] & kind) != 0;
}

static inline bool char_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* -1 for what is no hex digit. */
static inline int char_hex(char c)
{
    if (char_is_digit(c)) return c - '0';
    char folded = (char)(c | 0x20);
    return folded >= 'a' && folded <= 'f' ? folded - 'a' + 10 : -1;
}

/* The first byte in [at, end) that is not of that kind, or end. */
static inline const char *char_skip(const char *at, const char *end, unsigned kind)
{
    while (at < end && char_is(*at, kind)) at++;
    return at;
}

/* char_skip for CHAR_VALUE, eight bytes at a step: values are most of a head. */
static inline const char *char_skip_value(const char *at, const char *end)
{
    const uint64_t ones = UINT64_C(0x0101010101010101), tops = ones << 7;
    while (end - at >= 8) {
        uint64_t word;
        memcpy(&word, at, 8);
        uint64_t below_space = (word - ones * 0x20) & ~word;
        uint64_t del = word ^ (ones * 0x7f);
        uint64_t is_del = (del - ones) & ~del;
        if ((below_space | is_del) & tops) {
            /* Something in these eight bytes needs a closer look; a tab may be all it is. */
            const char *stop = char_skip(at, at + 8, CHAR_VALUE);
            if (stop < at + 8) return stop;
        }
        at += 8;
    }
    return char_skip(at, end, CHAR_VALUE);
}

#endif
