/* curl.h: libbelay-curl: a transfer of libcurl as one logical operation: one deadline over all
 * attempts, retries that are safe and few, breaker, bulkhead and budget of the recipient, and an
 * event an attempt (semantics 1 to 9). Over HTTP and HTTPS, with libcurl 7.87 or newer.
 *
 *     struct belay_curl_call call = {.policy = &policy, .target = target};
 *     CURLcode code = belay_curl_perform(easy, &call);   instead of curl_easy_perform(easy)
 *
 * What was set on the handle stays as it was set, and is in force for every attempt: an own
 * CURLOPT_TIMEOUT_MS can only shorten an attempt. The answer goes to the handle's own write
 * callback: a final one as it comes; of one that is repeated the callback sees nothing.
 *
 * libcurl cannot be asked which callbacks and lists a handle has. These are needed, so they are
 * named in the call, and are what the handle has when the call is over:
 *   - CURLOPT_HEADERFUNCTION, CURLOPT_HEADERDATA      header, header_data
 *   - CURLOPT_PREREQFUNCTION, CURLOPT_PREREQDATA      prereq, prereq_data
 *   - CURLOPT_HTTPHEADER, if belay adds its fields    adds_fields, headers
 * and CURLOPT_QUICK_EXIT is off. CURLOPT_HEADER must be off: a head that is repeated would be
 * written with the bodies.
 *
 * What is known to be `unsent`: the connection was never ready for the request
 * (CURLOPT_PREREQFUNCTION was not reached), or libcurl's writes accepted no byte of it. libcurl
 * itself would send a request again, whatever its method, when a pooled connection turns out to be
 * dead: that is stopped, and is decided here (semantics 5a).
 *
 * Connections belong to the multi handle, a handle keeps none of its own. With HTTP/1 the
 * connection of an answer that is repeated is closed, for its body is not read. Of a policy
 * silence_timeout_for, idle_for, idle_max, replay_buffer_bytes_max and held_answer_bytes_max are
 * not used: in their place stand CURLOPT_LOW_SPEED_TIME, CURLOPT_MAXAGE_CONN and
 * CURLMOPT_MAXCONNECTS. A look-up of a name whose time is over is left behind and not waited for. A
 * TLS handshake that the peer closes without a word is `tls`, for libcurl does not tell it from one
 * that it cannot read.
 *
 * Thread rule: a call, its handle and its multi handle belong to one thread at a time; policy and
 * target may be shared by any number of threads. Ownership: everything a call points to must
 * outlive it. Callbacks come from inside belay_curl_perform, belay_curl_multi_run and what drives
 * the multi handle; they must not call into this library, nor remove the handle.
 */
#ifndef BELAY_CURL_H
#define BELAY_CURL_H

#include <belay/event.h>
#include <belay/export.h>
#include <belay/operation.h>
#include <curl/curl.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How a call stands, for a line on a terminal. */
struct belay_curl_progress {
    uint32_t attempt;                 /* under way, or the last one; 0: none yet */
    bool waiting;                     /* none is under way */
    struct belay_span wait;           /* waiting: at least so long */
    struct belay_span remaining;      /* of the deadline */
    const struct belay_outcome *last; /* of the last attempt; NULL: none has ended */
};

/* What a call came to. */
struct belay_curl_result {
    /* CURLE_OK: the answer with `status` was given whole. Else the last attempt's error. When no
     * attempt was made: CURLE_OPERATION_TIMEDOUT for want of time, CURLE_ABORTED_BY_CALLBACK when
     * cancelled, CURLE_COULDNT_CONNECT when a gate refused. */
    CURLcode code;
    int status;   /* of the answer that was given, or begun; 0: none */
    bool refused; /* the operation ended without a call, for the reason `terminal` */
    enum belay_terminal terminal; /* only with refused */
    enum belay_decision decision; /* of the last attempt, if there was one */
    enum belay_reason reason;
    struct belay_outcome outcome;
    struct belay_ending ending; /* the fields of the operation's record */
    bool has_hint;              /* when trying again makes sense */
    struct belay_span retry_hint;
};

/* One operation. Zero-initialised it is a request of the default policy, towards a target that only
 * it knows. Must not move, nor be changed, until it has ended; it may be used again then. */
struct belay_curl_call {
    const struct belay_policy *policy; /* NULL: belay_policy_default() */
    struct belay_target *target;       /* what all calls to one recipient share; NULL: nothing */
    struct belay_span deadline_for;    /* > 0: ends at the latest then, if the policy lets it */

    /* What the request is. Its method is read from the handle; the rest only its owner knows. */
    bool write;      /* has an effect although its method is safe */
    bool idempotent; /* sent twice it has the effect of once: PUT and DELETE need it said */
    bool keyed;      /* bears an idempotency key that the recipient honours */
    bool owned;      /* another level retries it (it came with X-Retry-Owner) */
    /* The body is kept by libcurl (CURLOPT_POSTFIELDS, CURLOPT_MIMEPOST): it can be sent again. A
     * body that is read through a callback can be sent again only with `seek`, the handle's
     * CURLOPT_SEEKFUNCTION. With neither, POST, PUT and PATCH are not repeated once they were sent
     * (reason not_replay_safe). */
    bool body_kept;
    curl_seek_callback seek;
    void *seek_data;

    /* What the handle has. */
    curl_write_callback header;
    void *header_data;
    curl_prereq_callback prereq;
    void *prereq_data;
    bool adds_fields;           /* X-Operation-Id, X-Request-Id, X-Request-Attempt, X-Retry-Owner,
                                   X-Request-Timeout-Ms, and traceparent when there is one */
    struct curl_slist *headers; /* with adds_fields */

    const char *operation_id; /* NULL: one is made. See belay_event_id_valid */
    const char *traceparent;  /* the caller's own (W3C Trace Context, version 00); NULL: none */
    const char *method;       /* in the record when no attempt was made: libcurl tells it only of a
                                 request under way. NULL: such a record has none */
    const char *target_name;  /* in events; NULL: left out */
    const char *route;        /* a path template such as /orders/{id}, in events; NULL: none */

    /* May be NULL. `on_progress` comes at least every 100 ms from belay_curl_perform, and only from
     * there: not 0 ends the call as cancelled. An event lives until the callback returns; that of
     * an attempt comes before the next attempt begins. */
    int (*on_progress)(void *user, const struct belay_curl_progress *progress);
    void (*on_attempt)(void *user, const struct belay_attempt_event *event);
    void (*on_operation)(void *user, const struct belay_operation_event *event);
    void *user;

    /* belay_curl_perform: connections are taken from here and kept here; nothing else may use it
     * meanwhile. NULL: they live as long as the call. */
    CURLM *multi;

    struct belay_curl_result result; /* set when the call has ended */
    void *reserved[4];               /* private */
};

/* Runs the operation to its end. Blocks: until the answer was given or the deadline at the latest
 * (what a callback takes comes on top). Returns call->result.code; CURLE_OUT_OF_MEMORY,
 * CURLE_BAD_FUNCTION_ARGUMENT (no handle, one that is under way already or whose call is; an id or
 * traceparent that is none), CURLE_UNKNOWN_OPTION (libcurl is too old) when nothing was done,
 * without a record. The record of an operation that made no attempt names the endpoint that the
 * handle is set to. */
BELAY_API CURLcode belay_curl_perform(CURL *easy, struct belay_curl_call *call);

/* ---- many at once, in an event loop ----
 *
 * The multi handle is driven as ever (curl_multi_socket_action, or curl_multi_perform and
 * curl_multi_poll); after each time, and when next_at has come, belay_curl_multi_run does what is
 * due and belay_curl_multi_take gives what has ended. Nothing blocks, there are no threads.
 *
 * All handles in the multi handle must be belay's: run reads its messages. */
struct belay_curl_multi;

/* `wake` is called, from any thread, when a slot of a bulkhead's queue has come free: it must see
 * to it that the loop calls belay_curl_multi_run soon. NULL: curl_multi_wakeup, which ends a
 * curl_multi_poll. Returns NULL without memory. */
BELAY_API struct belay_curl_multi *belay_curl_multi_create(CURLM *multi,
                                                           void (*wake)(void *wake_data),
                                                           void *wake_data);
/* Ends what is under way as cancelled, with its record. The multi handle stays the caller's. */
BELAY_API void belay_curl_multi_destroy(struct belay_curl_multi *multi);
/* Begins an operation; its first attempt is made by the next run. Returns CURLE_OK, or what
 * belay_curl_perform says when nothing was done. */
BELAY_API CURLcode belay_curl_multi_add(struct belay_curl_multi *multi, CURL *easy,
                                        struct belay_curl_call *call);
/* A call under way ends as cancelled: take gives it when those that ended before are taken. A call
 * that is not under way here is left as it is. */
BELAY_API void belay_curl_multi_cancel(struct belay_curl_multi *multi,
                                       struct belay_curl_call *call);
BELAY_API void belay_curl_multi_run(struct belay_curl_multi *multi);
/* When run has something to do by itself; never: only after transfers. On the clock of
 * belay_curl_now. */
BELAY_API struct belay_instant belay_curl_multi_next_at(const struct belay_curl_multi *multi);
/* The same as milliseconds from now, rounded so that a poll is not late; at most `max_ms`. */
BELAY_API int belay_curl_multi_timeout_ms(const struct belay_curl_multi *multi, int max_ms);
/* A call that has ended, in the order of their ends; NULL: no more. */
BELAY_API struct belay_curl_call *belay_curl_multi_take(struct belay_curl_multi *multi);
/* CLOCK_MONOTONIC. */
BELAY_API struct belay_instant belay_curl_now(void);

/* What a libcurl error means by itself: its class, the phase in which it strikes (NONE: in any) and
 * whether it proves the request unsent (else SENT). CURLE_OK and CURLE_HTTP_RETURNED_ERROR are no
 * errors: class NONE. A code that this version does not know is `closed`, in any phase, perhaps
 * sent. */
BELAY_API struct belay_outcome belay_curl_code_outcome(CURLcode code);

#ifdef __cplusplus
}
#endif
#endif
