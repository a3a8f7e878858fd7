/* flaky_desk.c: what `belay flaky` was sent, told as JSON on its own paths. */
#include "app/flaky_act.h"
#include "base/text.h"
#include "base/check.h"
#include "event/json.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

/* The page being written; its longest is far below its size. */
struct page {
    char text[16384];
    size_t length;
};

__attribute__((format(printf, 2, 3))) static void put(struct page *page, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    size_t room = sizeof page->text - page->length;
    int length = vsnprintf(page->text + page->length, room, format, args);
    va_end(args);
    CHECK(length >= 0 && (size_t)length < room);
    page->length += (size_t)length;
}

static void put_count(struct page *page, const char *name, uint64_t value)
{
    put(page, ",\"%s\":%" PRIu64, name, value);
}

/* One of a map: only what was seen stands in it. */
static void put_seen(struct page *page, bool *first, const char *name, uint64_t value)
{
    if (value == 0) return;
    put(page, "%s\"%s\":%" PRIu64, *first ? "" : ",", name, value);
    *first = false;
}

static void put_tally(struct page *page, const struct flaky_tally *tally)
{
    put(page, "\"calls\":%" PRIu64, tally->calls);
    put_count(page, "bodiesComplete", tally->bodies_complete);
    put_count(page, "bodiesCut", tally->bodies_cut);
    put_count(page, "bodyBytes", tally->body_bytes);
    put(page, ",\"methods\":{");
    bool first = true;
    for (int i = 0; i < BELAY_METHOD_COUNT; i++) {
        const char *name = belay_method_name((enum belay_method)i);
        put_seen(page, &first, name ? name : "other", tally->methods[i]);
    }
    put(page, "}");
}

static void put_totals(struct page *page, struct flaky *flaky)
{
    struct server_stats stats;
    server_stats(flaky->server, &stats);
    put(page, "{");
    put_tally(page, flaky_counts_totals(flaky->counts));
    put(page, ",\"statuses\":{");
    bool first = true;
    for (int i = 0; i < 600; i++) {
        char status[8];
        (void)snprintf(status, sizeof status, "%d", i);
        put_seen(page, &first, status, flaky->statuses[i]);
    }
    put(page, "},\"faults\":{");
    first = true;
    for (int i = 1; i < FLAKY_FAULT_COUNT; i++) {
        put_seen(page, &first, flaky_fault_name((enum flaky_fault)i), flaky->faults[i]);
    }
    put(page, "}");
    put_count(page, "callsAfterClose", flaky->after_close);
    put_count(page, "badScripts", flaky->bad_scripts);
    put_count(page, "badRequests", stats.bad_requests);
    put_count(page, "operations", flaky_counts_entries(flaky->counts));
    put_count(page, "forgotten", flaky_counts_forgotten(flaky->counts));
    put_count(page, "connectionsAccepted", stats.accepted);
    put_count(page, "connections", stats.connections);
    put(page, "}\n");
}

static void put_operation(struct page *page, struct flaky *flaky, struct belay_slice name)
{
    static const struct flaky_entry none;
    const struct flaky_entry *entry = flaky_counts_find(flaky->counts, name);
    char escaped[FLAKY_NAME_MAX * 6 + JSON_SLACK_BYTES];
    char *end = event_json_escape(escaped, name, sizeof escaped - JSON_SLACK_BYTES);
    put(page, "{\"operation\":\"%.*s\",", (int)(end - escaped), escaped);
    put_tally(page, entry ? &entry->tally : &none.tally);
    put(page, "}\n");
}

static void reset(struct flaky *flaky)
{
    flaky_counts_reset(flaky->counts);
    memset(flaky->faults, 0, sizeof flaky->faults);
    memset(flaky->statuses, 0, sizeof flaky->statuses);
    flaky->bad_scripts = flaky->after_close = 0;
}

void flaky_desk(struct flaky *flaky, struct server_exchange *exchange)
{
    const struct http1_head *head = server_request_head(exchange);
    static const char operation[] = "operation=";
    size_t prefix = sizeof operation - 1;
    struct page page;
    page.length = 0;
    if (belay_slice_equal(head->path, TEXT("/_flaky/counts"))) {
        bool one = head->query.length > prefix && memcmp(head->query.data, operation, prefix) == 0;
        if (one) {
            put_operation(&page, flaky,
                          belay_slice(head->query.data + prefix, head->query.length - prefix));
        } else {
            put_totals(&page, flaky);
        }
        flaky_answer(exchange, 200, TEXT("application/json"), belay_slice(page.text, page.length));
    } else if (!belay_slice_equal(head->path, TEXT("/_flaky/reset"))) {
        flaky_answer(exchange, 404, TEXT("text/plain"),
                     TEXT("there are /_flaky/counts and /_flaky/reset\n"));
    } else if (head->method != BELAY_METHOD_POST) {
        flaky_answer(exchange, 405, TEXT("text/plain"), TEXT("POST resets the counts\n"));
    } else {
        reset(flaky);
        flaky_answer(exchange, 204, TEXT("text/plain"), TEXT(""));
    }
}
