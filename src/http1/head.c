/* head.c: the walk over a head's bytes, line by line: syntax and limits (RFC 9112 2 to 5).
 *
 * Every fault is decided at one certain byte, whether the bytes come at once or one by one, so the
 * result does not depend on how they are cut. A walk that began in the middle records nothing; once
 * the head is whole it is walked again from the front, which makes two looks at a byte, whatever
 * the number of calls.
 */
#include "http1/chars.h"
#include "http1/parts.h"

enum { METHOD_BYTES_MAX = 64 }; /* longer than any that exists: 501 (RFC 9112 3) */

enum state { START, METHOD, TARGET, VERSION, STATUS, REASON, LINE, NAME, VALUE };

struct walk {
    struct http1_scan *scan;
    const struct http1_limits *limits;
    struct http1_head *head;
    struct http1_complaint to;
    const char *at, *end; /* end: of what came, or of what a head may have */
    const char *name, *colon;
    size_t fields_max;
    bool records;
};

struct http1_limits http1_limits_default(void)
{
    return (struct http1_limits){
        .head_bytes_max = (size_t)16 * 1024,
        .target_bytes_max = 8 * 1024,
        .fields_max = 100,
        .chunk_line_bytes_max = 256,
        .trailer_bytes_max = 8 * 1024,
    };
}

static enum http1_step refuse(const struct walk *walk, int status, const char *rule, const char *at)
{
    (void)http1__refuse(&walk->to, status, rule, at);
    return HTTP1_BAD;
}

static void enter(struct walk *walk, enum state state)
{
    walk->scan->state = (uint8_t)state;
    walk->scan->mark = (size_t)(walk->at - walk->to.base);
}

static const char *mark(const struct walk *walk)
{
    return walk->to.base + walk->scan->mark;
}

/* A byte that may not stand where it stands, in the words that help most. */
static enum http1_step refuse_byte(const struct walk *walk, const char *otherwise)
{
    const char *rule = otherwise;
    if (*walk->at == '\n') rule = "bare LF";
    if (*walk->at == '\r') rule = "bare CR";
    if (*walk->at == '\0') rule = "NUL";
    return refuse(walk, 400, rule, walk->at);
}

/* At a CR: DONE when an LF follows, and both are behind. */
static enum http1_step take_crlf(struct walk *walk)
{
    if (walk->end - walk->at < 2) return HTTP1_MORE;
    if (walk->at[1] != '\n') return refuse(walk, 400, "bare CR", walk->at);
    walk->at += 2;
    return HTTP1_DONE;
}

static enum http1_step skip_empty_lines(struct walk *walk)
{
    while (walk->at < walk->end && *walk->at == '\r') {
        enum http1_step step = take_crlf(walk);
        if (step != HTTP1_DONE) return step;
    }
    return walk->at < walk->end ? HTTP1_DONE : HTTP1_MORE;
}

static enum http1_step take_method(struct walk *walk)
{
    const char *start = mark(walk);
    const char *stop =
        walk->end - start > METHOD_BYTES_MAX + 1 ? start + METHOD_BYTES_MAX + 1 : walk->end;
    walk->at = char_skip(walk->at, stop, CHAR_TOKEN);
    if (walk->at - start > METHOD_BYTES_MAX) return refuse(walk, 501, "method too long", start);
    if (walk->at == walk->end) return HTTP1_MORE;
    if (*walk->at != ' ' || walk->at == start) return refuse_byte(walk, "malformed method");
    walk->head->method_text = belay_slice(start, (size_t)(walk->at - start));
    walk->at++;
    return HTTP1_DONE;
}

static enum http1_step take_target(struct walk *walk)
{
    const char *start = mark(walk);
    size_t room = (size_t)(walk->end - start);
    bool cut = room > walk->limits->target_bytes_max;
    const char *stop = cut ? start + walk->limits->target_bytes_max + 1 : walk->end;
    walk->at = char_skip_target(walk->at, stop);
    if (cut && walk->at == stop) return refuse(walk, 414, "target too long", start);
    if (walk->at == walk->end) return HTTP1_MORE;
    if (*walk->at != ' ' || walk->at == start) return refuse_byte(walk, "malformed request target");
    walk->head->target = belay_slice(start, (size_t)(walk->at - start));
    walk->at++;
    return HTTP1_DONE;
}

/* Follows `pattern`, in which '#' is any digit, from the mark on; short, so it begins anew at every
 * call. */
static enum http1_step take_pattern(struct walk *walk, const char *pattern, const char *rule)
{
    walk->at = mark(walk);
    for (; *pattern; pattern++, walk->at++) {
        if (walk->at == walk->end) return HTTP1_MORE;
        bool fits = *pattern == '#' ? char_is_digit(*walk->at) : *walk->at == *pattern;
        if (!fits) return refuse_byte(walk, rule);
    }
    return HTTP1_DONE;
}

/* `version` begins "HTTP/d.d". */
static enum http1_step read_version(struct walk *walk, const char *version)
{
    char major = version[5], minor = version[7];
    if (major != '1' || minor > '1')
        return refuse(walk, 505, "HTTP version not supported", version);
    walk->head->minor_version = minor - '0';
    return HTTP1_DONE;
}

static enum http1_step take_version(struct walk *walk)
{
    const char *version = mark(walk);
    if (walk->end - version >= 10 && memcmp(version, "HTTP/1.1\r\n", 10) == 0) {
        walk->at = version + 10;
        walk->head->minor_version = 1;
        return HTTP1_DONE;
    }
    enum http1_step step = take_pattern(walk, "HTTP/#.#\r\n", "malformed HTTP version");
    return step == HTTP1_DONE ? read_version(walk, version) : step;
}

static enum http1_step walk_request_line(struct walk *walk)
{
    enum http1_step step;
    switch ((enum state)walk->scan->state) {
    case START:
        step = skip_empty_lines(walk);
        if (step != HTTP1_DONE) return step;
        enter(walk, METHOD);
        __attribute__((fallthrough));
    case METHOD:
        step = take_method(walk);
        if (step != HTTP1_DONE) return step;
        enter(walk, TARGET);
        __attribute__((fallthrough));
    case TARGET:
        step = take_target(walk);
        if (step != HTTP1_DONE) return step;
        enter(walk, VERSION);
        __attribute__((fallthrough));
    case VERSION:
        step = take_version(walk);
        if (step != HTTP1_DONE) return step;
        enter(walk, LINE);
        __attribute__((fallthrough));
    default: return HTTP1_DONE;
    }
}

static enum http1_step take_status(struct walk *walk)
{
    enum http1_step step = take_pattern(walk, "HTTP/#.# ###", "malformed status line");
    if (step != HTTP1_DONE) return step;
    const char *line = mark(walk);
    if (read_version(walk, line) != HTTP1_DONE) return HTTP1_BAD;
    walk->head->status = (line[9] - '0') * 100 + (line[10] - '0') * 10 + (line[11] - '0');
    if (line[9] < '1' || line[9] > '5')
        return refuse(walk, 502, "status not within 100 to 599", line + 9);
    /* The space before an empty reason phrase is often left out. */
    if (walk->at == walk->end) return HTTP1_MORE;
    if (*walk->at == ' ') {
        walk->at++;
    } else if (*walk->at != '\r') {
        return refuse_byte(walk, "status of more than three digits");
    }
    return HTTP1_DONE;
}

static enum http1_step take_reason(struct walk *walk)
{
    walk->at = char_skip_value(walk->at, walk->end);
    if (walk->at == walk->end) return HTTP1_MORE;
    if (*walk->at != '\r') return refuse_byte(walk, "control character in the reason phrase");
    walk->head->reason_phrase = belay_slice(mark(walk), (size_t)(walk->at - mark(walk)));
    return take_crlf(walk);
}

static enum http1_step walk_status_line(struct walk *walk)
{
    enum http1_step step;
    switch ((enum state)walk->scan->state) {
    case START: enter(walk, STATUS); __attribute__((fallthrough));
    case STATUS:
        step = take_status(walk);
        if (step != HTTP1_DONE) return step;
        enter(walk, REASON);
        __attribute__((fallthrough));
    case REASON:
        step = take_reason(walk);
        if (step != HTTP1_DONE) return step;
        enter(walk, LINE);
        __attribute__((fallthrough));
    default: return HTTP1_DONE;
    }
}

static void record(struct walk *walk)
{
    struct http1_head *head = walk->head;
    struct http1_field *field = &head->fields[head->field_count++];
    const char *from = walk->colon + 1, *to = walk->at;
    while (from < to && (*from == ' ' || *from == '\t')) from++;
    while (from < to && (to[-1] == ' ' || to[-1] == '\t')) to--;
    field->name = belay_slice(walk->name, (size_t)(walk->colon - walk->name));
    field->value = belay_slice(from, (size_t)(to - from));
    field->id = http1__field_id(field->name);
    field->hop_by_hop = http1__hop_by_hop_by_nature(field->id);
    if (head->first[field->id] == 0) {
        head->first[field->id] = (uint8_t)head->field_count;
    } else {
        head->repeated_ids |= UINT64_C(1) << field->id;
    }
}

static enum http1_step begin_line(struct walk *walk)
{
    if (*walk->at == ' ' || *walk->at == '\t') {
        return refuse(walk, 400, "white space at the start of a line", walk->at);
    }
    if (!char_is(*walk->at, CHAR_TOKEN)) return refuse_byte(walk, "malformed field name");
    if (walk->scan->fields == walk->fields_max)
        return refuse(walk, 431, "too many fields", walk->at);
    walk->scan->fields++;
    walk->name = walk->at;
    return HTTP1_DONE;
}

static enum http1_step take_name(struct walk *walk)
{
    walk->at = char_skip(walk->at, walk->end, CHAR_TOKEN);
    if (walk->at == walk->end) return HTTP1_MORE;
    if (*walk->at == ' ' || *walk->at == '\t') {
        return refuse(walk, 400, "white space before the colon", walk->at);
    }
    if (*walk->at != ':') return refuse_byte(walk, "malformed field name");
    walk->colon = walk->at++;
    return HTTP1_DONE;
}

static enum http1_step take_value(struct walk *walk)
{
    walk->at = char_skip_value(walk->at, walk->end);
    if (walk->at == walk->end) return HTTP1_MORE;
    if (*walk->at != '\r') return refuse_byte(walk, "control character in a field value");
    if (walk->end - walk->at >= 2 && walk->at[1] == '\n' && walk->records) record(walk);
    return take_crlf(walk);
}

/* DONE: the empty line that ends the head is behind. */
static enum http1_step walk_fields(struct walk *walk)
{
    enum http1_step step;
    for (;;) {
        switch ((enum state)walk->scan->state) {
        default:
            if (walk->at == walk->end) return HTTP1_MORE;
            if (*walk->at == '\r') return take_crlf(walk);
            if (begin_line(walk) != HTTP1_DONE) return HTTP1_BAD;
            walk->scan->state = NAME;
            __attribute__((fallthrough));
        case NAME:
            step = take_name(walk);
            if (step != HTTP1_DONE) return step;
            walk->scan->state = VALUE;
            __attribute__((fallthrough));
        case VALUE:
            step = take_value(walk);
            if (step != HTTP1_DONE) return step;
            walk->scan->state = LINE;
        }
    }
}

static enum http1_step walk_once(struct walk *walk)
{
    walk->at = walk->to.base + walk->scan->seen;
    walk->records = walk->scan->seen == 0;
    enum http1_step step = walk->to.response ? walk_status_line(walk) : walk_request_line(walk);
    if (step == HTTP1_DONE) step = walk_fields(walk);
    walk->scan->seen = (size_t)(walk->at - walk->to.base);
    return step;
}

static enum http1_step walk_head(struct walk *walk, size_t length)
{
    bool fresh = walk->scan->seen == 0;
    enum http1_step step = walk_once(walk);
    if (step == HTTP1_MORE && length >= walk->limits->head_bytes_max) {
        if (walk->scan->state == TARGET) return refuse(walk, 414, "target too long", mark(walk));
        return refuse(walk, 431, "head too long", walk->end);
    }
    if (step == HTTP1_DONE && !fresh) {
        *walk->scan = (struct http1_scan){0};
        step = walk_once(walk);
    }
    return step;
}

static struct walk begin(struct http1_scan *scan, const struct http1_limits *limits,
                         struct belay_slice bytes, struct http1_head *head,
                         struct http1_error *error)
{
    memset(head, 0, offsetof(struct http1_head, fields));
    size_t window = bytes.length < limits->head_bytes_max ? bytes.length : limits->head_bytes_max;
    return (struct walk){
        .scan = scan,
        .limits = limits,
        .head = head,
        .to = {.base = bytes.data, .error = error},
        .end = bytes.data + window,
        .fields_max = limits->fields_max < HTTP1_FIELDS_MAX ? limits->fields_max : HTTP1_FIELDS_MAX,
    };
}

static enum http1_step finish(struct walk *walk, bool good, size_t *used)
{
    if (!good) return HTTP1_BAD;
    *used = walk->scan->seen;
    *walk->scan = (struct http1_scan){0};
    return HTTP1_DONE;
}

enum http1_step http1_parse_request(struct http1_scan *scan, const struct http1_limits *limits,
                                    struct belay_slice bytes, struct http1_head *head, size_t *used,
                                    struct http1_error *error)
{
    if (bytes.length == 0) return HTTP1_MORE;
    struct walk walk = begin(scan, limits, bytes, head, error);
    enum http1_step step = walk_head(&walk, bytes.length);
    if (step != HTTP1_DONE) return step;
    head->method = belay_method_parse(head->method_text);
    bool good = http1__read_target(head, &walk.to) && http1__read_connection(head, &walk.to) &&
                http1__frame_request(head, &walk.to);
    return finish(&walk, good, used);
}

enum http1_step http1_parse_response(struct http1_scan *scan, const struct http1_limits *limits,
                                     enum belay_method request_method, struct belay_slice bytes,
                                     struct http1_head *head, size_t *used,
                                     struct http1_error *error)
{
    if (bytes.length == 0) return HTTP1_MORE;
    struct walk walk = begin(scan, limits, bytes, head, error);
    walk.to.response = true;
    enum http1_step step = walk_head(&walk, bytes.length);
    if (step != HTTP1_DONE) return step;
    bool good = http1__read_connection(head, &walk.to) &&
                http1__frame_response(head, request_method, &walk.to);
    return finish(&walk, good, used);
}
