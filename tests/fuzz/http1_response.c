/* http1_response.c: an answer is read the same for every cut, and what is passed on is read back
 * the same. */
#include "oracle.h"

static struct http1_limits limits;
static enum belay_method method;

static enum http1_step parse(struct http1_scan *scan, struct belay_slice bytes, struct parsed *out)
{
    return http1_parse_response(scan, &limits, method, bytes, &out->head, &out->used, &out->error);
}

static void check_passed_on(const struct http1_head *head)
{
    static struct text text;
    static struct parsed again;
    text.length = 0;
    wrote(&text,
          http1_write_status_line(rest(&text), room(&text), head->status, head->reason_phrase));
    write_rest_of_head(&text, head);
    limits.head_bytes_max = sizeof text.bytes;
    limits.fields_max++;
    struct http1_scan scan = {0};
    CHECK(parse(&scan, belay_slice(text.bytes, text.length), &again) == HTTP1_DONE);
    CHECK(again.used == text.length);
    CHECK(again.head.status == head->status &&
          belay_slice_equal(again.head.reason_phrase, head->reason_phrase));
    CHECK(again.head.framing == head->framing && again.head.content_length == head->content_length);
    CHECK(again.head.has_content_length == head->has_content_length && !again.head.length_ignored);
    check_fields_went_on(head, &again.head);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct parsed whole;
    if (size == 0) return 0;
    limits = http1_limits_default();
    method = (enum belay_method)(data[0] %
                                 BELAY_METHOD_COUNT); /* the first byte is the request's method */
    parse_every_way(parse, belay_slice((const char *)data + 1, size - 1), &whole);
    if (whole.step == HTTP1_BAD) CHECK(whole.error.status == 502 && whole.error.offset < size);
    if (whole.step == HTTP1_DONE) check_passed_on(&whole.head);
    return 0;
}
