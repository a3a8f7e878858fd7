/* retry_after.c: what a Retry-After field asks for (belay/retry_after.h). */
#include <belay/retry_after.h>

#include "http1/date.h"
#include "http1/digits.h"

static struct belay_slice trim(struct belay_slice text)
{
    while (text.length && (*text.data == ' ' || *text.data == '\t'))
        text = belay_slice(text.data + 1, text.length - 1);
    while (text.length && (text.data[text.length - 1] == ' ' || text.data[text.length - 1] == '\t'))
        text.length--;
    return text;
}

/* floor(ns / 1e6), for times before the epoch too. */
static int64_t wall_ms(struct belay_wall t)
{
    int64_t ms = t.ns / BELAY_NS_PER_MS;
    return t.ns % BELAY_NS_PER_MS < 0 ? ms - 1 : ms;
}

static bool no_hint(const char **rule, const char *why)
{
    if (rule) *rule = why;
    return false;
}

/* Only a letter opens a date, so nothing with a sign or a digit in front can become one. */
bool belay_retry_after_parse(struct belay_slice value, struct belay_wall now, int64_t *ms,
                             const char **rule)
{
    value = trim(value);
    if (value.length == 0) return no_hint(rule, "empty");
    uint64_t seconds;
    bool over;
    if (digits_read(value, INT64_MAX / 1000, &seconds, &over)) {
        *ms = over ? INT64_MAX : (int64_t)seconds * 1000;
        return true;
    }
    char folded = (char)(*value.data | 0x20);
    if (folded < 'a' || folded > 'z')
        return no_hint(rule, "neither whole seconds nor an HTTP-date");
    int64_t at;
    if (!http1__date_seconds(value, now, &at, rule)) return false;
    int64_t wait = at * 1000 - wall_ms(now);
    *ms = wait > 0 ? wait : 0;
    return true;
}
