/* metrics.c: a snapshot as text: Prometheus 0.0.4, and JSON for the targets. */
#include "admin/metrics.h"
#include "base/check.h"

#include <stdio.h>

enum kind { COUNTER, GAUGE };

/* One number in a stats struct, and how it is told. */
struct metric {
    const char *name, *help;
    enum kind kind;
    size_t offset, bytes;
};

#define NUMBER(type, field) offsetof(type, field), sizeof(((type *)0)->field)

static const struct metric listener_metrics[] = {
    {"belay_requests_total", "Requests that became an operation.", COUNTER,
     NUMBER(struct proxy_stats, requests)},
    {"belay_bad_requests_total", "Inputs that were no request, answered 4xx or 5xx and closed.",
     COUNTER, NUMBER(struct proxy_stats, bad_requests)},
    {"belay_unrouted_total", "Requests that no route takes.", COUNTER,
     NUMBER(struct proxy_stats, unrouted)},
    {"belay_answers_passed_on_total", "Answers of a target given to the client whole.", COUNTER,
     NUMBER(struct proxy_stats, passed_on)},
    {"belay_honest_errors_total", "Problem documents given in place of an answer.", COUNTER,
     NUMBER(struct proxy_stats, honest_errors)},
    {"belay_answers_cut_total", "Answers that were cut, visibly to the client.", COUNTER,
     NUMBER(struct proxy_stats, cut)},
    {"belay_clients_gone_total", "Clients that left before the end of their answer.", COUNTER,
     NUMBER(struct proxy_stats, clients_gone)},
    {"belay_deadlines_ignored_total", "Incoming deadline fields that did not parse.", COUNTER,
     NUMBER(struct proxy_stats, deadlines_ignored)},
    {"belay_overloaded_total", "Operations ended for want of memory or descriptors.", COUNTER,
     NUMBER(struct proxy_stats, overloaded)},
    {"belay_running_operations", "Operations under way.", GAUGE,
     NUMBER(struct proxy_stats, running)},
    {"belay_connections_accepted_total", "Inbound connections taken.", COUNTER,
     NUMBER(struct proxy_stats, server.accepted)},
    {"belay_connections_refused_total", "Inbound connections over the limit, answered 503.",
     COUNTER, NUMBER(struct proxy_stats, server.refused_full)},
    {"belay_accept_exhausted_total", "Times no descriptor or memory was left to accept with.",
     COUNTER, NUMBER(struct proxy_stats, server.exhausted)},
    {"belay_head_timeouts_total", "Clients cut because the head of their request took too long.",
     COUNTER, NUMBER(struct proxy_stats, server.head_timeouts)},
    {"belay_silent_clients_total", "Clients cut because they neither sent nor took anything.",
     COUNTER, NUMBER(struct proxy_stats, server.silent_clients)},
    {"belay_connections", "Inbound connections open.", GAUGE,
     NUMBER(struct proxy_stats, server.connections)},
    {"belay_connections_idle", "Inbound connections between requests.", GAUGE,
     NUMBER(struct proxy_stats, server.idle)},
    {"belay_upstream_connects_total", "Outbound connections made.", COUNTER,
     NUMBER(struct proxy_stats, clients.connects)},
    {"belay_upstream_reuses_total", "Attempts on a kept outbound connection.", COUNTER,
     NUMBER(struct proxy_stats, clients.reuses)},
    {"belay_upstream_stale_total", "Kept outbound connections found dead when used.", COUNTER,
     NUMBER(struct proxy_stats, clients.stale)},
    {"belay_upstream_discarded_total", "Outbound connections given up before their end.", COUNTER,
     NUMBER(struct proxy_stats, clients.discarded)},
    {"belay_upstream_connections", "Outbound connections open.", GAUGE,
     NUMBER(struct proxy_stats, clients.open)},
    {"belay_upstream_connections_idle", "Outbound connections kept for reuse.", GAUGE,
     NUMBER(struct proxy_stats, clients.idle)},
};

static const struct metric target_metrics[] = {
    {"belay_operations_total", "Operations whose first attempt was sent.", COUNTER,
     NUMBER(struct belay_target_stats, operations)},
    {"belay_attempts_total", "Attempts sent.", COUNTER,
     NUMBER(struct belay_target_stats, attempts)},
    {"belay_retries_total", "Retries sent.", COUNTER, NUMBER(struct belay_target_stats, retries)},
    {"belay_refused_deadline_total", "Attempts not made: no time was left.", COUNTER,
     NUMBER(struct belay_target_stats, refused_deadline)},
    {"belay_refused_breaker_total", "Attempts not made: the breaker was open.", COUNTER,
     NUMBER(struct belay_target_stats, refused_breaker)},
    {"belay_refused_hold_total", "Attempts not made: the target had asked for a pause.", COUNTER,
     NUMBER(struct belay_target_stats, refused_hold)},
    {"belay_refused_quota_total", "Attempts not made: the quota was spent.", COUNTER,
     NUMBER(struct belay_target_stats, refused_quota)},
    {"belay_refused_bulkhead_total", "Attempts not made: the bulkhead was full.", COUNTER,
     NUMBER(struct belay_target_stats, refused_bulkhead)},
    {"belay_refused_budget_total", "Retries not made: the retry budget was empty.", COUNTER,
     NUMBER(struct belay_target_stats, refused_budget)},
    {"belay_breaker_opened_total", "Times the breaker opened.", COUNTER,
     NUMBER(struct belay_target_stats, breaker_opened)},
    {"belay_breaker_state", "0 closed, 1 open, 2 half-open.", GAUGE,
     NUMBER(struct belay_target_stats, breaker_state)},
    {"belay_too_many_requests_total", "Answers 429 seen.", COUNTER,
     NUMBER(struct belay_target_stats, too_many_requests)},
    {"belay_in_flight_milliseconds_total",
     "Sum of the attempts' durations; its rate / 1000 is the concurrency.", COUNTER,
     NUMBER(struct belay_target_stats, in_flight_ms)},
    {"belay_in_flight", "Attempts under way.", GAUGE, NUMBER(struct belay_target_stats, in_flight)},
    {"belay_in_flight_peak", "The most attempts that were ever under way.", GAUGE,
     NUMBER(struct belay_target_stats, in_flight_peak)},
    {"belay_waiting", "Operations that wait for a slot or for the quota.", GAUGE,
     NUMBER(struct belay_target_stats, waiting)},
};

static const struct metric process_metrics[] = {
    {"belay_workers", "Event loops.", GAUGE, NUMBER(struct admin_snapshot, workers)},
    {"belay_reloads_total", "Configurations taken.", COUNTER,
     NUMBER(struct admin_snapshot, reloads)},
    {"belay_reloads_refused_total", "Configurations refused because something in them was wrong.",
     COUNTER, NUMBER(struct admin_snapshot, reloads_refused)},
    {"belay_event_bytes_total", "Bytes of events written.", COUNTER,
     NUMBER(struct admin_snapshot, sink.written_bytes)},
    {"belay_event_writes_total", "Writes of events.", COUNTER,
     NUMBER(struct admin_snapshot, sink.writes)},
    {"belay_events_lost_total", "Records that could not be written.", COUNTER,
     NUMBER(struct admin_snapshot, sink.lost)},
    {"belay_event_failures_total", "Writes of events that failed.", COUNTER,
     NUMBER(struct admin_snapshot, sink.failures)},
    {"belay_event_reopens_total", "Times the events file was opened anew.", COUNTER,
     NUMBER(struct admin_snapshot, sink.reopened)},
    {"belay_event_waiting_bytes", "Bytes of events not yet written.", GAUGE,
     NUMBER(struct admin_snapshot, sink.waiting_bytes)},
};

/* A text that grows until the first piece that does not fit. */
struct page {
    struct buf *out;
    bool full;
};

static void put_bytes(struct page *page, struct belay_slice bytes)
{
    if (!page->full && !buf_add(page->out, bytes.data, bytes.length)) page->full = true;
}

static void put(struct page *page, const char *text)
{
    put_bytes(page, belay_slice_z(text));
}

static void put_number(struct page *page, uint64_t value)
{
    char text[24];
    int length = snprintf(text, sizeof text, "%llu", (unsigned long long)value);
    put_bytes(page, belay_slice(text, (size_t)length));
}

/* The escapes that a label's value and a JSON string have in common; control bytes have no place in
 * a name. */
static void put_escaped(struct page *page, struct belay_slice text)
{
    for (size_t i = 0; i < text.length; i++) {
        char c = text.data[i];
        if ((unsigned char)c < 32) c = '?';
        if (c == '"' || c == '\\') put(page, "\\");
        put_bytes(page, belay_slice(&c, 1));
    }
}

static uint64_t value_of(const struct metric *metric, const void *stats)
{
    const char *at = (const char *)stats + metric->offset;
    uint64_t wide;
    uint32_t narrow;
    if (metric->bytes == sizeof wide) {
        memcpy(&wide, at, sizeof wide);
        return wide;
    }
    memcpy(&narrow, at, sizeof narrow);
    return narrow;
}

static void put_head(struct page *page, const struct metric *metric)
{
    put(page, "# HELP ");
    put(page, metric->name);
    put(page, " ");
    put(page, metric->help);
    put(page, "\n# TYPE ");
    put(page, metric->name);
    put(page, metric->kind == COUNTER ? " counter\n" : " gauge\n");
}

static void put_sample(struct page *page, const struct metric *metric, const char *label,
                       struct belay_slice name, const void *stats)
{
    put(page, metric->name);
    if (label) {
        put(page, "{");
        put(page, label);
        put(page, "=\"");
        put_escaped(page, name);
        put(page, "\"}");
    }
    put(page, " ");
    put_number(page, value_of(metric, stats));
    put(page, "\n");
}

bool metrics_write(const struct admin_snapshot *snapshot, struct buf *out)
{
    struct page page = {.out = out};
    for (size_t m = 0; m < COUNT(process_metrics); m++) {
        put_head(&page, &process_metrics[m]);
        put_sample(&page, &process_metrics[m], NULL, (struct belay_slice){0}, snapshot);
    }
    for (size_t m = 0; m < COUNT(listener_metrics); m++) {
        put_head(&page, &listener_metrics[m]);
        for (size_t i = 0; i < snapshot->listener_count; i++) {
            const struct admin_listener *listener = &snapshot->listeners[i];
            put_sample(&page, &listener_metrics[m], "listener", listener->name, &listener->stats);
        }
    }
    for (size_t m = 0; m < COUNT(target_metrics); m++) {
        put_head(&page, &target_metrics[m]);
        for (size_t i = 0; i < snapshot->target_count; i++) {
            const struct admin_target *target = &snapshot->targets[i];
            put_sample(&page, &target_metrics[m], "target", target->name, &target->stats);
        }
    }
    return !page.full;
}

/* "belay_retries_total" is told as "retries". */
static struct belay_slice short_name(const struct metric *metric)
{
    static const char prefix[] = "belay_", suffix[] = "_total";
    struct belay_slice name = belay_slice_z(metric->name + sizeof prefix - 1);
    if (metric->kind == COUNTER) name.length -= sizeof suffix - 1;
    return name;
}

static void put_target(struct page *page, const struct admin_target *target)
{
    const char *state = belay_breaker_state_name(target->stats.breaker_state);
    put(page, "{\"target\":\"");
    put_escaped(page, target->name);
    put(page, "\",\"breaker\":\"");
    put(page, state);
    put(page, "\"");
    for (size_t m = 0; m < COUNT(target_metrics); m++) {
        put(page, ",\"");
        put_bytes(page, short_name(&target_metrics[m]));
        put(page, "\":");
        put_number(page, value_of(&target_metrics[m], &target->stats));
    }
    put(page, "}");
}

bool metrics_write_targets(const struct admin_snapshot *snapshot, struct buf *out)
{
    struct page page = {.out = out};
    put(&page, "{\"targets\":[");
    for (size_t i = 0; i < snapshot->target_count; i++) {
        if (i > 0) put(&page, ",");
        put_target(&page, &snapshot->targets[i]);
    }
    put(&page, "]}\n");
    return !page.full;
}
