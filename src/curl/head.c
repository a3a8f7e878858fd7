/* head.c: reads the answer's head as it comes, decides at its end what is to be repeated, and keeps
 * it from the caller until then (semantics 3, "what is held"). */
#include "curl/run.h"

#include <belay/retry_after.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define STATUS_MIN 100
#define STATUS_FINAL_MIN 200
#define STATUS_REDIRECT_MIN 300
#define HEAD_BYTES_MAX ((size_t)1024 * 1024)

static size_t give(const struct belay_curl_call *call, char *line, size_t length)
{
    return call->header ? call->header(line, 1, length, call->header_data) : length;
}

/* "HTTP/1.1 503 ..." or "HTTP/2 503"; 0: not a status line. */
static int read_status(const char *line, size_t length)
{
    const char *space;
    if (length < 5 || memcmp(line, "HTTP/", 5) != 0) return 0;
    space = memchr(line, ' ', length);
    size_t left = space ? length - (size_t)(space - line) : 0;
    int status = 0;
    if (left < 4) return 0;
    for (int i = 1; i <= 3; i++) {
        if (space[i] < '0' || space[i] > '9') return 0;
        status = status * 10 + (space[i] - '0');
    }
    return status >= STATUS_MIN ? status : 0;
}

static void read_hint(struct head *head, const char *line, size_t length)
{
    static const char name[] = "Retry-After:";
    const size_t name_length = sizeof name - 1;
    if (head->status < STATUS_REDIRECT_MIN || length < name_length ||
        strncasecmp(line, name, name_length) != 0) {
        return;
    }
    struct belay_slice value = belay_slice(line + name_length, length - name_length);
    while (value.length && strchr("\r\n", value.data[value.length - 1])) value.length--;
    head->hints++;
    head->has_retry_after =
        head->hints == 1 &&
        belay_retry_after_parse(value, belay__curl_wall(), &head->retry_after_ms, NULL);
}

static bool keep(struct head *head, const char *line, size_t length)
{
    size_t needed = head->length + sizeof length + length;
    if (needed > HEAD_BYTES_MAX) return false;
    if (needed > head->capacity) {
        size_t capacity = needed * 2;
        char *larger = realloc(head->lines, capacity);
        if (!larger) return false;
        head->lines = larger;
        head->capacity = capacity;
    }
    memcpy(head->lines + head->length, &length, sizeof length);
    memcpy(head->lines + head->length + sizeof length, line, length);
    head->length = needed;
    return true;
}

void belay__curl_head_clear(struct head *head)
{
    free(head->lines);
    *head = (struct head){0};
}

enum head_given belay__curl_head_give(struct run *run)
{
    struct head *head = &run->attempt.head;
    while (head->given < head->length) {
        size_t length;
        char *at = head->lines + head->given;
        memcpy(&length, at, sizeof length);
        size_t taken = give(run->call, at + sizeof length, length);
        if (taken == CURL_WRITEFUNC_PAUSE) return HEAD_PAUSED;
        if (taken != length) return HEAD_REFUSED;
        head->given += sizeof length + length;
    }
    head->length = head->given = 0;
    head->complete = false;
    return HEAD_GIVEN;
}

/* A new head begins; the one before it, of a redirect or 1xx, was passed on. */
static void open_head(struct run *run, int status)
{
    struct head *head = &run->attempt.head;
    head->open = true;
    head->status = status;
    head->hints = 0;
    head->has_retry_after = false;
    run->attempt.answer_bytes = true;
    run->attempt.answered = status >= STATUS_FINAL_MIN;
}

/* True: the answer is held, for the request goes again. */
static bool decide(struct run *run)
{
    struct attempt *attempt = &run->attempt;
    if (attempt->recorded || attempt->head.status < STATUS_FINAL_MIN) return false;
    belay__curl_know(run);
    if (!belay_operation_decides_at_head(&run->op, attempt->head.status)) return false;
    struct belay_outcome outcome = belay__curl_attempt_outcome(run, CURLE_OK);
    attempt->recorded = true;
    return belay__curl_record(run, &outcome);
}

/* What a header callback returns for a line of `length`. */
static size_t pass_on(struct run *run, size_t length)
{
    run->attempt.passed |= run->attempt.head.status >= STATUS_FINAL_MIN;
    switch (belay__curl_head_give(run)) {
    case HEAD_GIVEN: return length;
    case HEAD_PAUSED: return CURL_WRITEFUNC_PAUSE;
    case HEAD_REFUSED: break;
    }
    return 0;
}

/* The end of a head. libcurl gives the empty line again after every pause. */
static size_t on_head_end(struct run *run, const char *line, size_t length)
{
    struct head *head = &run->attempt.head;
    if (!head->complete) {
        if (run->call->header && !keep(head, line, length)) return 0;
        head->complete = true;
        if (decide(run)) {
            run->held = true;
            return CURL_WRITEFUNC_PAUSE;
        }
    }
    size_t taken = pass_on(run, length);
    if (taken == length) head->complete = head->open = false;
    return taken;
}

/* Heads of a proxy's CONNECT come before the request is begun; trailers after the head. */
size_t belay__curl_on_header(char *line, size_t size, size_t count, void *user)
{
    struct run *run = user;
    struct head *head = &run->attempt.head;
    size_t length = size * count;
    int status = read_status(line, length);
    if (run->attempt.begun == 0 || (!head->open && !status)) return give(run->call, line, length);
    if (!head->open) open_head(run, status);
    bool empty = length > 0 && (line[0] == '\r' || line[0] == '\n');
    if (empty) return on_head_end(run, line, length);
    read_hint(head, line, length);
    return !run->call->header || keep(head, line, length) ? length : 0;
}
