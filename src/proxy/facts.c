/* facts.c: reads a request's fields by their roles (facts.h). */
#include "proxy/facts.h"

#include <belay/event.h>
#include <strings.h>

#define FIELD_OVERHEAD 48 /* ": ", CRLF, and a rewritten value longer than the one that came */

/* The names that http1 knows by an id. */
static const struct {
    const char *name;
    enum http1_field_id id;
    enum facts_role deadline, mark; /* its role in the list of deadlines, of marks */
} known[] = {
    {"grpc-timeout", HTTP1_GRPC_TIMEOUT, FACTS_DEADLINE_GRPC, FACTS_MARK},
    {"connect-timeout-ms", HTTP1_CONNECT_TIMEOUT_MS, FACTS_DEADLINE_MS, FACTS_MARK},
    {"x-envoy-expected-rq-timeout-ms", HTTP1_ENVOY_EXPECTED_RQ_TIMEOUT_MS, FACTS_DEADLINE_MS,
     FACTS_MARK},
    {"x-request-timeout-ms", HTTP1_REQUEST_TIMEOUT_MS, FACTS_DEADLINE_MS, FACTS_MARK},
    {"x-retry-owner", HTTP1_RETRY_OWNER, FACTS_DEADLINE_MS, FACTS_MARK_OWNER},
    {"x-request-attempt", HTTP1_REQUEST_ATTEMPT, FACTS_DEADLINE_MS, FACTS_MARK_COUNT_1},
    {"grpc-previous-rpc-attempts", HTTP1_GRPC_PREVIOUS_RPC_ATTEMPTS, FACTS_DEADLINE_MS,
     FACTS_MARK_COUNT_0},
    {"x-envoy-attempt-count", HTTP1_ENVOY_ATTEMPT_COUNT, FACTS_DEADLINE_MS, FACTS_MARK_COUNT_1},
};

/* A later list changes what an earlier one said. */
static void set_role(struct facts_names *names, const char *name, bool deadline,
                     enum facts_role unknown)
{
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (strcasecmp(name, known[i].name) != 0) continue;
        names->roles[known[i].id] = (uint8_t)(unknown == FACTS_DROP ? FACTS_DROP
                                              : deadline            ? known[i].deadline
                                                                    : known[i].mark);
        return;
    }
    size_t at = 0;
    while (at < names->other_count && strcasecmp(names->others[at].name.data, name) != 0) at++;
    if (at == FACTS_NAMES_MAX) return;
    names->others[at].name = belay_slice_z(name);
    names->others[at].role = unknown;
    if (at == names->other_count) names->other_count++;
}

void facts_names_init(struct facts_names *names, const struct conf *conf)
{
    static const enum http1_field_id dropped[] = {HTTP1_HOST,        HTTP1_CONTENT_LENGTH,
                                                  HTTP1_EXPECT,      HTTP1_REQUEST_ID,
                                                  HTTP1_RETRY_OWNER, HTTP1_REQUEST_ATTEMPT};
    *names = (struct facts_names){.deadline_out = belay_slice_z(conf->deadline_out)};
    for (size_t i = 0; i < sizeof dropped / sizeof dropped[0]; i++)
        names->roles[dropped[i]] = FACTS_DROP;
    names->roles[HTTP1_OPERATION_ID] = FACTS_OPERATION_ID;
    names->roles[HTTP1_IDEMPOTENCY_KEY] = FACTS_KEY;
    names->roles[HTTP1_TRACEPARENT] = FACTS_TRACEPARENT;
    names->roles[HTTP1_TRACESTATE] = FACTS_TRACESTATE;
    for (size_t i = 0; i < conf->retry_marks.count; i++) {
        set_role(names, conf->retry_marks.items[i], false, FACTS_MARK);
    }
    set_role(names, conf->deadline_out, true, FACTS_DROP);
    for (size_t i = 0; i < conf->deadline_in.count; i++) {
        const char *name = conf->deadline_in.items[i];
        set_role(names, name, true, FACTS_DEADLINE_MS);
    }
}

enum facts_role facts_role(const struct facts_names *names, const struct http1_field *field)
{
    if (field->id != HTTP1_OTHER) return (enum facts_role)names->roles[field->id];
    for (size_t i = 0; i < names->other_count; i++) {
        struct belay_slice name = names->others[i].name;
        if (name.length == field->name.length &&
            strncasecmp(name.data, field->name.data, name.length) == 0) {
            return names->others[i].role;
        }
    }
    return FACTS_PASS;
}

static void read_deadline(struct facts *facts, enum facts_role role, struct belay_slice value)
{
    struct belay_span span;
    bool valid = role == FACTS_DEADLINE_GRPC ? http1_parse_grpc_timeout(value, &span)
                                             : http1_parse_timeout_ms(value, &span);
    if (!valid) {
        facts->deadlines_ignored++;
        return;
    }
    facts->deadline = facts->has_deadline ? belay_span_min(facts->deadline, span) : span;
    facts->has_deadline = true;
}

/* A number greater than `bound`; anything that is none counts as a mark, for repeating wrongly is
 * worse. */
static bool count_says_owned(struct belay_slice value, uint64_t bound)
{
    uint64_t count;
    return !http1_parse_content_length(value, &count) || count > bound;
}

static void read_trace(struct facts *facts, struct belay_slice value, unsigned seen)
{
    struct belay_slice parent;
    facts->has_trace =
        seen == 1 && http1_parse_traceparent(value, &facts->trace_id, &parent, &facts->trace_flags);
}

void facts_read(struct facts *facts, const struct facts_names *names, const struct http1_head *head)
{
    unsigned keys = 0, ids = 0, traces = 0;
    const struct http1_field *credentials = http1_find(head, HTTP1_AUTHORIZATION);
    *facts = (struct facts){0};
    if (credentials) facts->credentials = credentials->value;
    for (size_t i = 0; i < head->field_count; i++) {
        const struct http1_field *field = &head->fields[i];
        facts->forwarded_bytes_max += field->name.length + field->value.length + FIELD_OVERHEAD;
        enum facts_role role = facts_role(names, field);
        switch (role) {
        case FACTS_PASS:
        case FACTS_DROP:
        case FACTS_TRACESTATE: break;
        case FACTS_DEADLINE_GRPC:
        case FACTS_DEADLINE_MS: read_deadline(facts, role, field->value); break;
        case FACTS_MARK: facts->owned = true; break;
        case FACTS_MARK_OWNER:
            facts->owned = true;
            facts->retry_owner = field->value;
            break;
        case FACTS_MARK_COUNT_0: facts->owned |= count_says_owned(field->value, 0); break;
        case FACTS_MARK_COUNT_1: facts->owned |= count_says_owned(field->value, 1); break;
        case FACTS_OPERATION_ID:
            facts->operation_id = ++ids == 1 && belay_event_id_valid(field->value)
                                      ? field->value
                                      : belay_slice("", 0);
            break;
        case FACTS_KEY: facts->one_key = ++keys == 1 && field->value.length > 0; break;
        case FACTS_TRACEPARENT: read_trace(facts, field->value, ++traces); break;
        }
    }
}
