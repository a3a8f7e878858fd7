/* support.h: parses every input whole, byte by byte and cut in two at every offset, and wants one
 * result. */
#ifndef TESTS_HTTP1_SUPPORT_H
#define TESTS_HTTP1_SUPPORT_H

#include "http1/http1.h"
#include "test.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

/* Text from a literal, NULs and all. */
#define TEXT(literal) belay_slice(literal, sizeof(literal) - 1)

struct parsed {
    enum http1_step step;
    struct http1_head head;
    size_t used;
    struct http1_error error;
};

enum side { REQUEST, RESPONSE };

struct how {
    enum side side;
    enum belay_method method; /* of the request that a response answers */
    struct http1_limits limits;
};

static inline struct how requests(void)
{
    return (struct how){REQUEST, BELAY_METHOD_GET, http1_limits_default()};
}

static inline struct how responses_to(enum belay_method method)
{
    return (struct how){RESPONSE, method, http1_limits_default()};
}

static inline enum http1_step parse_some(const struct how *how, struct http1_scan *scan,
                                         struct belay_slice bytes, struct parsed *out)
{
    out->step = how->side == REQUEST ? http1_parse_request(scan, &how->limits, bytes, &out->head,
                                                           &out->used, &out->error)
                                     : http1_parse_response(scan, &how->limits, how->method, bytes,
                                                            &out->head, &out->used, &out->error);
    return out->step;
}

/* The bytes in an allocation of exactly their size, so that a sanitizer sees a read past them. */
static inline char *exact_copy(struct belay_slice bytes)
{
    char *copy = malloc(bytes.length ? bytes.length : 1);
    assert_non_null(copy);
    if (bytes.length) memcpy(copy, bytes.data, bytes.length);
    return copy;
}

/* Comes in at the ends `first`, then every `step` bytes; each time in another place of memory. */
static inline void parse_cut(const struct how *how, struct belay_slice bytes, size_t first,
                             size_t step, struct parsed *out)
{
    struct http1_scan scan = {0};
    memset(out, 0x5a, sizeof *out); /* nothing may rely on a cleared head */
    for (size_t length = first;; length += step) {
        if (length > bytes.length) length = bytes.length;
        char *copy = exact_copy(belay_slice(bytes.data, length));
        enum http1_step got = parse_some(how, &scan, belay_slice(copy, length), out);
        free(copy);
        if (got != HTTP1_MORE || length == bytes.length) break;
    }
    if (out->step == HTTP1_DONE) { /* again, for slices that live */
        assert_int_equal(scan.seen, 0);
        size_t used = out->used;
        assert_int_equal(parse_some(how, &scan, bytes, out), HTTP1_DONE);
        assert_int_equal(out->used, used);
    }
}

static inline void assert_same_fields(const struct http1_head *a, const struct http1_head *b)
{
    assert_int_equal(a->field_count, b->field_count);
    for (size_t i = 0; i < a->field_count; i++) {
        assert_true(belay_slice_equal(a->fields[i].name, b->fields[i].name));
        assert_true(belay_slice_equal(a->fields[i].value, b->fields[i].value));
        assert_int_equal(a->fields[i].id, b->fields[i].id);
        assert_int_equal(a->fields[i].hop_by_hop, b->fields[i].hop_by_hop);
    }
}

static inline void assert_same(const struct parsed *a, const struct parsed *b)
{
    assert_int_equal(a->step, b->step);
    if (a->step == HTTP1_BAD) {
        assert_int_equal(a->error.status, b->error.status);
        assert_string_equal(a->error.rule, b->error.rule);
        assert_int_equal(a->error.offset, b->error.offset);
    }
    if (a->step == HTTP1_DONE) {
        assert_int_equal(a->used, b->used);
        assert_memory_equal(&a->head, &b->head, offsetof(struct http1_head, fields));
        assert_same_fields(&a->head, &b->head);
    }
}

/* One result for all cuts. Long inputs are cut at fewer places. */
static inline struct parsed parse(const struct how *how, struct belay_slice bytes)
{
    static struct parsed whole, cut;
    parse_cut(how, bytes, bytes.length, 1, &whole);
    size_t stride = bytes.length > 1024 ? bytes.length / 61 : 1;
    for (size_t at = 0; at <= bytes.length; at += stride) {
        parse_cut(how, bytes, at, bytes.length, &cut);
        assert_same(&whole, &cut);
    }
    parse_cut(how, bytes, 0, 1, &cut);
    assert_same(&whole, &cut);
    return whole;
}

static inline struct parsed request(struct belay_slice bytes)
{
    struct how how = requests();
    return parse(&how, bytes);
}

static inline struct parsed response_to(enum belay_method method, struct belay_slice bytes)
{
    struct how how = responses_to(method);
    return parse(&how, bytes);
}

static inline struct parsed response(struct belay_slice bytes)
{
    return response_to(BELAY_METHOD_GET, bytes);
}

#define assert_text(slice, literal)                                                                \
    do {                                                                                           \
        assert_int_equal((slice).length, sizeof(literal) - 1);                                     \
        assert_memory_equal((slice).data, literal, sizeof(literal) - 1);                           \
    } while (0)

static inline void assert_refused(struct parsed parsed, int status)
{
    if (parsed.step != HTTP1_BAD || parsed.error.status != status) {
        fail_msg("step %d, status %d (%s), wanted a refusal with %d", (int)parsed.step,
                 parsed.step == HTTP1_BAD ? parsed.error.status : 0,
                 parsed.step == HTTP1_BAD ? parsed.error.rule : "-", status);
    }
}

static inline void assert_accepted(struct parsed parsed)
{
    if (parsed.step != HTTP1_DONE) {
        fail_msg("step %d (%s at %zu), wanted a head", (int)parsed.step,
                 parsed.step == HTTP1_BAD ? parsed.error.rule : "unfinished",
                 parsed.step == HTTP1_BAD ? parsed.error.offset : 0);
    }
}

/* A request with one more line (or several), and one with another field value. */
static inline struct parsed request_with(struct belay_slice lines)
{
    static char text[80 * 1024];
    int length = snprintf(text, sizeof text, "POST /a HTTP/1.1\r\nHost: a\r\n");
    memcpy(text + length, lines.data, lines.length);
    memcpy(text + length + lines.length, "\r\n\r\n", 4);
    return request(belay_slice(text, (size_t)length + lines.length + 4));
}

static inline struct parsed response_with(struct belay_slice lines)
{
    static char text[80 * 1024];
    int length = snprintf(text, sizeof text, "HTTP/1.1 200 OK\r\nServer: a\r\n");
    memcpy(text + length, lines.data, lines.length);
    memcpy(text + length + lines.length, "\r\n\r\n", 4);
    return response(belay_slice(text, (size_t)length + lines.length + 4));
}

/* ---- bodies ---- */
struct decoded {
    enum http1_step step;
    size_t used;
    struct http1_error error;
    bool ended_by_close; /* what http1_body_closed says at the end */
    size_t length;
    char content[64 * 1024];
};

static inline void decode_cut(const struct http1_limits *limits, enum http1_framing framing,
                              uint64_t length, struct belay_slice bytes, size_t first, size_t step,
                              struct decoded *out)
{
    struct http1_body body;
    http1_body_init(&body, limits, framing, length);
    *out = (struct decoded){.step = HTTP1_MORE};
    for (size_t end = first;; end += step) {
        if (end > bytes.length) end = bytes.length;
        size_t used;
        do {
            struct belay_slice piece, rest = belay_slice(bytes.data + out->used, end - out->used);
            char *copy = exact_copy(rest);
            out->step =
                http1_body_step(&body, belay_slice(copy, rest.length), &used, &piece, &out->error);
            assert_true(used <= rest.length && piece.length <= used);
            if (piece.length) memcpy(out->content + out->length, piece.data, piece.length);
            out->length += piece.length;
            out->used += used;
            free(copy);
        } while (out->step == HTTP1_MORE && used > 0);
        if (out->step != HTTP1_MORE) break;
        assert_int_equal(out->used, end);
        if (end == bytes.length) break;
    }
    out->ended_by_close = http1_body_closed(&body);
}

static inline struct decoded *decode_with(const struct http1_limits *limits,
                                          enum http1_framing framing, uint64_t length,
                                          struct belay_slice bytes)
{
    static struct decoded whole, cut;
    decode_cut(limits, framing, length, bytes, bytes.length, 1, &whole);
    size_t stride = bytes.length > 1024 ? bytes.length / 61 : 1;
    for (size_t at = 0; at <= bytes.length + stride; at += stride) {
        size_t step = at > bytes.length ? 1 : bytes.length; /* the last round goes byte by byte */
        decode_cut(limits, framing, length, bytes, step == 1 ? 0 : at, step ? step : 1, &cut);
        assert_int_equal(whole.step, cut.step);
        assert_int_equal(whole.ended_by_close, cut.ended_by_close);
        if (whole.step == HTTP1_BAD) {
            assert_int_equal(whole.error.status, cut.error.status);
            assert_int_equal(whole.error.offset, cut.error.offset);
            assert_string_equal(whole.error.rule, cut.error.rule);
            continue; /* content in front of the fault may have been handed out */
        }
        assert_int_equal(whole.used, cut.used);
        assert_int_equal(whole.length, cut.length);
        assert_memory_equal(whole.content, cut.content, whole.length);
    }
    return &whole;
}

static inline struct decoded *decode(enum http1_framing framing, uint64_t length,
                                     struct belay_slice bytes)
{
    struct http1_limits limits = http1_limits_default();
    return decode_with(&limits, framing, length, bytes);
}

static inline struct decoded *chunks(struct belay_slice bytes)
{
    return decode(HTTP1_CHUNKED, 0, bytes);
}

static inline void assert_broken(const struct decoded *decoded, int status)
{
    if (decoded->step != HTTP1_BAD || decoded->error.status != status) {
        fail_msg("step %d, wanted a refusal with %d", (int)decoded->step, status);
    }
}

#endif
