/* call_options.c: the command line of `belay call` (call_options.h). Names and meanings that curl
 * has too are curl's. */
#include "app/call_options.h"

#include "app/call_exit.h"
#include "base/text.h"

#include <belay/event.h>
#include <belay/method.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <strings.h>

#define HEADER_LINE_BYTES_MAX ((size_t)64 * 1024)
#define CONNECT_SECONDS 2 /* calls from a shell go far: the defaults of `network: internet` */
#define KEY_BYTES 16

/* What the rows of the table fill in, before it is looked at. */
struct words {
    const char *method, *deadline, *max_time, *connect_timeout, *attempts, *backoff, *retry_on;
    const char *key, *effect, *user;
    struct arg_values headers, data, set; /* data: of all three kinds */
    bool follow;
};

void call_options_print_help(FILE *to)
{
    fputs("usage: belay call [OPTION...] URL\n"
          "\n"
          "One HTTP request that survives a faulty network, or ends at its deadline with an honest "
          "answer.\n"
          "\n"
          "as in curl\n"
          "  -X, --request METHOD      [GET; POST with data]\n"
          "  -H, --header LINE|@FILE   a field of the request; FILE has one a line\n"
          "  -d, --data DATA|@FILE|@-  a body, POST; newlines of a file are left out\n"
          "      --data-binary ...     ... as it is;  --data-raw DATA without the meaning of @\n"
          "  -I, --head                HEAD: the head only\n"
          "  -o, --output FILE         the answer's body [standard output]\n"
          "  -i, --include             its head too\n"
          "  -f, --fail                no body of an answer from 400 on\n"
          "  -s, --silent              no progress, no message;  -S, --show-error: but messages\n"
          "  -m, --max-time TIME       --deadline; without a unit it is seconds\n"
          "      --connect-timeout TIME  connecting, from the name to the end of TLS\n"
          "                            [2s to connect, and 2s for TLS]\n"
          "      --cacert FILE         who is trusted;  -k, --insecure: anybody\n"
          "  -n, --netrc               user and password from ~/.netrc;  --netrc-file FILE\n"
          "\n"
          "the operation\n"
          "      --deadline TIME       of all attempts and waits together, such as 2s or 250ms "
          "[10s]\n"
          "      --attempts N          at most [3]\n"
          "      --backoff [KIND,]BASE[,MAX]  waits between them [additive,200ms,5s]\n"
          "      --retry-on LIST       error classes and statuses\n"
          "                            [timeout,reset,closed,refused,dns,429,502,503,504]\n"
          "      --set NAME=VALUE      any option of a policy in belay.yaml, such as "
          "breaker.consecutive=3\n"
          "      --idempotent          sent twice, it has the effect of once\n"
          "      --idempotency-key KEY|auto  ... because the recipient honours this key\n"
          "      --effect read|write   what it does [by the method]\n"
          "\n"
          "the evidence\n"
          "      --state FILE          budget, breaker, holds, quota and bulkhead, shared by all "
          "runs\n"
          "      --events FILE|-       an event for each attempt, and a record of the operation\n"
          "      --route TEMPLATE      names the endpoint in events, such as /orders/{id}\n"
          "      --operation-id ID     [made]\n"
          "\n"
          "exit status\n",
          to);
    for (size_t i = 0; i < CALL_EXIT_COUNT; i++)
        fprintf(to, "  %-4d%-20s%s\n", (int)CALL_EXITS[i].code, CALL_EXITS[i].word,
                CALL_EXITS[i].meaning);
}

static bool bad(const char *option, const char *format, ...) __attribute__((format(printf, 2, 3)));

static bool bad(const char *option, const char *format, ...)
{
    va_list arguments;
    fprintf(stderr, "belay call: %s: ", option);
    va_start(arguments, format);
    (void)vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    return false;
}

/* ---- short options next to each other: -sSXPOST ---- */

static const struct arg *row_of(const struct arg *rows, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(rows[i].name, name) == 0) return &rows[i];
    }
    return NULL;
}

static int split_short(const struct arg *rows, size_t count, char *word, char **out)
{
    int made = 0;
    for (char *at = word + 1; *at; at++) {
        const char name[] = {'-', *at, '\0'};
        const struct arg *row = row_of(rows, count, name);
        if (!row) break;
        out[made++] = (char *)(uintptr_t)row->name;
        if (row->flag) continue;
        if (at[1]) out[made++] = at + 1;
        return made;
    }
    bool whole = made == (int)strlen(word) - 1;
    if (!whole) out[0] = word;
    return whole ? made : 1;
}

/* The same words with every short option on its own; NULL without memory. */
static char **split_words(const struct arg *rows, size_t count, int *argc, char **argv)
{
    size_t most = 2;
    for (int i = 0; i < *argc; i++) most += strlen(argv[i]) + 1;
    char **words = calloc(most, sizeof *words);
    bool only_words = false, is_value = false;
    int made = 0;
    for (int i = 0; words && i < *argc; i++) {
        char *word = argv[i];
        bool is_short = word[0] == '-' && word[1] && word[1] != '-' && word[2];
        only_words = only_words || (!is_value && strcmp(word, "--") == 0);
        if (i == 0 || is_value || only_words || !is_short) {
            words[made++] = word;
        } else {
            made += split_short(rows, count, word, words + made);
        }
        const struct arg *row = row_of(rows, count, words[made - 1]);
        is_value = i > 0 && !is_value && !only_words && row && !row->flag;
    }
    *argc = made;
    return words;
}

/* ---- durations ---- */

/* Seconds without a unit, as curl has them; else as in belay.yaml. */
static bool set_time(struct belay_policy *policy, const char *name, const char *text)
{
    char *rest;
    char milliseconds[32];
    bool number = char_is_digit(text[0]) && text[strspn(text, "0123456789.")] == '\0';
    if (!number) return call_policy_set(policy, name, belay_slice_z(text));
    double seconds = strtod(text, &rest);
    if (*rest || seconds > 1e6) return bad(name, "'%.20s' is no number of seconds", text);
    (void)snprintf(milliseconds, sizeof milliseconds, "%.0fms", seconds * 1000 + 0.4999);
    return call_policy_set(policy, name, belay_slice_z(milliseconds));
}

static bool set_backoff(struct belay_policy *policy, const char *text)
{
    static const char *const TIMES[] = {"backoff.base", "backoff.max"};
    size_t times = 0;
    policy->backoff = belay_policy_default().backoff;
    for (const char *from = text; *from;) {
        size_t length = strcspn(from, ",");
        bool is_time = char_is_digit(from[0]);
        if (is_time && times == 2) return bad("--backoff", "has a base and a max, no third time");
        if (!is_time && from != text) return bad("--backoff", "the kind stands first");
        const char *name = is_time ? TIMES[times++] : "backoff.kind";
        if (!call_policy_set(policy, name, belay_slice(from, length))) return false;
        from += length + (from[length] == ',');
    }
    struct belay_backoff_config *backoff = &policy->backoff;
    if (times == 1) backoff->max = belay_span_max(backoff->max, backoff->base);
    return true;
}

static bool set_each(struct belay_policy *policy, const struct arg_values *values)
{
    for (size_t i = 0; i < values->count; i++) {
        char name[64];
        const char *text = values->items[i], *equals = strchr(text, '=');
        size_t length = equals ? (size_t)(equals - text) : sizeof name;
        if (length >= sizeof name) return bad("--set", "must be NAME=VALUE, such as attempts=5");
        memcpy(name, text, length);
        name[length] = '\0';
        if (!call_policy_set(policy, name, belay_slice_z(equals + 1))) return false;
    }
    return true;
}

static bool read_policy(struct call_options *options, const struct words *words)
{
    struct belay_policy *policy = &options->policy;
    *policy = belay_policy_default();
    policy->connect_timeout_for = policy->tls_timeout_for = belay_span_ms(CONNECT_SECONDS * 1000);
    if (words->deadline && words->max_time)
        return bad("--deadline", "is the same as --max-time, say one of them");
    if (words->connect_timeout) {
        if (!set_time(policy, "connect_timeout", words->connect_timeout)) return false;
        options->connect_for = policy->tls_timeout_for = policy->connect_timeout_for;
    }
    if (!set_each(policy, &words->set)) return false;
    if (words->deadline && !call_policy_set(policy, "deadline", belay_slice_z(words->deadline)))
        return false;
    if (words->max_time && !set_time(policy, "deadline", words->max_time)) return false;
    if (words->attempts && !call_policy_set(policy, "attempts", belay_slice_z(words->attempts)))
        return false;
    if (words->backoff && !set_backoff(policy, words->backoff)) return false;
    if (words->retry_on && !call_policy_set(policy, "retry_on", belay_slice_z(words->retry_on)))
        return false;
    return call_policy_settle(policy);
}

/* ---- files ---- */

/* All of a file, or of the standard input for "-". */
static bool read_file(const char *option, const char *name, size_t bytes_max, struct buf *out)
{
    bool is_stdin = strcmp(name, "-") == 0;
    FILE *file = is_stdin ? stdin : fopen(name, "rb");
    if (!file) return bad(option, "cannot open %s: %s", name, strerror(errno));
    char piece[1 << 16];
    size_t got;
    bool fits = true;
    while (fits && (got = fread(piece, 1, sizeof piece, file)) > 0)
        fits = buf_length(out) + got <= bytes_max && buf_add(out, piece, got);
    bool read = !ferror(file);
    if (!is_stdin) (void)fclose(file);
    if (!read) return bad(option, "cannot read %s", name);
    return fits || bad(option, "%s is larger than %zu bytes, or than memory", name, bytes_max);
}

/* As curl does with a file of --data: its lines are joined, and no NUL is sent. */
static void strip(struct buf *body, size_t from)
{
    char *data = body->data ? body->data + body->start : NULL;
    size_t length = buf_length(body), kept = from;
    for (size_t i = from; i < length; i++) {
        bool dropped = data[i] == '\r' || data[i] == '\n' || data[i] == '\0';
        if (!dropped) data[kept++] = data[i];
    }
    body->end -= length - kept;
}

static bool add_data(struct call_options *options, const char *option, const char *text)
{
    struct buf *body = &options->body;
    bool binary = strcmp(option, "--data-binary") == 0;
    bool at_is_file = strcmp(option, "--data-raw") != 0;
    if (options->has_body && !buf_add(body, "&", 1)) return bad(option, "no memory is left");
    options->has_body = true;
    size_t from = buf_length(body);
    if (!at_is_file || text[0] != '@')
        return buf_add(body, text, strlen(text)) || bad(option, "no memory is left");
    if (!read_file(option, text + 1, CALL_BODY_BYTES_MAX, body)) return false;
    if (!binary) strip(body, from);
    return true;
}

static bool read_body(struct call_options *options, const struct arg_values *data)
{
    for (size_t i = 0; i < data->count; i++) {
        if (!add_data(options, data->names[i], data->items[i])) return false;
    }
    return true;
}

/* ---- header fields ---- */

static bool add_header(struct call_options *options, const char *line)
{
    /* The value may be a secret: it is in no message. */
    if (line[strcspn(line, "\r\n")]) return bad("--header", "a field is one line");
    size_t name = strcspn(line, ":;");
    if (name == 0 || !line[name])
        return bad("--header", "must be \"Name: value\", or @FILE with such lines");
    struct curl_slist *longer = curl_slist_append(options->headers, line);
    if (!longer) return bad("--header", "no memory is left");
    options->headers = longer;
    return true;
}

static bool add_header_file(struct call_options *options, const char *name)
{
    struct buf text;
    buf_init(&text, HEADER_LINE_BYTES_MAX);
    bool good = read_file("--header", name, HEADER_LINE_BYTES_MAX - 1, &text);
    struct belay_slice all = buf_slice(&text);
    if (good && all.data && memchr(all.data, '\0', all.length))
        good = bad("--header", "%s has a NUL in it", name);
    if (good && !buf_add(&text, "", 1)) good = bad("--header", "no memory is left");
    for (char *line = good ? text.data + text.start : NULL; good && line && *line;) {
        size_t length = strcspn(line, "\r\n");
        char *next = line + length + strspn(line + length, "\r\n");
        line[length] = '\0';
        good = length == 0 || add_header(options, line);
        line = next;
    }
    buf_deinit(&text);
    return good;
}

static bool make_key(char key[2 * KEY_BYTES + 1])
{
    unsigned char bytes[KEY_BYTES];
    FILE *file = fopen("/dev/urandom", "rb");
    bool read = file && fread(bytes, 1, sizeof bytes, file) == sizeof bytes;
    if (file) (void)fclose(file);
    for (size_t i = 0; read && i < KEY_BYTES; i++) (void)snprintf(key + 2 * i, 3, "%02x", bytes[i]);
    return read;
}

static bool add_key(struct call_options *options, const char *key)
{
    char made[2 * KEY_BYTES + 1], line[CALL_KEY_BYTES_MAX + 32];
    if (strcmp(key, "auto") == 0) {
        if (!make_key(made)) return bad("--idempotency-key", "there is no /dev/urandom");
        key = made;
    }
    size_t length = strlen(key);
    bool visible = length > 0 && length < CALL_KEY_BYTES_MAX;
    for (size_t i = 0; visible && i < length; i++) visible = key[i] > ' ' && key[i] < 0x7f;
    if (!visible)
        return bad("--idempotency-key", "a key is 1 to 255 visible characters without blanks");
    (void)snprintf(line, sizeof line, "Idempotency-Key: %s", key);
    options->keyed = true;
    return add_header(options, line);
}

static bool read_headers(struct call_options *options, const struct words *words)
{
    for (size_t i = 0; i < words->headers.count; i++) {
        const char *text = words->headers.items[i];
        bool good = text[0] == '@' ? add_header_file(options, text + 1) : add_header(options, text);
        if (!good) return false;
    }
    return !words->key || add_key(options, words->key);
}

/* ---- the URL ---- */

/* libcurl's own reading of it, so that what is named is what is called. */
static bool read_url_parts(struct call_options *options, CURLU *url)
{
    char *host = NULL, *port = NULL, *scheme = NULL;
    CURLUcode code = curl_url_set(url, CURLUPART_URL, options->url,
                                  CURLU_GUESS_SCHEME | CURLU_NON_SUPPORT_SCHEME);
    if (code == CURLUE_OK) code = curl_url_get(url, CURLUPART_HOST, &host, 0);
    if (code == CURLUE_OK) code = curl_url_get(url, CURLUPART_SCHEME, &scheme, 0);
    if (code == CURLUE_OK) code = curl_url_get(url, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT);
    bool http = scheme && (strcmp(scheme, "http") == 0 || strcmp(scheme, "https") == 0);
    int length = !host || !port
                     ? -1
                     : snprintf(options->target, sizeof options->target, "%s:%s", host, port);
    bool fits = length > 0 && (size_t)length < sizeof options->target;
    curl_free(host);
    curl_free(port);
    curl_free(scheme);
    for (char *c = options->target; fits && *c; c++) *c = char_lower(*c);
    if (code == CURLUE_UNSUPPORTED_SCHEME || (scheme && !http))
        return bad("URL", "only http and https are called");
    if (code != CURLUE_OK) return bad("URL", "%s", curl_url_strerror(code));
    return fits || bad("URL", "the host is too long");
}

static bool read_url(struct call_options *options, int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "belay call: %s\nbelay call: `belay call --help` lists the options\n",
                argc < 2 ? "the URL is missing" : "one URL is expected, not more");
        return false;
    }
    options->url = argv[1];
    CURLU *url = curl_url();
    bool good = url ? read_url_parts(options, url) : bad("URL", "no memory is left");
    curl_url_cleanup(url);
    return good;
}

/* ---- the whole line ---- */

static bool is_token(const char *text)
{
    size_t length = 0;
    while (char_is_token(text[length])) length++;
    return length > 0 && !text[length];
}

static bool read_request(struct call_options *options, const struct words *words)
{
    if (words->follow) return bad("--location", "redirects are not followed: each is an answer");
    if (words->user)
        return bad("--user", "everybody on this machine could read the password; use --netrc-file, "
                             "or --header @FILE with an Authorization field");
    bool is_read = words->effect && strcmp(words->effect, "read") == 0,
         is_write = words->effect && strcmp(words->effect, "write") == 0;
    if (words->effect && !is_read && !is_write) return bad("--effect", "is read or write");
    options->write = is_write;
    if (options->output && strcmp(options->output, "-") == 0) options->output = NULL;
    if (options->operation_id && !belay_event_id_valid(belay_slice_z(options->operation_id)))
        return bad("--operation-id", "is 1 to 128 letters, digits and - _ . : + = ~");
    const char *route = options->route;
    if (route && (route[0] != '/' || route[1] == '/' || strpbrk(route, "?#")))
        return bad("--route", "begins with one / and has no query");
    options->method = words->method;
    const char *method = words->method ? words->method : "GET";
    if (!is_token(method)) return bad("--request", "'%.20s' is no method", method);
    if (options->head && (words->data.count || words->method))
        return bad("--head", "does not go with data or another method");
    if (strcmp(method, "HEAD") == 0 && words->data.count)
        return bad("--request", "HEAD does not go with data");
    if (!read_headers(options, words) || !read_body(options, &words->data)) return false;
    bool safe = belay_method_is_safe(belay_method_parse(belay_slice_z(method))) &&
                !(options->has_body && !words->method);
    if (is_read && !safe) options->idempotent = true; /* what only reads may be repeated */
    return true;
}

#define VALUE(brief, name, at)                                                                     \
    {brief, at, NULL, NULL},                                                                       \
    {                                                                                              \
        name, at, NULL, NULL                                                                       \
    }
#define VALUES(brief, name, at)                                                                    \
    {brief, NULL, NULL, at},                                                                       \
    {                                                                                              \
        name, NULL, NULL, at                                                                       \
    }
#define FLAG(brief, name, at)                                                                      \
    {brief, NULL, at, NULL},                                                                       \
    {                                                                                              \
        name, NULL, at, NULL                                                                       \
    }

bool call_options_read(struct call_options *options, int argc, char **argv)
{
    struct words words = {0};
    const struct arg rows[] = {
        VALUE("-X", "--request", &words.method),
        VALUES("-H", "--header", &words.headers),
        VALUES("-d", "--data", &words.data),
        {"--data-ascii", NULL, NULL, &words.data},
        FLAG("-I", "--head", &options->head),
        VALUE("-o", "--output", &options->output),
        FLAG("-i", "--include", &options->include),
        FLAG("-f", "--fail", &options->fail),
        FLAG("-s", "--silent", &options->silent),
        FLAG("-S", "--show-error", &options->show_error),
        VALUE("-m", "--max-time", &words.max_time),
        FLAG("-k", "--insecure", &options->insecure),
        FLAG("-n", "--netrc", &options->netrc),
        VALUE("-u", "--user", &words.user),
        FLAG("-L", "--location", &words.follow),
        FLAG("-h", "--help", &options->help),
        {"--data-raw", NULL, NULL, &words.data},
        {"--data-binary", NULL, NULL, &words.data},
        {"--connect-timeout", &words.connect_timeout, NULL, NULL},
        {"--cacert", &options->cacert, NULL, NULL},
        {"--netrc-file", &options->netrc_file, NULL, NULL},
        {"--deadline", &words.deadline, NULL, NULL},
        {"--attempts", &words.attempts, NULL, NULL},
        {"--backoff", &words.backoff, NULL, NULL},
        {"--retry-on", &words.retry_on, NULL, NULL},
        {"--set", NULL, NULL, &words.set},
        {"--idempotent", NULL, &options->idempotent, NULL},
        {"--idempotency-key", &words.key, NULL, NULL},
        {"--effect", &words.effect, NULL, NULL},
        {"--state", &options->state, NULL, NULL},
        {"--events", &options->events, NULL, NULL},
        {"--route", &options->route, NULL, NULL},
        {"--operation-id", &options->operation_id, NULL, NULL},
    };
    const size_t count = sizeof rows / sizeof rows[0];
    *options = (struct call_options){0};
    buf_init(&options->body, CALL_BODY_BYTES_MAX + 1);
    char **split = split_words(rows, count, &argc, argv);
    if (!split) return bad("arguments", "no memory is left");
    bool good = args_parse(&argc, split, rows, count) &&
                (options->help || (read_url(options, argc, split) && read_policy(options, &words) &&
                                   read_request(options, &words)));
    free(split);
    return good;
}

void call_options_deinit(struct call_options *options)
{
    curl_slist_free_all(options->headers);
    buf_deinit(&options->body);
}
