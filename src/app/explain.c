/* explain.c: `belay explain`: what belay makes of a field value or of an outcome, in words or as
 * JSON. */
#include "app/app.h"
#include "base/check.h"
#include "base/text.h"
#include "app/args.h"
#include "app/observed.h"
#include "base/nearest.h"
#include "event/json.h"
#include "http1/http1.h"

#include <belay/operation.h>
#include <belay/retry_after.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static void print_usage(FILE *out)
{
    fputs("usage: belay explain retry-after VALUE [--now HTTP-DATE] [--json]\n"
          "       belay explain outcome --method METHOD (--status STATUS | --error CLASS) "
          "[OPTION...] [--json]\n"
          "\n"
          "retry-after   how long belay waits for this value of a Retry-After field\n"
          "  --now DATE        as if it came then; the default is now\n"
          "outcome       what belay decides after a first attempt that came to this\n"
          "  --method METHOD   of the request\n"
          "  --status STATUS   of the answer, or\n"
          "  --error CLASS     dns, refused, timeout, tls, reset, closed, protocol, too_large or "
          "cancelled\n"
          "  --sent SENT       unsent, sent or answered: what is known of the request's way\n"
          "  --phase PHASE     dns, connect, tls, send, headers or body: where the error struck\n"
          "  --retry-after V   the answer had this Retry-After field\n"
          "  --key KEY         the request bears an idempotency key that the recipient honours\n"
          "  --idempotent      the route declares the method idempotent\n"
          "  --effect EFFECT   read or write, as the route says\n"
          "  --state-check     the route can ask for the state\n"
          "  --owned           the request came marked as retried on another level\n"
          "  --json            one JSON object instead of a sentence\n"
          "\n"
          "exit status: 0 valid, 1 not valid, 2 usage\n",
          out);
}

static int fail(const char *what, const char *value)
{
    fprintf(stderr, "belay explain: %s%s%s\n", what, value ? ": " : "", value ? value : "");
    return APP_USAGE;
}

/* ---- retry-after ---- */

static bool wall_now(const char *date, struct belay_wall *now)
{
    struct timespec time;
    (void)clock_gettime(CLOCK_REALTIME, &time);
    now->ns = (int64_t)time.tv_sec * BELAY_NS_PER_S + time.tv_nsec;
    return !date || http1_parse_date(belay_slice_z(date), *now, now, NULL);
}

static void print_wait(int64_t ms)
{
    static const struct {
        int64_t ms;
        const char *name;
    } UNITS[] = {{86400000, "day"}, {3600000, "hour"}, {60000, "minute"}, {1000, "second"}};
    for (size_t i = 0; i < COUNT(UNITS); i++) {
        int64_t count = ms / UNITS[i].ms;
        if (count == 0) continue;
        printf("%s%" PRId64 " %s%s", ms % UNITS[i].ms ? "about " : "", count, UNITS[i].name,
               count == 1 ? "" : "s");
        return;
    }
    printf("%" PRId64 " ms", ms);
}

static int explain_retry_after(const char *value, const char *date, bool json)
{
    struct belay_wall now;
    int64_t ms;
    const char *rule = NULL;
    if (!wall_now(date, &now)) return fail("--now is no HTTP-date", date);
    bool valid = belay_retry_after_parse(belay_slice_z(value), now, &ms, &rule);
    if (json && valid) {
        printf("{\"valid\":true,\"waitMs\":%" PRId64 "}\n", ms);
    } else if (json) {
        char text[1024];
        char *end = event_json_string(text, belay_slice_z(rule), sizeof text - 64);
        printf("{\"valid\":false,\"reason\":%.*s}\n", (int)(end - text), text);
    } else if (!valid) {
        printf("Not valid, and ignored as if it were absent: %s.\n", rule);
    } else if (ms == 0) {
        puts("Valid: no wait is asked for; belay's own backoff still applies.");
    } else {
        fputs("Valid: no attempt before ", stdout);
        print_wait(ms);
        printf(" from now (%" PRId64 " ms).\n", ms);
    }
    return valid ? APP_DONE : APP_NEGATIVE;
}

/* ---- outcome ---- */

struct question {
    const char *method, *status, *error, *sent, *phase, *retry_after, *key, *effect;
    bool idempotent, state_check, owned;
    struct belay_traits traits;
    struct belay_outcome outcome;
};

struct answer {
    enum belay_outcome_class kind;
    enum belay_decision decision;
    enum belay_reason reason;
};

static const char *const CLASSES[BELAY_CLASS_COUNT] = {
    [BELAY_CLASS_SUCCESS] = "is a success",
    [BELAY_CLASS_REPEATABLE] = "is worth repeating",
    [BELAY_CLASS_UNKNOWN] = "leaves the effect unknown",
    [BELAY_CLASS_FINAL] = "is final",
};

static const char *decision_sentence(enum belay_decision decision)
{
    switch (decision) {
    case BELAY_DECISION_RETURN: return "returns the answer";
    case BELAY_DECISION_RETRY: return "tries again";
    case BELAY_DECISION_CHECK_STATE:
        return "does not repeat it but asks for the state, or says that it is unknown";
    case BELAY_DECISION_STOP: return "stops, and passes on what it has";
    case BELAY_DECISION_DEADLINE_EXCEEDED: return "gives up at once";
    default: return "gives up";
    }
}

static const char *const REASONS[BELAY_REASON_COUNT] = {
    [BELAY_REASON_SUCCESS] = "the status is 2xx",
    [BELAY_REASON_ANSWER_STARTED] = "bytes of the answer were already passed on",
    [BELAY_REASON_EFFECT_UNKNOWN] =
        "the request was sent, no final status came, and a repeat could do it twice",
    [BELAY_REASON_GATEWAY_UNKNOWN] =
        "the status comes from somebody in between, and a repeat could do it twice",
    [BELAY_REASON_NOT_REPEATABLE] = "repeating would give the same",
    [BELAY_REASON_NOT_REPLAY_SAFE] =
        "the request was sent and may not be repeated without a key or a declaration",
    [BELAY_REASON_RETRY_OWNED] = "another level retries already",
    [BELAY_REASON_NO_TIME] = "the wait does not fit in what remains of the deadline",
    [BELAY_REASON_NO_ATTEMPTS] = "no attempts are left",
    [BELAY_REASON_NO_BUDGET] = "the retry budget is empty",
    [BELAY_REASON_BREAKER_NOT_CLOSED] = "the breaker is not closed",
    [BELAY_REASON_BACKOFF] = "after a wait of its own",
    [BELAY_REASON_RETRY_AFTER] = "after the wait that the server asked for",
    [BELAY_REASON_STALE_CONNECTION] = "at once, on a fresh connection",
};

static int read_error(struct question *q)
{
    switch (observed_error(q->error, q->phase, q->sent, &q->outcome)) {
    case OBSERVED_NO_ERROR_CLASS:
        return fail("--error is dns, refused, timeout, tls, reset, closed, protocol, too_large or "
                    "cancelled, not",
                    q->error);
    case OBSERVED_NO_PHASE:
        return fail("--phase is dns, connect, tls, send, headers or body, not", q->phase);
    case OBSERVED_NO_SENT: return fail("--sent is unsent, sent or answered, not", q->sent);
    default: return APP_DONE;
    }
}

static int read_status(struct question *q)
{
    char *rest;
    long status = strtol(q->status, &rest, 10);
    if (*rest || rest == q->status || status < 100 || status > 599)
        return fail("--status is 100 to 599, not", q->status);
    if (q->phase) return fail("--phase goes with --error", NULL);
    if (q->sent && strcmp(q->sent, "answered") != 0)
        return fail("what has a status is answered", NULL);
    q->outcome.status = (int)status;
    q->outcome.sent = BELAY_ANSWERED;
    return APP_DONE;
}

static bool is_method(const char *text)
{
    size_t length = 0;
    while (char_is_token(text[length])) length++;
    return length > 0 && text[length] == '\0';
}

/* `get` is a method of its own to everybody on the way, and not a safe one; few who write it know.
 */
static void hint_method(const char *method)
{
    for (int i = 0; i < BELAY_METHOD_COUNT; i++) {
        const char *name = belay_method_name((enum belay_method)i);
        if (!name || strcasecmp(name, method) != 0 || strcmp(name, method) == 0) continue;
        fprintf(stderr, "belay explain: methods are case-sensitive (RFC 9110, 9.1): %s is not %s\n",
                method, name);
    }
}

static int read_question(struct question *q)
{
    if (!q->method || !*q->method) return fail("--method is missing", NULL);
    if (!is_method(q->method)) return fail("--method is a word such as GET, not", q->method);
    hint_method(q->method);
    if (!q->status == !q->error) return fail("expected either --status or --error", NULL);
    bool is_write = q->effect && strcmp(q->effect, "write") == 0,
         is_read = q->effect && strcmp(q->effect, "read") == 0;
    if (q->effect && !is_write && !is_read)
        return fail("--effect is read or write, not", q->effect);
    bool safe = belay_method_is_safe(belay_method_parse(belay_slice_z(q->method)));
    q->traits = (struct belay_traits){.safe_method = safe,
                                      .write = q->effect ? is_write : !safe,
                                      .idempotent = q->idempotent,
                                      .keyed = q->key != NULL,
                                      .owned_elsewhere = q->owned,
                                      .state_check = q->state_check,
                                      .hold_key = 1};
    if (q->retry_after) {
        struct belay_wall now;
        (void)wall_now(NULL, &now);
        const char *rule;
        q->outcome.has_retry_after = belay_retry_after_parse(belay_slice_z(q->retry_after), now,
                                                             &q->outcome.retry_after_ms, &rule);
    }
    return q->error ? read_error(q) : read_status(q);
}

/* The engine itself decides: a first attempt at a target that nothing else is known of. */
static bool decide(const struct question *q, struct answer *answer)
{
    const struct belay_instant start = {BELAY_NS_PER_S};
    struct belay_policy policy = belay_policy_default();
    struct belay_operation op;
    struct belay_target *target = belay_target_create(&policy, 1);
    if (!target) return false;
    belay_operation_init(&op, &policy, target, &q->traits, start,
                         belay_instant_add(start, policy.deadline_for), NULL);
    (void)belay_operation_admit(&op, start);
    struct belay_verdict verdict = belay_operation_record(&op, &q->outcome, start, 0);
    *answer =
        (struct answer){belay_operation_class(&op, &q->outcome), verdict.decision, verdict.reason};
    (void)belay_operation_finish(&op, start);
    belay_target_destroy(target);
    return true;
}

static int explain_outcome(struct question *q, bool json)
{
    struct answer answer;
    int bad = read_question(q);
    if (bad) return bad;
    if (!decide(q, &answer)) return fail("out of memory", NULL);
    if (json) {
        printf("{\"class\":\"%s\",\"decision\":\"%s\",\"reason\":\"%s\"}\n",
               belay_outcome_class_name(answer.kind), belay_decision_name(answer.decision),
               belay_reason_name(answer.reason));
        return APP_DONE;
    }
    printf("A %s that came to %s%s %s: belay %s%s %s.\n", q->method,
           q->status ? "status " : "error ", q->status ? q->status : q->error, CLASSES[answer.kind],
           decision_sentence(answer.decision),
           answer.decision == BELAY_DECISION_RETRY ? "," : ", because", REASONS[answer.reason]);
    printf("class %s, decision %s, reason %s\n", belay_outcome_class_name(answer.kind),
           belay_decision_name(answer.decision), belay_reason_name(answer.reason));
    return APP_DONE;
}

/* ---- the command ---- */

static int unknown_topic(const char *topic)
{
    static const char *const TOPICS[] = {"retry-after", "outcome"};
    const char *meant = nearest_name(belay_slice_z(topic), TOPICS, COUNT(TOPICS));
    fprintf(stderr, "belay explain: nothing to say about '%s'; ", topic);
    if (meant)
        fprintf(stderr, "did you mean '%s'?\n", meant);
    else
        fputs("it explains retry-after and outcome\n", stderr);
    return APP_USAGE;
}

int app_explain(int argc, char **argv)
{
    struct question q = {0};
    const char *now = NULL;
    bool json = false, help = false;
    const struct arg args[] = {
        {"--now", &now, NULL},
        {"--json", NULL, &json},
        {"--help", NULL, &help},
        {"-h", NULL, &help},
        {"--method", &q.method, NULL},
        {"--status", &q.status, NULL},
        {"--error", &q.error, NULL},
        {"--sent", &q.sent, NULL},
        {"--phase", &q.phase, NULL},
        {"--retry-after", &q.retry_after, NULL},
        {"--key", &q.key, NULL},
        {"--effect", &q.effect, NULL},
        {"--idempotent", NULL, &q.idempotent},
        {"--state-check", NULL, &q.state_check},
        {"--owned", NULL, &q.owned},
    };
    if (!args_parse(&argc, argv, args, COUNT(args))) return APP_USAGE;
    if (help) {
        print_usage(stdout);
        return APP_DONE;
    }
    if (argc == 3 && strcmp(argv[1], "retry-after") == 0)
        return explain_retry_after(argv[2], now, json);
    if (argc == 2 && strcmp(argv[1], "outcome") == 0) return explain_outcome(&q, json);
    if (argc == 2 && strcmp(argv[1], "retry-after") == 0)
        return fail("retry-after needs a value", NULL);
    if (argc >= 2 && strcmp(argv[1], "retry-after") != 0 && strcmp(argv[1], "outcome") != 0) {
        return unknown_topic(argv[1]);
    }
    print_usage(stderr);
    return APP_USAGE;
}
