/* json.c: hand-written appenders of JSON text, numbers, strings and times (json.h). */
#include "event/json.h"

#include "base/utf8.h"

#define ONES UINT64_C(0x0101010101010101)
#define HIGHS UINT64_C(0x8080808080808080)

static const char PAIRS[] =
    "00010203040506070809101112131415161718192021222324252627282930313233343536373839"
    "40414243444546474849505152535455565758596061626364656667686970717273747576777879"
    "8081828384858687888990919293949596979899";

char *event_json_number(char *at, int64_t value)
{
    if (value >= 0 && value < 10) {
        *at = (char)('0' + value);
        return at + 1;
    }
    char digits[2 * JSON_NUMBER_BYTES_MAX] = {0};
    char *end = digits + JSON_NUMBER_BYTES_MAX, *from = end;
    uint64_t left = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    while (left >= 100) {
        from -= 2;
        memcpy(from, PAIRS + left % 100 * 2, 2);
        left /= 100;
    }
    if (left >= 10) {
        from -= 2;
        memcpy(from, PAIRS + left * 2, 2);
    } else {
        *--from = (char)('0' + left);
    }
    if (value < 0) *--from = '-';
    memcpy(at, from, JSON_NUMBER_BYTES_MAX); /* a fixed size is one or two moves */
    return at + (end - from);
}

/* Do eight bytes hold one that is not itself in a JSON string: a control, a quote, a backslash,
 * beyond ASCII? */
static bool any_special(uint64_t word)
{
    uint64_t control = word - ONES * 0x20;
    uint64_t quote = (word ^ ONES * '"') - ONES;
    uint64_t backslash = (word ^ ONES * '\\') - ONES;
    return ((word | control | quote | backslash) & HIGHS) != 0;
}

static bool is_special(unsigned char c)
{
    return c < 0x20 || c == '"' || c == '\\' || c >= 0x80;
}

/* Writes how one special byte or character is shown; returns its length and sets how much of the
 * input it took. */
static size_t escape(const char *data, size_t length, size_t *took, char out[6])
{
    static const char HEX[] = "0123456789abcdef";
    unsigned char c = (unsigned char)data[0];
    *took = 1;
    if (c >= 0x80) {
        size_t whole = utf8_length((const unsigned char *)data, length);
        if (whole == 0) {
            memcpy(out, "\xef\xbf\xbd", 3);
            return 3;
        }
        *took = whole;
        memcpy(out, data, whole);
        return whole;
    }
    const char *shorts = "\"\"\\\\\nn\rr\tt\bb\ff";
    for (const char *p = shorts; *p; p += 2) {
        if ((unsigned char)p[0] != c) continue;
        out[0] = '\\';
        out[1] = p[1];
        return 2;
    }
    memcpy(out, "\\u00", 4);
    out[4] = HEX[c >> 4];
    out[5] = HEX[c & 15];
    return 6;
}

char *event_json_escape(char *at, struct belay_slice text, size_t bytes_max)
{
    const char *data = text.data;
    size_t length = text.length, room = bytes_max;
    while (length > 0 && room > 0) {
        uint64_t word;
        if (length >= sizeof word && room >= sizeof word) {
            memcpy(&word, data, sizeof word);
            if (!any_special(word)) {
                memcpy(at, &word, sizeof word);
                at += sizeof word;
                data += sizeof word;
                length -= sizeof word;
                room -= sizeof word;
                continue;
            }
        }
        if (!is_special((unsigned char)*data)) {
            *at++ = *data++;
            length--;
            room--;
            continue;
        }
        char shown[6];
        size_t took, bytes = escape(data, length, &took, shown);
        if (bytes > room) break;
        memcpy(at, shown, bytes);
        at += bytes;
        data += took;
        length -= took;
        room -= bytes;
    }
    return at;
}

struct civil {
    unsigned year, month, day;
};

/* Days since 1970-01-01 as a date of the Gregorian calendar, counted in eras of 400 years that
 * begin in March. */
static struct civil civil_from_days(uint64_t days)
{
    uint64_t z = days + 719468;
    uint64_t era = z / 146097, day_of_era = z % 146097;
    uint64_t year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    uint64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    uint64_t march_month = (5 * day_of_year + 2) / 153;
    struct civil date;
    date.day = (unsigned)(day_of_year - (153 * march_month + 2) / 5 + 1);
    date.month = (unsigned)(march_month < 10 ? march_month + 3 : march_month - 9);
    date.year = (unsigned)(year_of_era + era * 400 + (date.month <= 2));
    return date;
}

static void two(char *out, uint64_t value)
{
    memcpy(out, PAIRS + value * 2, 2);
}

char *event_json_time(char *at, struct belay_wall time)
{
    /* int64 nanoseconds end in 2262, so the year always has four digits. */
    uint64_t ms = time.ns < 0 ? 0 : (uint64_t)(time.ns / BELAY_NS_PER_MS);
    uint64_t seconds = ms / 1000;
    struct civil date = civil_from_days(seconds / 86400);
    memcpy(at, "\"0000-00-00T00:00:00.000Z\"", JSON_TIME_BYTES);
    two(at + 1, date.year / 100);
    two(at + 3, date.year % 100);
    two(at + 6, date.month);
    two(at + 9, date.day);
    two(at + 12, seconds / 3600 % 24);
    two(at + 15, seconds / 60 % 60);
    two(at + 18, seconds % 60);
    at[21] = (char)('0' + ms % 1000 / 100);
    two(at + 22, ms % 100);
    return at + JSON_TIME_BYTES;
}
