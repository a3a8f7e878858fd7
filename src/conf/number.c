/* number.c: reads and writes values that are a number inside (number.h). */
#include "conf/number.h"
#include "base/text.h"

#include "base/check.h"
#include "base/nearest.h"

#include <belay/time.h>
#include <stdarg.h>

struct unit {
    const char *name;
    int64_t factor;
};

/* From the smallest to the largest; ended by a row without a name. */
static const struct unit DURATIONS[] = {{"ns", 1},
                                        {"us", 1000},
                                        {"ms", BELAY_NS_PER_MS},
                                        {"s", BELAY_NS_PER_S},
                                        {"m", 60 * BELAY_NS_PER_S},
                                        {"h", 3600 * BELAY_NS_PER_S},
                                        {NULL, 0}};
static const struct unit SIZES[] = {{"B", 1},
                                    {"KiB", INT64_C(1) << 10},
                                    {"MiB", INT64_C(1) << 20},
                                    {"GiB", INT64_C(1) << 30},
                                    {NULL, 0}};
static const struct unit SHARES[] = {{"%", 10000}, {NULL, 0}};
static const struct unit COUNTS[] = {{"", 1}, {NULL, 0}};
static const struct unit RATE_SPANS[] = {
    {"s", BELAY_NS_PER_S}, {"m", 60 * BELAY_NS_PER_S}, {"h", 3600 * BELAY_NS_PER_S}, {NULL, 0}};

/* How a type with units is spoken of. */
struct quantity {
    const struct unit *units;
    const char *what, *units_text, *example;
};

static const struct quantity *quantity_of(enum option_type type)
{
    static const struct quantity duration = {DURATIONS, "a duration such as 250ms",
                                             "ns, us, ms, s, m or h", "250ms"};
    static const struct quantity size = {SIZES, "a size such as 64KiB", "B, KiB, MiB or GiB",
                                         "64KiB"};
    static const struct quantity share = {SHARES, "a share such as 10%", "%", "10%"};
    static const struct quantity count = {COUNTS, "a whole number such as 3", NULL, "3"};
    switch (type) {
    case TYPE_DURATION: return &duration;
    case TYPE_SIZE: return &size;
    case TYPE_SHARE: return &share;
    case TYPE_INTEGER: return &count;
    default: return NULL;
    }
}

const char *value_kind(const struct option *option)
{
    const struct quantity *quantity = quantity_of(option->type);
    if (quantity) return quantity->what;
    switch (option->type) {
    case TYPE_RATE: return "a rate such as 50/s";
    case TYPE_BOOLEAN: return "true or false";
    case TYPE_SWITCH: return "a mapping or `off`";
    case TYPE_WORD: return "one word";
    case TYPE_FILE: return "the name of a file";
    case TYPE_PATH: return "a path such as /orders/{id}";
    case TYPE_HEADER: return "the name of a header field";
    case TYPE_ADDRESS: return "an address such as 127.0.0.1:8080";
    case TYPE_METHODS: return "a list of methods such as [GET, HEAD]";
    case TYPE_OUTCOMES: return "a list of error classes and statuses such as [timeout, 503]";
    case TYPE_HEADERS: return "a list of header fields";
    case TYPE_ADDRESSES: return "a list of addresses such as [127.0.0.1:9000]";
    case TYPE_TARGET: return "the name of a target";
    default: return "a mapping";
    }
}

void value_fault(struct value_error *error, const struct option *option, const char *format, ...)
{
    char text[RULE_BYTES_MAX];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    int length = snprintf(error->rule, sizeof error->rule, "%s: %s", option->name, text);
    CHECK(length > 0 && (size_t)length < sizeof error->rule);
    error->no_memory = false;
}

int value_word_index(const struct option *option, struct belay_slice word)
{
    if (word.length == 0) return -1;
    for (int i = 0; option->words[i]; i++) {
        if (belay_slice_equal(belay_slice_z(option->words[i]), word)) return i;
    }
    return -1;
}

void value_unknown(struct value_error *error, const struct option *option, struct belay_slice word,
                   const char *also)
{
    const char *names[16];
    size_t count = 0;
    for (int i = 0; option->words[i]; i++) {
        CHECK(count < sizeof names / sizeof names[0]);
        if (option->words[i][0]) names[count++] = option->words[i];
    }
    struct shown shown = show(word);
    const char *meant = nearest_name(word, names, count);
    if (meant) {
        value_fault(error, option, "unknown word \"%s\"; did you mean \"%s\"?", shown.text, meant);
        return;
    }
    char all[200] = "";
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        used += (size_t)snprintf(all + used, sizeof all - used, "%s%s", i ? ", " : "", names[i]);
        CHECK(used < sizeof all);
    }
    value_fault(error, option, "unknown word \"%s\"; the words are %s%s", shown.text, all, also);
}

/* ---- text to number ---- */

enum decimal_fault { DECIMAL_GOOD, DECIMAL_NONE, DECIMAL_HUGE };

struct decimal {
    int64_t digits;      /* without the point */
    int64_t denominator; /* 10 for each digit behind the point */
    struct belay_slice unit;
};

/* digits [ "." digits ] and what follows; at most 18 digits, so that nothing overflows. */
static enum decimal_fault parse_decimal(struct belay_slice word, struct decimal *decimal)
{
    size_t i = 0, digits = 0;
    bool point = false;
    *decimal = (struct decimal){.denominator = 1};
    if (word.length == 0 || !char_is_digit(word.data[0])) return DECIMAL_NONE;
    for (; i < word.length; i++) {
        char c = word.data[i];
        if (c == '.' && !point && i + 1 < word.length && char_is_digit(word.data[i + 1])) {
            point = true;
            continue;
        }
        if (!char_is_digit(c)) break;
        if (digits == 18) return DECIMAL_HUGE;
        decimal->digits = decimal->digits * 10 + (c - '0');
        if (decimal->digits > 0) digits++;
        if (point) decimal->denominator *= 10;
        if (decimal->denominator > INT64_C(1000000000000)) return DECIMAL_HUGE;
    }
    decimal->unit = belay_slice(word.data + i, word.length - i);
    return DECIMAL_GOOD;
}

static const struct unit *find_unit(const struct unit *units, struct belay_slice name)
{
    for (; units->name; units++) {
        if (belay_slice_equal(belay_slice_z(units->name), name)) return units;
    }
    return NULL;
}

static void fault_kind(struct value_error *error, const struct option *option,
                       struct belay_slice word)
{
    value_fault(error, option, "expected %s%s%s, not \"%s\"", value_kind(option),
                option->zero ? " or " : "", option->zero ? option->zero : "", show(word).text);
}

static void fault_unit(struct value_error *error, const struct option *option,
                       struct belay_slice word, struct belay_slice unit)
{
    const struct quantity *quantity = quantity_of(option->type);
    struct shown shown = show(word);
    if (!quantity->units_text) {
        fault_kind(error, option, word);
    } else if (unit.length == 0) {
        value_fault(error, option, "\"%s\" has no unit; use %s, as in %s", shown.text,
                    quantity->units_text, quantity->example);
    } else {
        value_fault(error, option, "\"%s\" has the unknown unit \"%s\"; use %s, as in %s",
                    shown.text, show(unit).text, quantity->units_text, quantity->example);
    }
}

static bool fault_range(struct value_error *error, const struct option *option,
                        struct belay_slice word)
{
    char range[120];
    number_range(option, range, sizeof range);
    value_fault(error, option, "%s is out of range; allowed is %s", show(word).text, range);
    return false;
}

static bool parse_quantity(const struct option *option, struct belay_slice word, int64_t *number,
                           struct value_error *error)
{
    const struct quantity *quantity = quantity_of(option->type);
    struct decimal decimal;
    enum decimal_fault fault = parse_decimal(word, &decimal);
    if (fault == DECIMAL_HUGE) return fault_range(error, option, word);
    if (fault == DECIMAL_NONE) {
        fault_kind(error, option, word);
        return false;
    }
    const struct unit *unit = find_unit(quantity->units, decimal.unit);
    if (!unit) {
        fault_unit(error, option, word, decimal.unit);
        return false;
    }
    __int128 scaled = (__int128)decimal.digits * unit->factor;
    if (scaled % decimal.denominator != 0) {
        if (quantity->units_text) {
            value_fault(error, option, "\"%s\" has more digits behind the point than can be kept",
                        show(word).text);
        } else {
            fault_kind(error, option, word);
        }
        return false;
    }
    scaled /= decimal.denominator;
    if (scaled < option->min || scaled > option->max) return fault_range(error, option, word);
    *number = (int64_t)scaled;
    return true;
}

/* N/unit as the span between two calls, rounded up: never faster than was said. */
static bool parse_rate(const struct option *option, struct belay_slice word, int64_t *number,
                       struct value_error *error)
{
    struct decimal decimal;
    enum decimal_fault fault = parse_decimal(word, &decimal);
    if (fault == DECIMAL_HUGE) return fault_range(error, option, word);
    const struct unit *unit = NULL;
    if (fault == DECIMAL_GOOD && decimal.denominator == 1 && decimal.unit.length > 1 &&
        decimal.unit.data[0] == '/') {
        unit = find_unit(RATE_SPANS, belay_slice(decimal.unit.data + 1, decimal.unit.length - 1));
    }
    if (!unit) {
        value_fault(error, option, "expected a rate such as 50/s, 50/m or 50/h, not \"%s\"",
                    show(word).text);
        return false;
    }
    if (decimal.digits == 0) return fault_range(error, option, word);
    int64_t span = unit->factor / decimal.digits;
    bool too_fast = span < option->min;
    if (unit->factor % decimal.digits != 0) span++;
    if (too_fast || span > option->max) return fault_range(error, option, word);
    *number = span;
    return true;
}

static bool parse_either(const struct option *option, struct belay_slice word, const char *no,
                         const char *yes, int64_t *number, struct value_error *error)
{
    bool is_yes = belay_slice_equal(word, belay_slice_z(yes));
    if (!is_yes && !belay_slice_equal(word, belay_slice_z(no))) {
        fault_kind(error, option, word);
        return false;
    }
    *number = is_yes;
    return true;
}

bool number_parse(const struct option *option, struct belay_slice word, int64_t *number,
                  struct value_error *error)
{
    if (option->zero && belay_slice_equal(word, belay_slice_z(option->zero))) {
        *number = 0;
        return true;
    }
    if (option->type == TYPE_RATE) return parse_rate(option, word, number, error);
    if (option->type == TYPE_BOOLEAN)
        return parse_either(option, word, "false", "true", number, error);
    if (option->type == TYPE_SWITCH) {
        /* Tools that know YAML 1.1 write `off` as `false`. */
        if (belay_slice_equal(word, belay_slice_z("false"))) word = belay_slice_z("off");
        return parse_either(option, word, "off", "on", number, error);
    }
    if (option->type != TYPE_WORD) return parse_quantity(option, word, number, error);
    int index = value_word_index(option, word);
    if (index < 0) {
        value_unknown(error, option, word, "");
        return false;
    }
    *number = index;
    return true;
}

/* ---- number to text ---- */

static void quantity_text(const struct unit *units, int64_t number, char text[VALUE_TEXT_BYTES_MAX])
{
    const struct unit *best = units;
    for (const struct unit *unit = units; unit->name; unit++) {
        if (number % unit->factor == 0) best = unit;
    }
    /* 0 divides by everything; the unit that people expect is not the hour. */
    if (number == 0) best = units == DURATIONS ? &DURATIONS[3] : units;
    snprintf(text, VALUE_TEXT_BYTES_MAX, "%lld%s", (long long)(number / best->factor), best->name);
}

static void share_text(int64_t ppm, char text[VALUE_TEXT_BYTES_MAX])
{
    int decimals = 4;
    int64_t fraction = ppm % 10000;
    while (decimals > 0 && fraction % 10 == 0) {
        fraction /= 10;
        decimals--;
    }
    if (decimals == 0) {
        snprintf(text, VALUE_TEXT_BYTES_MAX, "%lld%%", (long long)(ppm / 10000));
    } else {
        snprintf(text, VALUE_TEXT_BYTES_MAX, "%lld.%0*lld%%", (long long)(ppm / 10000), decimals,
                 (long long)fraction);
    }
}

/* The smallest count whose span is not longer than `span` has exactly that span, in the unit it was
 * written in: spans are rounded up, so a larger count never has a longer one. */
static void rate_text(int64_t span, char text[VALUE_TEXT_BYTES_MAX])
{
    CHECK(span > 0);
    for (const struct unit *unit = RATE_SPANS; unit->name; unit++) {
        int64_t count = (unit->factor + span - 1) / span;
        if ((unit->factor + count - 1) / count != span) continue;
        snprintf(text, VALUE_TEXT_BYTES_MAX, "%lld/%s", (long long)count, unit->name);
        return;
    }
    CHECK(false);
}

void value_text(const struct option *option, int64_t number, char text[VALUE_TEXT_BYTES_MAX])
{
    const struct quantity *quantity = quantity_of(option->type);
    if (number == 0 && option->zero) {
        snprintf(text, VALUE_TEXT_BYTES_MAX, "%s", option->zero);
    } else if (option->type == TYPE_SHARE) {
        share_text(number, text);
    } else if (quantity) {
        quantity_text(quantity->units, number, text);
    } else if (option->type == TYPE_RATE) {
        rate_text(number, text);
    } else if (option->type == TYPE_WORD) {
        snprintf(text, VALUE_TEXT_BYTES_MAX, "%s", option->words[number]);
    } else {
        bool is_switch = option->type == TYPE_SWITCH;
        snprintf(text, VALUE_TEXT_BYTES_MAX, "%s",
                 number      ? (is_switch ? "on" : "true")
                 : is_switch ? "off"
                             : "false");
    }
}

void number_range(const struct option *option, char *text, size_t bytes)
{
    char low[VALUE_TEXT_BYTES_MAX], high[VALUE_TEXT_BYTES_MAX];
    value_text(option, option->min, low);
    value_text(option, option->max, high);
    /* A rate is a span inside: the longest span is the lowest rate. */
    bool is_rate = option->type == TYPE_RATE;
    snprintf(text, bytes, "%s to %s%s%s", is_rate ? high : low, is_rate ? low : high,
             option->zero ? ", or " : "", option->zero ? option->zero : "");
}
