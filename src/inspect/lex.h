/* lex.h: reads the pieces of JSON text in memory: strings, numbers, literals, and what is skipped.
 *
 * A cursor goes forward only and never past `end`; no function allocates. What is in a string is
 * returned as it stands there (raw), with what it would take to use it; lex_unescape does that in
 * place, since unescaped text is never longer. Thread rule: pure functions over the caller's bytes.
 */
#ifndef INSPECT_LEX_H
#define INSPECT_LEX_H

#include <belay/slice.h>
#include <stdint.h>

struct lex {
    char *at, *end;
};

struct lex_text {
    char *data; /* of the caller's line, so that it can be unescaped in place */
    size_t length;
    bool escaped, beyond_ascii;
};

enum lex_number { LEX_INTEGER, LEX_NOT_INTEGRAL, LEX_NO_NUMBER };

static inline char lex_peek(const struct lex *lex)
{
    return lex->at < lex->end ? *lex->at : '\0';
}

static inline void lex_space(struct lex *lex)
{
    while (lex->at < lex->end &&
           (*lex->at == ' ' || *lex->at == '\t' || *lex->at == '\r' || *lex->at == '\n')) {
        lex->at++;
    }
}

/* Takes this one character; false, and nothing taken, when another is next. */
static inline bool lex_take(struct lex *lex, char c)
{
    if (lex->at == lex->end || *lex->at != c) return false;
    lex->at++;
    return true;
}

/* The cursor is behind the opening quote and goes behind the closing one. False: no end, or a raw
 * control character, which no JSON string has. */
bool lex_string(struct lex *lex, struct lex_text *text);
/* LEX_INTEGER also for 80.0 and 1e2. A value beyond int64 is LEX_NOT_INTEGRAL; the cursor is behind
 * the number unless there was none. */
enum lex_number lex_number(struct lex *lex, int64_t *value);
/* true, false, null: takes the whole word or nothing. */
bool lex_word(struct lex *lex, const char *word);
/* Any value, however deep, without looking into it. */
bool lex_skip(struct lex *lex);

/* In place. False when the text has an escape that does not exist, a lone surrogate, \u0000, or is
 * not UTF-8: the bytes are then of no use. */
bool lex_unescape(struct lex_text *text);
bool lex_utf8(const char *data, size_t length);

#endif
