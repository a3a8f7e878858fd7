/* fields.c: one row a field of the contract: its name, type, bounds and place (fields.h). */
#include "inspect/fields.h"

#include "event/catalogue.h"
#include "inspect/wall.h"

#include <belay/event.h>

static const char *error_word(unsigned value)
{
    return belay_error_class_name((enum belay_error_class)value);
}

static const char *phase_word(unsigned value)
{
    return belay_phase_name((enum belay_phase)value);
}

static const char *sent_word(unsigned value)
{
    return belay_sent_name((enum belay_sent)value);
}

static const char *decision_word(unsigned value)
{
    return belay_decision_name((enum belay_decision)value);
}

static const char *reason_word(unsigned value)
{
    return belay_reason_name((enum belay_reason)value);
}

static const char *wait_source_word(unsigned value)
{
    return belay_wait_source_name((enum belay_wait_source)value);
}

/* The effect's words stand in the catalogue alone. */
static const char *effect_word(unsigned value)
{
    const struct event_field *field = event_operation_record.fields;
    while (memcmp(field->key, ",\"effect\":", sizeof ",\"effect\":" - 1) != 0) field++;
    return field->name(value);
}

#define ROW(field_name, is, which)                                                                 \
    .name = field_name, .length = sizeof field_name - 1, .type = is, .field = which
#define AT(member) .offset = offsetof(struct inspect_record, member)
#define FROM_0 .least = 0, .most = INT64_MAX
#define STATUSES .least = 100, .most = 599
#define BYTES(lowest, highest) .least = lowest, .most = highest

/* By length, so that a name is compared with a few others only. */
static const struct field_rule RULES[] = {
    {ROW("v", FIELD_VERSION, INSPECT_V)},
    {ROW("time", FIELD_TIME, INSPECT_TIME), AT(time)},
    {ROW("sent", FIELD_WORD, INSPECT_SENT), AT(sent), .word = sent_word},
    {ROW("event", FIELD_KIND, INSPECT_EVENT)},
    {ROW("route", FIELD_TEXT, INSPECT_ROUTE), AT(route), BYTES(0, 2048)},
    {ROW("phase", FIELD_WORD, INSPECT_PHASE), AT(phase), .word = phase_word, .first = 1},
    {ROW("stale", FIELD_TRUTH, INSPECT_STALE), AT(stale)},
    {ROW("method", FIELD_TEXT, INSPECT_METHOD), AT(method), BYTES(1, 64)},
    {ROW("target", FIELD_TEXT, INSPECT_TARGET), AT(target), BYTES(0, 512)},
    {ROW("status", FIELD_STATUS, INSPECT_STATUS), AT(status), STATUSES, .null = true},
    {ROW("reason", FIELD_WORD, INSPECT_REASON), AT(reason), .word = reason_word},
    {ROW("waitMs", FIELD_INTEGER, INSPECT_WAIT), AT(wait_ms), FROM_0},
    {ROW("reused", FIELD_TRUTH, INSPECT_REUSED), AT(reused)},
    {ROW("spanId", FIELD_TEXT, INSPECT_SPAN_ID), AT(span_id), BYTES(0, 512), .id = true},
    {ROW("result", FIELD_RESULT, INSPECT_RESULT), STATUSES},
    {ROW("answer", FIELD_STATUS, INSPECT_ANSWER), AT(answer), STATUSES},
    {ROW("effect", FIELD_WORD, INSPECT_EFFECT), AT(effect), .word = effect_word, .first = 1},
    {ROW("attempt", FIELD_COUNT, INSPECT_ATTEMPT_NUMBER), AT(attempt), .least = 1,
     .most = UINT32_MAX},
    {ROW("traceId", FIELD_TEXT, INSPECT_TRACE_ID), AT(trace_id), BYTES(0, 512), .id = true},
    {ROW("records", FIELD_INTEGER, INSPECT_RECORDS), AT(records), FROM_0},
    {ROW("endpoint", FIELD_TEXT, INSPECT_ENDPOINT), AT(endpoint), BYTES(0, 2048)},
    {ROW("decision", FIELD_WORD, INSPECT_DECISION), AT(decision), .word = decision_word},
    {ROW("attempts", FIELD_COUNT, INSPECT_ATTEMPTS), AT(attempts), .least = 0, .most = UINT32_MAX},
    {ROW("fallback", FIELD_TEXT, INSPECT_FALLBACK), AT(fallback), BYTES(0, 512)},
    {ROW("requestId", FIELD_TEXT, INSPECT_REQUEST_ID), AT(request_id), BYTES(1, 512), .id = true},
    {ROW("elapsedMs", FIELD_INTEGER, INSPECT_ELAPSED), AT(elapsed_ms), FROM_0},
    {ROW("errorClass", FIELD_WORD, INSPECT_ERROR_CLASS), AT(error), .word = error_word, .first = 1,
     .null = true},
    {ROW("waitSource", FIELD_WORD, INSPECT_WAIT_SOURCE), AT(wait_source), .word = wait_source_word,
     .first = 1},
    {ROW("operationId", FIELD_TEXT, INSPECT_OPERATION_ID), AT(operation_id), BYTES(1, 512),
     .id = true},
    {ROW("remainingMs", FIELD_INTEGER, INSPECT_REMAINING), AT(remaining_ms), FROM_0},
    {ROW("retryAfterMs", FIELD_INTEGER, INSPECT_RETRY_AFTER), AT(retry_after_ms), FROM_0},
};
#define RULE_COUNT (sizeof RULES / sizeof RULES[0])
#define NAME_BYTES_MAX 12

/* The place of the first row of each length, and one behind the last. */
static const uint8_t FIRST[NAME_BYTES_MAX + 2] = {0, 0, 1, 1, 1, 3, 7, 17, 20, 24, 26, 28, 30, 31};

/* Loads of a fixed size, which overlap in the middle: faster than a call of memcmp. */
static inline bool same_name(const char *a, const char *b, size_t length)
{
    uint64_t words[4];
    uint32_t halves[4];
    if (length >= sizeof words[0]) {
        memcpy(&words[0], a, sizeof words[0]);
        memcpy(&words[1], b, sizeof words[0]);
        memcpy(&words[2], a + length - sizeof words[0], sizeof words[0]);
        memcpy(&words[3], b + length - sizeof words[0], sizeof words[0]);
        return words[0] == words[1] && words[2] == words[3];
    }
    if (length >= sizeof halves[0]) {
        memcpy(&halves[0], a, sizeof halves[0]);
        memcpy(&halves[1], b, sizeof halves[0]);
        memcpy(&halves[2], a + length - sizeof halves[0], sizeof halves[0]);
        memcpy(&halves[3], b + length - sizeof halves[0], sizeof halves[0]);
        return halves[0] == halves[1] && halves[2] == halves[3];
    }
    return memcmp(a, b, length) == 0;
}

const struct field_rule *field_find(struct belay_slice name)
{
    if (name.length == 0 || name.length > NAME_BYTES_MAX) return NULL;
    for (size_t i = FIRST[name.length]; i < FIRST[name.length + 1]; i++) {
        if (same_name(RULES[i].name, name.data, name.length)) return &RULES[i];
    }
    return NULL;
}

const struct field_rule *field_of(enum inspect_field field)
{
    const struct field_rule *rule = RULES;
    while (rule->field != field) rule++;
    return rule;
}

/* ---- values ---- */

static void *place(const struct field_rule *rule, struct inspect_record *record)
{
    return (char *)record + rule->offset;
}

static void set_present(const struct field_rule *rule, struct inspect_record *record)
{
    record->present |= INSPECT_BIT(rule->field);
}

static void set_wrong_type(const struct field_rule *rule, struct inspect_record *record)
{
    record->wrong_type |= INSPECT_BIT(rule->field);
}

static void set_wrong_word(const struct field_rule *rule, struct inspect_record *record,
                           struct belay_slice word)
{
    record->wrong_word |= INSPECT_BIT(rule->field);
    if (record->word.length == 0) record->word = word;
}

static void set_int(const struct field_rule *rule, struct inspect_record *record, int value)
{
    memcpy(place(rule, record), &value, sizeof value);
    set_present(rule, record);
}

/* The value whose word this is, or -1. */
static int value_of(struct belay_slice word, const char *(*word_of)(unsigned), unsigned first)
{
    const char *known;
    for (unsigned value = first; (known = word_of(value)) != NULL; value++) {
        if (word.length > 0 && known[0] == word.data[0] && strlen(known) == word.length &&
            memcmp(known, word.data, word.length) == 0)
            return (int)value;
    }
    return -1;
}

static const char *terminal_word(unsigned value)
{
    return belay_terminal_name((enum belay_terminal)value);
}

static void read_kind(const struct field_rule *rule, struct belay_slice word,
                      struct inspect_record *record)
{
    static const struct {
        const char *word;
        enum inspect_kind kind;
    } KINDS[] = {{"operation", INSPECT_OPERATION},
                 {"state_check", INSPECT_STATE_CHECK},
                 {"lost", INSPECT_LOST}};
    record->kind = INSPECT_UNKNOWN;
    for (size_t i = 0; i < sizeof KINDS / sizeof KINDS[0]; i++) {
        if (belay_slice_equal(word, belay_slice_z(KINDS[i].word))) record->kind = KINDS[i].kind;
    }
    if (record->kind == INSPECT_UNKNOWN) {
        set_wrong_word(rule, record, word);
    } else {
        set_present(rule, record);
    }
}

static void read_word(const struct field_rule *rule, struct belay_slice word,
                      struct inspect_record *record)
{
    int value = value_of(word, rule->word, rule->first);
    if (value >= 0) {
        set_int(rule, record, value);
        return;
    }
    set_wrong_word(rule, record, word);
    bool sentence = word.length > 0 && memchr(word.data, ' ', word.length) != NULL;
    if (rule->field == INSPECT_ERROR_CLASS && sentence) record->error_sentence = true;
}

/* A word that has escapes is unescaped where it stands: the lexer is behind it. */
static bool read_string(const struct field_rule *rule, struct lex *lex,
                        struct inspect_record *record, uint32_t *raw)
{
    struct lex_text text;
    struct belay_wall time;
    if (!lex_string(lex, &text)) return false;
    struct belay_slice slice = {text.data, text.length};
    if (rule->type == FIELD_TEXT) {
        bool fits = text.length >= (size_t)rule->least && text.length <= (size_t)rule->most;
        if (!fits) {
            set_wrong_type(rule, record);
            return true;
        }
        memcpy(place(rule, record), &slice, sizeof slice);
        set_present(rule, record);
        if (text.escaped || text.beyond_ascii) *raw |= INSPECT_BIT(rule->field);
        return true;
    }
    bool wanted = rule->type == FIELD_WORD || rule->type == FIELD_KIND || rule->type == FIELD_TIME;
    if (!wanted || !lex_unescape(&text)) {
        set_wrong_type(rule, record);
        return true;
    }
    slice.length = text.length;
    if (rule->type == FIELD_KIND) {
        read_kind(rule, slice, record);
    } else if (rule->type == FIELD_WORD) {
        read_word(rule, slice, record);
    } else if (wall_parse(slice, &time)) {
        record->time = time;
        set_present(rule, record);
    } else {
        set_wrong_type(rule, record);
    }
    return true;
}

/* A version that is not ours makes the whole record unknown; 0 is some logger's own `v`. */
static void read_version(const struct field_rule *rule, int64_t value,
                         struct inspect_record *record)
{
    if (value < 1) {
        set_wrong_type(rule, record);
        return;
    }
    record->other_version = value != BELAY_EVENT_VERSION;
    set_present(rule, record);
}

static bool read_number(const struct field_rule *rule, struct lex *lex,
                        struct inspect_record *record)
{
    int64_t value = 0;
    enum lex_number kind = lex_number(lex, &value);
    if (kind == LEX_NO_NUMBER) return false;
    bool integer =
        rule->type == FIELD_INTEGER || rule->type == FIELD_COUNT || rule->type == FIELD_STATUS;
    if (kind == LEX_INTEGER && rule->type == FIELD_VERSION) {
        read_version(rule, value, record);
    } else if (kind != LEX_INTEGER || !integer || value < rule->least || value > rule->most) {
        set_wrong_type(rule, record);
    } else if (rule->type == FIELD_STATUS) {
        set_int(rule, record, (int)value);
    } else if (rule->type == FIELD_COUNT) {
        uint32_t count = (uint32_t)value;
        memcpy(place(rule, record), &count, sizeof count);
        set_present(rule, record);
    } else {
        memcpy(place(rule, record), &value, sizeof value);
        set_present(rule, record);
    }
    return true;
}

static bool read_literal(const struct field_rule *rule, struct lex *lex,
                         struct inspect_record *record)
{
    bool is_true = lex_word(lex, "true");
    if (is_true || lex_word(lex, "false")) {
        if (rule->type == FIELD_TRUTH) {
            memcpy(place(rule, record), &is_true, sizeof is_true);
            set_present(rule, record);
        } else {
            set_wrong_type(rule, record);
        }
        return true;
    }
    if (!lex_word(lex, "null")) return false;
    if (rule->null) set_int(rule, record, 0);
    return true;
}

/* {"status":200} or {"status":"stop"}. */
static bool read_result(const struct field_rule *rule, struct lex *lex,
                        struct inspect_record *record)
{
    struct lex whole = *lex;
    struct lex_text name, word;
    int64_t status = 0;
    bool usable = false;
    if (!lex_skip(lex)) return false;
    whole.end = lex->at;
    (void)lex_take(&whole, '{');
    lex_space(&whole);
    while (lex_take(&whole, '"') && lex_string(&whole, &name)) {
        lex_space(&whole);
        if (!lex_take(&whole, ':')) break;
        lex_space(&whole);
        bool is_status = name.length == 6 && memcmp(name.data, "status", 6) == 0;
        if (is_status && lex_take(&whole, '"')) {
            if (!lex_string(&whole, &word)) break;
            usable = lex_unescape(&word);
            record->result_word = belay_slice(word.data, usable ? word.length : 0);
        } else if (is_status && lex_number(&whole, &status) == LEX_INTEGER) {
            usable = status >= rule->least && status <= rule->most;
            record->result_status = usable ? (int)status : 0;
        } else if (!lex_skip(&whole)) {
            break;
        }
        lex_space(&whole);
        if (!lex_take(&whole, ',')) break;
        lex_space(&whole);
    }
    if (!usable) {
        set_wrong_type(rule, record);
    } else if (record->result_status == 0 && value_of(record->result_word, decision_word, 0) < 0 &&
               value_of(record->result_word, terminal_word, 1) < 0) {
        set_wrong_word(rule, record, record->result_word);
    } else {
        set_present(rule, record);
    }
    return true;
}

/* What one occurrence of the field says; the record's own bits are put together by field_read. */
static bool read_once(const struct field_rule *rule, struct lex *lex, struct inspect_record *record,
                      uint32_t *raw)
{
    char c = lex_peek(lex);
    if (c == '"') {
        lex->at++;
        return read_string(rule, lex, record, raw);
    }
    if (c == '-' || (c >= '0' && c <= '9')) return read_number(rule, lex, record);
    if (c == '{' && rule->type == FIELD_RESULT) return read_result(rule, lex, record);
    if (c != '{' && c != '[') return read_literal(rule, lex, record);
    set_wrong_type(rule, record);
    return lex_skip(lex);
}

bool field_read(const struct field_rule *rule, struct lex *lex, struct inspect_record *record,
                uint32_t *raw)
{
    uint32_t bit = INSPECT_BIT(rule->field);
    if (((record->present | record->wrong_type | record->wrong_word) & bit) == 0)
        return read_once(rule, lex, record, raw);
    record->repeated |= bit;
    if (record->present & bit) return lex_skip(lex);
    record->wrong_type &= ~bit;
    record->wrong_word &= ~bit;
    return read_once(rule, lex, record, raw);
}

void field_unescape(struct inspect_record *record, uint32_t raw)
{
    for (size_t i = 0; i < RULE_COUNT && raw; i++) {
        const struct field_rule *rule = &RULES[i];
        uint32_t bit = INSPECT_BIT(rule->field);
        struct belay_slice slice;
        if (!(raw & bit)) continue;
        raw &= ~bit;
        memcpy(&slice, place(rule, record), sizeof slice);
        struct lex_text text = {(char *)slice.data, slice.length, true, true};
        if (lex_unescape(&text)) {
            slice.length = text.length;
        } else {
            slice = belay_slice(NULL, 0);
            record->present &= ~bit;
            set_wrong_type(rule, record);
        }
        memcpy(place(rule, record), &slice, sizeof slice);
    }
}
