/* fields.c: the reader knows the fields and words of the event catalogue, all of them and no other.
 */
#include "test.h"

#include "event/catalogue.h"
#include "inspect/fields.h"

#include <string.h>

static const struct event_record *const RECORDS[] = {&event_attempt_record, &event_operation_record,
                                                     &event_lost_record};

/* What a value of this type in the catalogue is read as. */
static const enum field_type READ_AS[] = {
    [EVENT_VERSION] = FIELD_VERSION, [EVENT_KIND] = FIELD_KIND,       [EVENT_TIME] = FIELD_TIME,
    [EVENT_TEXT] = FIELD_TEXT,       [EVENT_REQUEST_ID] = FIELD_TEXT, [EVENT_COUNT] = FIELD_COUNT,
    [EVENT_INTEGER] = FIELD_INTEGER, [EVENT_STATUS] = FIELD_STATUS,   [EVENT_WORD] = FIELD_WORD,
    [EVENT_SPAN] = FIELD_INTEGER,    [EVENT_TRUE] = FIELD_TRUTH,      [EVENT_RESULT] = FIELD_RESULT,
};

static void every_field_of_the_catalogue(void **state)
{
    (void)state;
    uint32_t seen = 0;
    for (size_t r = 0; r < 3; r++) {
        for (size_t i = 0; i < RECORDS[r]->count; i++) {
            const struct event_field *field = &RECORDS[r]->fields[i];
            struct belay_slice name = {field->key + 2, field->key_bytes - 4u};
            const struct field_rule *rule = field_find(name);
            if (!rule) fail_msg("%.*s is not read", (int)name.length, name.data);
            assert_int_equal(rule->type, READ_AS[field->type]);
            if (field->bytes_max > 0) assert_true(rule->most >= field->bytes_max);
            seen |= INSPECT_BIT(rule->field);
        }
    }
    assert_int_equal(seen, (UINT64_C(1) << INSPECT_FIELD_COUNT) - 1);
}

static void every_word_of_the_catalogue(void **state)
{
    (void)state;
    for (size_t r = 0; r < 3; r++) {
        for (size_t i = 0; i < RECORDS[r]->count; i++) {
            const struct event_field *field = &RECORDS[r]->fields[i];
            if (field->type != EVENT_WORD) continue;
            struct belay_slice name = {field->key + 2, field->key_bytes - 4u};
            const struct field_rule *rule = field_find(name);
            for (unsigned value = rule->first; value < 32; value++) {
                const char *word = field->name(value), *read = rule->word(value);
                assert_int_equal(word == NULL, read == NULL);
                if (word) assert_string_equal(word, read);
            }
        }
    }
}

/* Each name, and the names that differ from it in one byte. */
static void neighbours(void **state)
{
    (void)state;
    for (unsigned field = 0; field < INSPECT_FIELD_COUNT; field++) {
        const struct field_rule *rule = field_of((enum inspect_field)field);
        char name[32] = {0};
        memcpy(name, rule->name, rule->length);
        assert_ptr_equal(field_find(belay_slice_z(name)), rule);
        for (size_t at = 0; at < rule->length; at++) {
            name[at] ^= 0x20;
            assert_null(field_find(belay_slice_z(name)));
            name[at] ^= 0x20;
        }
        strcat(name, "s");
        const struct field_rule *longer = field_find(belay_slice_z(name));
        assert_true(!longer || longer != rule);
    }
    assert_null(field_find(belay_slice("", 0)));
    assert_null(field_find(belay_slice_z("a name that is longer than any")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_field_of_the_catalogue),
        cmocka_unit_test(every_word_of_the_catalogue),
        cmocka_unit_test(neighbours),
    };
    return cmocka_run_group_tests_name("fields", tests, NULL, NULL);
}
