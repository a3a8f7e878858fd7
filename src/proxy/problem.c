/* problem.c: tables from endings to problem documents (problem.h). */
#include "proxy/problem.h"

#include <stdio.h>

struct problem problem_of_terminal(enum belay_terminal terminal)
{
    static const struct problem problems[BELAY_TERMINAL_COUNT] = {
        [BELAY_TERMINAL_DEADLINE_EXCEEDED] = {504, "deadline-exceeded", "The deadline has passed",
                                              "http_response_timeout", true, false, 0},
        [BELAY_TERMINAL_BREAKER_OPEN] = {503, "breaker-open",
                                         "The target fails; calls to it are paused",
                                         "destination_unavailable", true, false, 0},
        [BELAY_TERMINAL_BULKHEAD_FULL] = {503, "bulkhead-full",
                                          "Too many calls to the target are in flight",
                                          "connection_limit_reached", true, false, 0},
        [BELAY_TERMINAL_QUOTA_EXCEEDED] = {503, "quota-exceeded",
                                           "The agreed pace towards the target is used up",
                                           "http_request_denied", true, false, 0},
        [BELAY_TERMINAL_NOT_BEFORE] = {503, "not-before", "The target asked to be called later",
                                       "destination_unavailable", true, false, 0},
        [BELAY_TERMINAL_BUDGET_EXHAUSTED] = {503, "budget-exhausted",
                                             "The retry budget of the target is used up",
                                             "destination_unavailable", true, false, 0},
        [BELAY_TERMINAL_MAX_ATTEMPTS] = {503, "max-attempts", "No attempts are left",
                                         "destination_unavailable", true, false, 0},
        [BELAY_TERMINAL_CANCELLED] = {503, "cancelled", "The operation was cancelled",
                                      "proxy_internal_response", true, false, 0},
        [BELAY_TERMINAL_BAD_REQUEST] = {400, "bad-request", "The request is not valid",
                                        "http_request_error", false, false, 0},
    };
    if (terminal <= BELAY_TERMINAL_NONE || terminal >= BELAY_TERMINAL_COUNT) {
        return problems[BELAY_TERMINAL_CANCELLED];
    }
    return problems[terminal];
}

static const char *timeout_error(enum belay_phase phase)
{
    switch (phase) {
    case BELAY_PHASE_DNS: return "dns_timeout";
    case BELAY_PHASE_CONNECT:
    case BELAY_PHASE_TLS: return "connection_timeout";
    case BELAY_PHASE_SEND: return "connection_write_timeout";
    default: return "http_response_timeout";
    }
}

static struct problem of_class(const struct belay_outcome *outcome)
{
    static const struct problem problems[BELAY_ERROR_COUNT] = {
        [BELAY_ERROR_NONE] = {502, "no-answer", "The target gave no answer", "proxy_internal_error",
                              true, false, 0},
        [BELAY_ERROR_DNS] = {502, "dns", "The target's name could not be resolved", "dns_error",
                             true, false, 0},
        [BELAY_ERROR_REFUSED] = {502, "refused", "The target refused the connection",
                                 "connection_refused", true, false, 0},
        [BELAY_ERROR_TIMEOUT] = {504, "timeout", "The target did not answer in time", NULL, true,
                                 false, 0},
        [BELAY_ERROR_TLS] = {502, "tls", "The target could not be trusted", "tls_protocol_error",
                             false, false, 0},
        [BELAY_ERROR_RESET] = {502, "reset", "The connection to the target was reset",
                               "connection_terminated", true, false, 0},
        [BELAY_ERROR_CLOSED] = {502, "closed", "The target closed the connection",
                                "connection_terminated", true, false, 0},
        [BELAY_ERROR_PROTOCOL] = {502, "protocol", "The target's answer is not valid HTTP",
                                  "http_protocol_error", false, false, 0},
        [BELAY_ERROR_TOO_LARGE] = {502, "too-large", "The target's answer is larger than allowed",
                                   "http_response_header_section_size", false, false, 0},
        [BELAY_ERROR_CANCELLED] = {504, "cancelled", "The request was not read or sent in time",
                                   "http_request_error", true, false, 0},
    };
    struct problem problem =
        problems[outcome->error < BELAY_ERROR_COUNT ? outcome->error : BELAY_ERROR_NONE];
    if (outcome->error == BELAY_ERROR_TIMEOUT) problem.proxy_error = timeout_error(outcome->phase);
    bool body = outcome->phase == BELAY_PHASE_BODY;
    bool lost = outcome->error == BELAY_ERROR_RESET || outcome->error == BELAY_ERROR_CLOSED;
    if (body && lost) problem.proxy_error = "http_response_incomplete";
    if (body && outcome->error == BELAY_ERROR_TOO_LARGE)
        problem.proxy_error = "http_response_body_size";
    return problem;
}

struct problem problem_of_shortage(void)
{
    return (struct problem){.status = 503,
                            .word = "cancelled",
                            .title = "Belay lacks memory or descriptors just now",
                            .proxy_error = "proxy_internal_error",
                            .retryable = true};
}

struct problem problem_of_error(enum belay_decision decision, const struct belay_outcome *outcome)
{
    struct problem problem = of_class(outcome);
    if (decision == BELAY_DECISION_CHECK_STATE) {
        problem.status = 504;
        problem.word = "outcome-unknown";
        problem.title = "The request was sent, and whether it took effect is not known";
        problem.retryable = false;
    } else if (decision == BELAY_DECISION_DEADLINE_EXCEEDED) {
        problem.status = 504;
        problem.word = "deadline-exceeded";
        problem.title = "The deadline leaves no time to try again";
    }
    return problem;
}

struct problem problem_of_status(int status)
{
    return (struct problem){.status = status,
                            .word = "answer-not-kept",
                            .title =
                                "The target answered with this status; its content was not kept",
                            .proxy_error = "proxy_internal_response",
                            .retryable = true};
}

struct problem problem_of_request(int status)
{
    switch (status) {
    case 404:
        return (struct problem){
            404, "no-route", "No route takes this path", "destination_not_found", false, false, 0};
    case 405:
        return (struct problem){405,
                                "method-not-routed",
                                "No route takes this method for this path",
                                "http_request_denied",
                                false,
                                false,
                                0};
    default:
        return (struct problem){400,
                                "key-required",
                                "This route requires one Idempotency-Key",
                                "http_request_error",
                                false,
                                false,
                                0};
    }
}

void problem_set_retry_after(struct problem *problem, int64_t ms)
{
    problem->has_retry_after = true;
    problem->retry_after_s = ms <= 1000 ? 1 : (uint64_t)ms / 1000 + (ms % 1000 != 0);
}

size_t problem_write(const struct problem *problem, struct belay_slice operation_id,
                     char out[PROBLEM_BYTES_MAX])
{
    int length = snprintf(out, PROBLEM_BYTES_MAX,
                          "{\"type\":\"urn:belay:problem:%s\",\"title\":\"%s\",\"status\":%d,"
                          "\"operationId\":\"%.*s\","
                          "\"retryable\":%s}\n",
                          problem->word, problem->title, problem->status, (int)operation_id.length,
                          operation_id.data, problem->retryable ? "true" : "false");
    return length < PROBLEM_BYTES_MAX ? (size_t)length : PROBLEM_BYTES_MAX - 1;
}

size_t problem_write_proxy_status(const struct problem *problem,
                                  char out[PROBLEM_PROXY_STATUS_BYTES_MAX])
{
    int length =
        snprintf(out, PROBLEM_PROXY_STATUS_BYTES_MAX, "belay; error=%s", problem->proxy_error);
    return (size_t)length;
}
