/* http1_chunked.c: a body is decoded the same for every cut, and its content in other chunks too.
 */
#include "oracle.h"

enum { CONTENT_MAX = 64 * 1024 };

struct decoded {
    enum http1_step step;
    size_t used, length;
    struct http1_error error;
    bool closed;
    char content[CONTENT_MAX];
};

/* Everything that `bytes` holds, given at `first` and then every `step` bytes. */
static void decode(enum http1_framing framing, uint64_t length, struct belay_slice bytes,
                   size_t first, size_t step, struct decoded *out)
{
    struct http1_limits limits = http1_limits_default();
    struct http1_body body;
    http1_body_init(&body, &limits, framing, length);
    out->used = out->length = 0;
    for (size_t end = first;; end += step) {
        if (end > bytes.length) end = bytes.length;
        size_t used;
        do {
            struct belay_slice piece, left = belay_slice(bytes.data + out->used, end - out->used);
            char *copy = exact_copy(left);
            out->step =
                http1_body_step(&body, belay_slice(copy, left.length), &used, &piece, &out->error);
            check_inside(belay_slice(copy, left.length), piece);
            if (piece.length) memcpy(out->content + out->length, piece.data, piece.length);
            out->length += piece.length;
            out->used += used;
            free(copy);
        } while (out->step == HTTP1_MORE && used > 0);
        if (out->step != HTTP1_MORE || end == bytes.length) break;
        CHECK(out->used == end);
    }
    out->closed = http1_body_closed(&body);
}

static void check_same_body(const struct decoded *a, const struct decoded *b)
{
    CHECK(a->step == b->step && a->closed == b->closed);
    if (a->step == HTTP1_BAD) {
        CHECK(a->error.status == b->error.status && a->error.offset == b->error.offset);
        return;
    }
    CHECK(a->used == b->used && a->length == b->length &&
          memcmp(a->content, b->content, a->length) == 0);
}

/* The content in chunks of another size comes out as it went in. */
static void check_written_anew(const struct decoded *from, size_t chunk)
{
    static char wire[16 * CONTENT_MAX];
    static struct decoded again;
    size_t to = 0;
    for (size_t at = 0; at < from->length; at += chunk) {
        if (chunk > from->length - at) chunk = from->length - at;
        to += http1_write_chunk_head(wire + to, sizeof wire - to, chunk);
        memcpy(wire + to, from->content + at, chunk);
        memcpy(wire + to + chunk, "\r\n", 2);
        to += chunk + 2;
    }
    memcpy(wire + to, "0\r\n\r\n", 5);
    decode(HTTP1_CHUNKED, 0, belay_slice(wire, to + 5), to + 5, 1, &again);
    CHECK(again.step == HTTP1_DONE && again.used == to + 5);
    CHECK(again.length == from->length && memcmp(again.content, from->content, from->length) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct decoded whole, cut;
    if (size == 0 || size > CONTENT_MAX) return 0;
    /* The first byte is the framing: mostly chunks. */
    enum http1_framing framing = data[0] < 0xf0 ? HTTP1_CHUNKED : (enum http1_framing)(data[0] & 3);
    uint64_t length = data[0] & 0xc;
    struct belay_slice bytes = belay_slice((const char *)data + 1, size - 1);
    decode(framing, length, bytes, bytes.length, 1, &whole);
    size_t stride = 1 + bytes.length / 128;
    for (size_t at = 0; at < bytes.length; at += stride) {
        decode(framing, length, bytes, at, bytes.length, &cut);
        check_same_body(&whole, &cut);
    }
    decode(framing, length, bytes, 0, stride, &cut);
    check_same_body(&whole, &cut);
    if (whole.step == HTTP1_BAD) CHECK(whole.error.offset < size);
    if (whole.step == HTTP1_DONE) check_written_anew(&whole, 1 + data[0] % 13u);
    return 0;
}
