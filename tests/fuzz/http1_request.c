/* http1_request.c: a request is read the same for every cut, and what is forwarded is read back the
 * same. */
#include "oracle.h"

static struct http1_limits limits;

static enum http1_step parse(struct http1_scan *scan, struct belay_slice bytes, struct parsed *out)
{
    return http1_parse_request(scan, &limits, bytes, &out->head, &out->used, &out->error);
}

static void check_forwarded(const struct http1_head *head)
{
    static struct text text;
    static struct parsed again;
    text.length = 0;
    wrote(&text, http1_write_forward_line(rest(&text), room(&text), head));
    struct belay_slice authority = head->authority.length ? head->authority : LITERAL("none");
    wrote(&text, http1_write_field(rest(&text), room(&text), LITERAL("Host"), authority));
    write_rest_of_head(&text, head);
    limits = http1_limits_default();
    limits.head_bytes_max =
        sizeof text.bytes; /* a line more than came, and some may have been longer */
    limits.fields_max++;
    struct http1_scan scan = {0};
    CHECK(parse(&scan, belay_slice(text.bytes, text.length), &again) == HTTP1_DONE);
    CHECK(again.used == text.length);
    CHECK(again.head.method == head->method &&
          belay_slice_equal(again.head.method_text, head->method_text));
    CHECK(belay_slice_equal(again.head.path, head->path) &&
          belay_slice_equal(again.head.query, head->query));
    CHECK(again.head.has_query == head->has_query &&
          belay_slice_equal(again.head.authority, authority));
    CHECK(again.head.framing == head->framing && again.head.content_length == head->content_length);
    CHECK(again.head.keep_alive && again.head.minor_version == 1);
    check_fields_went_on(head, &again.head);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct parsed whole;
    limits = http1_limits_default();
    if (size > 0 && data[0] == '<') { /* small limits, so that their edges are met */
        limits =
            (struct http1_limits){.head_bytes_max = 96, .target_bytes_max = 16, .fields_max = 3};
        data++;
        size--;
    }
    parse_every_way(parse, belay_slice((const char *)data, size), &whole);
    if (whole.step == HTTP1_BAD) {
        int status = whole.error.status;
        CHECK(status == 400 || status == 414 || status == 431 || status == 501 || status == 505);
        CHECK(whole.error.offset <= size);
    }
    if (whole.step == HTTP1_DONE) check_forwarded(&whole.head);
    return 0;
}
