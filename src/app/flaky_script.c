/* flaky_script.c: what one request asks `belay flaky` to do to it: the grammar, pure. */
#include "app/flaky_script.h"
#include "base/text.h"

#include "base/nearest.h"

#include <stdio.h>

#define BYTES_MAX (UINT64_C(1) << 30)
#define SPAN_MAX_NS (INT64_C(3600) * BELAY_NS_PER_S)

static const char *const fault_names[FLAKY_FAULT_COUNT] = {
    "none",           "silence",        "reset",          "close",
    "drip",           "close-mid-body", "reset-mid-body", "truncate-chunked",
    "close-on-reuse", "close-after",    "garbage"};

const char *flaky_fault_name(enum flaky_fault fault)
{
    return fault_names[fault];
}

bool flaky_fault_parse(struct belay_slice word, enum flaky_fault *out)
{
    for (int i = 0; i < FLAKY_FAULT_COUNT; i++) {
        if (!belay_slice_equal(word, belay_slice_z(fault_names[i]))) continue;
        *out = (enum flaky_fault)i;
        return true;
    }
    return false;
}

/* ---- values ---- */

bool flaky_parse_span(struct belay_slice text, struct belay_span *out)
{
    static const struct {
        const char *name;
        int64_t ns;
    } units[] = {{"ns", 1},
                 {"us", 1000},
                 {"ms", BELAY_NS_PER_MS},
                 {"s", BELAY_NS_PER_S},
                 {"m", 60 * BELAY_NS_PER_S}};
    size_t digits = 0;
    while (digits < text.length && char_is_digit(text.data[digits])) digits++;
    struct belay_slice unit = belay_slice(text.data + digits, text.length - digits);
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (!belay_slice_equal(unit, belay_slice_z(units[i].name))) continue;
        uint64_t value;
        if (!text_read_number(belay_slice(text.data, digits), (uint64_t)(SPAN_MAX_NS / units[i].ns),
                              &value)) {
            return false;
        }
        *out = belay_span_ns((int64_t)value * units[i].ns);
        return true;
    }
    return false;
}

/* ---- settings ---- */

static bool set_fail(struct flaky_script *script, struct belay_slice value)
{
    uint64_t count;
    if (!text_read_number(value, INT64_MAX - 1, &count)) return false;
    script->fail_first = (int64_t)count;
    return true;
}

static bool set_status(struct flaky_script *script, struct belay_slice value)
{
    uint64_t status;
    if (!text_read_number(value, 599, &status) || status < 200) return false;
    script->status = (int)status;
    return true;
}

/* Any text, since a wrong Retry-After is worth playing too. */
static bool set_retry_after(struct flaky_script *script, struct belay_slice value)
{
    script->retry_after = value;
    return value.length > 0;
}

static bool set_delay(struct flaky_script *script, struct belay_slice value)
{
    return flaky_parse_span(value, &script->delay);
}

static bool set_every(struct flaky_script *script, struct belay_slice value)
{
    return flaky_parse_span(value, &script->every);
}

static bool set_bytes(struct flaky_script *script, struct belay_slice value)
{
    return text_read_number(value, BYTES_MAX, &script->bytes);
}

static bool set_fault(struct flaky_script *script, struct belay_slice value)
{
    return flaky_fault_parse(value, &script->fault);
}

static bool set_key(struct flaky_script *script, struct belay_slice value)
{
    script->key = value;
    return value.length > 0;
}

static const struct setting {
    const char *name, *wants;
    bool (*set)(struct flaky_script *script, struct belay_slice value);
} settings[] = {
    {"fail", "a number of calls", set_fail},
    {"status", "a status from 200 to 599", set_status},
    {"retry-after", "a value", set_retry_after},
    {"delay", "a duration such as 200ms, at most 60m", set_delay},
    {"every", "a duration such as 100ms, at most 60m", set_every},
    {"bytes", "a number, at most 1073741824", set_bytes},
    {"fault",
     "silence, reset, close, drip, close-mid-body, reset-mid-body, truncate-chunked, "
     "close-on-reuse, "
     "close-after or garbage",
     set_fault},
    {"key", "a name", set_key},
};
#define SETTING_COUNT (sizeof settings / sizeof settings[0])

static const struct setting *find_setting(struct belay_slice name)
{
    for (size_t i = 0; i < SETTING_COUNT; i++) {
        if (belay_slice_equal(name, belay_slice_z(settings[i].name))) return &settings[i];
    }
    return NULL;
}

static bool unknown_setting(struct belay_slice name, char problem[FLAKY_PROBLEM_MAX])
{
    const char *names[SETTING_COUNT];
    for (size_t i = 0; i < SETTING_COUNT; i++) names[i] = settings[i].name;
    const char *meant = nearest_name(name, names, SETTING_COUNT);
    (void)snprintf(problem, FLAKY_PROBLEM_MAX, "unknown setting '%.*s'; %s%s",
                   name.length > 40 ? 40 : (int)name.length, name.data,
                   meant ? "did you mean " : "see belay flaky --help", meant ? meant : "");
    return false;
}

bool flaky_script_set(struct flaky_script *script, struct belay_slice name,
                      struct belay_slice value, char problem[FLAKY_PROBLEM_MAX])
{
    const struct setting *setting = find_setting(name);
    if (!setting) return unknown_setting(name, problem);
    if (setting->set(script, value)) return true;
    (void)snprintf(problem, FLAKY_PROBLEM_MAX, "%s: must be %s", setting->name, setting->wants);
    return false;
}

/* The part before the first `mark`; *rest is what follows it. */
static struct belay_slice cut(struct belay_slice text, char mark, struct belay_slice *rest)
{
    const char *at = text.length > 0 ? memchr(text.data, mark, text.length) : NULL;
    size_t length = at ? (size_t)(at - text.data) : text.length;
    *rest = at ? belay_slice(at + 1, text.length - length - 1) : (struct belay_slice){0};
    return belay_slice(text.data, length);
}

bool flaky_script_add(struct flaky_script *script, struct belay_slice text,
                      char problem[FLAKY_PROBLEM_MAX])
{
    while (text.length > 0) {
        struct belay_slice value;
        struct belay_slice pair = cut(text, '&', &text);
        struct belay_slice name = cut(pair, '=', &value);
        if (!flaky_script_set(script, name, value, problem)) return false;
    }
    return true;
}

/* ---- paths ---- */

/* A path's first segment, and whether a value follows it: /status/503 is status=503, /reset is
 * fault=reset. */
static bool split_path(struct belay_slice path, struct belay_slice *word, struct belay_slice *value)
{
    if (path.length < 2 || path.data[0] != '/') return false;
    *word = cut(belay_slice(path.data + 1, path.length - 1), '/', value);
    return true;
}

static bool takes_value(struct belay_slice word)
{
    return belay_slice_equal(word, belay_slice_z("status")) ||
           belay_slice_equal(word, belay_slice_z("delay")) ||
           belay_slice_equal(word, belay_slice_z("bytes"));
}

bool flaky_script_is_path(struct belay_slice path)
{
    struct belay_slice word, value;
    enum flaky_fault fault;
    if (!split_path(path, &word, &value)) return false;
    return takes_value(word) || belay_slice_equal(word, belay_slice_z("flaky")) ||
           belay_slice_equal(word, belay_slice_z("echo")) ||
           (flaky_fault_parse(word, &fault) && fault != FLAKY_NONE);
}

bool flaky_script_add_path(struct flaky_script *script, struct belay_slice path,
                           char problem[FLAKY_PROBLEM_MAX])
{
    struct belay_slice word, value;
    if (!flaky_script_is_path(path) || !split_path(path, &word, &value)) return true;
    if (takes_value(word)) return flaky_script_set(script, word, value, problem);
    if (value.length > 0) {
        (void)snprintf(problem, FLAKY_PROBLEM_MAX, "/%.*s takes nothing after it", (int)word.length,
                       word.data);
        return false;
    }
    script->echo = script->echo || belay_slice_equal(word, belay_slice_z("echo"));
    (void)flaky_fault_parse(word, &script->fault);
    return true;
}

void flaky_script_init(struct flaky_script *script)
{
    *script = (struct flaky_script){
        .fail_first = FLAKY_ALWAYS, .bytes = FLAKY_BYTES_UNSAID, .every = belay_span_ms(100)};
}

bool flaky_script_can_fail(const struct flaky_script *script)
{
    return script->status != 0 || script->fault != FLAKY_NONE;
}
