/* chars.h: which bytes may stand where (RFC 9110 5.5 and 5.6.2, RFC 3986 2), and fast ways over
 * runs of them. */
#ifndef HTTP1_CHARS_H
#define HTTP1_CHARS_H

#include "base/text.h"
#include "http1/digits.h"

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

/* The first byte in [at, end) that is not of that kind, or end. */
static inline const char *char_skip(const char *at, const char *end, unsigned kind)
{
    while (at < end && char_is(*at, kind)) at++;
    return at;
}

/* The fast ways take eight bytes at a step, as one word whose lowest byte is the first. A top bit
 * in the result marks a byte; above the lowest mark there may be false ones (a borrow runs
 * upwards), so only that one counts. */
#define CHAR_ONES UINT64_C(0x0101010101010101)
#define CHAR_TOPS UINT64_C(0x8080808080808080)

static inline uint64_t char_word(const char *at)
{
    uint64_t word;
    memcpy(&word, at, sizeof word);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    return word;
}

static inline uint64_t char_mark_below(uint64_t word, uint8_t limit)
{
    return (word - CHAR_ONES * limit) & ~word & CHAR_TOPS;
}

static inline uint64_t char_mark_equal(uint64_t word, uint8_t wanted)
{
    return char_mark_below(word ^ (CHAR_ONES * wanted), 1);
}

static inline unsigned char_first_mark(uint64_t marks)
{
    return (unsigned)__builtin_ctzll(marks) / 8;
}

/* char_skip for CHAR_VALUE: values are most of a head. */
static inline const char *char_skip_value(const char *at, const char *end)
{
    while (end - at >= 8) {
        uint64_t word = char_word(at);
        uint64_t marks = char_mark_below(word, 0x20) | char_mark_equal(word, 0x7f);
        if (marks == 0) {
            at += 8;
            continue;
        }
        at += char_first_mark(marks);
        if (*at != '\t') return at;
        at++;
    }
    return char_skip(at, end, CHAR_VALUE);
}

/* char_skip for CHAR_TARGET. */
static inline const char *char_skip_target(const char *at, const char *end)
{
    for (; end - at >= 8; at += 8) {
        uint64_t word = char_word(at);
        uint64_t marks = char_mark_below(word, 0x21) | char_mark_equal(word, 0x7f) |
                         char_mark_equal(word, '#') | (word & CHAR_TOPS);
        if (marks) return at + char_first_mark(marks);
    }
    return char_skip(at, end, CHAR_TARGET);
}

#endif
