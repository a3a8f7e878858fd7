/* case_policy.c: a `policy` object with the names and units of a configuration file (case.h). */
#include "app/case.h"

#include "conf/option.h"
#include "conf/value.h"

#include <inttypes.h>

struct walk {
    const struct input *input;
    struct belay_policy *policy;
};

static bool read_group(const struct walk *walk, const json_t *object, const char *group);

static bool fail_unknown(const struct walk *walk, const json_t *object, const char *group,
                         const char *where)
{
    char keys[OPTIONS_MAX][OPTION_KEY_BYTES_MAX];
    const char *names[OPTIONS_MAX];
    size_t count = option_keys(SCOPE_POLICY, belay_slice_z(group), keys, OPTIONS_MAX);
    for (size_t i = 0; i < count; i++) names[i] = keys[i];
    bool known = input_keys(walk->input, object, where, names, count);
    return known && input_fail(walk->input, where, "unknown key");
}

/* The word that would stand in a configuration. */
static bool word_of(const json_t *value, char word[64], struct belay_slice *out)
{
    if (json_is_string(value)) {
        *out = belay_slice(json_string_value(value), json_string_length(value));
        return true;
    }
    if (json_is_integer(value)) {
        (void)snprintf(word, 64, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    } else if (json_is_boolean(value)) {
        (void)snprintf(word, 64, "%s", json_is_true(value) ? "true" : "false");
    } else {
        return false;
    }
    *out = belay_slice_z(word);
    return true;
}

/* The rule begins with the option's name, which the path has said. */
static bool fail_value(const struct walk *walk, const struct option *option,
                       const struct value_error *error, const char *where)
{
    size_t name = strlen(option->name);
    bool named =
        strncmp(error->rule, option->name, name) == 0 && strncmp(error->rule + name, ": ", 2) == 0;
    return input_fail(walk->input, where, "%s", named ? error->rule + name + 2 : error->rule);
}

static bool set_word(const struct walk *walk, const struct option *option, const json_t *value,
                     const char *where)
{
    char memory[64];
    struct belay_slice word;
    struct value_error error;
    if (!word_of(value, memory, &word))
        return input_fail(walk->input, where, "expected %s", value_kind(option));
    if (!value_set(option, walk->policy, word, NULL, &error))
        return fail_value(walk, option, &error, where);
    return true;
}

static bool set_list(const struct walk *walk, const struct option *option, const json_t *value,
                     const char *where)
{
    if (!value_clear(option, walk->policy, NULL))
        return input_fail(walk->input, where, "out of memory");
    if (!json_is_array(value)) return set_word(walk, option, value, where);
    for (size_t i = 0; i < json_array_size(value); i++) {
        char element[INPUT_PATH_BYTES_MAX];
        input_element(element, where, i);
        if (!set_word(walk, option, json_array_get(value, i), element)) return false;
    }
    return true;
}

/* `hold: off` is short for one of its members. */
static bool set_switch(const struct walk *walk, const struct option *option, const json_t *value,
                       const char *where)
{
    if (!option->member) return set_word(walk, option, value, where);
    bool is_off = json_is_string(value) && strcmp(json_string_value(value), "off") == 0;
    if (!is_off) return input_fail(walk->input, where, "expected %s", value_kind(option));
    return set_word(walk, option_find(SCOPE_POLICY, belay_slice_z(option->member)), value, where);
}

static bool read_member(const struct walk *walk, const json_t *object, const char *group,
                        const char *key, const json_t *value)
{
    char name[INPUT_PATH_BYTES_MAX], where[INPUT_PATH_BYTES_MAX], holder[INPUT_PATH_BYTES_MAX];
    input_path(name, group, key);
    input_path(holder, "policy", group);
    input_path(where, *group ? holder : "policy", key);
    const struct option *option = option_find(SCOPE_POLICY, belay_slice_z(name));
    bool is_group = option_is_group(SCOPE_POLICY, belay_slice_z(name));
    bool unknown = strchr(key, '.') || (!option && !is_group);
    if (unknown) return fail_unknown(walk, object, group, *group ? holder : "policy");
    if (is_group && json_is_object(value)) {
        bool switches_on = option && !option->member;
        if (switches_on) *(bool *)((char *)walk->policy + option->offset) = true;
        return read_group(walk, value, name);
    }
    if (!option) return input_fail(walk->input, where, "expected an object");
    if (option->type == TYPE_SWITCH) return set_switch(walk, option, value, where);
    return option_is_list(option) ? set_list(walk, option, value, where)
                                  : set_word(walk, option, value, where);
}

static bool read_group(const struct walk *walk, const json_t *object, const char *group)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)object, key, value)
    {
        if (!read_member(walk, object, group, key, value)) return false;
    }
    return true;
}

bool case_read_policy(const struct input *input, const json_t *object, struct belay_policy *policy)
{
    struct walk walk = {input, policy};
    if (!json_is_object(object)) return input_fail(input, "policy", "expected an object");
    /* The constant wait is for who says nothing of waits; a kind of backoff brings the defaults of
     * its own. */
    if (json_is_object(json_object_get(object, "backoff")))
        policy->backoff = belay_policy_default().backoff;
    if (!read_group(&walk, object, "")) return false;
    if (policy->quota.enabled && policy->quota.per_call.ns == 0) {
        return input_fail(input, "policy.quota", "needs a rate, such as \"50/s\"");
    }
    return true;
}
