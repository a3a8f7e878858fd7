/* fields.c: field names: their ids, which of them end at this hop, and what Connection says (RFC
 * 9110 7.6.1). */
#include "http1/chars.h"
#include "http1/parts.h"

enum { CONNECTION_OPTIONS_MAX = 64 }; /* each may be compared with every field */

#define BIT(id) (UINT64_C(1) << (id))

static const uint64_t hop_by_hop_by_nature =
    BIT(HTTP1_CONNECTION) | BIT(HTTP1_KEEP_ALIVE) | BIT(HTTP1_PROXY_CONNECTION) | BIT(HTTP1_TE) |
    BIT(HTTP1_TRANSFER_ENCODING) | BIT(HTTP1_TRAILER) | BIT(HTTP1_UPGRADE) |
    BIT(HTTP1_HTTP2_SETTINGS) | BIT(HTTP1_PROXY_AUTHENTICATE) | BIT(HTTP1_PROXY_AUTHORIZATION);

/* What Connection may name without effect: these say where the message ends and where it goes. */
static const uint64_t never_named =
    BIT(HTTP1_HOST) | BIT(HTTP1_CONTENT_LENGTH) | BIT(HTTP1_TRANSFER_ENCODING);

/* A perfect hash over the known names, from first letter and length: two names in one slot would
 * not compile (an initialiser given twice). */
#define SLOT(first, length) (((size_t)(first)*2 + (size_t)(length)*5) & 63)
#define KNOWN(id, text, first) [SLOT(first, sizeof text - 1)] = {text, sizeof text - 1, id}

static const struct {
    const char *name; /* lower case */
    uint8_t length, id;
} known[64] = {
    KNOWN(HTTP1_HOST, "host", 'h'),
    KNOWN(HTTP1_CONNECTION, "connection", 'c'),
    KNOWN(HTTP1_CONTENT_LENGTH, "content-length", 'c'),
    KNOWN(HTTP1_CONTENT_TYPE, "content-type", 'c'),
    KNOWN(HTTP1_TRANSFER_ENCODING, "transfer-encoding", 't'),
    KNOWN(HTTP1_TE, "te", 't'),
    KNOWN(HTTP1_TRAILER, "trailer", 't'),
    KNOWN(HTTP1_UPGRADE, "upgrade", 'u'),
    KNOWN(HTTP1_KEEP_ALIVE, "keep-alive", 'k'),
    KNOWN(HTTP1_PROXY_CONNECTION, "proxy-connection", 'p'),
    KNOWN(HTTP1_HTTP2_SETTINGS, "http2-settings", 'h'),
    KNOWN(HTTP1_PROXY_AUTHENTICATE, "proxy-authenticate", 'p'),
    KNOWN(HTTP1_PROXY_AUTHORIZATION, "proxy-authorization", 'p'),
    KNOWN(HTTP1_EXPECT, "expect", 'e'),
    KNOWN(HTTP1_DATE, "date", 'd'),
    KNOWN(HTTP1_AUTHORIZATION, "authorization", 'a'),
    KNOWN(HTTP1_RETRY_AFTER, "retry-after", 'r'),
    KNOWN(HTTP1_IDEMPOTENCY_KEY, "idempotency-key", 'i'),
    KNOWN(HTTP1_TRACEPARENT, "traceparent", 't'),
    KNOWN(HTTP1_TRACESTATE, "tracestate", 't'),
    KNOWN(HTTP1_VIA, "via", 'v'),
    KNOWN(HTTP1_GRPC_TIMEOUT, "grpc-timeout", 'g'),
    KNOWN(HTTP1_CONNECT_TIMEOUT_MS, "connect-timeout-ms", 'c'),
    KNOWN(HTTP1_ENVOY_EXPECTED_RQ_TIMEOUT_MS, "x-envoy-expected-rq-timeout-ms", 'x'),
    KNOWN(HTTP1_REQUEST_TIMEOUT_MS, "x-request-timeout-ms", 'x'),
    KNOWN(HTTP1_OPERATION_ID, "x-operation-id", 'x'),
    KNOWN(HTTP1_REQUEST_ID, "x-request-id", 'x'),
    KNOWN(HTTP1_RETRY_OWNER, "x-retry-owner", 'x'),
    KNOWN(HTTP1_REQUEST_ATTEMPT, "x-request-attempt", 'x'),
    KNOWN(HTTP1_GRPC_PREVIOUS_RPC_ATTEMPTS, "grpc-previous-rpc-attempts", 'g'),
    KNOWN(HTTP1_ENVOY_ATTEMPT_COUNT, "x-envoy-attempt-count", 'x'),
};

/* Equal but for case. Exact, since neither a token nor a known name has a byte that differs from a
 * letter, a digit or '-' in the bit of the case alone. */
static bool is_known_name(const char *name, const char *lower, size_t length)
{
    const uint64_t cases = UINT64_C(0x2020202020202020);
    size_t i = 0;
    for (; i + 8 <= length; i += 8) {
        uint64_t a, b;
        memcpy(&a, name + i, 8);
        memcpy(&b, lower + i, 8);
        if ((a | cases) != b) return false;
    }
    for (; i < length; i++) {
        if ((name[i] | 0x20) != lower[i]) return false;
    }
    return true;
}

enum http1_field_id http1__field_id(struct belay_slice name)
{
    size_t slot = SLOT((unsigned char)name.data[0] | 0x20u, name.length);
    if (known[slot].length != name.length) return HTTP1_OTHER;
    if (!is_known_name(name.data, known[slot].name, name.length)) return HTTP1_OTHER;
    return (enum http1_field_id)known[slot].id;
}

bool http1__hop_by_hop_by_nature(enum http1_field_id id)
{
    return (hop_by_hop_by_nature & BIT(id)) != 0;
}

const struct http1_field *http1_find(const struct http1_head *head, enum http1_field_id id)
{
    return head->first[id] ? &head->fields[head->first[id] - 1] : NULL;
}

bool http1__same_name(struct belay_slice a, struct belay_slice b)
{
    if (a.length != b.length) return false;
    for (size_t i = 0; i < a.length; i++) {
        if (char_lower(a.data[i]) != char_lower(b.data[i])) return false;
    }
    return true;
}

bool http1__is_token(struct belay_slice text)
{
    const char *end = text.data + text.length;
    return text.length > 0 && char_skip(text.data, end, CHAR_TOKEN) == end;
}

bool http1__list_next(struct belay_slice *list, struct belay_slice *element)
{
    while (list->length > 0) {
        const char *comma = memchr(list->data, ',', list->length);
        const char *from = list->data, *to = comma ? comma : list->data + list->length;
        size_t taken = (size_t)(to - from) + (comma ? 1 : 0);
        *list = belay_slice(list->data + taken, list->length - taken);
        while (from < to && (*from == ' ' || *from == '\t')) from++;
        while (from < to && (to[-1] == ' ' || to[-1] == '\t')) to--;
        if (from == to) continue;
        *element = belay_slice(from, (size_t)(to - from));
        return true;
    }
    return false;
}

struct connection {
    struct http1_head *head;
    uint64_t named; /* known fields that it names */
    size_t options;
    bool close, keep_alive;
};

static void name_unknown_field(struct http1_head *head, struct belay_slice option)
{
    for (size_t i = 0; i < head->field_count; i++) {
        struct http1_field *field = &head->fields[i];
        if (field->id == HTTP1_OTHER && http1__same_name(field->name, option))
            field->hop_by_hop = true;
    }
}

/* What is no token names nothing that could exist. */
static void take_option(struct connection *connection, struct belay_slice option)
{
    if (!http1__is_token(option)) return;
    if (http1__same_name(option, belay_slice_z("close"))) {
        connection->close = true;
        return;
    }
    enum http1_field_id id = http1__field_id(option);
    if (id == HTTP1_KEEP_ALIVE) connection->keep_alive = true;
    if (id == HTTP1_OTHER) {
        name_unknown_field(connection->head, option);
    } else {
        connection->named |= BIT(id);
    }
}

static void hide_named_fields(struct http1_head *head, uint64_t named)
{
    for (size_t i = 0; i < head->field_count; i++) {
        struct http1_field *field = &head->fields[i];
        if ((named & BIT(field->id)) == 0) continue;
        head->first[field->id] = 0;
        field->id = HTTP1_OTHER;
        field->hop_by_hop = true;
    }
}

bool http1__read_connection(struct http1_head *head, const struct http1_complaint *to)
{
    struct connection connection = {.head = head};
    size_t at = head->first[HTTP1_CONNECTION];
    for (size_t i = at ? at - 1 : head->field_count; i < head->field_count; i++) {
        if (head->fields[i].id != HTTP1_CONNECTION) continue;
        struct belay_slice list = head->fields[i].value, option;
        while (http1__list_next(&list, &option)) {
            if (++connection.options > CONNECTION_OPTIONS_MAX) {
                return http1__refuse(to, 400, "too many Connection options", option.data);
            }
            take_option(&connection, option);
        }
    }
    connection.named &= ~(hop_by_hop_by_nature | never_named);
    if (connection.named) hide_named_fields(head, connection.named);
    head->keep_alive = !connection.close && (head->minor_version == 1 || connection.keep_alive);
    return true;
}
