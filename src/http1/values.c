/* values.c: what single field values mean: lengths, timeouts, Retry-After, traceparent. */
#include "http1/chars.h"
#include "http1/parts.h"

enum { GRPC_DIGITS_MAX = 8, MS_DIGITS_MAX = 10 };

/* One digit or more and nothing else; saturates at `max`, and then *over is set. */
static bool read_digits(struct belay_slice text, uint64_t max, uint64_t *out, bool *over)
{
    if (text.length == 0) return false;
    uint64_t value = 0;
    *over = false;
    for (size_t i = 0; i < text.length; i++) {
        if (!char_is_digit(text.data[i])) return false;
        uint64_t digit = (uint64_t)(text.data[i] - '0');
        *over = *over || value > (max - digit) / 10;
        if (!*over) value = value * 10 + digit;
    }
    *out = *over ? max : value;
    return true;
}

bool http1_parse_content_length(struct belay_slice value, uint64_t *out)
{
    uint64_t length;
    bool over;
    if (!read_digits(value, INT64_MAX, &length, &over) || over) return false;
    *out = length;
    return true;
}

static struct belay_slice trim(struct belay_slice text)
{
    while (text.length && (*text.data == ' ' || *text.data == '\t'))
        text = belay_slice(text.data + 1, text.length - 1);
    while (text.length && (text.data[text.length - 1] == ' ' || text.data[text.length - 1] == '\t'))
        text.length--;
    return text;
}

/* floor(ns / 1e6), for times before the epoch too. */
static int64_t wall_ms(struct belay_wall t)
{
    int64_t ms = t.ns / BELAY_NS_PER_MS;
    return t.ns % BELAY_NS_PER_MS < 0 ? ms - 1 : ms;
}

static bool no_hint(const char **rule, const char *why)
{
    if (rule) *rule = why;
    return false;
}

/* Only a letter opens a date, so nothing with a sign or a digit in front can become one. */
bool http1_parse_retry_after_ms(struct belay_slice value, struct belay_wall now, int64_t *ms,
                                const char **rule)
{
    value = trim(value);
    if (value.length == 0) return no_hint(rule, "empty");
    uint64_t seconds;
    bool over;
    if (read_digits(value, INT64_MAX / 1000, &seconds, &over)) {
        *ms = over ? INT64_MAX : (int64_t)seconds * 1000;
        return true;
    }
    char folded = (char)(*value.data | 0x20);
    if (folded < 'a' || folded > 'z')
        return no_hint(rule, "neither whole seconds nor an HTTP-date");
    int64_t at;
    if (!http1__date_seconds(value, now, &at, rule)) return false;
    int64_t wait = at * 1000 - wall_ms(now);
    *ms = wait > 0 ? wait : 0;
    return true;
}

bool http1_parse_retry_after(struct belay_slice value, struct belay_wall now,
                             struct belay_span *out, const char **rule)
{
    int64_t ms;
    if (!http1_parse_retry_after_ms(value, now, &ms, rule)) return false;
    *out = belay_span_ms(ms);
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
        !read_digits(belay_slice(value.data, value.length - 1), INT64_MAX, &count, &over))
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
    if (value.length > MS_DIGITS_MAX || !read_digits(value, INT64_MAX, &ms, &over)) return false;
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
    *flags = (uint8_t)(char_hex(at[FLAGS]) << 4 | char_hex(at[FLAGS + 1]));
    return true;
}
