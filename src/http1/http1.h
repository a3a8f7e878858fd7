/* http1.h: HTTP/1.1 messages between bytes and values (RFC 9112, field syntax of RFC 9110). Pure
 * and strict.
 *
 * Nothing here reads, writes, allocates or knows the time. A head is parsed once, when all of it is
 * there; its slices point into the caller's buffer. What is forwarded is always written anew from
 * these values. Errors carry the status to answer with, the offset and the rule that was broken.
 */
#ifndef HTTP1_HTTP1_H
#define HTTP1_HTTP1_H

#include <belay/method.h>
#include <belay/slice.h>
#include <belay/time.h>
#include <stdint.h>

#include "http1/date.h"

#define HTTP1_FIELDS_MAX 128 /* the array's size; limits may ask for less */

struct http1_limits {
    size_t head_bytes_max;       /* [16 KiB] start line and fields -> 431 */
    size_t target_bytes_max;     /* [8 KiB] request target -> 414 */
    size_t fields_max;           /* [100] -> 431 */
    size_t chunk_line_bytes_max; /* [256] size and extensions, without CRLF -> 400 */
    size_t trailer_bytes_max;    /* [8 KiB] -> 431 */
};
struct http1_limits http1_limits_default(void);

/* Fields that somebody here asks for by name. OTHER is everything else. */
enum http1_field_id {
    HTTP1_OTHER,
    HTTP1_HOST,
    HTTP1_CONNECTION,
    HTTP1_CONTENT_LENGTH,
    HTTP1_CONTENT_TYPE,
    HTTP1_TRANSFER_ENCODING,
    HTTP1_TE,
    HTTP1_TRAILER,
    HTTP1_UPGRADE,
    HTTP1_KEEP_ALIVE,
    HTTP1_PROXY_CONNECTION,
    HTTP1_HTTP2_SETTINGS,
    HTTP1_PROXY_AUTHENTICATE,
    HTTP1_PROXY_AUTHORIZATION,
    HTTP1_EXPECT,
    HTTP1_DATE,
    HTTP1_AUTHORIZATION,
    HTTP1_RETRY_AFTER,
    HTTP1_IDEMPOTENCY_KEY,
    HTTP1_TRACEPARENT,
    HTTP1_TRACESTATE,
    HTTP1_VIA,
    HTTP1_GRPC_TIMEOUT,
    HTTP1_CONNECT_TIMEOUT_MS,
    HTTP1_ENVOY_EXPECTED_RQ_TIMEOUT_MS,
    HTTP1_REQUEST_TIMEOUT_MS,
    HTTP1_OPERATION_ID,
    HTTP1_REQUEST_ID,
    HTTP1_RETRY_OWNER,
    HTTP1_REQUEST_ATTEMPT,
    HTTP1_GRPC_PREVIOUS_RPC_ATTEMPTS,
    HTTP1_ENVOY_ATTEMPT_COUNT,
    HTTP1_FIELD_COUNT
};

struct http1_field {
    struct belay_slice name, value; /* value without surrounding white space */
    /* OTHER too for what Connection names, unless the field is hop-by-hop by nature: it was meant
     * for this hop alone and no rule may rely on it. */
    enum http1_field_id id;
    /* Named by Connection, or hop-by-hop by nature: never forwarded. Host, Content-Length and
     * Transfer-Encoding cannot be named away. */
    bool hop_by_hop;
};

enum http1_framing { HTTP1_NO_BODY, HTTP1_LENGTH, HTTP1_CHUNKED, HTTP1_UNTIL_CLOSE };

/* A parse sets every member but the entries of `fields` past field_count, so that it need not be
 * cleared before. What belongs to the other kind of message is zero. */
struct http1_head {
    /* request */
    enum belay_method method;
    struct belay_slice method_text; /* verbatim */
    struct belay_slice target;      /* as it came */
    struct belay_slice path, query; /* origin-form parts: path begins with '/', query without '?'
                                       (has_query says whether there was one); "*" for OPTIONS */
    bool has_query;
    struct belay_slice authority; /* of the absolute-form target, else of Host (RFC 9112 3.2.2) */
    /* response */
    int status;
    struct belay_slice reason_phrase;
    /* both */
    int minor_version;    /* 0 or 1 */
    bool keep_alive;      /* this message lets the connection live (RFC 9112 9.3) */
    bool expect_continue; /* a request with a body that awaits 100 (Continue) */
    bool length_ignored;  /* a response with Transfer-Encoding and Content-Length: do not reuse */
    enum http1_framing framing;
    uint64_t content_length; /* LENGTH */
    bool has_content_length; /* declared, also where there is no body (HEAD, 304) */
    /* Bit 1 << id: that field came more than once (bit OTHER means nothing). */
    uint64_t repeated_ids;
    uint8_t first[HTTP1_FIELD_COUNT]; /* private: 1 + the index of the first field with that id */
    size_t field_count;
    struct http1_field fields[HTTP1_FIELDS_MAX];
};

struct http1_error {
    int status;       /* 400 414 431 501 505 for a request; 502 for a response */
    const char *rule; /* a constant sentence fragment */
    size_t offset;    /* in the head's or body's bytes */
};

enum http1_step { HTTP1_MORE, HTTP1_DONE, HTTP1_BAD };

/* Where the look at an unfinished head stopped, so that a head that drips in costs no more than
 * twice its bytes, and what can no longer become a head is refused at the first wrong byte.
 * Zero-initialise. */
struct http1_scan { /* private */
    size_t seen, mark;
    uint16_t fields;
    uint8_t state;
};

/* Parses a head at the front of `bytes` (all that has come so far). DONE: *head is filled, *used
 * bytes belong to the head. MORE: call again with more bytes after the same ones (which may have
 * moved). BAD: *error says why. Empty lines before a request line are skipped (RFC 9112 2.2). The
 * scan is reset by DONE. The result is the same for every way in which the bytes are cut. *head is
 * written from the first call on, and means something after DONE only. */
enum http1_step http1_parse_request(struct http1_scan *scan, const struct http1_limits *limits,
                                    struct belay_slice bytes, struct http1_head *head, size_t *used,
                                    struct http1_error *error);
/* `request_method` decides whether a body follows (HEAD, CONNECT). 1xx heads come back as any
 * other, with NO_BODY. */
enum http1_step http1_parse_response(struct http1_scan *scan, const struct http1_limits *limits,
                                     enum belay_method request_method, struct belay_slice bytes,
                                     struct http1_head *head, size_t *used,
                                     struct http1_error *error);
/* First field with that id, or NULL. */
const struct http1_field *http1_find(const struct http1_head *head, enum http1_field_id id);

/* ---- bodies: one decoder for every framing ---- */
struct http1_body {  /* private */
    uint64_t left;   /* of this chunk, or of the whole length */
    uint64_t offset; /* bytes consumed */
    size_t line_bytes, line_bytes_max, trailer_bytes, trailer_bytes_max;
    uint8_t framing, state;
};
void http1_body_init(struct http1_body *body, const struct http1_limits *limits,
                     enum http1_framing framing, uint64_t content_length);
/* Looks at the front of `bytes`: *used of them are consumed, *piece is content among them (may be
 * empty). DONE: the message has ended (at once, with nothing used, for NO_BODY and a length of 0);
 * a last piece may come with it. MORE: call again with what follows the used ones; while it uses
 * any, there may be more pieces. BAD stays so; the status is what a server would answer. Trailers
 * are checked and dropped. UNTIL_CLOSE never ends by itself. */
enum http1_step http1_body_step(struct http1_body *body, struct belay_slice bytes, size_t *used,
                                struct belay_slice *piece, struct http1_error *error);
/* The peer closed: true when that is a proper end (UNTIL_CLOSE, or already done). */
bool http1_body_closed(const struct http1_body *body);

/* ---- writing: into the caller's memory ---- */
/* Each returns the bytes written, or 0 when they do not fit. Nothing is checked here: text from
 * outside has to have come through a parser above. */
/* "METHOD path?query HTTP/1.1", the method verbatim: how a parsed request goes on to its origin. */
size_t http1_write_forward_line(char *out, size_t room, const struct http1_head *request);
size_t http1_write_status_line(char *out, size_t room, int status, struct belay_slice reason);
size_t http1_write_field(char *out, size_t room, struct belay_slice name, struct belay_slice value);
size_t http1_write_field_number(char *out, size_t room, struct belay_slice name, uint64_t value);
size_t http1_write_chunk_head(char *out, size_t room, uint64_t length); /* "1a\r\n" */
const char *http1_reason_phrase(int status); /* "" for what is not known */

/* ---- field values ---- */
/* 1 to 8 digits and one of H M S m u n (gRPC over HTTP/2, "Timeout"). Huge saturates. */
bool http1_parse_grpc_timeout(struct belay_slice value, struct belay_span *out);
/* Decimal milliseconds, 1 to 10 digits, optionally negative (which the caller treats as expired).
 */
bool http1_parse_timeout_ms(struct belay_slice value, struct belay_span *out);
/* Digits only, at most 2^63 - 1. */
bool http1_parse_content_length(struct belay_slice value, uint64_t *out);
/* traceparent of W3C Trace Context: 32 and 16 lower-case hex digits, neither all zero. Version ff
 * is invalid; of a later version than 00 the known part is read. */
bool http1_parse_traceparent(struct belay_slice value, struct belay_slice *trace_id,
                             struct belay_slice *parent_id, uint8_t *flags);

#endif
