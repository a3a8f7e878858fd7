/* phrase.c: finds "request failed" and its like in a sentence (phrase.h). */
#include "inspect/phrase.h"

#include "base/ascii.h"
#include "base/check.h"

#include <strings.h>

#define BETWEEN_BYTES_MAX 48 /* between the call and its failure: "request to orders failed" */

static bool is_letter(char c)
{
    return char_is_lower(c) || char_is_upper(c);
}

/* The last place before `end`, and not before `from`, where this word stands alone. */
static bool word_before(struct belay_slice text, size_t from, size_t end, const char *word)
{
    size_t length = strlen(word);
    for (size_t at = from; at + length <= end; at++) {
        if (strncasecmp(text.data + at, word, length) == 0 &&
            (at == 0 || !is_letter(text.data[at - 1])) && !is_letter(text.data[at + length]))
            return true;
    }
    return false;
}

static bool call_before(struct belay_slice text, size_t end)
{
    static const char *const CALLS[] = {"request", "call", "attempt", "fetch", "upstream", "retry"};
    size_t from = end > BETWEEN_BYTES_MAX ? end - BETWEEN_BYTES_MAX : 0;
    for (size_t at = end; at > from; at--) { /* not across the end of a sentence */
        if (text.data[at - 1] == ';' || text.data[at - 1] == '.') from = at;
    }
    for (size_t i = 0; i < COUNT(CALLS); i++) {
        if (word_before(text, from, end, CALLS[i])) return true;
    }
    return false;
}

bool phrase_says_failed(struct belay_slice text)
{
    static const char *const FAILURES[] = {"failed", "timed out", "Failed", "FAILED", "failure"};
    if (text.length == 0) return false;
    for (size_t i = 0; i < COUNT(FAILURES); i++) {
        const char *at = text.data, *end = text.data + text.length;
        size_t length = strlen(FAILURES[i]);
        while (at < end && (at = memmem(at, (size_t)(end - at), FAILURES[i], length)) != NULL) {
            if (call_before(text, (size_t)(at - text.data))) return true;
            at += length;
        }
    }
    return false;
}
