/* case.c: reads one operation of a replay: its request, its policy, its observations (case.h). */
#include "app/case.h"
#include "base/text.h"
#include "base/check.h"

#include "app/observed.h"
#include "app/shared.h"

#include <belay/event.h>
#include <belay/method.h>
#include <stdlib.h>

#define MS_MAX INT64_C(1000000000000) /* 31 years */
#define ATTEMPTS_MAX 1000000
#define OBSERVATIONS_MAX 100000
#define KEY_BYTES_MAX 255

struct belay_policy case_policy_default(void)
{
    struct belay_policy policy = belay_policy_default();
    policy.attempts_max = 3;
    policy.deadline_for = belay_span_ms(400);
    policy.backoff =
        (struct belay_backoff_config){BELAY_BACKOFF_CONSTANT, belay_span_ms(40), belay_span_ms(40)};
    policy.reserve_for = belay_span_ms(0);
    return policy;
}

/* ---- what the request is ---- */

static bool is_token(const char *text)
{
    size_t length = strlen(text);
    if (length == 0 || length > 32) return false;
    for (; *text; text++) {
        if (!char_is_token(*text)) return false;
    }
    return true;
}

static bool is_visible(const char *text)
{
    size_t length = strlen(text);
    for (size_t i = 0; i < length; i++) {
        if (text[i] <= ' ' || text[i] > '~') return false;
    }
    return length > 0 && length <= KEY_BYTES_MAX;
}

static bool read_ids(const struct input *input, struct replay_case *out)
{
    const json_t *object = input->object;
    if (!input_text(input, object, "", "operationId", &out->operation_id)) return false;
    if (!input_text(input, object, "", "method", &out->method)) return false;
    if (!input_text(input, object, "", "target", &out->target)) return false;
    if (!out->operation_id) return input_fail(input, "", "operationId is missing");
    if (!belay_event_id_valid(belay_slice_z(out->operation_id))) {
        return input_fail(input, "operationId",
                          "expected 1 to 128 letters, digits and - _ . : + = ~");
    }
    if (!out->method) return input_fail(input, "", "method is missing");
    if (!is_token(out->method))
        return input_fail(input, "method", "expected a method, such as GET");
    if (out->target && (strlen(out->target) > 64 || !is_visible(out->target))) {
        return input_fail(input, "target", "expected 1 to 64 visible characters");
    }
    return true;
}

static bool read_traits(const struct input *input, struct replay_case *out)
{
    const json_t *object = input->object;
    const char *key = NULL, *effect = NULL;
    struct belay_traits *traits = &out->traits;
    if (!input_text(input, object, "", "idempotencyKey", &key)) return false;
    if (!input_text(input, object, "", "effect", &effect)) return false;
    if (!input_boolean(input, object, "", "idempotent", &traits->idempotent)) return false;
    if (key && !is_visible(key))
        return input_fail(input, "idempotencyKey", "expected 1 to 255 visible characters");
    bool is_read = effect && strcmp(effect, "read") == 0,
         is_write = effect && strcmp(effect, "write") == 0;
    if (effect && !is_read && !is_write)
        return input_fail(input, "effect", "expected \"read\" or \"write\"");
    traits->safe_method = belay_method_is_safe(belay_method_parse(belay_slice_z(out->method)));
    traits->keyed = key != NULL;
    traits->hold_key = 1; /* one route, where a hold is a route's */
    traits->write = effect ? is_write : !traits->safe_method;
    return true;
}

/* ---- its policy ---- */

static bool read_limits(const struct input *input, struct belay_policy *policy)
{
    int64_t attempts = policy->attempts_max, deadline_ms = -1, wait_ms = -1;
    if (!input_integer(input, input->object, "", "maxAttempts", 0, ATTEMPTS_MAX, &attempts))
        return false;
    if (!input_integer(input, input->object, "", "deadlineMs", 0, MS_MAX, &deadline_ms))
        return false;
    if (!input_integer(input, input->object, "", "backoffMs", 0, MS_MAX, &wait_ms)) return false;
    policy->attempts_max = (uint32_t)attempts;
    if (deadline_ms >= 0) policy->deadline_for = belay_span_ms(deadline_ms);
    if (wait_ms < 0) return true;
    policy->backoff = (struct belay_backoff_config){BELAY_BACKOFF_CONSTANT, belay_span_ms(wait_ms),
                                                    belay_span_ms(wait_ms)};
    return true;
}

static bool read_policy(const struct input *input, const struct belay_policy *shared,
                        struct replay_case *out)
{
    const json_t *policy = json_object_get(input->object, "policy");
    out->policy = case_policy_default();
    if (shared) shared_take(shared, &out->policy);
    if (policy && !json_is_null(policy) && !case_read_policy(input, policy, &out->policy))
        return false;
    const char *changed = shared ? shared_difference(shared, &out->policy) : NULL;
    if (changed) {
        char path[INPUT_PATH_BYTES_MAX];
        input_path(path, "policy", changed);
        return input_fail(
            input, path,
            "all operations of a target share it; an earlier one has set it otherwise");
    }
    return read_limits(input, &out->policy);
}

static bool read_clock_and_dice(const struct input *input, struct replay_case *out)
{
    int64_t start_ms = -1, seed = -1;
    if (!input_integer(input, input->object, "", "startMs", 0, MS_MAX, &start_ms)) return false;
    if (!input_integer(input, input->object, "", "seed", 0, INT64_MAX, &seed)) return false;
    if (start_ms >= 0 && !out->target) {
        return input_fail(input, "startMs", "only operations that name a target share a clock");
    }
    out->has_start = start_ms >= 0;
    out->start = belay_span_ms(start_ms);
    out->has_seed = seed >= 0;
    out->seed = (uint64_t)seed;
    return true;
}

/* ---- what is observed ---- */

static bool read_error(const struct input *input, const json_t *object, const char *path,
                       const char *word, struct belay_outcome *outcome)
{
    static const char *const FIELDS[] = {"", "errorClass", "phase", "sent"};
    static const char *const EXPECTED[] = {
        "", "dns, refused, timeout, tls, reset, closed, protocol, too_large, cancelled",
        "dns, connect, tls, send, headers, body", "unsent, sent, answered"};
    const char *phase = NULL, *sent = NULL;
    if (!input_text(input, object, path, "phase", &phase)) return false;
    if (!input_text(input, object, path, "sent", &sent)) return false;
    enum observed observed = observed_error(word, phase, sent, outcome);
    if (observed == OBSERVED_GOOD) return true;
    char where[INPUT_PATH_BYTES_MAX];
    input_path(where, path, FIELDS[observed]);
    return input_fail(input, where, "expected one of %s", EXPECTED[observed]);
}

static bool read_outcome(const struct input *input, const json_t *object, const char *path,
                         struct belay_outcome *outcome)
{
    int64_t status = 0, hint_ms = -1;
    const char *error = NULL, *sent = NULL;
    if (!input_integer(input, object, path, "status", 100, 599, &status)) return false;
    if (!input_text(input, object, path, "errorClass", &error)) return false;
    if (!input_integer(input, object, path, "retryAfterMs", 0, INT64_MAX, &hint_ms)) return false;
    if ((status > 0) == (error != NULL)) {
        return input_fail(input, path, "expected either a status or an errorClass");
    }
    outcome->has_retry_after = hint_ms >= 0;
    outcome->retry_after_ms = hint_ms >= 0 ? hint_ms : 0;
    if (error) return read_error(input, object, path, error, outcome);
    if (!input_text(input, object, path, "sent", &sent)) return false;
    bool contradicts =
        (sent && strcmp(sent, "answered") != 0) || json_is_string(json_object_get(object, "phase"));
    if (contradicts)
        return input_fail(input, path,
                          "an observation with a status is answered, and has no phase");
    outcome->status = (int)status;
    outcome->sent = BELAY_ANSWERED;
    return true;
}

static bool read_observation(const struct input *input, const json_t *object, size_t index,
                             struct observation *out)
{
    static const char *const KEYS[] = {"status",       "errorClass", "elapsedMs",
                                       "retryAfterMs", "sent",       "phase"};
    char path[INPUT_PATH_BYTES_MAX];
    input_element(path, "observations", index);
    if (!json_is_object(object)) return input_fail(input, path, "expected an object");
    int64_t elapsed_ms = -1;
    if (!input_keys(input, object, path, KEYS, COUNT(KEYS))) return false;
    if (!input_integer(input, object, path, "elapsedMs", 0, MS_MAX, &elapsed_ms)) return false;
    if (elapsed_ms < 0) return input_fail(input, path, "elapsedMs is missing");
    out->elapsed = belay_span_ms(elapsed_ms);
    return read_outcome(input, object, path, &out->outcome);
}

static bool read_observations(const struct input *input, struct replay_case *out)
{
    const json_t *list = json_object_get(input->object, "observations");
    if (!list || json_is_null(list)) return true;
    if (!json_is_array(list)) return input_fail(input, "observations", "expected an array");
    size_t count = json_array_size(list);
    if (count > OBSERVATIONS_MAX)
        return input_fail(input, "observations", "more than %d", OBSERVATIONS_MAX);
    out->observations = calloc(count ? count : 1, sizeof out->observations[0]);
    if (!out->observations) return input_fail(input, "observations", "out of memory");
    out->observation_count = count;
    for (size_t i = 0; i < count; i++) {
        if (!read_observation(input, json_array_get(list, i), i, &out->observations[i]))
            return false;
    }
    return true;
}

bool case_read(const struct input *input, const struct belay_policy *shared,
               struct replay_case *out)
{
    static const char *const KEYS[] = {
        "operationId",  "method", "maxAttempts", "deadlineMs",     "backoffMs",
        "observations", "policy", "seed",        "idempotencyKey", "idempotent",
        "effect",       "target", "startMs"};
    *out = (struct replay_case){0};
    bool good = input_keys(input, input->object, "", KEYS, COUNT(KEYS)) && read_ids(input, out) &&
                read_traits(input, out) && read_policy(input, shared, out) &&
                read_clock_and_dice(input, out) && read_observations(input, out);
    if (!good) case_deinit(out);
    return good;
}

void case_deinit(struct replay_case *replay_case)
{
    free(replay_case->observations);
    replay_case->observations = NULL;
}
