/* lex.c: the pieces of JSON text; strings eight bytes at a time (lex.h). */
#include "inspect/lex.h"

#include "base/ascii.h"
#include "base/utf8.h"

#include <endian.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#ifdef __SSE2__
/* Sixteen at a time where the processor can; `at` goes to the first that is marked, or to where
 * fewer than sixteen are left. */
static bool find_marked(char **at, const char *end)
{
    for (; end - *at >= (ptrdiff_t)sizeof(__m128i); *at += sizeof(__m128i)) {
        __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)*at);
        __m128i quote = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('"'));
        __m128i backslash = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\'));
        /* Signed: what is beyond ASCII is below zero. */
        __m128i other = _mm_cmplt_epi8(bytes, _mm_set1_epi8(0x20));
        int marked = _mm_movemask_epi8(_mm_or_si128(_mm_or_si128(quote, backslash), other));
        if (marked == 0) continue;
        *at += __builtin_ctz((unsigned)marked);
        return true;
    }
    return false;
}
#else
#define ONES UINT64_C(0x0101010101010101)
#define HIGHS UINT64_C(0x8080808080808080)

/* The high bit of each byte that ends the plain part of a string. A borrow can only mark bytes
 * behind one that is truly marked, so the first mark is right. */
static uint64_t marks(uint64_t word)
{
    uint64_t quote = word ^ ONES * '"', backslash = word ^ ONES * '\\';
    uint64_t plain_ends = ((quote - ONES) & ~quote) | ((backslash - ONES) & ~backslash) |
                          ((word - ONES * 0x20) & ~word);
    return (plain_ends | word) & HIGHS;
}

static bool find_marked(char **at, const char *end)
{
    for (; end - *at >= (ptrdiff_t)sizeof(uint64_t); *at += sizeof(uint64_t)) {
        uint64_t word;
        memcpy(&word, *at, sizeof word);
        uint64_t marked = marks(le64toh(word));
        if (marked == 0) continue;
        *at += __builtin_ctzll(marked) / 8;
        return true;
    }
    return false;
}
#endif

/* The first byte at or behind `at` that is not itself in a string, or `end`. */
static char *plain_end(char *at, const char *end)
{
    if (find_marked(&at, end)) return at;
    while (at < end && (unsigned char)*at >= 0x20 && (unsigned char)*at < 0x80 && *at != '"' &&
           *at != '\\') {
        at++;
    }
    return at;
}

bool lex_string(struct lex *lex, struct lex_text *text)
{
    char *at = lex->at;
    bool escaped = false, beyond_ascii = false;
    for (;;) {
        at = plain_end(at, lex->end);
        if (at == lex->end) return false;
        if (*at == '"') break;
        if (*at == '\\') {
            if (lex->end - at < 2) return false;
            escaped = true;
            at += 2;
            continue;
        }
        if ((unsigned char)*at < 0x20) return false;
        beyond_ascii = true;
        while (at < lex->end && (unsigned char)*at >= 0x80) at++;
    }
    *text = (struct lex_text){lex->at, (size_t)(at - lex->at), escaped, beyond_ascii};
    lex->at = at + 1;
    return true;
}

/* ---- numbers ---- */

/* Digits that are significant, as an integer times a power of ten. */
struct decimal {
    uint64_t digits;
    int64_t exponent;
    bool beyond; /* a digit that is not zero did not fit */
};

static void take_digit(struct decimal *decimal, char c, bool fraction)
{
    unsigned digit = (unsigned)(c - '0');
    if (decimal->digits > (UINT64_MAX - digit) / 10) {
        decimal->beyond |= digit != 0;
        decimal->exponent += !fraction;
        return;
    }
    decimal->digits = decimal->digits * 10 + digit;
    decimal->exponent -= fraction;
}

static bool take_exponent(struct lex *lex, struct decimal *decimal)
{
    bool negative = lex_take(lex, '-');
    int64_t exponent = 0;
    if (!negative) (void)lex_take(lex, '+');
    if (!char_is_digit(lex_peek(lex))) return false;
    for (; char_is_digit(lex_peek(lex)); lex->at++) {
        if (exponent < INT32_MAX) exponent = exponent * 10 + (*lex->at - '0');
    }
    decimal->exponent += negative ? -exponent : exponent;
    return true;
}

static enum lex_number integral(struct decimal decimal, bool negative, int64_t *value)
{
    uint64_t most = (uint64_t)INT64_MAX + negative;
    if (decimal.beyond) return LEX_NOT_INTEGRAL;
    for (; decimal.digits != 0 && decimal.exponent < 0; decimal.exponent++) {
        if (decimal.digits % 10 != 0) return LEX_NOT_INTEGRAL;
        decimal.digits /= 10;
    }
    for (; decimal.digits != 0 && decimal.exponent > 0; decimal.exponent--) {
        if (decimal.digits > most / 10) return LEX_NOT_INTEGRAL;
        decimal.digits *= 10;
    }
    if (decimal.digits > most) return LEX_NOT_INTEGRAL;
    *value = (int64_t)(negative ? 0 - decimal.digits : decimal.digits);
    return LEX_INTEGER;
}

enum lex_number lex_number(struct lex *lex, int64_t *value)
{
    struct lex at = *lex;
    struct decimal decimal = {0};
    bool negative = lex_take(&at, '-');
    if (!char_is_digit(lex_peek(&at))) return LEX_NO_NUMBER;
    bool leading_zero = *at.at == '0';
    char *first = at.at;
    for (; char_is_digit(lex_peek(&at)); at.at++) take_digit(&decimal, *at.at, false);
    if (leading_zero && at.at - first > 1) return LEX_NO_NUMBER;
    if (lex_take(&at, '.')) {
        if (!char_is_digit(lex_peek(&at))) return LEX_NO_NUMBER;
        for (; char_is_digit(lex_peek(&at)); at.at++) take_digit(&decimal, *at.at, true);
    }
    if (lex_peek(&at) == 'e' || lex_peek(&at) == 'E') {
        at.at++;
        if (!take_exponent(&at, &decimal)) return LEX_NO_NUMBER;
    }
    *lex = at;
    return integral(decimal, negative, value);
}

bool lex_word(struct lex *lex, const char *word)
{
    size_t length = strlen(word);
    if ((size_t)(lex->end - lex->at) < length || memcmp(lex->at, word, length) != 0) return false;
    lex->at += length;
    return true;
}

/* ---- skipping ---- */

static bool skip_scalar(struct lex *lex)
{
    struct lex_text text;
    int64_t value;
    if (lex_take(lex, '"')) return lex_string(lex, &text);
    if (lex_number(lex, &value) != LEX_NO_NUMBER) return true;
    return lex_word(lex, "null") || lex_word(lex, "true") || lex_word(lex, "false");
}

/* Brackets are counted, not matched by kind, so that no depth needs memory. */
bool lex_skip(struct lex *lex)
{
    size_t depth = 0;
    do {
        lex_space(lex);
        char c = lex_peek(lex);
        if (c == '{' || c == '[') {
            depth++;
            lex->at++;
        } else if (depth > 0 && (c == '}' || c == ']')) {
            depth--;
            lex->at++;
        } else if (depth > 0 && (c == ',' || c == ':')) {
            lex->at++;
        } else if (!skip_scalar(lex)) {
            return false;
        }
    } while (depth > 0);
    return true;
}

/* ---- text ---- */

bool lex_utf8(const char *data, size_t length)
{
    for (size_t at = 0, step; at < length; at += step) {
        step = utf8_length((const unsigned char *)data + at, length - at);
        if (step == 0) return false;
    }
    return true;
}

/* The four digits of \uXXXX, or -1. */
static long hex4(const char *at, const char *end)
{
    long value = 0;
    if (end - at < 4) return -1;
    for (int i = 0; i < 4; i++) {
        char c = at[i];
        int digit = char_is_digit(c)       ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : -1;
        if (digit < 0) return -1;
        value = value * 16 + digit;
    }
    return value;
}

static char *put_utf8(char *to, long code)
{
    if (code < 0x80) {
        *to++ = (char)code;
    } else if (code < 0x800) {
        *to++ = (char)(0xc0 | code >> 6);
        *to++ = (char)(0x80 | (code & 0x3f));
    } else if (code < 0x10000) {
        *to++ = (char)(0xe0 | code >> 12);
        *to++ = (char)(0x80 | (code >> 6 & 0x3f));
        *to++ = (char)(0x80 | (code & 0x3f));
    } else {
        *to++ = (char)(0xf0 | code >> 18);
        *to++ = (char)(0x80 | (code >> 12 & 0x3f));
        *to++ = (char)(0x80 | (code >> 6 & 0x3f));
        *to++ = (char)(0x80 | (code & 0x3f));
    }
    return to;
}

/* `*from` is behind `\u`. The character, or -1; `*from` goes behind what was used. */
static long unicode_escape(const char **from, const char *end)
{
    long code = hex4(*from, end);
    if (code <= 0) return -1;
    *from += 4;
    if (code < 0xd800 || code > 0xdfff) return code;
    if (code > 0xdbff || end - *from < 6 || (*from)[0] != '\\' || (*from)[1] != 'u') return -1;
    long low = hex4(*from + 2, end);
    if (low < 0xdc00 || low > 0xdfff) return -1;
    *from += 6;
    return 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
}

bool lex_unescape(struct lex_text *text)
{
    static const char SHORTS[] = "\"\"\\\\//n\nt\tr\rb\bf\f";
    const char *from = text->data, *end = text->data + text->length;
    char *to = text->data;
    if (text->beyond_ascii && !lex_utf8(text->data, text->length)) return false;
    while (text->escaped && from < end) {
        if (*from != '\\') {
            *to++ = *from++;
            continue;
        }
        char kind = from[1]; /* lex_string saw to it that one is there */
        from += 2;
        if (kind == 'u') {
            long code = unicode_escape(&from, end);
            if (code < 0) return false;
            to = put_utf8(to, code);
            continue;
        }
        const char *pair = SHORTS;
        while (*pair && *pair != kind) pair += 2;
        if (!*pair) return false;
        *to++ = pair[1];
    }
    if (text->escaped) text->length = (size_t)(to - text->data);
    text->escaped = false;
    return true;
}
