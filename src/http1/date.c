/* date.c: HTTP-dates in their three forms (RFC 9110 5.6.7), read strictly and written. */
#include "http1/date.h"

#include "http1/digits.h"

enum { SECONDS_A_DAY = 86400, IMF_FIXDATE_BYTES = 29, ASCTIME_BYTES = 24 };

static const char weekdays[7][10] = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                     "Thursday", "Friday", "Saturday"};
static const char months[12][4] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                   "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

struct civil {
    int year, month, day; /* month 1 to 12 */
    int weekday;          /* 0: Sunday */
    int second_of_day;    /* 86400 in a leap second */
};

/* What is left to read. Every take_ looks at its front and moves past what it took. */
struct reader {
    const char *at, *end;
};

static bool take_text(struct reader *in, const char *text)
{
    size_t length = strlen(text);
    if ((size_t)(in->end - in->at) < length || memcmp(in->at, text, length) != 0) return false;
    in->at += length;
    return true;
}

static bool take_number(struct reader *in, int digits, int *out)
{
    if (in->end - in->at < digits) return false;
    int value = 0;
    for (int i = 0; i < digits; i++) {
        if (!char_is_digit(in->at[i])) return false;
        value = value * 10 + (in->at[i] - '0');
    }
    in->at += digits;
    *out = value;
    return true;
}

static bool take_month(struct reader *in, int *month)
{
    for (int i = 0; i < 12; i++) {
        if (take_text(in, months[i])) {
            *month = i + 1;
            return true;
        }
    }
    return false;
}

static bool take_weekday(struct reader *in, bool in_full, int *weekday)
{
    for (int i = 0; i < 7; i++) {
        char text[sizeof weekdays[i]] = {0};
        memcpy(text, weekdays[i], in_full ? sizeof weekdays[i] : 3);
        if (take_text(in, text)) {
            *weekday = i;
            return true;
        }
    }
    return false;
}

/* "HH:MM:SS"; 60 seconds only where a leap second can be. */
static bool take_time(struct reader *in, int *second_of_day)
{
    int hour, minute, second;
    if (!take_number(in, 2, &hour) || !take_text(in, ":") || !take_number(in, 2, &minute) ||
        !take_text(in, ":") || !take_number(in, 2, &second)) {
        return false;
    }
    if (hour > 23 || minute > 59 || second > (hour == 23 && minute == 59 ? 60 : 59)) return false;
    *second_of_day = hour * 3600 + minute * 60 + second;
    return true;
}

/* "Sun, 06 Nov 1994 08:49:37 GMT" */
static bool read_imf_fixdate(struct reader in, struct civil *out)
{
    return take_weekday(&in, false, &out->weekday) && take_text(&in, ", ") &&
           take_number(&in, 2, &out->day) && take_text(&in, " ") && take_month(&in, &out->month) &&
           take_text(&in, " ") && take_number(&in, 4, &out->year) && take_text(&in, " ") &&
           take_time(&in, &out->second_of_day) && take_text(&in, " GMT") && in.at == in.end;
}

/* "Sunday, 06-Nov-94 08:49:37 GMT"; the year comes out as two digits. */
static bool read_rfc850(struct reader in, struct civil *out)
{
    return take_weekday(&in, true, &out->weekday) && take_text(&in, ", ") &&
           take_number(&in, 2, &out->day) && take_text(&in, "-") && take_month(&in, &out->month) &&
           take_text(&in, "-") && take_number(&in, 2, &out->year) && take_text(&in, " ") &&
           take_time(&in, &out->second_of_day) && take_text(&in, " GMT") && in.at == in.end;
}

/* "Sun Nov  6 08:49:37 1994" */
static bool read_asctime(struct reader in, struct civil *out)
{
    if (!take_weekday(&in, false, &out->weekday) || !take_text(&in, " ") ||
        !take_month(&in, &out->month) || !take_text(&in, " ")) {
        return false;
    }
    bool padded = take_text(&in, " ");
    return take_number(&in, padded ? 1 : 2, &out->day) && take_text(&in, " ") &&
           take_time(&in, &out->second_of_day) && take_text(&in, " ") &&
           take_number(&in, 4, &out->year) && in.at == in.end;
}

static int days_in_month(int year, int month)
{
    static const int days[12] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return days[month - 1] + (month == 2 && leap ? 1 : 0);
}

static int64_t floor_divide(int64_t a, int64_t b)
{
    return a / b - (a % b < 0 ? 1 : 0);
}

/* Days since 1970-01-01. Years begin in March here, so that the leap day is the last of its year:
 * 153 days are the five months from March on, and from August on. */
static int64_t days_from_civil(const struct civil *date)
{
    int64_t year = date->year - (date->month <= 2 ? 1 : 0);
    int64_t month = (date->month + 9) % 12;
    int64_t leap_days = floor_divide(year, 4) - floor_divide(year, 100) + floor_divide(year, 400);
    return year * 365 + leap_days + (month * 153 + 2) / 5 + date->day - 1 - 719468;
}

static struct civil civil_from_seconds(int64_t seconds)
{
    int64_t days = floor_divide(seconds, SECONDS_A_DAY);
    struct civil date = {
        .year = 1971 + (int)floor_divide(days * 400, 146097), .month = 1, .day = 1};
    while (days_from_civil(&date) > days)
        date.year--; /* 146097 days are 400 years: one or two too far */
    int64_t left = days - days_from_civil(&date);
    while (left >= days_in_month(date.year, date.month)) {
        left -= days_in_month(date.year, date.month);
        date.month++;
    }
    date.day += (int)left;
    date.weekday = (int)((days % 7 + 11) % 7); /* day 0 was a Thursday */
    date.second_of_day = (int)(seconds - days * SECONDS_A_DAY);
    return date;
}

static bool is_later(const struct civil *a, const struct civil *b)
{
    if (a->year != b->year) return a->year > b->year;
    if (a->month != b->month) return a->month > b->month;
    if (a->day != b->day) return a->day > b->day;
    return a->second_of_day > b->second_of_day;
}

/* The latest year with those two digits that is not more than 50 years ahead. */
static void resolve_year(struct civil *date, struct belay_wall now)
{
    struct civil horizon = civil_from_seconds(floor_divide(now.ns, BELAY_NS_PER_S));
    horizon.year += 50;
    date->year += horizon.year / 100 * 100;
    if (is_later(date, &horizon)) date->year -= 100;
}

static bool no_date(const char **rule, const char *why)
{
    if (rule) *rule = why;
    return false;
}

bool http1__date_seconds(struct belay_slice value, struct belay_wall now, int64_t *seconds,
                         const char **rule)
{
    struct reader in = {value.data, value.data + value.length};
    struct civil date = {0};
    bool good;
    if (value.length == IMF_FIXDATE_BYTES && value.data[3] == ',') {
        good = read_imf_fixdate(in, &date);
    } else if (value.length == ASCTIME_BYTES) {
        good = read_asctime(in, &date);
    } else {
        good = read_rfc850(in, &date);
        if (good) resolve_year(&date, now);
    }
    if (!good) return no_date(rule, "not an HTTP-date");
    if (date.day < 1 || date.day > days_in_month(date.year, date.month))
        return no_date(rule, "no such day");
    int64_t days = days_from_civil(&date);
    if ((days % 7 + 11) % 7 != date.weekday)
        return no_date(rule, "weekday does not match the date");
    *seconds = days * SECONDS_A_DAY + date.second_of_day;
    return true;
}

bool http1_parse_date(struct belay_slice value, struct belay_wall now, struct belay_wall *out,
                      const char **rule)
{
    int64_t seconds;
    if (!http1__date_seconds(value, now, &seconds, rule)) return false;
    *out = (struct belay_wall){seconds > INT64_MAX / BELAY_NS_PER_S   ? INT64_MAX
                               : seconds < INT64_MIN / BELAY_NS_PER_S ? INT64_MIN
                                                                      : seconds * BELAY_NS_PER_S};
    return true;
}

static char *put_number(char *at, int value, int digits)
{
    for (int i = digits; i-- > 0; value /= 10) at[i] = (char)('0' + value % 10);
    return at + digits;
}

static char *put_text(char *at, const char *text, size_t length)
{
    memcpy(at, text, length);
    return at + length;
}

void http1_format_date(struct belay_wall t, char out[29])
{
    struct civil date = civil_from_seconds(floor_divide(t.ns, BELAY_NS_PER_S));
    char *at = put_text(out, weekdays[date.weekday], 3);
    at = put_text(at, ", ", 2);
    at = put_number(at, date.day, 2);
    at = put_text(at, " ", 1);
    at = put_text(at, months[date.month - 1], 3);
    at = put_text(at, " ", 1);
    at = put_number(at, date.year, 4);
    at = put_text(at, " ", 1);
    at = put_number(at, date.second_of_day / 3600, 2);
    at = put_text(at, ":", 1);
    at = put_number(at, date.second_of_day / 60 % 60, 2);
    at = put_text(at, ":", 1);
    at = put_number(at, date.second_of_day % 60, 2);
    put_text(at, " GMT", 4);
}
