/* write.c: messages from values, into the caller's memory (RFC 9112 3 to 5 and 7.1). */
#include "http1/parts.h"
#include "base/text.h"

enum { HEX_DIGITS_MAX = 16 };

static char *put(char *at, struct belay_slice text)
{
    if (text.length) memcpy(at, text.data, text.length);
    return at + text.length;
}

#define PUT_LITERAL(at, text) put(at, belay_slice(text, sizeof(text) - 1))

size_t http1_write_forward_line(char *out, size_t room, const struct http1_head *request)
{
    size_t target = request->path.length + (request->has_query ? 1 + request->query.length : 0);
    size_t length = request->method_text.length + 1 + target + sizeof " HTTP/1.1\r\n" - 1;
    if (length > room) return 0;
    char *at = put(out, request->method_text);
    *at++ = ' ';
    at = put(at, request->path);
    if (request->has_query) {
        *at++ = '?';
        at = put(at, request->query);
    }
    PUT_LITERAL(at, " HTTP/1.1\r\n");
    return length;
}

size_t http1_write_status_line(char *out, size_t room, int status, struct belay_slice reason)
{
    size_t length = sizeof "HTTP/1.1 200 \r\n" - 1 + reason.length;
    if (length > room || status < 100 || status > 999) return 0;
    char *at = PUT_LITERAL(out, "HTTP/1.1 ");
    *at++ = (char)('0' + status / 100);
    *at++ = (char)('0' + status / 10 % 10);
    *at++ = (char)('0' + status % 10);
    *at++ = ' ';
    at = put(at, reason);
    PUT_LITERAL(at, "\r\n");
    return length;
}

size_t http1_write_field(char *out, size_t room, struct belay_slice name, struct belay_slice value)
{
    size_t length = name.length + value.length + 4;
    if (length > room) return 0;
    char *at = put(out, name);
    at = PUT_LITERAL(at, ": ");
    at = put(at, value);
    PUT_LITERAL(at, "\r\n");
    return length;
}

size_t http1_write_field_number(char *out, size_t room, struct belay_slice name, uint64_t value)
{
    char digits[TEXT_NUMBER_BYTES_MAX];
    return http1_write_field(out, room, name, text_write_number(value, digits));
}

size_t http1_write_chunk_head(char *out, size_t room, uint64_t length)
{
    char line[HEX_DIGITS_MAX + 2];
    char *at = line + HEX_DIGITS_MAX;
    at[0] = '\r';
    at[1] = '\n';
    do {
        *--at = "0123456789abcdef"[length & 15];
        length >>= 4;
    } while (length);
    size_t bytes = (size_t)(line + sizeof line - at);
    if (bytes > room) return 0;
    memcpy(out, at, bytes);
    return bytes;
}

/* RFC 9110 15, RFC 6585. */
static const char *const reason_phrases[600] = {
    [100] = "Continue",
    [101] = "Switching Protocols",
    [200] = "OK",
    [201] = "Created",
    [202] = "Accepted",
    [203] = "Non-Authoritative Information",
    [204] = "No Content",
    [205] = "Reset Content",
    [206] = "Partial Content",
    [300] = "Multiple Choices",
    [301] = "Moved Permanently",
    [302] = "Found",
    [303] = "See Other",
    [304] = "Not Modified",
    [305] = "Use Proxy",
    [307] = "Temporary Redirect",
    [308] = "Permanent Redirect",
    [400] = "Bad Request",
    [401] = "Unauthorized",
    [402] = "Payment Required",
    [403] = "Forbidden",
    [404] = "Not Found",
    [405] = "Method Not Allowed",
    [406] = "Not Acceptable",
    [407] = "Proxy Authentication Required",
    [408] = "Request Timeout",
    [409] = "Conflict",
    [410] = "Gone",
    [411] = "Length Required",
    [412] = "Precondition Failed",
    [413] = "Content Too Large",
    [414] = "URI Too Long",
    [415] = "Unsupported Media Type",
    [416] = "Range Not Satisfiable",
    [417] = "Expectation Failed",
    [421] = "Misdirected Request",
    [422] = "Unprocessable Content",
    [426] = "Upgrade Required",
    [428] = "Precondition Required",
    [429] = "Too Many Requests",
    [431] = "Request Header Fields Too Large",
    [500] = "Internal Server Error",
    [501] = "Not Implemented",
    [502] = "Bad Gateway",
    [503] = "Service Unavailable",
    [504] = "Gateway Timeout",
    [505] = "HTTP Version Not Supported",
    [511] = "Network Authentication Required",
};

const char *http1_reason_phrase(int status)
{
    const char *phrase = status >= 100 && status < 600 ? reason_phrases[status] : NULL;
    return phrase ? phrase : "";
}
