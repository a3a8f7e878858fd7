/* http1_values.c: field values: results inside their bounds, and dates that survive being written.
 */
#include "oracle.h"

#include <belay/retry_after.h>

static struct belay_slice value;

static void check_date(struct belay_wall now)
{
    struct belay_wall date;
    const char *rule = NULL;
    if (!http1_parse_date(value, now, &date, &rule)) {
        CHECK(rule);
        return;
    }
    if (date.ns == INT64_MAX || date.ns == INT64_MIN) return; /* saturated */
    char text[29];
    http1_format_date(date, text);
    struct belay_wall again;
    CHECK(http1_parse_date(belay_slice(text, sizeof text), now, &again, NULL));
    CHECK(again.ns == date.ns);
}

static void check_retry_after(struct belay_wall now)
{
    int64_t ms = -1;
    const char *rule = NULL;
    bool valid = belay_retry_after_parse(value, now, &ms, &rule);
    CHECK(valid == (rule == NULL));
    CHECK(valid ? ms >= 0 : ms == -1);
}

static void check_timeouts(void)
{
    struct belay_span span;
    if (http1_parse_grpc_timeout(value, &span)) CHECK(span.ns >= 0 && value.length <= 9);
    if (http1_parse_timeout_ms(value, &span))
        CHECK(span.ns % BELAY_NS_PER_MS == 0 && value.length <= 11);
}

static void check_length(void)
{
    uint64_t length;
    if (!http1_parse_content_length(value, &length)) return;
    CHECK(length <= INT64_MAX);
    char text[64];
    size_t wrote = http1_write_field_number(text, sizeof text, LITERAL("L"), length);
    uint64_t again;
    CHECK(http1_parse_content_length(belay_slice(text + 3, wrote - 5), &again) && again == length);
}

static void check_traceparent(void)
{
    struct belay_slice trace, parent;
    uint8_t flags;
    if (!http1_parse_traceparent(value, &trace, &parent, &flags)) return;
    check_inside(value, trace);
    check_inside(value, parent);
    CHECK(trace.length == 32 && parent.length == 16);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct belay_wall now = {INT64_C(1767700800) * BELAY_NS_PER_S};
    if (size > 8 && data[0] == '@') { /* another day: eight bytes of it */
        memcpy(&now.ns, data + 1, 8);
        data += 9;
        size -= 9;
    }
    char *copy = exact_copy(belay_slice((const char *)data, size));
    value = belay_slice(copy, size);
    check_date(now);
    check_retry_after(now);
    check_timeouts();
    check_length();
    check_traceparent();
    free(copy);
    return 0;
}
