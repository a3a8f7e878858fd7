/* scan.c: finds the record of the event contract in a line, wherever the line carries it.
 *
 * Every `{` of a line may begin an object; every object inside it, and every string that holds a
 * `{`, may be the record that a logger has wrapped. All of them are looked at in one pass; the one
 * that says the most is taken, an outer one before those it holds.
 */
#include "inspect/fields.h"

#include "base/check.h"
#include "inspect/phrase.h"
#include "inspect/reader.h"
#include "inspect/suspect.h"

#define OPENINGS_MAX 16 /* `{` tried in one text */
#define DEPTH_MAX 6     /* objects, arrays and strings within each other that are looked into */
#define STRING_BYTES_MIN 4
#define STRINGS_MAX 16 /* foreign strings of one line that are looked into */

struct object {
    struct inspect_record record;
    uint32_t raw;                    /* texts that are to be unescaped */
    const struct field_rule *before; /* the field of ours that was read last */
};

enum rank { RANK_NONE, RANK_MERGED, RANK_UNKNOWN, RANK_WHOLE };

struct scan {
    struct inspect_record *best;
    uint32_t best_raw;
    enum rank rank;
    bool any_object;
    bool broken;   /* an object that began like ours has no end, or is no JSON */
    bool sentence; /* a word of ours holds one that says a call failed */
    size_t string_count;
    struct held_string { /* of somebody else's field */
        struct lex_text text;
        struct belay_slice name;
    } strings[STRINGS_MAX];
};

/* ---- what an object is ---- */

#define IDENTITY INSPECT_BIT(INSPECT_OPERATION_ID)
/* Words that only the contract has; one alone may still be somebody else's. */
#define DISTINCT                                                                                   \
    (IDENTITY | INSPECT_BIT(INSPECT_ERROR_CLASS) | INSPECT_BIT(INSPECT_DECISION) |                 \
     INSPECT_BIT(INSPECT_REMAINING) | INSPECT_BIT(INSPECT_RETRY_AFTER) |                           \
     INSPECT_BIT(INSPECT_WAIT) | INSPECT_BIT(INSPECT_WAIT_SOURCE) |                                \
     INSPECT_BIT(INSPECT_ATTEMPT_NUMBER))
/* What an attempt event cannot be without; beside an operationId one of them will do. */
#define REQUIRED                                                                                   \
    (INSPECT_BIT(INSPECT_REQUEST_ID) | INSPECT_BIT(INSPECT_ATTEMPT_NUMBER) |                       \
     INSPECT_BIT(INSPECT_STATUS) | INSPECT_BIT(INSPECT_ERROR_CLASS) |                              \
     INSPECT_BIT(INSPECT_ELAPSED) | INSPECT_BIT(INSPECT_REMAINING) |                               \
     INSPECT_BIT(INSPECT_DECISION))
#define TELLING                                                                                    \
    (INSPECT_BIT(INSPECT_STATUS) | INSPECT_BIT(INSPECT_ERROR_CLASS) | INSPECT_BIT(INSPECT_DECISION))

static uint32_t there(const struct inspect_record *record)
{
    return record->present | record->wrong_type | record->wrong_word;
}

static bool attempt_like(uint32_t fields)
{
    uint32_t distinct = fields & DISTINCT;
    if ((fields & IDENTITY) && (fields & REQUIRED)) return true;
    return (distinct & (distinct - 1)) != 0;
}

/* An "event" that is ours by its word and by what stands beside it. */
static bool own_event(const struct inspect_record *record, uint32_t fields)
{
    switch (record->kind) {
    case INSPECT_LOST: return (fields & INSPECT_BIT(INSPECT_RECORDS)) != 0;
    case INSPECT_OPERATION:
        return (fields &
                (IDENTITY | INSPECT_BIT(INSPECT_RESULT) | INSPECT_BIT(INSPECT_ATTEMPTS))) != 0;
    default: return (fields & (IDENTITY | INSPECT_BIT(INSPECT_V))) != 0;
    }
}

/* Settles the record's kind. RANK_NONE: no record. */
static enum rank classify(struct inspect_record *record)
{
    uint32_t fields = there(record);
    bool event = ((record->present | record->wrong_word) & INSPECT_BIT(INSPECT_EVENT)) != 0;
    if (record->other_version && (attempt_like(fields) || event || (fields & IDENTITY))) {
        record->kind = INSPECT_UNKNOWN;
        return RANK_UNKNOWN;
    }
    if (event && own_event(record, fields))
        return record->kind == INSPECT_UNKNOWN ? RANK_UNKNOWN : RANK_WHOLE;
    if (!attempt_like(fields)) return RANK_NONE;
    bool merged = !(fields & TELLING) || (record->error_sentence &&
                                          !(fields & ~INSPECT_BIT(INSPECT_ERROR_CLASS) & TELLING));
    record->kind = merged ? INSPECT_MERGED : INSPECT_ATTEMPT;
    return merged ? RANK_MERGED : RANK_WHOLE;
}

static bool is_ours(uint32_t fields)
{
    return attempt_like(fields) || (fields & IDENTITY) ||
           (fields & INSPECT_BIT(INSPECT_V) && fields & INSPECT_BIT(INSPECT_EVENT));
}

static void consider(struct scan *scan, struct object *object)
{
    enum rank rank = classify(&object->record);
    if (rank == RANK_NONE && phrase_says_failed(object->record.word)) scan->sentence = true;
    if (rank == RANK_NONE || rank < scan->rank) return;
    scan->rank = rank;
    *scan->best = object->record;
    scan->best_raw = object->raw;
}

/* ---- a pass over an object ---- */

static bool read_object(struct scan *scan, struct lex *lex, unsigned depth);
static bool read_foreign(struct scan *scan, struct lex *lex, struct belay_slice name,
                         unsigned depth);

static bool read_array(struct scan *scan, struct lex *lex, struct belay_slice name, unsigned depth)
{
    lex->at++;
    lex_space(lex);
    if (lex_take(lex, ']')) return true;
    do {
        lex_space(lex);
        if (!read_foreign(scan, lex, name, depth)) return false;
        lex_space(lex);
    } while (lex_take(lex, ','));
    return lex_take(lex, ']');
}

/* The value of somebody else's field. Strings are kept for later, since they are of interest only
 * where the line has a record, or nothing else has. */
static bool read_foreign(struct scan *scan, struct lex *lex, struct belay_slice name,
                         unsigned depth)
{
    struct lex_text text;
    char c = lex_peek(lex);
    if (c == '{' && depth < DEPTH_MAX) return read_object(scan, lex, depth + 1);
    if (c == '[' && depth < DEPTH_MAX) return read_array(scan, lex, name, depth + 1);
    if (!lex_take(lex, '"')) return lex_skip(lex);
    if (!lex_string(lex, &text)) return false;
    if (text.length >= STRING_BYTES_MIN && scan->string_count < STRINGS_MAX)
        scan->strings[scan->string_count++] = (struct held_string){text, name};
    return true;
}

/* The name of a member, and its colon. NULL in *rule: the contract does not have it. */
static bool read_name(struct lex *lex, const struct field_rule *before, struct belay_slice *name,
                      const struct field_rule **rule)
{
    struct lex_text text;
    lex_space(lex);
    if (!lex_take(lex, '"')) return false;
    *rule = field_guess(before, lex);
    if (*rule) return true;
    if (!lex_string(lex, &text)) return false;
    if (text.escaped && !lex_unescape(&text)) text.length = 0;
    *name = belay_slice(text.data, text.length);
    *rule = field_find(*name);
    lex_space(lex);
    return lex_take(lex, ':');
}

static bool read_member(struct scan *scan, struct lex *lex, struct object *object, unsigned depth)
{
    const struct field_rule *rule;
    struct belay_slice name = {0};
    if (!read_name(lex, object->before, &name, &rule)) return false;
    lex_space(lex);
    if (!rule) {
        object->record.foreign_fields = true;
        return read_foreign(scan, lex, name, depth);
    }
    object->before = rule;
    if (lex_peek(lex) == '{' && rule->type != FIELD_RESULT) { /* a wrapper's field of that name */
        object->record.wrong_type |= INSPECT_BIT(rule->field) & ~object->record.present;
        return read_foreign(scan, lex, belay_slice(rule->name, rule->length), depth);
    }
    return field_read(rule, lex, &object->record, &object->raw);
}

static bool read_members(struct scan *scan, struct lex *lex, struct object *object, unsigned depth)
{
    lex->at++;
    lex_space(lex);
    if (lex_take(lex, '}')) return true;
    do {
        if (!read_member(scan, lex, object, depth)) return false;
        lex_space(lex);
    } while (lex_take(lex, ','));
    return lex_take(lex, '}');
}

/* The cursor is at the `{`. An object within one that is broken counts if it is whole itself. */
static bool read_object(struct scan *scan, struct lex *lex, unsigned depth)
{
    struct object object;
    memset(&object, 0, sizeof object);
    if (!read_members(scan, lex, &object, depth)) {
        scan->broken |= is_ours(there(&object.record));
        return false;
    }
    scan->any_object = true;
    consider(scan, &object);
    return true;
}

/* ---- a text ---- */

static void scan_text(struct scan *scan, char *data, size_t length, unsigned depth);

/* Strings that hold an object; one that gives a record is nobody's field any more. */
static void scan_strings(struct scan *scan, size_t from, unsigned depth)
{
    for (size_t i = from; i < scan->string_count && scan->rank != RANK_WHOLE; i++) {
        struct lex_text *text = &scan->strings[i].text;
        if (!memchr(text->data, '{', text->length) || !lex_unescape(text)) continue;
        enum rank before = scan->rank;
        scan_text(scan, text->data, text->length, depth + 1);
        if (scan->rank != before) text->length = 0;
    }
}

static void scan_text(struct scan *scan, char *data, size_t length, unsigned depth)
{
    struct lex lex = {data, data + length};
    size_t first_string = scan->string_count;
    for (int i = 0; i < OPENINGS_MAX && scan->rank != RANK_WHOLE && lex.at < lex.end; i++) {
        char *opening = memchr(lex.at, '{', (size_t)(lex.end - lex.at));
        size_t strings = scan->string_count;
        if (!opening) break;
        lex.at = opening;
        if (read_object(scan, &lex, depth)) continue;
        scan->string_count = strings;
        lex.at = opening + 1;
    }
    if (depth < DEPTH_MAX) scan_strings(scan, first_string, depth);
}

/* ---- what should not stand there ---- */

static void note_suspect(struct inspect_record *record, struct belay_slice name)
{
    if (record->suspect.length == 0) record->suspect = name;
}

static void check_text(struct inspect_record *record, enum inspect_field field,
                       struct belay_slice text, enum suspect_text kind)
{
    unsigned found = suspect_find(text, kind);
    if (!found) return;
    const struct field_rule *rule = field_of(field);
    if (found & SUSPECT_SECRET) record->secret |= INSPECT_BIT(field);
    if (found & ~(unsigned)SUSPECT_SECRET) record->full_url |= INSPECT_BIT(field);
    note_suspect(record, belay_slice(rule->name, rule->length));
}

/* What of `text` is not in `known`, which was looked at already. */
static struct belay_slice beyond(struct belay_slice text, struct belay_slice known)
{
    bool begins = text.length >= known.length && known.length > 0 &&
                  memcmp(text.data, known.data, known.length) == 0;
    return begins ? belay_slice(text.data + known.length, text.length - known.length) : text;
}

static void check_own(struct inspect_record *record)
{
    check_text(record, INSPECT_OPERATION_ID, record->operation_id, SUSPECT_ID);
    check_text(record, INSPECT_REQUEST_ID, beyond(record->request_id, record->operation_id),
               SUSPECT_ID);
    check_text(record, INSPECT_TRACE_ID, record->trace_id, SUSPECT_ID);
    check_text(record, INSPECT_SPAN_ID, record->span_id, SUSPECT_ID);
    check_text(record, INSPECT_METHOD, record->method, SUSPECT_WORD);
    check_text(record, INSPECT_TARGET, record->target, SUSPECT_WORD);
    check_text(record, INSPECT_ROUTE, record->route, SUSPECT_WORD);
    /* Where there are no templates the two are the same. */
    if (!belay_slice_equal(record->endpoint, record->route))
        check_text(record, INSPECT_ENDPOINT, record->endpoint, SUSPECT_WORD);
    else if (inspect_is_doubtful(record, INSPECT_ROUTE))
        record->full_url |= INSPECT_BIT(INSPECT_ENDPOINT);
    check_text(record, INSPECT_FALLBACK, record->fallback, SUSPECT_WORD);
    if (record->word.length == 0 || record->wrong_word == 0) return;
    enum inspect_field field = INSPECT_EFFECT;
    while (field > 0 && !(record->wrong_word & INSPECT_BIT(field))) field--;
    check_text(record, field, record->word, SUSPECT_PROSE);
}

/* A plain URL in somebody else's field is said to be one by its name: documents and schemas have
 * addresses that tell nothing. */
static bool named_url(struct belay_slice name)
{
    static const char *const PARTS[] = {"url", "uri", "href", "URL", "Url", "Uri"};
    for (size_t i = 0; i < COUNT(PARTS); i++) {
        if (memmem(name.data, name.length, PARTS[i], 3) &&
            !memmem(name.data, name.length, "schema", 6))
            return true;
    }
    return false;
}

static void check_foreign(struct inspect_record *record, const struct held_string *held)
{
    struct belay_slice text = {held->text.data, held->text.length};
    if (text.length == 0) return;
    unsigned found = suspect_find(text, SUSPECT_PROSE);
    bool url = (found & (SUSPECT_QUERY | SUSPECT_USER)) != 0 ||
               (found & SUSPECT_URL && named_url(held->name));
    bool secret = found & SUSPECT_SECRET || suspect_value(held->name, text);
    record->foreign_full_url |= url;
    record->foreign_secret |= secret;
    if (url || secret) note_suspect(record, held->name);
}

/* ---- lines without a record ---- */

static bool says_failed(const struct scan *scan, const char *line, size_t length)
{
    if (scan->sentence) return true;
    if (!scan->any_object) return phrase_says_failed(belay_slice(line, length));
    for (size_t i = 0; i < scan->string_count; i++) {
        const struct lex_text *text = &scan->strings[i].text;
        if (phrase_says_failed(belay_slice(text->data, text->length))) return true;
    }
    return false;
}

static bool is_binary(const char *line, size_t length)
{
    if (memchr(line, '\0', length)) return true;
    size_t controls = 0;
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)line[i];
        controls += c < 0x20 && c != '\t' && c != '\r' && c != '\x1b';
    }
    return controls > 0 && !lex_utf8(line, length);
}

/* Names that stand in no line but one of ours, as they are written there. */
static bool has_own_name(const char *line, size_t length)
{
    static const char *const NAMES[] = {"\"operationId\":", "\"remainingMs\":", "\"errorClass\":"};
    for (size_t i = 0; i < COUNT(NAMES); i++) {
        if (memmem(line, length, NAMES[i], strlen(NAMES[i]))) return true;
    }
    return false;
}

bool inspect_scan(char *line, size_t length, struct inspect_record *record, bool *junk)
{
    struct scan scan = {.best = record};
    scan_text(&scan, line, length, 0);
    *junk = scan.broken;
    if (scan.rank == RANK_NONE) {
        *junk |= is_binary(line, length) || (!scan.any_object && has_own_name(line, length));
        if (*junk || !says_failed(&scan, line, length)) return false;
        memset(record, 0, sizeof *record);
        record->kind = INSPECT_MERGED;
    }
    if (scan.best_raw) field_unescape(record, scan.best_raw);
    check_own(record);
    for (size_t i = 0; i < scan.string_count; i++) check_foreign(record, &scan.strings[i]);
    return true;
}
