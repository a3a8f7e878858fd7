/* run.h: what the files of libbelay-curl share: one operation under way, and the multi handle's. */
#ifndef CURL_RUN_H
#define CURL_RUN_H

#include <belay/curl.h>
#include <stdatomic.h>

#define MADE_ID_BYTES 32
#define TRACE_ID_BYTES 32
#define SPAN_ID_BYTES 16
#define METHOD_BYTES_MAX 32
#define CONTAINER_OF(pointer, type, member)                                                        \
    ((type *)(void *)((char *)(pointer)-offsetof(type, member)))

enum run_state {
    RUN_ASKING,  /* for a gate's instant, a slot, or a retry's; an answer may be held meanwhile */
    RUN_CALLING, /* a transfer is under way */
    RUN_DONE,    /* waits to be taken */
};

/* The answer's heads as they come, kept for the caller's header callback until it is decided that
 * they are passed on. */
struct head {
    bool open;     /* between a status line and its empty line */
    bool complete; /* kept whole, and may not be given yet: held */
    int status;
    unsigned hints; /* Retry-After fields: two are none */
    bool has_retry_after;
    int64_t retry_after_ms;
    char *lines; /* each with its length in front */
    size_t length, capacity, given;
};

/* One attempt: what is seen of it. */
struct attempt {
    struct belay_wall time;
    struct belay_instant end_at, connect_end_at;
    unsigned begun;    /* requests that libcurl was about to send: more than one with redirects */
    long sent_before;  /* bytes of earlier ones */
    bool answer_bytes; /* of the request begun last */
    bool answered;     /* a final status line was read */
    bool passed;       /* the head was passed on to the caller */
    bool recorded;     /* decided at the head */
    bool reused, tls_clock;
    bool resent; /* libcurl was about to send it once more by itself */
    struct head head;
};

struct ring {
    struct ring *next, *prev;
};

struct run {
    CURL *easy;       /* first: by its address they are found */
    struct ring ring; /* of those under way, or of those that have ended */
    struct belay_curl_multi *multi;
    struct belay_curl_call *call;
    enum run_state state;
    bool fresh;        /* CURLOPT_FRESH_CONNECT was set */
    bool in_multi;     /* the handle is */
    bool held;         /* state ASKING: the transfer is paused at the head of an answer */
    atomic_bool woken; /* from any thread */
    struct belay_instant due_at;

    struct belay_policy policy;
    struct belay_target *target, *own_target; /* own: the call has none */
    struct belay_operation op;
    struct belay_wall began_wall;
    struct belay_instant deadline_at;
    struct attempt attempt;
    struct belay_outcome outcome; /* of the last attempt, once one has ended */
    struct belay_verdict verdict;
    CURLcode code;
    bool ended_one;

    bool known; /* method and endpoint were read from the handle */
    char method[METHOD_BYTES_MAX];
    char endpoint_room[BELAY_EVENT_ENDPOINT_BYTES_MAX];
    struct belay_slice endpoint;
    char operation_id[BELAY_OPERATION_ID_MAX + 1];
    char trace_id[TRACE_ID_BYTES + 1], span_id[SPAN_ID_BYTES + 1], trace_flags[3];
    struct curl_slist *fields; /* ours; the last one leads to the caller's */
};

struct belay_curl_multi {
    CURLM *multi;
    void (*wake)(void *wake_data);
    void *wake_data;
    struct ring running, done;
    void *by_easy;                /* the running ones, as a tree of <search.h> */
    struct belay_instant next_at; /* no run has anything to do before */
    atomic_bool woken;
};

/* world.c: the clocks and the dice */
struct belay_wall belay__curl_wall(void);
uint64_t belay__curl_luck(void);

/* code.c */
bool belay__curl_code_listed(CURLcode code);

/* ids.c: who the operation is, and the fields that say so */
bool belay__curl_ids_begin(struct run *run) __attribute__((warn_unused_result));
/* The request's fields for this attempt; false without memory. */
bool belay__curl_fields_set(struct run *run, const struct belay_admission *admission)
    __attribute__((warn_unused_result));
void belay__curl_fields_clear(struct run *run);

/* head.c: the answer's head */
size_t belay__curl_on_header(char *line, size_t size, size_t count, void *user);
/* Gives the caller's header callback what was kept. As a header callback returns: false, or paused.
 */
enum head_given { HEAD_GIVEN, HEAD_PAUSED, HEAD_REFUSED };
enum head_given belay__curl_head_give(struct run *run);
void belay__curl_head_clear(struct head *head);

/* attempt.c: one transfer */
/* Puts the handle into the multi handle; CURLE_OK, or why that failed. */
CURLcode belay__curl_attempt_start(struct run *run, const struct belay_admission *admission);
void belay__curl_attempt_stop(struct run *run); /* takes it out again */
struct belay_outcome belay__curl_attempt_outcome(struct run *run, CURLcode code);
/* What can be told of a request that nothing was done for: for its record. */
void belay__curl_know_early(struct run *run);
/* Reads the method and the endpoint, and says what the request is. */
void belay__curl_know(struct run *run);
void belay__curl_restore(struct run *run);
bool belay__curl_is_connected(const struct run *run);

/* multi.c */
/* Records an outcome and hands its event over. True: it goes again, at run->due_at. */
bool belay__curl_record(struct run *run, const struct belay_outcome *outcome);

#endif
