/* target.c: the forms of a request target, and the authority of a request (RFC 9112 3.2, RFC
 * 3986 3.2). */
#include "http1/chars.h"
#include "http1/parts.h"

/* [":" *DIGIT] and nothing behind it. */
static bool is_port_or_nothing(const char *at, const char *end)
{
    if (at == end) return true;
    if (*at != ':') return false;
    unsigned port = 0;
    for (at++; at < end && port <= UINT16_MAX; at++) {
        if (!char_is_digit(*at)) return false;
        port = port * 10 + (unsigned)(*at - '0');
    }
    return port <= UINT16_MAX;
}

/* The end of "[...]" around an IPv6 address, or NULL. Whether it is one is for those who connect.
 */
static const char *skip_bracketed(const char *at, const char *end)
{
    const char *start = ++at;
    while (at < end && (char_hex(*at) >= 0 || *at == ':' || *at == '.')) at++;
    return at < end && *at == ']' && at > start ? at + 1 : NULL;
}

/* The end of a registered name or IPv4 address, or NULL. No sub-delims: a comma or a semicolon in a
 * Host is an attempt to have two of them. */
static const char *skip_name(const char *at, const char *end)
{
    const char *start = at;
    for (;;) {
        at = char_skip(at, end, CHAR_HOST);
        if (at == end || *at != '%') break;
        if (end - at < 3 || char_hex(at[1]) < 0 || char_hex(at[2]) < 0) return NULL;
        at += 3;
    }
    return at > start ? at : NULL;
}

static bool is_authority(struct belay_slice text)
{
    if (text.length == 0) return false;
    const char *end = text.data + text.length;
    const char *at = *text.data == '[' ? skip_bracketed(text.data, end) : skip_name(text.data, end);
    return at && is_port_or_nothing(at, end);
}

static void split_path(struct http1_head *head, const char *path, const char *end)
{
    const char *mark = memchr(path, '?', (size_t)(end - path));
    head->path = belay_slice(path, (size_t)((mark ? mark : end) - path));
    head->has_query = mark != NULL;
    if (mark) head->query = belay_slice(mark + 1, (size_t)(end - mark - 1));
    if (head->path.length == 0) head->path = belay_slice("/", 1);
}

/* The bytes of "http://" or "https://" in front, in any case; 0 for anything else. */
static size_t scheme_length(struct belay_slice target)
{
    static const char *const schemes[] = {"http://", "https://"};
    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++) {
        struct belay_slice scheme = belay_slice_z(schemes[i]);
        if (target.length < scheme.length) continue;
        if (http1__same_name(belay_slice(target.data, scheme.length), scheme)) return scheme.length;
    }
    return 0;
}

static bool read_absolute_form(struct http1_head *head, const struct http1_complaint *to)
{
    struct belay_slice target = head->target;
    size_t scheme = scheme_length(target);
    if (scheme == 0) return http1__refuse(to, 400, "request target of no known form", target.data);
    const char *authority = target.data + scheme, *end = target.data + target.length,
               *at = authority;
    while (at < end && *at != '/' && *at != '?') at++;
    head->authority = belay_slice(authority, (size_t)(at - authority));
    if (!is_authority(head->authority))
        return http1__refuse(to, 400, "invalid authority", authority);
    split_path(head, at, end);
    if (head->method == BELAY_METHOD_OPTIONS && at == end) head->path = belay_slice("*", 1);
    return true;
}

static bool read_host(struct http1_head *head, const struct http1_complaint *to)
{
    const struct http1_field *host = http1_find(head, HTTP1_HOST);
    if (!host) {
        return head->minor_version == 0 || http1__refuse(to, 400, "no Host", head->target.data);
    }
    if (head->repeated_ids & (UINT64_C(1) << HTTP1_HOST)) {
        return http1__refuse(to, 400, "more than one Host", host->name.data);
    }
    if (!is_authority(host->value)) return http1__refuse(to, 400, "invalid Host", host->value.data);
    head->authority = host->value;
    return true;
}

bool http1__read_target(struct http1_head *head, const struct http1_complaint *to)
{
    struct belay_slice target = head->target;
    if (head->method == BELAY_METHOD_CONNECT)
        return http1__refuse(to, 501, "CONNECT", head->method_text.data);
    if (!read_host(head, to)) return false;
    if (target.data[0] == '/') {
        split_path(head, target.data, target.data + target.length);
        return true;
    }
    if (target.length == 1 && target.data[0] == '*') {
        if (head->method != BELAY_METHOD_OPTIONS)
            return http1__refuse(to, 400, "'*' is for OPTIONS", target.data);
        head->path = target;
        return true;
    }
    return read_absolute_form(head, to);
}
