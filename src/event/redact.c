/* redact.c: keeps ids, tokens and names of people out of events (event.h).
 *
 * In doubt a segment is replaced: a lost word costs a reader a moment, a leaked one cannot be taken
 * back.
 */
#include "base/ascii.h"

#include <belay/event.h>
#include <string.h>

#define WORD_BYTES_MAX 64  /* no part of an API is named by more */
#define TOKEN_BYTES_MIN 16 /* letters and digits mixed, this long: base64, base32, a JWT */
#define HEX_BYTES_MIN 8    /* hex digits with a decimal one among them */
#define DIGIT_RUN_MIN 4    /* `sha256` is a word, `INV-2024` is not */
#define CASE_BYTES_MIN 20  /* letters only, this long, with the case changing all the time */

static bool is_hex_letter(char c)
{
    return (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

struct look {
    size_t digits, letters, hex_letters, case_changes, digit_run_max;
    size_t mixed_max; /* the longest piece between dots that has a digit: `orders.v1.List` is a
                         name, a JWT is not */
    bool foreign;     /* a byte that no plain word has */
};

static struct look look_at(struct belay_slice segment)
{
    struct look look = {0};
    size_t run = 0, piece = 0, piece_digits = 0;
    for (size_t i = 0; i < segment.length; i++) {
        char c = segment.data[i], before = i ? segment.data[i - 1] : 0;
        run = char_is_digit(c) ? run + 1 : 0;
        if (run > look.digit_run_max) look.digit_run_max = run;
        piece = c == '.' ? 0 : piece + 1;
        piece_digits = c == '.' ? 0 : piece_digits + char_is_digit(c);
        if (piece_digits > 0 && piece > look.mixed_max) look.mixed_max = piece;
        if (char_is_digit(c)) {
            look.digits++;
        } else if (char_is_upper(c) || char_is_lower(c)) {
            look.letters++;
            look.hex_letters += is_hex_letter(c);
            look.case_changes += (char_is_upper(c) && char_is_lower(before)) ||
                                 (char_is_lower(c) && char_is_upper(before));
        } else if (!memchr("-_.~*$!", c, 7)) {
            look.foreign = true;
        }
    }
    return look;
}

static bool could_be_private(struct belay_slice segment)
{
    if (segment.length == 0) return false;
    struct look look = look_at(segment);
    if (look.foreign || segment.length > WORD_BYTES_MAX) return true;
    if (look.digits > 0 && look.letters == 0) return true;
    if (look.digit_run_max >= DIGIT_RUN_MIN) return true;
    bool hex_only = look.hex_letters == look.letters;
    if (hex_only && look.digits > 0 && look.digits + look.letters >= HEX_BYTES_MIN) return true;
    if (hex_only && segment.length >= TOKEN_BYTES_MIN) return true;
    if (look.mixed_max >= TOKEN_BYTES_MIN) return true;
    return segment.length >= CASE_BYTES_MIN && look.case_changes * 4 > segment.length;
}

/* The path of an origin-form or absolute-form target, without query and fragment. */
static struct belay_slice path_alone(struct belay_slice path)
{
    for (size_t i = 0; i < path.length; i++) {
        if (path.data[i] == '?' || path.data[i] == '#') path.length = i;
    }
    if (path.length == 0 || path.data[0] == '/') return path;
    for (size_t i = 0; i + 2 < path.length; i++) {
        if (memcmp(path.data + i, "://", 3) != 0) continue;
        const char *authority = path.data + i + 3;
        size_t left = path.length - i - 3;
        const char *slash = left ? memchr(authority, '/', left) : NULL;
        return slash ? belay_slice(slash, left - (size_t)(slash - authority)) : belay_slice("/", 1);
    }
    return path;
}

struct belay_slice belay_event_endpoint(struct belay_slice path, struct belay_slice route,
                                        char room[BELAY_EVENT_ENDPOINT_BYTES_MAX])
{
    static const char CUT[] = "/...";
    if (route.length > 0) return route;
    path = path_alone(path);
    size_t used = 0, at = 0;
    while (at < path.length) {
        bool slash = path.data[at] == '/';
        size_t from = at + slash, to = from, shown_to;
        while (to < path.length && path.data[to] != '/') to++;
        for (shown_to = from; shown_to < to && path.data[shown_to] != ';'; shown_to++) continue;
        struct belay_slice segment = belay_slice(path.data + from, shown_to - from);
        if (could_be_private(segment)) segment = belay_slice("{}", 2);
        if (used + slash + segment.length + sizeof CUT > BELAY_EVENT_ENDPOINT_BYTES_MAX) {
            memcpy(room + used, CUT, sizeof CUT - 1);
            return belay_slice(room, used + sizeof CUT - 1);
        }
        if (slash) room[used++] = '/';
        if (segment.length) memcpy(room + used, segment.data, segment.length);
        used += segment.length;
        at = to;
    }
    return belay_slice(room, used);
}

bool belay_event_id_valid(struct belay_slice id)
{
    if (id.length == 0 || id.length > BELAY_OPERATION_ID_MAX) return false;
    for (size_t i = 0; i < id.length; i++) {
        char c = id.data[i];
        if (!char_is_digit(c) && !char_is_upper(c) && !char_is_lower(c) &&
            (c == 0 || !strchr("-_.:+=~", c)))
            return false;
    }
    return true;
}
