/* ids.c: who an operation and an attempt are, and the request fields that say so (semantics 1, 2,
 * 4). */
#include "curl/run.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define TRACEPARENT_BYTES 55
#define VALUE_BYTES_MAX (BELAY_OPERATION_ID_MAX + 32)
#define FIELD_BYTES_MAX (VALUE_BYTES_MAX + 32)

static void make_hex(char *out, size_t pieces)
{
    for (size_t i = 0; i < pieces; i++)
        (void)snprintf(out + 16 * i, 17, "%016" PRIx64, belay__curl_luck() | 1);
}

/* `length` lower-case hex digits at `text`, copied to `out`. */
static bool take_hex(const char *text, size_t length, char *out)
{
    if (strspn(text, "0123456789abcdef") < length) return false;
    memcpy(out, text, length);
    out[length] = '\0';
    return true;
}

static bool all_zero(const char *hex)
{
    return hex[strspn(hex, "0")] == '\0';
}

/* 00-<trace id>-<parent id>-<flags> */
static bool read_traceparent(struct run *run, const char *text)
{
    char parent_id[SPAN_ID_BYTES + 1];
    if (strnlen(text, TRACEPARENT_BYTES + 1) != TRACEPARENT_BYTES) return false;
    return strncmp(text, "00-", 3) == 0 && text[35] == '-' && text[52] == '-' &&
           take_hex(text + 3, TRACE_ID_BYTES, run->trace_id) && !all_zero(run->trace_id) &&
           take_hex(text + 36, SPAN_ID_BYTES, parent_id) && !all_zero(parent_id) &&
           take_hex(text + 53, 2, run->trace_flags);
}

bool belay__curl_ids_begin(struct run *run)
{
    const struct belay_curl_call *call = run->call;
    if (call->traceparent && !read_traceparent(run, call->traceparent)) return false;
    if (!call->operation_id) {
        make_hex(run->operation_id, MADE_ID_BYTES / 16);
        return true;
    }
    struct belay_slice id = belay_slice_z(call->operation_id);
    if (!belay_event_id_valid(id)) return false;
    memcpy(run->operation_id, id.data, id.length);
    return true;
}

static bool add(struct run *run, const char *field)
{
    struct curl_slist *longer = curl_slist_append(run->fields, field);
    if (longer) run->fields = longer;
    return longer != NULL;
}

static bool add_text(struct run *run, const char *name, const char *value)
{
    char field[FIELD_BYTES_MAX];
    (void)snprintf(field, sizeof field, "%s: %s", name, value);
    return add(run, field);
}

static bool add_number(struct run *run, const char *name, int64_t value)
{
    char field[FIELD_BYTES_MAX];
    (void)snprintf(field, sizeof field, "%s: %" PRId64, name, value);
    return add(run, field);
}

static bool add_all(struct run *run, const struct belay_admission *admission)
{
    char request_id[VALUE_BYTES_MAX], traceparent[TRACEPARENT_BYTES + 1];
    int64_t ms = belay_span_floor_ms(admission->pass_on);
    (void)snprintf(request_id, sizeof request_id, "%s/attempt-%" PRIu32, run->operation_id,
                   admission->attempt);
    /* 0 ms would say that the time is over. */
    if (!add_text(run, "X-Operation-Id", run->operation_id) ||
        !add_text(run, "X-Request-Id", request_id) ||
        !add_number(run, "X-Request-Attempt", admission->attempt) ||
        !add_text(run, "X-Retry-Owner", "belay") ||
        !add_number(run, "X-Request-Timeout-Ms", ms > 0 ? ms : 1)) {
        return false;
    }
    if (!run->call->traceparent) return true;
    (void)snprintf(traceparent, sizeof traceparent, "00-%s-%s-%s", run->trace_id, run->span_id,
                   run->trace_flags);
    return add_text(run, "traceparent", traceparent);
}

static struct curl_slist *last_of(struct curl_slist *list)
{
    while (list->next) list = list->next;
    return list;
}

bool belay__curl_fields_set(struct run *run, const struct belay_admission *admission)
{
    if (run->call->traceparent) make_hex(run->span_id, SPAN_ID_BYTES / 16);
    if (!run->call->adds_fields) return true;
    if (!add_all(run, admission)) return false;
    last_of(run->fields)->next = run->call->headers;
    return curl_easy_setopt(run->easy, CURLOPT_HTTPHEADER, run->fields) == CURLE_OK;
}

/* The caller's list hangs on ours, unless it has none or adding failed half-way. */
void belay__curl_fields_clear(struct run *run)
{
    struct curl_slist *own = run->fields;
    if (!own) return;
    (void)curl_easy_setopt(run->easy, CURLOPT_HTTPHEADER, run->call->headers);
    for (struct curl_slist *at = own; at; at = at->next) {
        if (at->next == run->call->headers) at->next = NULL;
    }
    curl_slist_free_all(own);
    run->fields = NULL;
}
