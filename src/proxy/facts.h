/* facts.h: what a request's fields say to belay: deadline, ids, trace, key, who retries. Pure.
 *
 * The names are the configuration's; each field of a request is looked at once and gets a role.
 */
#ifndef PROXY_FACTS_H
#define PROXY_FACTS_H

#include "conf/conf.h"
#include "http1/http1.h"

#define FACTS_NAMES_MAX 32

enum facts_role {
    FACTS_PASS,          /* forwarded as it came */
    FACTS_DROP,          /* never forwarded, or written by belay itself */
    FACTS_DEADLINE_GRPC, /* forwarded with what remains */
    FACTS_DEADLINE_MS,
    FACTS_MARK,         /* present: another level retries */
    FACTS_MARK_OWNER,   /* the same; not forwarded as it came */
    FACTS_MARK_COUNT_0, /* a number above 0 says so */
    FACTS_MARK_COUNT_1, /* above 1 */
    FACTS_OPERATION_ID,
    FACTS_KEY,
    FACTS_TRACEPARENT,
    FACTS_TRACESTATE,
};

/* From a snapshot's lists: a role for each name. */
struct facts_names {
    uint8_t roles[HTTP1_FIELD_COUNT];
    struct {
        struct belay_slice name;
        enum facts_role role;
    } others[FACTS_NAMES_MAX]; /* names that http1 does not know */
    size_t other_count;
    struct belay_slice deadline_out;
};
/* The slices are the snapshot's. */
void facts_names_init(struct facts_names *names, const struct conf *conf);

struct facts {
    bool has_deadline;
    struct belay_span deadline; /* the smallest that parsed; may be negative */
    uint32_t deadlines_ignored; /* fields that did not parse */
    bool owned;                 /* arrived marked: it is retried on another level */
    bool one_key;               /* exactly one idempotency key, not empty */
    bool has_trace;             /* one valid traceparent; a tracestate counts only with it */
    uint8_t trace_flags;
    struct belay_slice operation_id; /* valid and given once, else empty */
    struct belay_slice retry_owner;
    struct belay_slice credentials; /* Authorization: never kept, only compared by its hash */
    struct belay_slice trace_id;
    size_t forwarded_bytes_max; /* room for all fields, written anew */
};

enum facts_role facts_role(const struct facts_names *names, const struct http1_field *field);
void facts_read(struct facts *facts, const struct facts_names *names,
                const struct http1_head *head);

#endif
