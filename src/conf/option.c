/* option.c: the table of all options, and look-ups in it. */
#include "conf/option.h"

#include "conf/conf.h"

#define US INT64_C(1000)
#define MS BELAY_NS_PER_MS
#define SEC BELAY_NS_PER_S
#define HOUR (3600 * SEC)
#define KIB INT64_C(1024)
#define MIB (1024 * KIB)
#define GIB (1024 * MIB)
#define COUNT_MAX 1000000
#define WHOLE 1000000 /* 100 % in parts per million */

static const char *const BACKOFF_KINDS[] = {"additive", "full",     "equal", "decorrelated",
                                            "none",     "constant", NULL};
static const char *const HOLD_SCOPES[] = {"target", "route", "key", NULL};
static const char *const NETWORKS[] = {"local", "internet", NULL};
static const char *const KINDS[] = {"egress", "guard", NULL};
static const char *const EFFECTS[] = {"by_method", "read", "write", NULL};
static const char *const KEYS[] = {"none", "honoured", "required", "added", NULL};
static const char *const METHODS[] = {"",        "GET",     "HEAD",  "POST",  "PUT", "DELETE",
                                      "CONNECT", "OPTIONS", "TRACE", "PATCH", NULL};
/* tls and cancelled are never repeated, so nobody may ask for it. */
static const char *const ERRORS[] = {"",       "dns",      "refused",   "timeout", "",  "reset",
                                     "closed", "protocol", "too_large", "",        NULL};

#define ROOT(path, kind, field)                                                                    \
    .name = path, .scope = SCOPE_ROOT, .type = kind, .offset = offsetof(struct conf, field)
#define START(path, kind, field) ROOT(path, kind, field), .at_start = true
#define POLICY(path, kind, field)                                                                  \
    .name = path, .scope = SCOPE_POLICY, .type = kind,                                             \
    .offset = offsetof(struct belay_policy, field)
#define SHARED(path, kind, field) POLICY(path, kind, field), .target_only = true
#define TARGET(path, kind, field)                                                                  \
    .name = path, .scope = SCOPE_TARGET, .type = kind, .offset = offsetof(struct conf_target, field)
#define LISTENER(path, kind, field)                                                                \
    .name = path, .scope = SCOPE_LISTENER, .type = kind,                                           \
    .offset = offsetof(struct conf_listener, field)
#define ROUTE(path, kind, field)                                                                   \
    .name = path, .scope = SCOPE_ROUTE, .type = kind, .offset = offsetof(struct conf_route, field)

const struct option OPTIONS[] = {
    {START("admin.listen", TYPE_ADDRESS, admin), .zero = "none",
     .help = "Where metrics and health are answered."},
    {START("events.file", TYPE_FILE, events_file), .zero = "none",
     .help = "Where attempt events go, one JSON object a line; \"-\" is the standard output."},
    {START("events.buffer", TYPE_SIZE, events_buffer_bytes), .initial = "4MiB", .min = 64 * KIB,
     .max = GIB, .help = "Events kept for a slow file before they are counted as lost."},
    {START("workers", TYPE_INTEGER, workers), .initial = "0", .max = 1024,
     .help = "Threads that carry traffic; 0 is one a core."},
    {START("connections.max", TYPE_INTEGER, connections_max), .initial = "10000", .min = 1,
     .max = COUNT_MAX, .help = "Client connections that may be open at once, over all listeners."},
    {ROOT("connections.head_timeout", TYPE_DURATION, head_timeout_for), .initial = "10s", .min = MS,
     .max = HOUR, .help = "How long a client may take to send the head of a request."},
    {ROOT("connections.idle", TYPE_DURATION, client_idle_for), .initial = "60s", .min = MS,
     .max = 24 * HOUR, .help = "How long a client connection may stay open without a request."},
    {ROOT("drain.grace", TYPE_DURATION, drain_grace_for), .initial = "1s", .max = HOUR,
     .help = "How long new connections are still taken after the signal to stop."},
    {ROOT("headers.deadline_in", TYPE_HEADERS, deadline_in),
     .initial =
         "grpc-timeout connect-timeout-ms x-envoy-expected-rq-timeout-ms X-Request-Timeout-Ms",
     .help = "Request fields in which a caller says how much time is left; the smallest counts."},
    {ROOT("headers.deadline_out", TYPE_HEADER, deadline_out), .initial = "X-Request-Timeout-Ms",
     .help = "The field that tells the recipient how much time is left."},
    {ROOT("headers.retry_marks", TYPE_HEADERS, retry_marks),
     .initial = "X-Retry-Owner grpc-previous-rpc-attempts x-envoy-attempt-count",
     .help = "Request fields that say that another level retries already."},
    {.name = "defaults.policy",
     .scope = SCOPE_ROOT,
     .type = TYPE_SECTION,
     .help = "A policy that every target starts from."},
    {.name = "targets",
     .scope = SCOPE_ROOT,
     .type = TYPE_SECTION,
     .help = "The recipients of calls: a name and its options, for each."},
    {.name = "listeners",
     .scope = SCOPE_ROOT,
     .type = TYPE_SECTION,
     .help = "A list of the addresses that belay listens on."},

    {POLICY("deadline", TYPE_DURATION, deadline_for), .initial = "10s", .min = MS, .max = 24 * HOUR,
     .help = "The time of the whole operation: every attempt and every wait."},
    {POLICY("reserve", TYPE_DURATION, reserve_for), .initial = "5ms", .max = HOUR,
     .help = "Kept back from the time that is passed on to the recipient."},
    {POLICY("connect_timeout", TYPE_DURATION, connect_timeout_for), .initial = "300ms",
     .internet = "2s", .min = MS, .max = HOUR, .help = "Looking the name up and connecting."},
    {POLICY("tls_timeout", TYPE_DURATION, tls_timeout_for), .initial = "1s", .internet = "2s",
     .min = MS, .max = HOUR,
     .help = "The TLS handshake; this version calls in plain HTTP only, so it has no effect yet."},
    {POLICY("silence_timeout", TYPE_DURATION, silence_timeout_for), .initial = "5s", .min = MS,
     .max = 24 * HOUR,
     .help = "How long a recipient may send nothing; every byte starts it again."},
    {POLICY("attempt_timeout", TYPE_DURATION, attempt_timeout_for), .initial = "none", .min = MS,
     .max = 24 * HOUR, .zero = "none", .help = "The time of one attempt."},
    {POLICY("attempts", TYPE_INTEGER, attempts_max), .initial = "3", .min = 1, .max = 100,
     .help = "Attempts at most, the first one included."},
    {POLICY("retry_unsafe_refusals", TYPE_BOOLEAN, retry_unsafe_refusals), .initial = "false",
     .max = 1,
     .help = "Repeat 429 and 503 also for a request that is not safe to repeat: the recipient "
             "promises that such an answer means that nothing was started."},
    {POLICY("retry_when_owned", TYPE_BOOLEAN, retry_when_owned), .initial = "false", .max = 1,
     .help = "Retry although the request came marked as retried by another level."},
    {POLICY("backoff.kind", TYPE_WORD, backoff.kind), .initial = "additive", .words = BACKOFF_KINDS,
     .help =
         "How luck changes a wait; `none` grows without it, `constant` neither grows nor changes."},
    {POLICY("backoff.base", TYPE_DURATION, backoff.base), .initial = "200ms", .max = HOUR,
     .help = "The wait before the first retry; it doubles with each further one."},
    {POLICY("backoff.max", TYPE_DURATION, backoff.max), .initial = "5s", .max = 24 * HOUR,
     .help = "The wait grows no further than this."},
    {POLICY("retry_on", TYPE_OUTCOMES, retry_on),
     .initial = "timeout reset closed refused dns 429 502 503 504", .words = ERRORS,
     .help = "Error classes and statuses that are worth another attempt."},
    {SHARED("budget.ratio", TYPE_SHARE, budget.ratio_ppm), .initial = "10%", .max = WHOLE,
     .help = "Retries a first attempt, in the long run."},
    {SHARED("budget.burst", TYPE_INTEGER, budget.burst), .initial = "10", .max = COUNT_MAX,
     .help = "Retries that may be saved up."},
    {SHARED("breaker", TYPE_SWITCH, breaker.enabled), .initial = "on",
     .help = "Stops calls to a recipient that fails, and tries again later."},
    {SHARED("breaker.window", TYPE_DURATION, breaker.window), .initial = "10s", .min = 10 * MS,
     .max = HOUR, .help = "The time over which calls are counted."},
    {SHARED("breaker.min_calls", TYPE_INTEGER, breaker.min_calls), .initial = "20", .min = 1,
     .max = COUNT_MAX, .help = "With fewer calls in the window no rate opens it."},
    {SHARED("breaker.failure_rate", TYPE_SHARE, breaker.failure_ppm), .initial = "50%", .min = 1,
     .max = WHOLE, .help = "The share of failures that opens it."},
    {SHARED("breaker.slow_after", TYPE_DURATION, breaker.slow_after), .initial = "none", .min = MS,
     .max = 24 * HOUR, .zero = "none", .help = "A call that takes longer is slow."},
    {SHARED("breaker.slow_rate", TYPE_SHARE, breaker.slow_ppm), .initial = "100%", .min = 1,
     .max = WHOLE, .help = "The share of slow calls that opens it."},
    {SHARED("breaker.consecutive", TYPE_INTEGER, breaker.consecutive), .initial = "10", .min = 1,
     .max = COUNT_MAX, .zero = "off", .help = "Failures in a row that open it."},
    {SHARED("breaker.open_for", TYPE_DURATION, breaker.open_for), .initial = "5s", .min = MS,
     .max = 24 * HOUR, .help = "How long it stays open; doubled each time it opens again."},
    {SHARED("breaker.open_max", TYPE_DURATION, breaker.open_max), .initial = "60s", .min = MS,
     .max = 24 * HOUR, .help = "It stays open no longer than this."},
    {SHARED("breaker.probes", TYPE_INTEGER, breaker.probes), .initial = "1", .min = 1, .max = 1000,
     .help = "Probes in flight while half-open."},
    {SHARED("breaker.probe_successes", TYPE_INTEGER, breaker.probe_successes), .initial = "1",
     .min = 1, .max = 1000, .help = "Good probes that close it."},
    {SHARED("breaker.min_timeout", TYPE_DURATION, breaker.min_timeout), .initial = "100ms",
     .max = HOUR,
     .help = "A timeout of an attempt that had less time says nothing about the recipient."},
    {SHARED("bulkhead", TYPE_SWITCH, bulkhead.enabled), .initial = "on",
     .help = "Limits the calls in flight."},
    {SHARED("bulkhead.max", TYPE_INTEGER, bulkhead.max), .initial = "64", .min = 1,
     .max = COUNT_MAX, .help = "Calls in flight at most."},
    {SHARED("bulkhead.queue", TYPE_INTEGER, bulkhead.queue), .initial = "0", .max = COUNT_MAX,
     .help = "Calls that may wait for a place, inside their deadline."},
    {SHARED("quota", TYPE_SWITCH, quota.enabled), .initial = "off",
     .help = "Limits the pace of calls."},
    {SHARED("quota.rate", TYPE_RATE, quota.per_call), .min = US, .max = HOUR,
     .help = "Calls a second, minute or hour."},
    {SHARED("quota.burst", TYPE_INTEGER, quota.burst), .initial = "10", .min = 1, .max = COUNT_MAX,
     .help = "Calls that may go at once."},
    {SHARED("quota.queue", TYPE_INTEGER, quota.queue), .initial = "0", .max = COUNT_MAX,
     .help = "Calls that may wait for their turn, inside their deadline."},
    {SHARED("hold", TYPE_SWITCH, hold.max), .member = "hold.max",
     .help = "Holds calls back as a Retry-After of the recipient asks."},
    {SHARED("hold.max", TYPE_DURATION, hold.max), .initial = "60s", .min = MS, .max = 24 * HOUR,
     .zero = "off", .help = "The longest time that one answer may hold calls back."},
    {SHARED("hold.scope", TYPE_WORD, hold.scope), .initial = "target", .words = HOLD_SCOPES,
     .help = "What is held back: every call to the target, those of the same `route`, or those "
             "with the same Authorization field (`key`)."},
    {SHARED("hold.pace", TYPE_DURATION, hold.pace), .initial = "10ms", .max = 10 * SEC,
     .help =
         "Between two waiting calls that go once the time has passed; 0s lets all go together."},
    {POLICY("replay_buffer", TYPE_SIZE, replay_buffer_bytes_max), .initial = "256KiB", .max = GIB,
     .help = "Request bodies up to this size are kept for a repeat."},
    {POLICY("held_answer", TYPE_SIZE, held_answer_bytes_max), .initial = "16KiB", .max = 16 * MIB,
     .help = "How much of an answer is kept while its repeat is waited for."},
    {SHARED("keep_alive", TYPE_SWITCH, idle_max), .member = "keep_alive.max",
     .help = "Keeps connections to the recipient open for the next call."},
    {SHARED("keep_alive.idle", TYPE_DURATION, idle_for), .initial = "4s", .min = MS, .max = HOUR,
     .help = "How long a connection is kept without a call; less than the recipient keeps it."},
    {SHARED("keep_alive.max", TYPE_INTEGER, idle_max), .initial = "256", .min = 1, .max = COUNT_MAX,
     .zero = "off", .help = "Connections kept at most."},

    {TARGET("addresses", TYPE_ADDRESSES, addresses),
     .help = "The recipient's host:port, one in this version."},
    {TARGET("network", TYPE_WORD, network), .initial = "local", .words = NETWORKS,
     .help = "How far away it is: sets the defaults of connect_timeout and tls_timeout."},
    {.name = "policy",
     .scope = SCOPE_TARGET,
     .type = TYPE_SECTION,
     .help = "What differs from `defaults.policy`."},

    {LISTENER("listen", TYPE_ADDRESS, listen),
     .help = "The address and port that clients connect to."},
    {LISTENER("kind", TYPE_WORD, kind), .initial = "egress", .words = KINDS,
     .help = "`egress` carries calls of our own to others; `guard` is not in this version."},
    {.name = "target",
     .scope = SCOPE_LISTENER,
     .type = TYPE_TARGET,
     .zero = "none",
     .help = "The target of every request that no route takes."},
    {.name = "routes",
     .scope = SCOPE_LISTENER,
     .type = TYPE_SECTION,
     .help = "A list of routes; the first that matches takes the request."},

    {ROUTE("path", TYPE_PATH, path), .zero = "any",
     .help = "A template such as /orders/{id}: a name in braces stands for one segment; names the "
             "endpoint in events."},
    {ROUTE("method", TYPE_METHODS, methods), .zero = "any", .words = METHODS,
     .help = "The methods that the route takes."},
    {ROUTE("target", TYPE_TARGET, target),
     .help = "Where the requests go; by default the listener's target."},
    {ROUTE("effect", TYPE_WORD, effect), .initial = "by_method", .words = EFFECTS,
     .help = "What a call does; `by_method`: GET, HEAD, OPTIONS and TRACE read, all others write."},
    {ROUTE("idempotent", TYPE_METHODS, idempotent), .words = METHODS,
     .help = "Methods that the recipient promises to be idempotent: they may be repeated."},
    {ROUTE("idempotency_key", TYPE_WORD, idempotency_key), .initial = "none", .words = KEYS,
     .help = "`honoured`: the recipient runs a request with a key once; `required`: and one "
             "without is refused with 400; `added`: and one without that is not safe is "
             "given a key."},
    {.name = "policy",
     .scope = SCOPE_ROUTE,
     .type = TYPE_SECTION,
     .help = "What differs from the target's policy."},
};
const size_t OPTION_COUNT = sizeof OPTIONS / sizeof OPTIONS[0];
_Static_assert(sizeof OPTIONS / sizeof OPTIONS[0] <= OPTIONS_MAX, "marks of all options fit");

const struct option *option_find(enum option_scope scope, struct belay_slice name)
{
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        const struct option *option = &OPTIONS[i];
        if (option->scope == scope && belay_slice_equal(belay_slice_z(option->name), name))
            return option;
    }
    return NULL;
}

bool option_in_group(const struct option *option, struct belay_slice group)
{
    if (group.length == 0) return true;
    return strlen(option->name) > group.length &&
           memcmp(option->name, group.data, group.length) == 0 && option->name[group.length] == '.';
}

bool option_is_group(enum option_scope scope, struct belay_slice group)
{
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        if (OPTIONS[i].scope == scope && option_in_group(&OPTIONS[i], group)) return true;
    }
    return false;
}

size_t option_keys(enum option_scope scope, struct belay_slice group,
                   char (*keys)[OPTION_KEY_BYTES_MAX], size_t max)
{
    size_t count = 0;
    for (size_t i = 0; i < OPTION_COUNT && count < max; i++) {
        const struct option *option = &OPTIONS[i];
        if (option->scope != scope || !option_in_group(option, group)) continue;
        const char *key = option->name + (group.length ? group.length + 1 : 0);
        size_t length = strcspn(key, ".");
        /* The members of a group stand together, so a key that repeats is the one before. */
        bool repeats = count > 0 && strlen(keys[count - 1]) == length &&
                       strncmp(keys[count - 1], key, length) == 0;
        if (repeats || length >= OPTION_KEY_BYTES_MAX) continue;
        memcpy(keys[count], key, length);
        keys[count++][length] = '\0';
    }
    return count;
}

bool option_is_list(const struct option *option)
{
    return option->type >= TYPE_METHODS && option->type <= TYPE_ADDRESSES;
}
