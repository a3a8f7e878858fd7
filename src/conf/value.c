/* value.c: puts one option's value into the snapshot and prints it from there (value.h). */
#include "conf/value.h"
#include "base/text.h"

#include "base/check.h"
#include "conf/number.h"
#include "conf/template.h"

#include <arpa/inet.h>
#include <strings.h>

#define FILE_BYTES_MAX 4096
#define HOST_BYTES_MAX 253
#define HEADER_BYTES_MAX 64
#define HEADERS_MAX 15 /* of one list */

bool value_has_number(const struct option *option)
{
    return option->type <= TYPE_SWITCH;
}

static void *place(const struct option *option, void *base)
{
    return (char *)base + option->offset;
}

static const void *place_of(const struct option *option, const void *base)
{
    return (const char *)base + option->offset;
}

_Static_assert(sizeof(enum conf_kind) == sizeof(uint32_t), "a word is stored like a 32 bit number");

int64_t value_number(const struct option *option, const void *base)
{
    const void *at = place_of(option, base);
    switch (option->type) {
    case TYPE_DURATION:
    case TYPE_RATE: return ((const struct belay_span *)at)->ns;
    case TYPE_SIZE: return (int64_t) * (const size_t *)at;
    case TYPE_BOOLEAN:
    case TYPE_SWITCH: return *(const bool *)at;
    default: return *(const uint32_t *)at;
    }
}

void value_store(const struct option *option, void *base, int64_t number)
{
    void *at = place(option, base);
    switch (option->type) {
    case TYPE_DURATION:
    case TYPE_RATE: ((struct belay_span *)at)->ns = number; break;
    case TYPE_SIZE: *(size_t *)at = (size_t)number; break;
    case TYPE_BOOLEAN:
    case TYPE_SWITCH: *(bool *)at = number != 0; break;
    default: *(uint32_t *)at = (uint32_t)number; break;
    }
}

static bool no_memory(struct value_error *error, const struct option *option)
{
    value_fault(error, option, "no memory is left");
    error->no_memory = true;
    return false;
}

static bool set_text(const struct option *option, void *base, struct belay_slice word,
                     struct snapshot *snapshot, struct value_error *error)
{
    char *copy = snapshot_text(snapshot, word);
    if (!copy) return no_memory(error, option);
    *(char **)place(option, base) = copy;
    return true;
}

static bool set_file(const struct option *option, void *base, struct belay_slice word,
                     struct snapshot *snapshot, struct value_error *error)
{
    bool fits = word.length <= FILE_BYTES_MAX;
    for (size_t i = 0; fits && i < word.length; i++) fits = (unsigned char)word.data[i] >= 0x20;
    if (!fits) {
        value_fault(error, option,
                    "a file name is at most 4096 bytes and has no control characters");
        return false;
    }
    return set_text(option, base, word, snapshot, error);
}

static bool set_path(const struct option *option, void *base, struct belay_slice word,
                     struct snapshot *snapshot, struct value_error *error)
{
    const char *fault = template_fault(word);
    if (fault) {
        value_fault(error, option, "\"%s\" is no path template: %s", show(word).text, fault);
        return false;
    }
    return set_text(option, base, word, snapshot, error);
}

/* ---- addresses ---- */

static bool is_name_byte(char c)
{
    return char_is_letter_or_digit(c) || c == '-' || c == '_' || c == '.';
}

enum host_kind { HOST_BAD, HOST_LITERAL, HOST_NAME };

static enum host_kind host_kind(const char *host, bool bracketed)
{
    unsigned char bytes[16];
    if (bracketed) return inet_pton(AF_INET6, host, bytes) == 1 ? HOST_LITERAL : HOST_BAD;
    if (inet_pton(AF_INET, host, bytes) == 1) return HOST_LITERAL;
    bool letter = false;
    for (const char *c = host; *c; c++) {
        if (!is_name_byte(*c)) return HOST_BAD;
        if (*c == '.' && (c == host || c[1] == '.')) return HOST_BAD;
        letter = letter || (*c != '.' && !char_is_digit(*c));
    }
    /* Digits and dots alone are an IPv4 address with a mistake in it, not a name. */
    return letter && host[0] != '-' ? HOST_NAME : HOST_BAD;
}

/* host:port or [IPv6]:port; the host goes to `host` without brackets. */
static enum host_kind parse_address(struct belay_slice word, char host[HOST_BYTES_MAX + 1],
                                    uint16_t *port)
{
    const char *colon = word.length ? memrchr(word.data, ':', word.length) : NULL;
    if (!colon) return HOST_BAD;
    size_t length = (size_t)(colon - word.data);
    struct belay_slice digits = belay_slice(colon + 1, word.length - length - 1);
    if (!text_read_port(digits, port)) return HOST_BAD;
    const char *start = word.data;
    bool bracketed = length >= 2 && start[0] == '[' && start[length - 1] == ']';
    if (bracketed) {
        start++;
        length -= 2;
    }
    if (length == 0 || length > HOST_BYTES_MAX || memchr(start, '\0', length)) return HOST_BAD;
    memcpy(host, start, length);
    host[length] = '\0';
    return host_kind(host, bracketed);
}

/* One spelling for each literal address, so that equal addresses have equal text. */
static void make_canonical(char host[HOST_BYTES_MAX + 1])
{
    unsigned char bytes[16];
    int family = strchr(host, ':') ? AF_INET6 : AF_INET;
    CHECK(inet_pton(family, host, bytes) == 1 &&
          inet_ntop(family, bytes, host, HOST_BYTES_MAX + 1));
}

static bool set_address(const struct option *option, struct conf_address *address,
                        struct belay_slice word, struct snapshot *snapshot,
                        struct value_error *error)
{
    char host[HOST_BYTES_MAX + 1];
    uint16_t port = 0;
    enum host_kind kind = parse_address(word, host, &port);
    bool to_listen = option->type == TYPE_ADDRESS;
    if (kind == HOST_BAD) {
        value_fault(error, option,
                    "\"%s\" is no address; write host:port, such as 127.0.0.1:8080 or [::1]:8080",
                    show(word).text);
        return false;
    }
    if (to_listen && kind == HOST_NAME) {
        value_fault(error, option,
                    "\"%s\" is a name; an address to listen on is a literal one, such as "
                    "127.0.0.1:8080",
                    show(word).text);
        return false;
    }
    if (!to_listen && port == 0) {
        value_fault(error, option, "port 0 cannot be connected to");
        return false;
    }
    if (kind == HOST_LITERAL) make_canonical(host);
    char *copy = snapshot_text(snapshot, belay_slice_z(host));
    if (!copy) return no_memory(error, option);
    *address = (struct conf_address){.host = copy, .port = port};
    return true;
}

static bool add_address(const struct option *option, struct conf_target *target,
                        struct belay_slice word, struct snapshot *snapshot,
                        struct value_error *error)
{
    if (target->address_count == 1) {
        value_fault(error, option, "one address in this version; several come with a later one");
        return false;
    }
    if (!set_address(option, &target->addresses[0], word, snapshot, error)) return false;
    target->address_count = 1;
    return true;
}

/* ---- header fields ---- */

/* RFC 9110 5.6.2. */
static bool is_token(struct belay_slice word)
{
    for (size_t i = 0; i < word.length; i++) {
        if (!char_is_token(word.data[i])) return false;
    }
    return word.length > 0 && word.length <= HEADER_BYTES_MAX;
}

/* Fields that say where a message ends or whom it is for: none of them may change its meaning. */
static bool is_framing(struct belay_slice word)
{
    static const char *const FRAMING[] = {"Connection", "Content-Length",    "Expect",
                                          "Host",       "Keep-Alive",        "TE",
                                          "Trailer",    "Transfer-Encoding", "Upgrade"};
    for (size_t i = 0; i < sizeof FRAMING / sizeof FRAMING[0]; i++) {
        if (strlen(FRAMING[i]) == word.length &&
            strncasecmp(FRAMING[i], word.data, word.length) == 0)
            return true;
    }
    return false;
}

static bool check_header(const struct option *option, struct belay_slice word,
                         struct value_error *error)
{
    if (!is_token(word)) {
        value_fault(
            error, option,
            "\"%s\" is no name of a header field: letters, digits and - are usual, at most 64",
            show(word).text);
        return false;
    }
    if (is_framing(word)) {
        value_fault(error, option, "\"%s\" has a meaning of its own in HTTP", show(word).text);
        return false;
    }
    return true;
}

static bool add_header(const struct option *option, struct conf_names *names,
                       struct belay_slice word, struct snapshot *snapshot,
                       struct value_error *error)
{
    if (!check_header(option, word, error)) return false;
    if (names->count == HEADERS_MAX) {
        value_fault(error, option, "at most 15 header fields");
        return false;
    }
    for (size_t i = 0; i < names->count; i++) {
        if (strlen(names->items[i]) == word.length &&
            strncasecmp(names->items[i], word.data, word.length) == 0) {
            value_fault(error, option, "\"%s\" is listed twice", show(word).text);
            return false;
        }
    }
    char *copy = snapshot_text(snapshot, word);
    if (!copy) return no_memory(error, option);
    names->items[names->count++] = copy;
    return true;
}

/* ---- sets ---- */

static bool listed_twice(const struct option *option, struct belay_slice word,
                         struct value_error *error)
{
    value_fault(error, option, "\"%s\" is listed twice", show(word).text);
    return false;
}

static bool add_method(const struct option *option, uint32_t *set, struct belay_slice word,
                       struct value_error *error)
{
    int index = value_word_index(option, word);
    if (index < 0) {
        value_unknown(error, option, word, "");
        return false;
    }
    uint32_t bit = UINT32_C(1) << index;
    if (*set & bit) return listed_twice(option, word, error);
    *set |= bit;
    return true;
}

static bool add_outcome(const struct option *option, struct belay_retry_on *set,
                        struct belay_slice word, struct value_error *error)
{
    if (word.length > 0 && char_is_digit(word.data[0])) {
        uint64_t status;
        if (!text_read_number(word, 599, &status) || status < 100) {
            value_fault(error, option, "\"%s\" is no status; they go from 100 to 599",
                        show(word).text);
            return false;
        }
        uint64_t bit = UINT64_C(1) << status % 64;
        if (set->status[status / 64] & bit) return listed_twice(option, word, error);
        set->status[status / 64] |= bit;
        return true;
    }
    int index = value_word_index(option, word);
    if (index < 0) {
        bool never = belay_slice_equal(word, belay_slice_z("tls")) ||
                     belay_slice_equal(word, belay_slice_z("cancelled"));
        if (never) {
            value_fault(error, option, "\"%s\" is never repeated", show(word).text);
        } else {
            value_unknown(error, option, word, " and statuses from 100 to 599");
        }
        return false;
    }
    uint32_t bit = UINT32_C(1) << index;
    if (set->errors & bit) return listed_twice(option, word, error);
    set->errors |= bit;
    return true;
}

/* ---- any type ---- */

bool value_clear(const struct option *option, void *base, struct snapshot *snapshot)
{
    void *at = place(option, base);
    if (option->type == TYPE_METHODS) *(uint32_t *)at = 0;
    if (option->type == TYPE_OUTCOMES) *(struct belay_retry_on *)at = (struct belay_retry_on){0};
    if (option->type == TYPE_HEADERS) {
        struct conf_names *names = at;
        *names = (struct conf_names){
            .items = snapshot_alloc(snapshot, HEADERS_MAX, sizeof names->items[0])};
        return names->items != NULL;
    }
    if (option->type == TYPE_ADDRESSES) {
        struct conf_target *target = base;
        target->address_count = 0;
        target->addresses = snapshot_alloc(snapshot, 1, sizeof target->addresses[0]);
        return target->addresses != NULL;
    }
    return true;
}

bool value_set(const struct option *option, void *base, struct belay_slice word,
               struct snapshot *snapshot, struct value_error *error)
{
    void *at = place(option, base);
    if (value_has_number(option)) {
        int64_t number;
        if (!number_parse(option, word, &number, error)) return false;
        value_store(option, base, number);
        return true;
    }
    bool is_zero = option->zero && belay_slice_equal(word, belay_slice_z(option->zero));
    if (is_zero && !option_is_list(option)) {
        if (option->type == TYPE_ADDRESS)
            *(struct conf_address *)at = (struct conf_address){0};
        else
            *(char **)at = NULL;
        return true;
    }
    switch (option->type) {
    case TYPE_FILE: return set_file(option, base, word, snapshot, error);
    case TYPE_PATH: return set_path(option, base, word, snapshot, error);
    case TYPE_HEADER:
        return check_header(option, word, error) && set_text(option, base, word, snapshot, error);
    case TYPE_ADDRESS: return set_address(option, at, word, snapshot, error);
    case TYPE_METHODS: return add_method(option, at, word, error);
    case TYPE_OUTCOMES: return add_outcome(option, at, word, error);
    case TYPE_HEADERS: return add_header(option, at, word, snapshot, error);
    case TYPE_ADDRESSES: return add_address(option, base, word, snapshot, error);
    default: CHECK(false); return false;
    }
}

bool value_default(const struct option *option, void *base, struct snapshot *snapshot)
{
    if (option_is_list(option) && !value_clear(option, base, snapshot)) return false;
    bool is_unset_number = !option->initial && value_has_number(option) && !option->member;
    if (is_unset_number) value_store(option, base, 0);
    struct belay_slice rest = belay_slice_z(option->initial);
    while (rest.length > 0) {
        size_t length = strcspn(rest.data, " ");
        struct value_error error;
        if (!value_set(option, base, belay_slice(rest.data, length), snapshot, &error))
            return false;
        rest = belay_slice(rest.data + length, rest.length - length);
        if (rest.length > 0) rest = belay_slice(rest.data + 1, rest.length - 1);
    }
    return true;
}

/* ---- printing ---- */

/* One UTF-8 character off the front; the text came out of a YAML reader, which checks it. */
static uint32_t next_character(struct belay_slice *rest)
{
    const unsigned char *bytes = (const unsigned char *)rest->data;
    size_t length = bytes[0] < 0x80 ? 1 : bytes[0] < 0xe0 ? 2 : bytes[0] < 0xf0 ? 3 : 4;
    uint32_t character = length == 1 ? bytes[0] : bytes[0] & (0x7fu >> length);
    for (size_t i = 1; i < length && i < rest->length; i++)
        character = character << 6 | (bytes[i] & 0x3f);
    if (length > rest->length) length = rest->length;
    *rest = belay_slice(rest->data + length, rest->length - length);
    return character;
}

static bool is_plain(struct belay_slice text)
{
    if (text.length == 0) return false;
    char first = text.data[0];
    if (!is_name_byte(first) && first != '/') return false;
    if (first == '-' || first == '.') return false;
    for (size_t i = 0; i < text.length; i++) {
        char c = text.data[i];
        bool inner_colon = c == ':' && i + 1 < text.length;
        if (!is_name_byte(c) && c != '/' && c != '%' && !inner_colon) return false;
    }
    return true;
}

void value_print_text(struct belay_slice text, FILE *out)
{
    if (is_plain(text)) {
        fprintf(out, "%.*s", (int)text.length, text.data);
        return;
    }
    fputc('"', out);
    while (text.length > 0) {
        uint32_t c = next_character(&text);
        if (c == '"' || c == '\\') {
            fprintf(out, "\\%c", (int)c);
        } else if (c >= 0x20 && c < 0x7f) {
            fputc((int)c, out);
        } else {
            fprintf(out, "\\U%08X", (unsigned)c);
        }
    }
    fputc('"', out);
}

static void print_address(const struct conf_address *address, FILE *out)
{
    bool bracketed = strchr(address->host, ':') != NULL;
    if (bracketed) {
        fprintf(out, "\"[%s]:%u\"", address->host, (unsigned)address->port);
    } else {
        fprintf(out, "%s:%u", address->host, (unsigned)address->port);
    }
}

static void print_bits(const char *const *words, uint32_t bits, const char **comma, FILE *out)
{
    for (int i = 0; words[i]; i++) {
        if (!(bits >> i & 1)) continue;
        fprintf(out, "%s%s", *comma, words[i]);
        *comma = ", ";
    }
}

static void print_list(const struct option *option, const void *base, FILE *out)
{
    const void *at = place_of(option, base);
    const char *comma = "";
    fputc('[', out);
    if (option->type == TYPE_METHODS) print_bits(option->words, *(const uint32_t *)at, &comma, out);
    if (option->type == TYPE_OUTCOMES) {
        const struct belay_retry_on *set = at;
        print_bits(option->words, set->errors, &comma, out);
        for (unsigned status = 100; status <= 599; status++) {
            if (!(set->status[status / 64] >> status % 64 & 1)) continue;
            fprintf(out, "%s%u", comma, status);
            comma = ", ";
        }
    }
    if (option->type == TYPE_HEADERS) {
        const struct conf_names *names = at;
        for (size_t i = 0; i < names->count; i++) {
            fputs(i ? ", " : "", out);
            value_print_text(belay_slice_z(names->items[i]), out);
        }
    }
    if (option->type == TYPE_ADDRESSES) {
        const struct conf_target *target = base;
        for (size_t i = 0; i < target->address_count; i++) {
            fputs(i ? ", " : "", out);
            print_address(&target->addresses[i], out);
        }
    }
    fputc(']', out);
}

void value_print(const struct option *option, const void *base, FILE *out)
{
    const void *at = place_of(option, base);
    if (value_has_number(option)) {
        char text[VALUE_TEXT_BYTES_MAX];
        value_text(option, value_number(option, base), text);
        fputs(text, out);
    } else if (option->type == TYPE_ADDRESS) {
        const struct conf_address *address = at;
        if (address->host)
            print_address(address, out);
        else
            fputs(option->zero, out);
    } else if (option->type == TYPE_METHODS && option->zero && *(const uint32_t *)at == 0) {
        fputs(option->zero, out);
    } else if (option_is_list(option)) {
        print_list(option, base, out);
    } else {
        const char *text = *(char *const *)at;
        if (text)
            value_print_text(belay_slice_z(text), out);
        else
            fputs(option->zero, out);
    }
}
