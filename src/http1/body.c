/* body.c: the decoder of a message's content, whatever its framing; chunks and trailers (RFC
 * 9112 7.1). */
#include "http1/chars.h"
#include "http1/parts.h"

enum { SIZE_DIGITS_MAX = 16 };

enum state {
    SIZE,       /* before and among the digits */
    SIZE_SPACE, /* white space that only an extension may follow */
    EXTENSION,
    SIZE_LF,
    DATA, /* of a chunk, of the whole length, or up to the close */
    DATA_CR,
    DATA_LF,
    TRAILER, /* at the start of a trailer's line, or of the empty one */
    TRAILER_NAME,
    TRAILER_VALUE,
    TRAILER_LF,
    LAST_LF,
    DONE,
    BROKEN
};

void http1_body_init(struct http1_body *body, const struct http1_limits *limits,
                     enum http1_framing framing, uint64_t content_length)
{
    bool nothing = framing == HTTP1_NO_BODY || (framing == HTTP1_LENGTH && content_length == 0);
    *body = (struct http1_body){
        .left = framing == HTTP1_LENGTH ? content_length : 0,
        .line_bytes_max = limits->chunk_line_bytes_max,
        .trailer_bytes_max = limits->trailer_bytes_max,
        .framing = (uint8_t)framing,
        .state = nothing                    ? DONE
                 : framing == HTTP1_CHUNKED ? SIZE
                                            : DATA,
    };
}

bool http1_body_closed(const struct http1_body *body)
{
    return body->state == DONE || (body->framing == HTTP1_UNTIL_CLOSE && body->state == DATA);
}

/* The state after one byte of framing, or BROKEN with *rule set. */
static enum state break_off(const char **rule, const char *why)
{
    *rule = why;
    return BROKEN;
}

static enum state on_size(struct http1_body *body, char c, const char **rule)
{
    int digit = char_hex(c);
    if (digit >= 0) {
        if (body->line_bytes > SIZE_DIGITS_MAX || body->left > (uint64_t)INT64_MAX >> 4) {
            return break_off(rule, "chunk size too large");
        }
        body->left = body->left << 4 | (uint64_t)digit;
        return SIZE;
    }
    bool no_digit = body->line_bytes == (c == '\r' ? 0 : 1); /* a CR is not counted */
    if (no_digit) return break_off(rule, "malformed chunk size");
    if (c == '\r') return SIZE_LF;
    if (c == ';') return EXTENSION;
    if (c == ' ' || c == '\t') return SIZE_SPACE;
    return break_off(rule, "malformed chunk size");
}

static enum state on_size_space(char c, const char **rule)
{
    if (c == ';') return EXTENSION;
    return c == ' ' || c == '\t' ? SIZE_SPACE : break_off(rule, "white space after the chunk size");
}

static enum state on_extension(char c, const char **rule)
{
    if (c == '\r') return SIZE_LF;
    return char_is(c, CHAR_VALUE) ? EXTENSION
                                  : break_off(rule, "control character in a chunk extension");
}

static enum state on_size_lf(struct http1_body *body, char c, const char **rule)
{
    if (c != '\n') return break_off(rule, "bare CR after the chunk size");
    body->line_bytes = 0;
    return body->left ? DATA : TRAILER;
}

static enum state on_trailer(char c, const char **rule)
{
    if (c == '\r') return LAST_LF;
    return char_is(c, CHAR_TOKEN) ? TRAILER_NAME : break_off(rule, "malformed trailer name");
}

static enum state on_trailer_name(char c, const char **rule)
{
    if (c == ':') return TRAILER_VALUE;
    return char_is(c, CHAR_TOKEN) ? TRAILER_NAME : break_off(rule, "malformed trailer name");
}

static enum state on_trailer_value(char c, const char **rule)
{
    if (c == '\r') return TRAILER_LF;
    return char_is(c, CHAR_VALUE) ? TRAILER_VALUE
                                  : break_off(rule, "control character in a trailer");
}

static enum state expect(char c, char wanted, enum state next, const char **rule, const char *why)
{
    return c == wanted ? next : break_off(rule, why);
}

static enum state on_framing_byte(struct http1_body *body, char c, const char **rule)
{
    switch ((enum state)body->state) {
    case SIZE: return on_size(body, c, rule);
    case SIZE_SPACE: return on_size_space(c, rule);
    case EXTENSION: return on_extension(c, rule);
    case SIZE_LF: return on_size_lf(body, c, rule);
    case DATA_CR: return expect(c, '\r', DATA_LF, rule, "chunk longer than its size");
    case DATA_LF: return expect(c, '\n', SIZE, rule, "bare CR after a chunk");
    case TRAILER: return on_trailer(c, rule);
    case TRAILER_NAME: return on_trailer_name(c, rule);
    case TRAILER_VALUE: return on_trailer_value(c, rule);
    case TRAILER_LF: return expect(c, '\n', TRAILER, rule, "bare CR in a trailer");
    default: /* LAST_LF */ return expect(c, '\n', DONE, rule, "bare CR after the last chunk");
    }
}

/* Counts a framing byte against its limit; the status for one too many, else 0. */
static int count(struct http1_body *body, char c, const char **rule)
{
    bool in_trailer = body->state >= TRAILER;
    if (body->state <= EXTENSION && c != '\r' && ++body->line_bytes > body->line_bytes_max) {
        *rule = "chunk size line too long";
        return 400;
    }
    if (in_trailer && ++body->trailer_bytes > body->trailer_bytes_max) {
        *rule = "trailers too long";
        return 431;
    }
    return 0;
}

static enum http1_step break_at(struct http1_body *body, int status, const char *rule,
                                struct http1_error *error)
{
    body->state = BROKEN;
    *error = (struct http1_error){status, rule, (size_t)body->offset};
    return HTTP1_BAD;
}

static struct belay_slice take_data(struct http1_body *body, const char *at, size_t room)
{
    if (body->framing != HTTP1_UNTIL_CLOSE) {
        if (room > body->left) room = (size_t)body->left;
        body->left -= room;
        if (body->left == 0) body->state = body->framing == HTTP1_CHUNKED ? DATA_CR : DONE;
    }
    body->offset += room;
    return belay_slice(at, room);
}

/* Goes on behind a piece as far as there is framing, so that the end of the message comes with its
 * last piece. */
enum http1_step http1_body_step(struct http1_body *body, struct belay_slice bytes, size_t *used,
                                struct belay_slice *piece, struct http1_error *error)
{
    size_t at = 0;
    *piece = belay_slice(bytes.data, 0);
    *used = 0;
    while (at < bytes.length && body->state < DONE) {
        if (body->state == DATA) {
            if (piece->length) break;
            *piece = take_data(body, bytes.data + at, bytes.length - at);
            at += piece->length;
            continue;
        }
        const char *rule = NULL;
        int status = count(body, bytes.data[at], &rule);
        enum state next = status ? BROKEN : on_framing_byte(body, bytes.data[at], &rule);
        if (next == BROKEN) {
            *piece = belay_slice(bytes.data, 0);
            return break_at(body, status ? status : 400, rule, error);
        }
        body->state = (uint8_t)next;
        body->offset++;
        at++;
    }
    *used = at;
    if (body->state == BROKEN) return break_at(body, 400, "body already broken", error);
    return body->state == DONE ? HTTP1_DONE : HTTP1_MORE;
}
