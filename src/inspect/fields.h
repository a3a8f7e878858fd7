/* fields.h: the names of the event contract, and how the value of each is read into a record.
 *
 * The names are those of the event catalogue; a test holds the two lists against each other.
 * Thread rule: pure functions over the caller's values.
 */
#ifndef INSPECT_FIELDS_H
#define INSPECT_FIELDS_H

#include "inspect/lex.h"
#include "inspect/record.h"

enum field_type {
    FIELD_VERSION,
    FIELD_KIND, /* "event" */
    FIELD_TEXT,
    FIELD_TIME,
    FIELD_INTEGER, /* int64_t within the rule's bounds */
    FIELD_COUNT,   /* uint32_t, as above */
    FIELD_STATUS,  /* int, as above */
    FIELD_WORD,    /* an enum */
    FIELD_TRUTH,
    FIELD_RESULT, /* {"status": number or word} */
};

struct field_rule {
    char name[16];
    uint8_t length, field, type;
    uint8_t first; /* FIELD_WORD: the first value that has a word in events */
    bool null;     /* null says that there is none; elsewhere it is no value at all */
    bool id;       /* FIELD_TEXT: made at random, so that looking random says nothing */
    uint16_t offset;
    int64_t least, most;
    const char *(*word)(unsigned);
};

/* NULL: the contract has no such field. */
const struct field_rule *field_find(struct belay_slice name);
/* The cursor is behind a name's opening quote. When the name is one that in our own lines follows
 * `before` (NULL: begins a line), written without spaces, takes it and the colon; a shortcut for
 * lines that are in order. NULL: find out what it is; nothing was taken. */
const struct field_rule *field_guess(const struct field_rule *before, struct lex *lex);
const struct field_rule *field_of(enum inspect_field field);

/* Reads the value under the cursor, which is no object unless the rule is FIELD_RESULT, and notes
 * in the record what was wrong with it. Texts stay raw: `raw` gets a bit for each that is to be
 * unescaped. False: no JSON. */
bool field_read(const struct field_rule *rule, struct lex *lex, struct inspect_record *record,
                uint32_t *raw);
/* Unescapes the texts in `raw`, in place; one that cannot be is a wrong type. */
void field_unescape(struct inspect_record *record, uint32_t raw);

#endif
