/* wall.c: RFC 3339 times to nanoseconds since 1970 (wall.h). */
#include "inspect/wall.h"

/* The number in `count` digits, or -1. */
static int digits(const char *at, int count)
{
    int value = 0;
    for (int i = 0; i < count; i++) {
        if (at[i] < '0' || at[i] > '9') return -1;
        value = value * 10 + (at[i] - '0');
    }
    return value;
}

/* Days since 1970-01-01 in the Gregorian calendar; years are counted from March, so that the leap
 * day is a year's last. */
static int64_t days_since_1970(int year, int month, int day)
{
    int64_t y = month <= 2 ? year - 1 : year;
    int64_t march_month = month <= 2 ? month + 9 : month - 3;
    int64_t day_of_year = (153 * march_month + 2) / 5 + day - 1;
    return y * 365 + y / 4 - y / 100 + y / 400 + day_of_year - 719468;
}

static bool date_exists(int year, int month, int day)
{
    static const int DAYS[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    if (year < 0 || month < 1 || month > 12 || day < 1) return false;
    bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    return day <= DAYS[month - 1] + (month == 2 && leap);
}

/* "Z", "+02:00": seconds to take off, or false. */
static bool offset_seconds(struct belay_slice text, int64_t *seconds)
{
    if (text.length == 1 && (text.data[0] == 'Z' || text.data[0] == 'z')) {
        *seconds = 0;
        return true;
    }
    if (text.length != 6 || text.data[3] != ':') return false;
    if (text.data[0] != '+' && text.data[0] != '-') return false;
    int hours = digits(text.data + 1, 2), minutes = digits(text.data + 4, 2);
    if (hours < 0 || hours > 23 || minutes < 0 || minutes > 59) return false;
    *seconds = (text.data[0] == '-' ? -1 : 1) * (hours * 3600 + minutes * 60);
    return true;
}

/* The digits behind the point; `at` goes behind them. */
static bool fraction_ns(struct belay_slice text, size_t *at, int64_t *ns)
{
    int64_t unit = BELAY_NS_PER_S / 10;
    size_t from = *at;
    *ns = 0;
    for (; *at < text.length && text.data[*at] >= '0' && text.data[*at] <= '9'; (*at)++) {
        *ns += (text.data[*at] - '0') * unit;
        unit /= 10;
    }
    return *at > from;
}

bool wall_parse(struct belay_slice text, struct belay_wall *out)
{
    const char *t = text.data;
    int64_t offset, ns = 0, seconds;
    if (text.length < sizeof "2026-01-06T12:00:00Z" - 1) return false;
    int year = digits(t, 4), month = digits(t + 5, 2), day = digits(t + 8, 2);
    int hour = digits(t + 11, 2), minute = digits(t + 14, 2), second = digits(t + 17, 2);
    bool joints = t[4] == '-' && t[7] == '-' && t[13] == ':' && t[16] == ':' &&
                  (t[10] == 'T' || t[10] == 't' || t[10] == ' ');
    if (!joints || !date_exists(year, month, day)) return false;
    if (hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 60)
        return false;
    size_t at = 19;
    if (t[at] == '.') {
        at++;
        if (!fraction_ns(text, &at, &ns)) return false;
    }
    if (!offset_seconds(belay_slice(t + at, text.length - at), &offset)) return false;
    seconds = days_since_1970(year, month, day) * 86400 + hour * 3600 + minute * 60 + second;
    if (__builtin_mul_overflow(seconds - offset, BELAY_NS_PER_S, &seconds)) return false;
    if (__builtin_add_overflow(seconds, ns, &seconds)) return false;
    out->ns = seconds;
    return true;
}
