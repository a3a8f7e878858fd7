/* oracle.h: what every fuzz target checks with: traps where a property does not hold. */
#ifndef FUZZ_ORACLE_H
#define FUZZ_ORACLE_H

#include "base/check.h"
#include "http1/http1.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define LITERAL(text) belay_slice(text, sizeof(text) - 1)

struct parsed {
    enum http1_step step;
    struct http1_head head;
    size_t used;
    struct http1_error error;
};

/* A parser of one side with everything but the bytes given. */
typedef enum http1_step parse_fn(struct http1_scan *scan, struct belay_slice bytes,
                                 struct parsed *out);

/* In memory of exactly their size, so that a sanitizer sees a look past them. */
static inline char *exact_copy(struct belay_slice bytes)
{
    char *copy = malloc(bytes.length ? bytes.length : 1);
    CHECK(copy);
    if (bytes.length) memcpy(copy, bytes.data, bytes.length);
    return copy;
}

/* Comes in at `first`, then every `step` bytes. */
static inline void parse_cut(parse_fn *parse, struct belay_slice bytes, size_t first, size_t step,
                             struct parsed *out)
{
    struct http1_scan scan = {0};
    for (size_t length = first;; length += step) {
        if (length > bytes.length) length = bytes.length;
        char *copy = exact_copy(belay_slice(bytes.data, length));
        out->step = parse(&scan, belay_slice(copy, length), out);
        free(copy);
        if (out->step != HTTP1_MORE || length == bytes.length) break;
    }
    if (out->step == HTTP1_DONE)
        CHECK(parse(&scan, bytes, out) == HTTP1_DONE); /* again, for slices that live */
}

static inline void check_inside(struct belay_slice whole, struct belay_slice part)
{
    CHECK(part.length <= whole.length);
    if (part.length)
        CHECK(part.data >= whole.data && part.data + part.length <= whole.data + whole.length);
}

static inline void check_same(const struct parsed *a, const struct parsed *b)
{
    CHECK(a->step == b->step);
    if (a->step == HTTP1_BAD) {
        CHECK(a->error.status == b->error.status && a->error.offset == b->error.offset);
        CHECK(strcmp(a->error.rule, b->error.rule) == 0);
    }
    if (a->step != HTTP1_DONE) return;
    CHECK(a->used == b->used);
    CHECK(memcmp(&a->head, &b->head, offsetof(struct http1_head, fields)) == 0);
    for (size_t i = 0; i < a->head.field_count; i++) {
        const struct http1_field *x = &a->head.fields[i], *y = &b->head.fields[i];
        CHECK(belay_slice_equal(x->name, y->name) && belay_slice_equal(x->value, y->value));
        CHECK(x->id == y->id && x->hop_by_hop == y->hop_by_hop);
    }
}

/* Whole, cut in two at every place (of a long input: at some), and byte by byte. */
static inline void parse_every_way(parse_fn *parse, struct belay_slice bytes, struct parsed *whole)
{
    static struct parsed cut;
    parse_cut(parse, bytes, bytes.length, 1, whole);
    size_t stride = 1 + bytes.length / 128;
    for (size_t at = 0; at < bytes.length; at += stride) {
        parse_cut(parse, bytes, at, bytes.length, &cut);
        check_same(whole, &cut);
    }
    parse_cut(parse, bytes, 0, stride, &cut);
    check_same(whole, &cut);
    if (whole->step != HTTP1_DONE) return;
    CHECK(whole->used <= bytes.length);
    for (size_t i = 0; i < whole->head.field_count; i++) {
        check_inside(bytes, whole->head.fields[i].name);
        check_inside(bytes, whole->head.fields[i].value);
    }
}

/* A message being written anew. */
struct text {
    char bytes[64 * 1024];
    size_t length;
};

static inline void wrote(struct text *text, size_t count)
{
    CHECK(count > 0);
    text->length += count;
}

static inline char *rest(struct text *text)
{
    return text->bytes + text->length;
}

static inline size_t room(const struct text *text)
{
    return sizeof text->bytes - text->length;
}

/* Framing and Host are written from what was understood, never from the field. */
static inline bool goes_on(const struct http1_field *field)
{
    return !field->hop_by_hop && field->id != HTTP1_HOST && field->id != HTTP1_CONTENT_LENGTH;
}

static inline void write_rest_of_head(struct text *text, const struct http1_head *head)
{
    for (size_t i = 0; i < head->field_count; i++) {
        const struct http1_field *field = &head->fields[i];
        if (goes_on(field))
            wrote(text, http1_write_field(rest(text), room(text), field->name, field->value));
    }
    if (head->framing == HTTP1_CHUNKED) {
        wrote(text, http1_write_field(rest(text), room(text), LITERAL("Transfer-Encoding"),
                                      LITERAL("chunked")));
    } else if (head->has_content_length) {
        wrote(text, http1_write_field_number(rest(text), room(text), LITERAL("Content-Length"),
                                             head->content_length));
    }
    memcpy(rest(text), "\r\n", 2);
    text->length += 2;
}

/* The fields that went on are read back in their order, and nothing else but framing and Host. */
static inline void check_fields_went_on(const struct http1_head *from, const struct http1_head *to)
{
    size_t at = 0;
    for (size_t i = 0; i < from->field_count; i++) {
        if (!goes_on(&from->fields[i])) continue;
        while (at < to->field_count && !goes_on(&to->fields[at])) at++;
        CHECK(at < to->field_count);
        CHECK(belay_slice_equal(from->fields[i].name, to->fields[at].name));
        CHECK(belay_slice_equal(from->fields[i].value, to->fields[at].value));
        CHECK(from->fields[i].id == to->fields[at].id);
        at++;
    }
    for (; at < to->field_count; at++) CHECK(!goes_on(&to->fields[at]));
}

#endif
