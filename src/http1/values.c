/* values.c: what single field values mean: lengths, timeouts, traceparent. */
#include "http1/chars.h"
#include "http1/parts.h"

enum { GRPC_DIGITS_MAX = 8, MS_DIGITS_MAX = 10 };

bool http1_parse_content_length(struct belay_slice value, uint64_t *out)
{
    uint64_t length;
    bool over;
    if (!digits_read(value, INT64_MAX, &length, &over) || over) return false;
    *out = length;
    return true;
}

static int64_t grpc_unit_ns(char unit)
{
    switch (unit) {
    case 'H': return 3600 * BELAY_NS_PER_S;
    case 'M': return 60 * BELAY_NS_PER_S;
    case 'S': return BELAY_NS_PER_S;
    case 'm': return BELAY_NS_PER_MS;
    case 'u': return 1000;
    case 'n': return 1;
    default: return 0;
    }
}

bool http1_parse_grpc_timeout(struct belay_slice value, struct belay_span *out)
{
    if (value.length < 2 || value.length > GRPC_DIGITS_MAX + 1) return false;
    int64_t unit = grpc_unit_ns(value.data[value.length - 1]);
    uint64_t count;
    bool over;
    if (unit == 0 ||
        !digits_read(belay_slice(value.data, value.length - 1), INT64_MAX, &count, &over))
        return false;
    *out = belay_span_ns((int64_t)count > INT64_MAX / unit ? INT64_MAX : (int64_t)count * unit);
    return true;
}

bool http1_parse_timeout_ms(struct belay_slice value, struct belay_span *out)
{
    bool negative = value.length > 0 && *value.data == '-';
    if (negative) value = belay_slice(value.data + 1, value.length - 1);
    uint64_t ms;
    bool over;
    if (value.length > MS_DIGITS_MAX || !digits_read(value, INT64_MAX, &ms, &over)) return false;
    *out = belay_span_ms(negative ? -(int64_t)ms : (int64_t)ms);
    return true;
}

/* Lower-case hex digits; *zero: all of them are '0'. */
static bool is_lower_hex(struct belay_slice text, bool *zero)
{
    *zero = true;
    for (size_t i = 0; i < text.length; i++) {
        char c = text.data[i];
        if (!char_is_digit(c) && (c < 'a' || c > 'f')) return false;
        *zero = *zero && c == '0';
    }
    return true;
}

bool http1_parse_traceparent(struct belay_slice value, struct belay_slice *trace_id,
                             struct belay_slice *parent_id, uint8_t *flags)
{
    enum { VERSION = 0, TRACE = 3, PARENT = 36, FLAGS = 53, LENGTH = 55 };
    if (value.length < LENGTH) return false;
    const char *at = value.data;
    if (at[TRACE - 1] != '-' || at[PARENT - 1] != '-' || at[FLAGS - 1] != '-') return false;
    struct belay_slice trace = belay_slice(at + TRACE, 32), parent = belay_slice(at + PARENT, 16);
    bool first_version, no_trace, no_parent, no_flags;
    if (!is_lower_hex(belay_slice(at + VERSION, 2), &first_version) ||
        !is_lower_hex(trace, &no_trace) || !is_lower_hex(parent, &no_parent) ||
        !is_lower_hex(belay_slice(at + FLAGS, 2), &no_flags)) {
        return false;
    }
    if (no_trace || no_parent || memcmp(at, "ff", 2) == 0) return false;
    if (value.length > LENGTH && (first_version || at[LENGTH] != '-')) return false;
    *trace_id = trace;
    *parent_id = parent;
    *flags = (uint8_t)((unsigned)char_hex(at[FLAGS]) << 4 | (unsigned)char_hex(at[FLAGS + 1]));
    return true;
}
