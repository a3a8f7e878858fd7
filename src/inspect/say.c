/* say.c: numbers, spans and foreign text as people read them (say.h). */
#include "inspect/say.h"

#include "base/check.h"
#include "event/json.h"

#include <inttypes.h>

char *say_count(char out[SAY_BYTES], uint64_t count)
{
    char digits[SAY_BYTES];
    int length = snprintf(digits, sizeof digits, "%" PRIu64, count), at = 0;
    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0) out[at++] = ',';
        out[at++] = digits[i];
    }
    out[at] = '\0';
    return out;
}

char *say_bytes(char out[SAY_BYTES], uint64_t bytes)
{
    static const char *const UNITS[] = {"kB", "MB", "GB", "TB", "PB", "EB"};
    if (bytes < 1000) {
        (void)snprintf(out, SAY_BYTES, "%" PRIu64 " bytes", bytes);
        return out;
    }
    double value = (double)bytes / 1000;
    size_t unit = 0;
    for (; value >= 999.95 && unit + 1 < COUNT(UNITS); unit++) value /= 1000;
    (void)snprintf(out, SAY_BYTES, "%.1f %s", value, UNITS[unit]);
    return out;
}

char *say_ms(char out[SAY_BYTES], int64_t ms)
{
    static const struct {
        int64_t ms, part_ms;
        const char *unit, *part;
    } UNITS[] = {
        {86400000, 3600000, "d", "h"}, {3600000, 60000, "h", "min"}, {60000, 1000, "min", "s"}};
    for (size_t i = 0; i < COUNT(UNITS); i++) {
        if (ms < UNITS[i].ms) continue;
        int64_t parts = ms % UNITS[i].ms / UNITS[i].part_ms;
        int length = snprintf(out, SAY_BYTES, "%" PRId64 " %s", ms / UNITS[i].ms, UNITS[i].unit);
        if (parts > 0)
            (void)snprintf(out + length, (size_t)(SAY_BYTES - length), " %" PRId64 " %s", parts,
                           UNITS[i].part);
        return out;
    }
    if (ms < 1000)
        (void)snprintf(out, SAY_BYTES, "%" PRId64 " ms", ms);
    else /* cut, not rounded: 59,999 ms are never "60.0 s" */
        (void)snprintf(out, SAY_BYTES,
                       ms < 10000 ? "%" PRId64 ".%02" PRId64 " s" : "%" PRId64 ".%01" PRId64 " s",
                       ms / 1000, ms < 10000 ? ms % 1000 / 10 : ms % 1000 / 100);
    return out;
}

char *say_share(char out[SAY_BYTES], uint64_t part, uint64_t of)
{
    double share = of ? 100.0 * (double)part / (double)of : 0;
    if (part > 0 && share < 0.1)
        (void)snprintf(out, SAY_BYTES, "< 0.1 %%");
    else if (part < of && share > 99.9)
        (void)snprintf(out, SAY_BYTES, "> 99.9 %%");
    else
        (void)snprintf(out, SAY_BYTES, "%.*f %%", part == of ? 0 : 1, share);
    return out;
}

char *say_ratio(char out[SAY_BYTES], uint64_t part, uint64_t of)
{
    if (of)
        (void)snprintf(out, SAY_BYTES, "%.2f", (double)part / (double)of);
    else
        (void)snprintf(out, SAY_BYTES, "-");
    return out;
}

char *say_decimal(char out[SAY_BYTES], double value)
{
    if (value > 0 && value < 0.05)
        (void)snprintf(out, SAY_BYTES, "< 0.1");
    else
        (void)snprintf(out, SAY_BYTES, value < 10 ? "%.1f" : "%.0f", value);
    return out;
}

/* As the encoder of events writes it, without its quotes. */
static void time_text(char text[JSON_TIME_BYTES], int64_t wall_ms)
{
    int64_t ns = belay_span_ms(wall_ms).ns;
    (void)event_json_time(text, (struct belay_wall){ns});
}

char *say_time(char out[SAY_BYTES], int64_t wall_ms)
{
    char text[JSON_TIME_BYTES];
    time_text(text, wall_ms);
    (void)snprintf(out, SAY_BYTES, "%.19sZ", text + 1);
    return out;
}

char *say_clock(char out[SAY_BYTES], int64_t wall_ms, int64_t span_ms)
{
    char text[JSON_TIME_BYTES];
    time_text(text, wall_ms);
    if (span_ms > INT64_C(86400000))
        (void)snprintf(out, SAY_BYTES, "%.5s %.5s", text + 6, text + 12);
    else
        (void)snprintf(out, SAY_BYTES, "%.*s", span_ms < 600000 ? 8 : 5, text + 12);
    return out;
}

/* Length of the well-formed character at the front and its code point, or 0. */
static size_t decode(const unsigned char *s, size_t length, uint32_t *point)
{
    static const uint32_t LOWEST[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t need = s[0] < 0x80       ? 1
                  : s[0] >> 5 == 6  ? 2
                  : s[0] >> 4 == 14 ? 3
                  : s[0] >> 3 == 30 ? 4
                                    : 0;
    if (need == 0 || need > length) return 0;
    *point = need == 1 ? s[0] : s[0] & (0x7fu >> need);
    for (size_t i = 1; i < need; i++) {
        if (s[i] >> 6 != 2) return 0;
        *point = *point << 6 | (s[i] & 0x3fu);
    }
    bool surrogate = *point >= 0xd800 && *point <= 0xdfff;
    return *point >= LOWEST[need] && *point <= 0x10ffff && !surrogate ? need : 0;
}

/* Controls, and what moves, hides or turns the text around it. */
static bool is_harmful(uint32_t point)
{
    return point < 0x20 || (point >= 0x7f && point < 0xa0) || point == 0xad || point == 0x61c ||
           (point >= 0x200b && point <= 0x200f) || (point >= 0x2028 && point <= 0x202e) ||
           (point >= 0x2060 && point <= 0x206f) || point == 0xfeff || point >= 0xe0000;
}

size_t say_character(struct belay_slice text, bool utf8, char shown[4], size_t *took)
{
    uint32_t point = 0;
    size_t whole = decode((const unsigned char *)text.data, text.length, &point);
    *took = whole ? whole : 1;
    if (whole && !is_harmful(point) && (utf8 || whole == 1)) {
        memcpy(shown, text.data, whole);
        return whole;
    }
    const char *instead = utf8 ? "\xef\xbf\xbd" : "?";
    memcpy(shown, instead, utf8 ? 3 : 1);
    return utf8 ? 3 : 1;
}

static size_t characters(struct belay_slice text, size_t stop)
{
    size_t count = 0, took;
    char shown[4];
    for (; text.length > 0 && count < stop; count++) {
        (void)say_character(text, true, shown, &took);
        text = belay_slice(text.data + took, text.length - took);
    }
    return count;
}

size_t say_text(FILE *to, struct belay_slice text, size_t columns, bool utf8)
{
    const char *mark = utf8 ? "\xe2\x80\xa6" : "~";
    bool fits = characters(text, columns + 1) <= columns;
    size_t room = fits ? columns : columns - 1, written = 0, took;
    char shown[4];
    for (; text.length > 0 && written < room; written++) {
        size_t bytes = say_character(text, utf8, shown, &took);
        (void)fwrite(shown, 1, bytes, to);
        text = belay_slice(text.data + took, text.length - took);
    }
    if (fits) return written;
    (void)fputs(mark, to);
    return written + 1;
}

/* What may do harm now comes before what is only told badly. */
static const enum inspect_anomaly_kind BY_WEIGHT[INSPECT_ANOMALY_COUNT] = {
    INSPECT_SECRET_IN_FIELD, INSPECT_UNSAFE_RETRY,          INSPECT_OVER_BUDGET,
    INSPECT_EARLY_RETRY,     INSPECT_CLOCK_MIXED,           INSPECT_RETRY_WITHOUT_ATTEMPT,
    INSPECT_SPLIT_OPERATION, INSPECT_DUPLICATE_REQUEST_ID,  INSPECT_ATTEMPT_GAP,
    INSPECT_MERGED_FIELDS,   INSPECT_STATUS_ERROR_CONFLICT, INSPECT_FULL_URL,
};

size_t say_kinds(const struct inspect_report *report,
                 enum inspect_anomaly_kind kinds[INSPECT_ANOMALY_COUNT])
{
    size_t count = 0;
    for (size_t i = 0; i < INSPECT_ANOMALY_COUNT; i++) {
        if (report->anomalies[BY_WEIGHT[i]].count > 0) kinds[count++] = BY_WEIGHT[i];
    }
    return count;
}

uint64_t say_operations(const struct inspect_report *report)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < report->target_count; i++) sum += report->targets[i].operations;
    return sum;
}

const char *say_target(const struct inspect_target *target)
{
    return target->name[0] ? target->name : "(no target named)";
}

static uint64_t without(uint64_t all, uint64_t part)
{
    return all > part ? all - part : 0;
}

uint64_t say_open(const struct inspect_target *target)
{
    uint64_t left = without(target->operations, target->answered);
    left = without(without(left, target->stopped), target->state_checks);
    for (size_t i = 0; i < BELAY_TERMINAL_COUNT; i++) left = without(left, target->terminals[i]);
    return left;
}

size_t say_unread(const struct inspect_report *r, struct say_unread rows[SAY_UNREAD_MAX])
{
    const struct say_unread all[SAY_UNREAD_MAX] = {
        {"lostRecords", "records that the stream says it lost", r->lost_records},
        {"junkLines", "lines that began like an event and could not be read", r->junk_lines},
        {"unreadBytes", "bytes of a packed file that could not be unpacked", r->unread_bytes},
        {"longLines", "lines that were too long, skipped", r->long_lines},
        {"cutLines", "first or last lines that were cut", r->cut_lines},
        {"wrongType", "values of a wrong type or range, ignored", r->wrong_type},
        {"wrongWord", "words that are in no vocabulary, ignored", r->wrong_word},
        {"unknownVersion", "records of an unknown version, ignored", r->unknown_version},
        {"unknownEvent", "records of an unknown kind, ignored", r->unknown_event},
        {"repeatedRecords", "records delivered more than once, counted once", r->repeated_records},
        {"openOperations", "operations that had not ended when the log did", r->open_operations},
        {"evictedOperations", "operations judged early, as the table was full (--max-operations)",
         r->evicted_operations},
        {"targetsLeftOut", "records whose target did not fit in the table", r->targets_left_out},
        {"otherLines", "lines without an event", r->other_lines},
    };
    size_t count = 0;
    for (size_t i = 0; i < SAY_UNREAD_MAX; i++) {
        if (all[i].count > 0) rows[count++] = all[i];
    }
    return count;
}
