/* call_policy.c: options of a policy, set by their names in belay.yaml (call_options.h). */
#include "app/call_options.h"

#include "base/nearest.h"
#include "conf/option.h"
#include "conf/value.h"

#include <stdarg.h>

static bool bad(const char *format, ...) __attribute__((format(printf, 1, 2)));

static bool bad(const char *format, ...)
{
    va_list arguments;
    fputs("belay call: ", stderr);
    va_start(arguments, format);
    (void)vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    return false;
}

/* One call, made by libcurl, has no use for these. */
static bool is_useless(struct belay_slice name)
{
    static const char *const NAMES[] = {"replay_buffer", "held_answer", "retry_when_owned",
                                        "keep_alive", "bulkhead.queue"};
    for (size_t i = 0; i < sizeof NAMES / sizeof NAMES[0]; i++) {
        if (belay_slice_equal(name, belay_slice_z(NAMES[i]))) return true;
    }
    const struct option *option = option_find(SCOPE_POLICY, name);
    return option && option_in_group(option, belay_slice_z("keep_alive"));
}

static bool unknown(const char *name)
{
    const char *names[OPTIONS_MAX];
    size_t count = 0;
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        bool offered = OPTIONS[i].scope == SCOPE_POLICY && OPTIONS[i].type != TYPE_SECTION;
        if (offered && !is_useless(belay_slice_z(OPTIONS[i].name)))
            names[count++] = OPTIONS[i].name;
    }
    const char *meant = nearest_name(belay_slice_z(name), names, count);
    return bad("there is no option '%s' of a policy%s%s%s", show(belay_slice_z(name)).text,
               meant ? "; did you mean '" : "", meant ? meant : "", meant ? "'?" : "");
}

static bool set_word(struct belay_policy *policy, const struct option *option,
                     struct belay_slice word)
{
    struct value_error error;
    return value_set(option, policy, word, NULL, &error) || bad("%s", error.rule);
}

static bool set_list(struct belay_policy *policy, const struct option *option,
                     struct belay_slice text)
{
    if (!value_clear(option, policy, NULL)) return bad("no memory is left");
    for (size_t from = 0; from <= text.length;) {
        const char *comma =
            from < text.length ? memchr(text.data + from, ',', text.length - from) : NULL;
        size_t to = comma ? (size_t)(comma - text.data) : text.length;
        if (!set_word(policy, option, belay_slice(text.data + from, to - from))) return false;
        from = to + 1;
    }
    return true;
}

bool call_policy_set(struct belay_policy *policy, const char *name, struct belay_slice text)
{
    const struct option *option = option_find(SCOPE_POLICY, belay_slice_z(name));
    if (is_useless(belay_slice_z(name))) return bad("%s: has no effect on a single call", name);
    if (!option) return unknown(name);
    bool is_off = belay_slice_equal(text, belay_slice("off", 3));
    if (option->type == TYPE_SWITCH && option->member) {
        if (!is_off) return bad("%s: expected off, or one of its members", name);
        option = option_find(SCOPE_POLICY, belay_slice_z(option->member));
    }
    /* A member of a group that is off switches it on, as in a file. */
    const char *dot = strchr(name, '.');
    struct belay_slice group = belay_slice(name, dot ? (size_t)(dot - name) : 0);
    const struct option *holder = option_find(SCOPE_POLICY, group);
    if (dot && holder && !holder->member) value_store(holder, policy, 1);
    return option_is_list(option) ? set_list(policy, option, text) : set_word(policy, option, text);
}

bool call_policy_settle(struct belay_policy *policy)
{
    if (policy->quota.enabled && policy->quota.per_call.ns == 0)
        return bad("quota: needs a rate, such as quota.rate=50/s");
    bool grows = policy->backoff.kind != BELAY_BACKOFF_CONSTANT;
    if (grows && policy->backoff.base.ns > policy->backoff.max.ns)
        return bad("backoff.base is longer than backoff.max");
    if (policy->breaker.open_for.ns > policy->breaker.open_max.ns)
        return bad("breaker.open_for is longer than breaker.open_max");
    return true;
}
