/* suspect.c: the shapes of credentials and of URLs, one row a rule (suspect.h). */
#include "inspect/suspect.h"

#include "base/check.h"

#include <stdint.h>
#include <strings.h>

enum class {
    UPPER = 1,
    LOWER = 2,
    DIGIT = 4,
    DASH = 8,    /* - _ */
    BASE64 = 16, /* + / = */
    SLASH = 32,  /* also BASE64; braces and dots stand in every route: no sign of anything */
    DOT = 64,
    GAP = 128, /* a space, or the + that stands for one */
    ASSIGN = 256,
    COLON = 512,
    QUESTION = 1024,
    AT = 2048,
};
#define ALNUM (UPPER | LOWER | DIGIT)
/* Without any of these no rule holds. */
#define SIGNS (UPPER | DASH | DOT | GAP | ASSIGN | COLON | QUESTION | AT)

static const uint16_t CLASSES[256] = {
    ['a'] = LOWER,
    ['b'] = LOWER,
    ['c'] = LOWER,
    ['d'] = LOWER,
    ['e'] = LOWER,
    ['f'] = LOWER,
    ['g'] = LOWER,
    ['h'] = LOWER,
    ['i'] = LOWER,
    ['j'] = LOWER,
    ['k'] = LOWER,
    ['l'] = LOWER,
    ['m'] = LOWER,
    ['n'] = LOWER,
    ['o'] = LOWER,
    ['p'] = LOWER,
    ['q'] = LOWER,
    ['r'] = LOWER,
    ['s'] = LOWER,
    ['t'] = LOWER,
    ['u'] = LOWER,
    ['v'] = LOWER,
    ['w'] = LOWER,
    ['x'] = LOWER,
    ['y'] = LOWER,
    ['z'] = LOWER,
    ['A'] = UPPER,
    ['B'] = UPPER,
    ['C'] = UPPER,
    ['D'] = UPPER,
    ['E'] = UPPER,
    ['F'] = UPPER,
    ['G'] = UPPER,
    ['H'] = UPPER,
    ['I'] = UPPER,
    ['J'] = UPPER,
    ['K'] = UPPER,
    ['L'] = UPPER,
    ['M'] = UPPER,
    ['N'] = UPPER,
    ['O'] = UPPER,
    ['P'] = UPPER,
    ['Q'] = UPPER,
    ['R'] = UPPER,
    ['S'] = UPPER,
    ['T'] = UPPER,
    ['U'] = UPPER,
    ['V'] = UPPER,
    ['W'] = UPPER,
    ['X'] = UPPER,
    ['Y'] = UPPER,
    ['Z'] = UPPER,
    ['0'] = DIGIT,
    ['1'] = DIGIT,
    ['2'] = DIGIT,
    ['3'] = DIGIT,
    ['4'] = DIGIT,
    ['5'] = DIGIT,
    ['6'] = DIGIT,
    ['7'] = DIGIT,
    ['8'] = DIGIT,
    ['9'] = DIGIT,
    ['-'] = DASH,
    ['_'] = DASH,
    ['/'] = BASE64 | SLASH,
    ['+'] = BASE64 | GAP,
    ['='] = BASE64 | ASSIGN,
    ['.'] = DOT,
    [' '] = GAP,
    [':'] = COLON,
    ['?'] = QUESTION,
    ['@'] = AT,
};

static unsigned class_of(char c)
{
    return CLASSES[(unsigned char)c];
}

static unsigned classes_in(struct belay_slice text)
{
    unsigned classes = 0;
    for (size_t i = 0; i < text.length; i++) classes |= class_of(text.data[i]);
    return classes;
}

/* How many bytes from `at` on are of these classes. */
static size_t run_of(struct belay_slice text, size_t at, unsigned classes)
{
    size_t from = at;
    while (at < text.length && (class_of(text.data[at]) & classes)) at++;
    return at - from;
}

static bool starts_with(struct belay_slice text, size_t at, const char *word)
{
    size_t length = strlen(word);
    return text.length - at >= length && memcmp(text.data + at, word, length) == 0;
}

static bool starts_with_any_case(struct belay_slice text, size_t at, const char *word)
{
    size_t length = strlen(word);
    return text.length - at >= length && strncasecmp(text.data + at, word, length) == 0;
}

static bool begins_word(struct belay_slice text, size_t at)
{
    return at == 0 || !(class_of(text.data[at - 1]) & ALNUM);
}

/* What stands where a value has been taken out: [redacted], <hidden>, ***, {}, xxx, a template. */
static bool is_placeholder(struct belay_slice text, size_t at)
{
    static const char *const WORDS[] = {"redacted", "masked", "hidden",   "null",     "none",
                                        "true",     "false",  "filtered", "undefined"};
    while (at < text.length && (text.data[at] == '"' || text.data[at] == '\'' ||
                                text.data[at] == '\\' || text.data[at] == ' '))
        at++;
    if (at == text.length || strchr("*<[{%,;&)", text.data[at])) return true;
    unsigned next = at + 1 < text.length ? class_of(text.data[at + 1]) : 0;
    if (text.data[at] == '.') return !(next & ALNUM);           /* the end of a sentence */
    if (text.data[at] == '$') return !(next & (LOWER | DIGIT)); /* $NAME, ${NAME} */
    for (size_t i = 0; i < COUNT(WORDS); i++) {
        size_t end = at + strlen(WORDS[i]);
        bool whole = end >= text.length || !(class_of(text.data[end]) & ALNUM);
        if (starts_with_any_case(text, at, WORDS[i]) && whole) return true;
    }
    return text.data[at] == 'x' && text.length - at >= 3 && memcmp(text.data + at, "xxx", 3) == 0;
}

/* ---- rules: each looks at one place, where a word begins ---- */

struct key_shape {
    const char *prefix;
    unsigned classes;
    size_t least; /* bytes of these classes behind the prefix */
};

static const struct key_shape KEY_SHAPES[] = {
    {"AKIA", UPPER | DIGIT, 16},
    {"ASIA", UPPER | DIGIT, 16},
    {"AIza", ALNUM | DASH, 35},
    {"ya29.", ALNUM | DASH, 20},
    {"ghp_", ALNUM, 30},
    {"gho_", ALNUM, 30},
    {"ghu_", ALNUM, 30},
    {"ghs_", ALNUM, 30},
    {"ghr_", ALNUM, 30},
    {"github_pat_", ALNUM | DASH, 22},
    {"glpat-", ALNUM | DASH, 20},
    {"xoxb-", ALNUM | DASH, 10},
    {"xoxp-", ALNUM | DASH, 10},
    {"xoxa-", ALNUM | DASH, 10},
    {"xoxr-", ALNUM | DASH, 10},
    {"xoxs-", ALNUM | DASH, 10},
    {"sk_live_", ALNUM, 16},
    {"sk_test_", ALNUM, 16},
    {"rk_live_", ALNUM, 16},
    {"sk-", ALNUM | DASH, 32},
    {"npm_", ALNUM, 36},
    {"dop_v1_", ALNUM, 40},
    {"hf_", ALNUM, 30},
    {"pypi-", ALNUM | DASH, 40},
    {"whsec_", ALNUM | BASE64, 24},
    {"SG.", ALNUM | DASH, 20},
    {"AGE-SECRET-KEY-", UPPER | DIGIT, 40},
};

static bool is_key_shape(struct belay_slice text, size_t at)
{
    for (size_t i = 0; i < COUNT(KEY_SHAPES); i++) {
        const struct key_shape *shape = &KEY_SHAPES[i];
        if (starts_with(text, at, shape->prefix) &&
            run_of(text, at + strlen(shape->prefix), shape->classes) >= shape->least)
            return true;
    }
    return false;
}

/* Two parts of base64url that begin like JSON objects, and the dot between them. */
static bool is_jwt(struct belay_slice text, size_t at)
{
    if (!starts_with(text, at, "eyJ")) return false;
    size_t head = run_of(text, at, ALNUM | DASH), dot = at + head;
    return head >= 10 && dot < text.length && text.data[dot] == '.' &&
           run_of(text, dot + 1, ALNUM | DASH) >= 10;
}

/* "Bearer abc...", "Basic dXNlcj..." */
static bool is_authorization(struct belay_slice text, size_t at)
{
    static const char *const SCHEMES[] = {"bearer", "basic", "negotiate"};
    for (size_t i = 0; i < COUNT(SCHEMES); i++) {
        size_t value = at + strlen(SCHEMES[i]);
        if (!starts_with_any_case(text, at, SCHEMES[i]) || value >= text.length) continue;
        size_t spaces = 0;
        while (value < text.length && (text.data[value] == ' ' || text.data[value] == '+'))
            value++, spaces++;
        struct belay_slice rest = {text.data + value, text.length - value};
        size_t run = run_of(rest, 0, ALNUM | DASH | BASE64);
        bool odd = run_of(rest, 0, LOWER) < run; /* "basic authentication" is prose */
        if (spaces > 0 && run >= 8 && odd) return true;
    }
    return false;
}

static bool is_private_key(struct belay_slice text, size_t at)
{
    static const char END[] = "PRIVATE KEY";
    if (!starts_with(text, at, "-----BEGIN ")) return false;
    size_t left = text.length - at;
    return memmem(text.data + at, left < 64 ? left : 64, END, sizeof END - 1) != NULL;
}

/* The length of a credential's name at this place, or 0. */
static size_t credential_name(struct belay_slice text, size_t at)
{
    static const char *const NAMES[] = {
        "password",        "passwd",          "passphrase",    "pwd",        "secret",
        "token",           "api_key",         "api-key",       "apikey",     "access_key",
        "accesskey",       "accountkey",      "client_secret", "secret_key", "private_key",
        "signature",       "sessionid",       "session_id",    "jsessionid", "phpsessid",
        "authorization",   "credentials",     "csrf",          "set-cookie", "cookie",
        "x-amz-signature", "sharedaccesskey",
    };
    size_t longest = 0;
    for (size_t i = 0; i < COUNT(NAMES); i++) {
        size_t length = strlen(NAMES[i]);
        if (length > longest && starts_with_any_case(text, at, NAMES[i])) longest = length;
    }
    return longest;
}

/* password=..., "token": "...", Cookie: a=b. Behind a colon there may be prose ("token: expired"),
 * so that the value must have more than small letters. */
static bool is_assignment(struct belay_slice text, size_t at)
{
    size_t name = credential_name(text, at);
    if (name == 0) return false;
    at += name;
    while (at < text.length && (text.data[at] == '"' || text.data[at] == '\'' ||
                                text.data[at] == '\\' || text.data[at] == ' '))
        at++;
    if (at >= text.length || (text.data[at] != '=' && text.data[at] != ':')) return false;
    bool colon = text.data[at] == ':';
    if (is_placeholder(text, ++at)) return false;
    while (at < text.length && strchr(" \"'\\", text.data[at])) at++;
    size_t end = at;
    while (end < text.length && !strchr(" \"'&,;\\", text.data[end])) end++;
    if (!colon) return end - at >= 3;
    return end - at >= 6 && run_of(text, at, LOWER) < end - at;
}

struct rule {
    const char *name;
    bool (*holds)(struct belay_slice text, size_t at);
    const char *firsts; /* what its matches begin with */
    unsigned any, all;  /* classes of which one, and which all, must be in the text */
    size_t least;       /* bytes without which it cannot hold */
};

static const struct rule RULES[] = {
    {"key shape", is_key_shape, "ASgxsrndhpwy", UPPER | DASH | DOT, 0, 13},
    {"json web token", is_jwt, "e", UPPER, DOT, 21},
    {"authorization", is_authorization, "bBnN", GAP, 0, 14},
    {"private key", is_private_key, "-", DASH, UPPER | GAP, 20},
    {"assignment", is_assignment, "aAcCjJpPsStTxX", ASSIGN | COLON, 0, 7},
};
#define RULE_COUNT COUNT(RULES)

static const char *rule_at_word(const struct rule *rule, struct belay_slice text)
{
    for (size_t at = 0; at + rule->least <= text.length; at++) {
        if (begins_word(text, at) && text.data[at] && strchr(rule->firsts, text.data[at]) &&
            rule->holds(text, at))
            return rule->name;
    }
    return NULL;
}

/* ---- looking random ---- */

#define RANDOM_BYTES_MIN 32

/* Long, with small and capital letters and digits all through: base64 of something. Hex, UUIDs and
 * words with dashes have one case, or long runs of one class. */
static bool is_random(const char *data, size_t length)
{
    size_t count[3] = {0}, changes = 0;
    unsigned before = 0;
    for (size_t i = 0; i < length; i++) {
        unsigned class = class_of(data[i]);
        if (class == UPPER) count[0]++;
        if (class == LOWER) count[1]++;
        if (class == DIGIT) count[2]++;
        changes += class != before;
        before = class;
    }
    return length >= RANDOM_BYTES_MIN && count[0] * 8 >= length && count[1] * 8 >= length &&
           count[2] * 20 >= length && changes * 5 >= length * 2;
}

static bool holds_random(struct belay_slice text)
{
    for (size_t at = 0, run; at < text.length; at += run ? run : 1) {
        run = 0;
        while (at + run < text.length &&
               ((class_of(text.data[at + run]) & (ALNUM | DASH)) || text.data[at + run] == '+'))
            run++;
        if (is_random(text.data + at, run)) return true;
    }
    return false;
}

/* ---- URLs ---- */

/* "https://", with what stands before the colon a scheme. Returns where the authority begins, or
 * 0. */
static size_t authority_at(struct belay_slice text)
{
    const char *at = memmem(text.data, text.length, "://", 3);
    if (!at) return 0;
    size_t colon = (size_t)(at - text.data), scheme = colon;
    while (scheme > 0 && (class_of(text.data[scheme - 1]) & (LOWER | UPPER))) scheme--;
    return colon - scheme >= 2 ? colon + 3 : 0;
}

/* name:word@ from `at` on, before anything that ends an authority. */
static bool has_user(struct belay_slice text, size_t at)
{
    bool colon = false;
    for (size_t from = at; at < text.length; at++) {
        char c = text.data[at];
        if (c == '@') return colon && at > from + 2;
        if (c == '/' || c == '?' || c == '#' || c == ' ' || c == '"') return false;
        colon |= c == ':';
    }
    return false;
}

/* `?a=`, or in what is no prose `?a`. */
static bool has_query(struct belay_slice text, bool prose)
{
    const char *at = memchr(text.data, '?', text.length);
    while (at) {
        size_t name = (size_t)(at - text.data) + 1, length = 0;
        while (name + length < text.length &&
               ((class_of(text.data[name + length]) & (ALNUM | DASH)) ||
                strchr(".%[]", text.data[name + length])))
            length++;
        bool equals = name + length < text.length && text.data[name + length] == '=';
        if (length > 0 && (equals || !prose)) return true;
        at = memchr(text.data + name, '?', text.length - name);
    }
    return false;
}

/* ---- all of it ---- */

static const char *secret_rule(struct belay_slice text, enum suspect_text kind, unsigned classes)
{
    const char *name = NULL;
    for (size_t i = 0; i < RULE_COUNT && !name; i++) {
        const struct rule *rule = &RULES[i];
        bool possible = (classes & rule->any) && (classes & rule->all) == rule->all;
        if (possible) name = rule_at_word(rule, text);
    }
    bool random = (classes & ALNUM) == ALNUM && kind != SUSPECT_ID;
    return !name && random && holds_random(text) ? "random" : name;
}

const char *suspect_rule(struct belay_slice text, enum suspect_text kind)
{
    return secret_rule(text, kind, classes_in(text));
}

unsigned suspect_find(struct belay_slice text, enum suspect_text kind)
{
    unsigned found = 0, classes = classes_in(text);
    if (text.length < 4 || !(classes & SIGNS)) return 0;
    if (classes & QUESTION && has_query(text, kind == SUSPECT_PROSE)) found |= SUSPECT_QUERY;
    if (classes & COLON) {
        size_t authority = authority_at(text);
        if (authority) found |= SUSPECT_URL;
        if (classes & AT && (authority || kind != SUSPECT_PROSE) && has_user(text, authority))
            found |= SUSPECT_USER | (authority ? SUSPECT_SECRET : 0u);
    }
    if (secret_rule(text, kind, classes)) found |= SUSPECT_SECRET;
    return found;
}

bool suspect_value(struct belay_slice name, struct belay_slice value)
{
    static const char *const NAMES[] = {
        "password",      "passwd",
        "pwd",           "secret",
        "token",         "apikey",
        "api_key",       "api-key",
        "x-api-key",     "access_token",
        "accesstoken",   "refreshtoken",
        "refresh_token", "id_token",
        "client_secret", "clientsecret",
        "privatekey",    "private_key",
        "cookie",        "set-cookie",
        "authorization", "proxy-authorization",
    };
    for (size_t i = 0; i < COUNT(NAMES); i++) {
        if (strlen(NAMES[i]) == name.length && strncasecmp(NAMES[i], name.data, name.length) == 0)
            return !is_placeholder(value, 0);
    }
    return false;
}
