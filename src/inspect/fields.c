/* fields.c: one row a field of the contract: its name, type, bounds and place (fields.h). */
#include "inspect/fields.h"

#include "base/check.h"
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

static const char *effect_word(unsigned value)
{
    return belay_effect_name((enum belay_effect)value);
}

#define ROW(which, field_name, is)                                                                 \
    .name = field_name, .length = sizeof field_name - 1, .type = is, .field = which
#define AT(member) .offset = offsetof(struct inspect_record, member)
#define FROM_0 .least = 0, .most = INT64_MAX
#define STATUSES .least = 100, .most = 599
#define BYTES(lowest, highest) .least = lowest, .most = highest

static const struct field_rule RULES[INSPECT_FIELD_COUNT] = {
    [INSPECT_V] = {ROW(INSPECT_V, "v", FIELD_VERSION)},
    [INSPECT_EVENT] = {ROW(INSPECT_EVENT, "event", FIELD_KIND)},
    [INSPECT_TIME] = {ROW(INSPECT_TIME, "time", FIELD_TIME), AT(time)},
    [INSPECT_OPERATION_ID] = {ROW(INSPECT_OPERATION_ID, "operationId", FIELD_TEXT),
                              AT(operation_id), BYTES(1, 512), .id = true},
    [INSPECT_REQUEST_ID] = {ROW(INSPECT_REQUEST_ID, "requestId", FIELD_TEXT), AT(request_id),
                            BYTES(1, 512), .id = true},
    [INSPECT_ATTEMPT_NUMBER] = {ROW(INSPECT_ATTEMPT_NUMBER, "attempt", FIELD_COUNT), AT(attempt),
                                .least = 1, .most = UINT32_MAX},
    [INSPECT_METHOD] = {ROW(INSPECT_METHOD, "method", FIELD_TEXT), AT(method), BYTES(1, 64)},
    [INSPECT_TARGET] = {ROW(INSPECT_TARGET, "target", FIELD_TEXT), AT(target), BYTES(0, 512)},
    [INSPECT_ROUTE] = {ROW(INSPECT_ROUTE, "route", FIELD_TEXT), AT(route), BYTES(0, 2048)},
    [INSPECT_ENDPOINT] = {ROW(INSPECT_ENDPOINT, "endpoint", FIELD_TEXT), AT(endpoint),
                          BYTES(0, 2048)},
    [INSPECT_STATUS] = {ROW(INSPECT_STATUS, "status", FIELD_STATUS), AT(status), STATUSES,
                        .null = true},
    [INSPECT_ERROR_CLASS] = {ROW(INSPECT_ERROR_CLASS, "errorClass", FIELD_WORD), AT(error),
                             .word = error_word, .first = 1, .null = true},
    [INSPECT_PHASE] = {ROW(INSPECT_PHASE, "phase", FIELD_WORD), AT(phase), .word = phase_word,
                       .first = 1},
    [INSPECT_SENT] = {ROW(INSPECT_SENT, "sent", FIELD_WORD), AT(sent), .word = sent_word},
    [INSPECT_ELAPSED] = {ROW(INSPECT_ELAPSED, "elapsedMs", FIELD_INTEGER), AT(elapsed_ms), FROM_0},
    [INSPECT_REMAINING] = {ROW(INSPECT_REMAINING, "remainingMs", FIELD_INTEGER), AT(remaining_ms),
                           FROM_0},
    [INSPECT_RETRY_AFTER] = {ROW(INSPECT_RETRY_AFTER, "retryAfterMs", FIELD_INTEGER),
                             AT(retry_after_ms), FROM_0},
    [INSPECT_DECISION] = {ROW(INSPECT_DECISION, "decision", FIELD_WORD), AT(decision),
                          .word = decision_word},
    [INSPECT_REASON] = {ROW(INSPECT_REASON, "reason", FIELD_WORD), AT(reason), .word = reason_word},
    [INSPECT_WAIT] = {ROW(INSPECT_WAIT, "waitMs", FIELD_INTEGER), AT(wait_ms), FROM_0},
    [INSPECT_WAIT_SOURCE] = {ROW(INSPECT_WAIT_SOURCE, "waitSource", FIELD_WORD), AT(wait_source),
                             .word = wait_source_word, .first = 1},
    [INSPECT_REUSED] = {ROW(INSPECT_REUSED, "reused", FIELD_TRUTH), AT(reused)},
    [INSPECT_STALE] = {ROW(INSPECT_STALE, "stale", FIELD_TRUTH), AT(stale)},
    [INSPECT_TRACE_ID] = {ROW(INSPECT_TRACE_ID, "traceId", FIELD_TEXT), AT(trace_id), BYTES(0, 512),
                          .id = true},
    [INSPECT_SPAN_ID] = {ROW(INSPECT_SPAN_ID, "spanId", FIELD_TEXT), AT(span_id), BYTES(0, 512),
                         .id = true},
    [INSPECT_RESULT] = {ROW(INSPECT_RESULT, "result", FIELD_RESULT), STATUSES},
    [INSPECT_ANSWER] = {ROW(INSPECT_ANSWER, "answer", FIELD_STATUS), AT(answer), STATUSES},
    [INSPECT_EFFECT] = {ROW(INSPECT_EFFECT, "effect", FIELD_WORD), AT(effect), .word = effect_word,
                        .first = 1},
    [INSPECT_ATTEMPTS] = {ROW(INSPECT_ATTEMPTS, "attempts", FIELD_COUNT), AT(attempts), .least = 0,
                          .most = UINT32_MAX},
    [INSPECT_FALLBACK] = {ROW(INSPECT_FALLBACK, "fallback", FIELD_TEXT), AT(fallback),
                          BYTES(0, 512)},
    [INSPECT_RECORDS] = {ROW(INSPECT_RECORDS, "records", FIELD_INTEGER), AT(records), FROM_0},
};
/* By length, so that a name is compared with a few others only. */
static const uint8_t BY_LENGTH[] = {
    INSPECT_V,           INSPECT_TIME,         INSPECT_SENT,
    INSPECT_EVENT,       INSPECT_ROUTE,        INSPECT_PHASE,
    INSPECT_STALE,       INSPECT_METHOD,       INSPECT_TARGET,
    INSPECT_STATUS,      INSPECT_REASON,       INSPECT_WAIT,
    INSPECT_REUSED,      INSPECT_SPAN_ID,      INSPECT_RESULT,
    INSPECT_ANSWER,      INSPECT_EFFECT,       INSPECT_ATTEMPT_NUMBER,
    INSPECT_TRACE_ID,    INSPECT_RECORDS,      INSPECT_ENDPOINT,
    INSPECT_DECISION,    INSPECT_ATTEMPTS,     INSPECT_FALLBACK,
    INSPECT_REQUEST_ID,  INSPECT_ELAPSED,      INSPECT_ERROR_CLASS,
    INSPECT_WAIT_SOURCE, INSPECT_OPERATION_ID, INSPECT_REMAINING,
    INSPECT_RETRY_AFTER,
};
#define NAME_BYTES_MAX 12
#define GUESSES 3 /* an optional field or two may be left out */

/* The place in it of the first of each length, and one behind the last. */
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
        const struct field_rule *rule = &RULES[BY_LENGTH[i]];
        if (same_name(rule->name, name.data, name.length)) return rule;
    }
    return NULL;
}

const struct field_rule *field_guess(const struct field_rule *before, struct lex *lex)
{
    size_t from = before ? before->field + 1u : 0, to = from + GUESSES;
    if (lex->end - lex->at < NAME_BYTES_MAX + 2) return NULL;
    for (size_t i = from; i < to && i < INSPECT_FIELD_COUNT; i++) {
        const struct field_rule *rule = &RULES[i];
        const char *behind = lex->at + rule->length;
        if (behind[0] != '"' || behind[1] != ':' || !same_name(rule->name, lex->at, rule->length))
            continue;
        lex->at += rule->length + 2;
        return rule;
    }
    return NULL;
}

const struct field_rule *field_of(enum inspect_field field)
{
    return &RULES[field];
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
    for (size_t i = 0; i < COUNT(KINDS); i++) {
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
    for (size_t i = 0; i < INSPECT_FIELD_COUNT && raw; i++) {
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
