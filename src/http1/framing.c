/* framing.c: where a message ends (RFC 9112 6.1 to 6.3). */
#include "http1/parts.h"

static const struct belay_slice *value_of(const struct http1_head *head, enum http1_field_id id)
{
    const struct http1_field *field = http1_find(head, id);
    return field ? &field->value : NULL;
}

static bool repeated(const struct http1_head *head, enum http1_field_id id)
{
    return (head->repeated_ids & (UINT64_C(1) << id)) != 0;
}

/* One field with one plain number: even "5, 5" is a sign that somebody before us saw two messages.
 */
static bool read_length(struct http1_head *head, const struct http1_complaint *to)
{
    const struct belay_slice *value = value_of(head, HTTP1_CONTENT_LENGTH);
    if (!value) return true;
    if (repeated(head, HTTP1_CONTENT_LENGTH)) {
        return http1__refuse(to, 400, "more than one Content-Length", value->data);
    }
    if (!http1_parse_content_length(*value, &head->content_length)) {
        return http1__refuse(to, 400, "invalid Content-Length", value->data);
    }
    head->has_content_length = true;
    return true;
}

static bool is_chunked(struct belay_slice coding)
{
    return http1__same_name(coding, belay_slice_z("chunked"));
}

/* A list of tokens that ends with "chunked", and has it nowhere else: proper, but nothing that we
 * can undo. */
static bool is_well_formed_list(struct belay_slice list)
{
    struct belay_slice coding;
    size_t before = 0;
    bool ended = false;
    while (http1__list_next(&list, &coding)) {
        if (ended || !http1__is_token(coding)) return false;
        ended = is_chunked(coding);
        before += ended ? 0 : 1;
    }
    return ended && before > 0;
}

/* True for none, and for one field that says "chunked" and nothing else. */
static bool check_transfer_encoding(const struct http1_head *head, const struct http1_complaint *to)
{
    const struct belay_slice *value = value_of(head, HTTP1_TRANSFER_ENCODING);
    if (!value) return true;
    if (head->minor_version == 0)
        return http1__refuse(to, 400, "Transfer-Encoding in HTTP/1.0", value->data);
    if (repeated(head, HTTP1_TRANSFER_ENCODING)) {
        return http1__refuse(to, 400, "more than one Transfer-Encoding", value->data);
    }
    if (is_chunked(*value)) return true;
    int status = is_well_formed_list(*value) ? 501 : 400;
    return http1__refuse(to, status, "transfer coding other than chunked", value->data);
}

static bool expects_continue(const struct http1_head *head)
{
    const struct belay_slice *value = value_of(head, HTTP1_EXPECT);
    return value && head->minor_version == 1 && head->framing != HTTP1_NO_BODY &&
           http1__same_name(*value, belay_slice_z("100-continue"));
}

bool http1__frame_request(struct http1_head *head, const struct http1_complaint *to)
{
    const struct belay_slice *encoding = value_of(head, HTTP1_TRANSFER_ENCODING);
    if (!check_transfer_encoding(head, to) || !read_length(head, to)) return false;
    if (encoding && head->has_content_length) {
        return http1__refuse(to, 400, "both Content-Length and Transfer-Encoding", encoding->data);
    }
    head->framing = encoding                   ? HTTP1_CHUNKED
                    : head->has_content_length ? HTTP1_LENGTH
                                               : HTTP1_NO_BODY;
    head->expect_continue = expects_continue(head);
    return true;
}

static bool has_no_body(int status, enum belay_method request_method)
{
    if (status < 200 || status == 204 || status == 304) return true;
    if (request_method == BELAY_METHOD_HEAD) return true;
    return request_method == BELAY_METHOD_CONNECT && status < 300;
}

static void forget_length(struct http1_head *head)
{
    head->has_content_length = false;
    head->content_length = 0;
}

bool http1__frame_response(struct http1_head *head, enum belay_method request_method,
                           const struct http1_complaint *to)
{
    const struct belay_slice *encoding = value_of(head, HTTP1_TRANSFER_ENCODING);
    if (!check_transfer_encoding(head, to) || !read_length(head, to)) return false;
    if (encoding && head->has_content_length) {
        head->length_ignored = true;
        head->keep_alive = false;
        forget_length(head);
    }
    if (head->status < 200 || head->status == 204)
        forget_length(head); /* RFC 9110 8.6 allows none */
    if (has_no_body(head->status, request_method)) {
        head->framing = HTTP1_NO_BODY;
    } else if (encoding) {
        head->framing = HTTP1_CHUNKED;
    } else if (head->has_content_length) {
        head->framing = HTTP1_LENGTH;
    } else {
        head->framing = HTTP1_UNTIL_CLOSE;
        head->keep_alive = false;
    }
    return true;
}
