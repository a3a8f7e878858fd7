/* limits.c: reads RateLimit fields (limits.h; structured fields: RFC 9651, as much as these need).
 */
#include "proxy/limits.h"
#include "base/text.h"

#include <strings.h>

#define ITEMS_MAX 8           /* more limits in one answer are ignored */
#define INTEGER_DIGITS_MAX 15 /* RFC 9651 3.3.1 */
#define EPOCH_AFTER_S 1000000000

struct number {
    bool given, valid; /* valid: an integer, and not negative */
    int64_t value;
};

struct item {
    struct belay_slice name;
    struct number r, t, q, w;
};

struct items {
    struct item item[ITEMS_MAX];
    size_t count;
};

struct text {
    const char *at, *end;
};

static bool next_is(const struct text *text, char c)
{
    return text->at < text->end && *text->at == c;
}

static bool skip(struct text *text, char c)
{
    if (!next_is(text, c)) return false;
    text->at++;
    return true;
}

static void skip_space(struct text *text)
{
    while (next_is(text, ' ') || next_is(text, '\t')) text->at++;
}

static bool take_string(struct text *text, struct belay_slice *out)
{
    const char *start = ++text->at;
    for (; text->at < text->end && *text->at != '"'; text->at++) {
        if (*text->at == '\\' && ++text->at == text->end) return false;
    }
    *out = belay_slice(start, (size_t)(text->at - start));
    return skip(text, '"');
}

static bool take_token(struct text *text, struct belay_slice *out)
{
    const char *start = text->at;
    while (text->at < text->end &&
           (char_is_letter_or_digit(*text->at) || strchr("_-.*:/", *text->at))) {
        text->at++;
    }
    *out = belay_slice(start, (size_t)(text->at - start));
    return out->length > 0 && (char_is_letter(*start) || *start == '*');
}

/* An integer, or a decimal, which is a number and no valid one here. */
static bool take_number(struct text *text, struct number *out)
{
    bool negative = skip(text, '-');
    const char *start = text->at;
    int64_t value = 0;
    for (; text->at < text->end && char_is_digit(*text->at); text->at++) {
        if (text->at - start == INTEGER_DIGITS_MAX) return false;
        value = value * 10 + (*text->at - '0');
    }
    if (text->at == start) return false;
    bool decimal = skip(text, '.');
    while (decimal && text->at < text->end && char_is_digit(*text->at)) text->at++;
    *out = (struct number){.given = true, .valid = !decimal && !negative, .value = value};
    return true;
}

static bool take_value(struct text *text, struct number *out)
{
    struct belay_slice ignored;
    *out = (struct number){.given = true};
    if (text->at == text->end) return false;
    if (*text->at == '-' || char_is_digit(*text->at)) return take_number(text, out);
    return *text->at == '"' ? take_string(text, &ignored) : take_token(text, &ignored);
}

static bool take_parameters(struct text *text, struct item *item)
{
    while (skip(text, ';')) {
        struct belay_slice key;
        struct number value = {.given = true}, ignored;
        skip_space(text);
        if (!take_token(text, &key)) return false;
        if (skip(text, '=') && !take_value(text, &value)) return false;
        struct number *number = &ignored;
        if (key.length == 1 && key.data[0] == 'r') number = &item->r;
        if (key.length == 1 && key.data[0] == 't') number = &item->t;
        if (key.length == 1 && key.data[0] == 'q') number = &item->q;
        if (key.length == 1 && key.data[0] == 'w') number = &item->w;
        *number = value;
    }
    return true;
}

/* A list of names with parameters; false: the field is to be ignored. */
static bool take_list(struct text text, struct items *items)
{
    size_t count_before = items->count;
    skip_space(&text);
    while (text.at < text.end) {
        struct item item = {0};
        bool good =
            next_is(&text, '"') ? take_string(&text, &item.name) : take_token(&text, &item.name);
        good = good && take_parameters(&text, &item);
        skip_space(&text);
        bool last = text.at == text.end;
        bool comma = skip(&text, ',');
        skip_space(&text);
        if (!good || (!last && !comma) || (comma && text.at == text.end)) {
            items->count = count_before;
            return false;
        }
        if (items->count < ITEMS_MAX) items->item[items->count++] = item;
    }
    return true;
}

/* limit=100, remaining=50, reset=5 */
static bool take_dictionary(struct text text, struct item *out)
{
    struct item item = {0};
    skip_space(&text);
    while (text.at < text.end) {
        struct belay_slice key;
        struct number value;
        if (!take_token(&text, &key) || !skip(&text, '=') || !take_value(&text, &value))
            return false;
        if (belay_slice_equal(key, belay_slice_z("remaining"))) item.r = value;
        if (belay_slice_equal(key, belay_slice_z("reset"))) item.t = value;
        skip_space(&text);
        bool last = text.at == text.end;
        if (!last && !skip(&text, ',')) return false;
        skip_space(&text);
        if (!last && text.at == text.end) return false;
    }
    *out = item;
    return true;
}

static bool is_named(const struct http1_field *field, const char *name)
{
    size_t length = strlen(name);
    return field->name.length == length && strncasecmp(field->name.data, name, length) == 0;
}

/* A policy of the same name says more: over its window the pace is q a w, however much is left just
 * now. */
static void consider(struct limits_told *told, const struct item *limit,
                     const struct items *policies)
{
    if (!limit->r.valid) return;
    const struct item *policy = NULL;
    for (size_t i = 0; i < policies->count; i++) {
        const struct item *item = &policies->item[i];
        bool whole = item->q.valid && item->w.valid && item->w.value > 0;
        if (whole && belay_slice_equal(item->name, limit->name)) policy = item;
    }
    int64_t reset_s = limit->t.valid              ? limit->t.value
                      : !limit->t.given && policy ? policy->w.value
                                                  : 0;
    if (reset_s <= 0) return;
    uint64_t left = (uint64_t)limit->r.value;
    if (policy && left > 0) {
        unsigned __int128 paced = (unsigned __int128)(uint64_t)policy->q.value * (uint64_t)reset_s;
        uint64_t share = (uint64_t)(paced / (uint64_t)policy->w.value);
        if (share < left) left = share > 0 ? share : 1;
    }
    struct belay_span reset_for =
        belay_span_ms(reset_s > INT64_MAX / 1000 ? INT64_MAX : reset_s * 1000);
    unsigned __int128 slower = (unsigned __int128)(uint64_t)reset_for.ns * told->left;
    if (told->any && slower <= (unsigned __int128)(uint64_t)told->reset_for.ns * left) return;
    *told = (struct limits_told){.any = true, .left = left, .reset_for = reset_for};
}

static void read_pair(struct item *pair, const struct http1_field *field, struct belay_wall now)
{
    struct number *number = NULL;
    if (is_named(field, "RateLimit-Remaining") || is_named(field, "X-RateLimit-Remaining"))
        number = &pair->r;
    if (is_named(field, "RateLimit-Reset") || is_named(field, "X-RateLimit-Reset"))
        number = &pair->t;
    if (!number) return;
    struct text text = {field->value.data, field->value.data + field->value.length};
    if (!take_number(&text, number) || text.at != text.end)
        *number = (struct number){.given = true};
    if (number != &pair->t || !number->valid || number->value <= EPOCH_AFTER_S) return;
    number->value -= now.ns / BELAY_NS_PER_S;
    number->valid = number->value > 0;
}

struct limits_told limits_read(const struct http1_head *head, struct belay_wall now)
{
    struct items limits = {0}, policies = {0};
    struct item pair = {0}, dictionary = {0};
    struct limits_told told = {0};
    for (size_t i = 0; i < head->field_count; i++) {
        const struct http1_field *field = &head->fields[i];
        if (field->id != HTTP1_OTHER) continue;
        struct text text = {field->value.data, field->value.data + field->value.length};
        if (is_named(field, "RateLimit-Policy"))
            (void)take_list(text, &policies); /* or ignored */
        else if (is_named(field, "RateLimit")) {
            if (!take_list(text, &limits)) (void)take_dictionary(text, &dictionary);
        } else {
            read_pair(&pair, field, now);
        }
    }
    for (size_t i = 0; i < limits.count; i++) consider(&told, &limits.item[i], &policies);
    consider(&told, &dictionary, &policies);
    if (!told.any) consider(&told, &pair, &policies);
    return told;
}
