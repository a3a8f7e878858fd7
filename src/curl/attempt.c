/* attempt.c: one transfer on the caller's handle: what is set on it, what is seen of it, and what
 * that means (semantics 1, 2, 5a). */
#include "curl/run.h"

#include <belay/method.h>
#include <errno.h>
#include <string.h>

static long info_long(const struct run *run, CURLINFO info)
{
    long value = 0;
    return curl_easy_getinfo(run->easy, info, &value) == CURLE_OK ? value : 0;
}

static curl_off_t info_off(const struct run *run, CURLINFO info)
{
    curl_off_t value = 0;
    return curl_easy_getinfo(run->easy, info, &value) == CURLE_OK ? value : 0;
}

static const char *info_text(const struct run *run, CURLINFO info)
{
    char *value = NULL;
    return curl_easy_getinfo(run->easy, info, &value) == CURLE_OK && value ? value : "";
}

/* TCP is; TLS may still be under way. */
bool belay__curl_is_connected(const struct run *run)
{
    return info_long(run, CURLINFO_LOCAL_PORT) > 0 || info_off(run, CURLINFO_CONNECT_TIME_T) > 0;
}

/* ---- what the request is ---- */

/* A body from a callback is gone once it was read. That a request of these methods has none cannot
 * be asked. */
static bool body_is_gone(const struct run *run, enum belay_method method)
{
    bool seldom_has_one = belay_method_is_safe(method) || method == BELAY_METHOD_DELETE;
    if (run->call->body_kept || run->call->seek) return false;
    return !seldom_has_one || info_off(run, CURLINFO_SIZE_UPLOAD_T) > 0;
}

static void name_request(struct run *run, const char *method)
{
    struct belay_slice url = belay_slice_z(info_text(run, CURLINFO_EFFECTIVE_URL)),
                       route = belay_slice_z(run->call->route);
    strncpy(run->method, method, sizeof run->method - 1);
    run->endpoint = belay_event_endpoint(url, route, run->endpoint_room);
}

/* Before a transfer libcurl knows the URL that was set, but takes every method for a GET. */
void belay__curl_know_early(struct run *run)
{
    name_request(run, run->call->method ? run->call->method : "");
}

void belay__curl_know(struct run *run)
{
    const struct belay_curl_call *call = run->call;
    if (!run->known) name_request(run, info_text(run, CURLINFO_EFFECTIVE_METHOD));
    run->known = true;
    enum belay_method method = belay_method_parse(belay_slice_z(run->method));
    bool safe = belay_method_is_safe(method), gone = body_is_gone(run, method);
    if (gone) run->policy.retry_unsafe_refusals = false;
    struct belay_traits traits = {
        .safe_method = safe,
        .write = call->write || !safe || gone,
        .idempotent = call->idempotent && !gone,
        .keyed = call->keyed && !gone,
        .owned_elsewhere = call->owned,
    };
    belay_operation_on_traits(&run->op, &traits);
}

/* ---- what is seen ---- */

/* The connection is ready for a request: the last moment at which nothing was sent of it. When it
 * is the same request again, and bytes of it were accepted without a byte of an answer, then the
 * pooled connection was dead, and libcurl would send it once more, a POST too. */
static int on_prereq(void *user, char *remote_ip, char *local_ip, int remote_port, int local_port)
{
    struct run *run = user;
    struct attempt *attempt = &run->attempt;
    long sent = info_long(run, CURLINFO_REQUEST_SIZE);
    bool again = attempt->begun > 0 && !attempt->answer_bytes;
    if (again && sent > attempt->sent_before) {
        attempt->resent = true;
        return CURL_PREREQFUNC_ABORT;
    }
    attempt->begun += !again;
    /* A redirect's answer was none of the caller's. */
    attempt->answer_bytes = attempt->answered = attempt->passed = false;
    attempt->sent_before = sent;
    attempt->reused = info_long(run, CURLINFO_NUM_CONNECTS) == 0;
    if (!run->known) belay__curl_know(run);
    const struct belay_curl_call *call = run->call;
    if (!call->prereq) return CURL_PREREQFUNC_OK;
    return call->prereq(call->prereq_data, remote_ip, local_ip, remote_port, local_port);
}

/* Only what is certain is unsent: with a redirect the first request was sent; and a body from a
 * callback may have been read although none of it has left. */
static enum belay_sent sent_of(const struct run *run)
{
    const struct attempt *attempt = &run->attempt;
    if (attempt->begun == 0) return BELAY_UNSENT;
    if (attempt->answered) return BELAY_ANSWERED;
    bool none_accepted = info_long(run, CURLINFO_REQUEST_SIZE) == attempt->sent_before;
    bool body_left = run->op.traits.safe_method || run->call->body_kept || run->call->seek;
    if (attempt->begun == 1 && none_accepted && body_left && !attempt->resent) return BELAY_UNSENT;
    return BELAY_SENT;
}

static bool uploads(const struct run *run)
{
    curl_off_t all = info_off(run, CURLINFO_CONTENT_LENGTH_UPLOAD_T);
    return all > 0 && info_off(run, CURLINFO_SIZE_UPLOAD_T) < all;
}

static enum belay_phase phase_of(const struct run *run)
{
    const struct attempt *attempt = &run->attempt;
    if (attempt->answered) return BELAY_PHASE_BODY;
    if (attempt->begun > 0) {
        bool sending = info_long(run, CURLINFO_REQUEST_SIZE) == attempt->sent_before;
        return sending || uploads(run) ? BELAY_PHASE_SEND : BELAY_PHASE_HEADERS;
    }
    if (belay__curl_is_connected(run)) return BELAY_PHASE_TLS;
    return info_off(run, CURLINFO_NAMELOOKUP_TIME_T) > 0 ? BELAY_PHASE_CONNECT : BELAY_PHASE_DNS;
}

/* libcurl has one code for every way in which connecting fails, and one for TLS: there a peer that
 * closes without a word looks like one that speaks no TLS, and counts as such. */
static enum belay_error_class connect_error(const struct run *run, enum belay_error_class otherwise)
{
    switch (info_long(run, CURLINFO_OS_ERRNO)) {
    case ETIMEDOUT: return BELAY_ERROR_TIMEOUT;
    case EPIPE:
    case ECONNRESET: return BELAY_ERROR_RESET;
    case EMFILE:
    case ENFILE:
    case ENOBUFS:
    case ENOMEM:
    case EADDRNOTAVAIL: return BELAY_ERROR_CANCELLED;
    default: return otherwise;
    }
}

static struct belay_outcome answer_of(const struct run *run, int status)
{
    const struct head *head = &run->attempt.head;
    return (struct belay_outcome){.status = status,
                                  .sent = BELAY_ANSWERED,
                                  .has_retry_after = head->has_retry_after,
                                  .retry_after_ms =
                                      head->has_retry_after ? head->retry_after_ms : 0};
}

struct belay_outcome belay__curl_attempt_outcome(struct run *run, CURLcode code)
{
    const struct attempt *attempt = &run->attempt;
    struct belay_outcome outcome = belay_curl_code_outcome(code);
    if (outcome.error == BELAY_ERROR_NONE) {
        long status =
            attempt->head.status ? attempt->head.status : info_long(run, CURLINFO_RESPONSE_CODE);
        if (status >= 100 && status <= 599) return answer_of(run, (int)status);
        outcome.error = BELAY_ERROR_PROTOCOL; /* an answer without a status is none of HTTP */
    }
    if (attempt->resent || code == CURLE_SEND_FAIL_REWIND) outcome.error = BELAY_ERROR_CLOSED;
    if (code == CURLE_COULDNT_CONNECT || code == CURLE_SSL_CONNECT_ERROR)
        outcome.error = connect_error(run, outcome.error);
    if (code == CURLE_UNSUPPORTED_PROTOCOL && attempt->begun > 0) {
        outcome.error = BELAY_ERROR_PROTOCOL; /* the server's: HTTP/0.9, or a redirect to it */
        outcome.phase = BELAY_PHASE_NONE;
    }
    if (outcome.phase == BELAY_PHASE_NONE) outcome.phase = phase_of(run);
    outcome.sent = sent_of(run);
    bool lost = outcome.error == BELAY_ERROR_CLOSED || outcome.error == BELAY_ERROR_RESET;
    outcome.stale = lost && attempt->reused && !attempt->answer_bytes && outcome.sent == BELAY_SENT;
    bool shown = run->call->header || info_off(run, CURLINFO_SIZE_DOWNLOAD_T) > 0;
    outcome.answer_started = attempt->passed && shown;
    return outcome;
}

/* ---- the handle ---- */

static CURLcode set_callbacks(struct run *run)
{
    CURLcode codes[] = {
        curl_easy_setopt(run->easy, CURLOPT_HEADERFUNCTION, belay__curl_on_header),
        curl_easy_setopt(run->easy, CURLOPT_HEADERDATA, run),
        curl_easy_setopt(run->easy, CURLOPT_PREREQFUNCTION, on_prereq),
        curl_easy_setopt(run->easy, CURLOPT_PREREQDATA, run),
        curl_easy_setopt(run->easy, CURLOPT_QUICK_EXIT, 1L), /* no look-up is waited for */
    };
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        if (codes[i] != CURLE_OK) return codes[i];
    }
    return CURLE_OK;
}

void belay__curl_restore(struct run *run)
{
    const struct belay_curl_call *call = run->call;
    belay__curl_fields_clear(run);
    (void)curl_easy_setopt(run->easy, CURLOPT_HEADERFUNCTION, call->header);
    (void)curl_easy_setopt(run->easy, CURLOPT_HEADERDATA, call->header_data);
    (void)curl_easy_setopt(run->easy, CURLOPT_PREREQFUNCTION, call->prereq);
    (void)curl_easy_setopt(run->easy, CURLOPT_PREREQDATA, call->prereq_data);
    /* Where the caller wanted fresh ones, no connection was stale. */
    if (run->fresh) (void)curl_easy_setopt(run->easy, CURLOPT_FRESH_CONNECT, 0L);
    (void)curl_easy_setopt(run->easy, CURLOPT_QUICK_EXIT, 0L);
}

static bool rewind_body(const struct run *run, uint32_t attempt)
{
    const struct belay_curl_call *call = run->call;
    if (attempt == 1 || !call->seek) return true;
    return call->seek(call->seek_data, 0, SEEK_SET) == CURL_SEEKFUNC_OK;
}

CURLcode belay__curl_attempt_start(struct run *run, const struct belay_admission *admission)
{
    struct belay_span connect_for = run->policy.connect_timeout_for;
    belay__curl_attempt_stop(run);
    belay__curl_head_clear(&run->attempt.head);
    belay__curl_fields_clear(run);
    run->attempt = (struct attempt){.time = belay__curl_wall(), .end_at = admission->at};
    run->attempt.connect_end_at = connect_for.ns > 0
                                      ? belay_instant_add(belay_curl_now(), connect_for)
                                      : belay_instant_never();
    if (!rewind_body(run, admission->attempt)) return CURLE_SEND_FAIL_REWIND;
    if (!belay__curl_fields_set(run, admission)) return CURLE_OUT_OF_MEMORY;
    CURLcode code = set_callbacks(run);
    if (code != CURLE_OK) return code;
    if (admission->fresh_connection) {
        run->fresh = true;
        (void)curl_easy_setopt(run->easy, CURLOPT_FRESH_CONNECT, 1L);
    }
    CURLMcode added = curl_multi_add_handle(run->multi->multi, run->easy);
    run->in_multi = added == CURLM_OK;
    if (run->in_multi) return CURLE_OK;
    return added == CURLM_OUT_OF_MEMORY ? CURLE_OUT_OF_MEMORY : CURLE_BAD_FUNCTION_ARGUMENT;
}

void belay__curl_attempt_stop(struct run *run)
{
    if (run->in_multi) (void)curl_multi_remove_handle(run->multi->multi, run->easy);
    run->in_multi = run->held = false;
}
