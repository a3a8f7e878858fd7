/* schema.c: docs/event.schema.json names the fields and words of the catalogue, both ways. */
#include "test.h"

#include "event/catalogue.h"

#include <belay/outcome.h>
#include <jansson.h>
#include <string.h>

static json_t *schema;

static int load(void **state)
{
    (void)state;
    json_error_t error;
    schema = json_load_file(SCHEMA_PATH, JSON_REJECT_DUPLICATES, &error);
    if (!schema) print_error("%s:%d: %s\n", SCHEMA_PATH, error.line, error.text);
    return schema ? 0 : -1;
}

static int unload(void **state)
{
    (void)state;
    json_decref(schema);
    return 0;
}

static json_t *definition(const char *name)
{
    json_t *found = json_object_get(json_object_get(schema, "$defs"), name);
    if (!found) fail_msg("the schema does not define %s", name);
    return found;
}

static void same_fields(const char *record, const struct event_record *catalogue)
{
    json_t *properties = json_object_get(definition(record), "properties");
    for (size_t i = 0; i < catalogue->count; i++) {
        char name[EVENT_KEY_BYTES] = {0};
        memcpy(name, catalogue->fields[i].key + 2, catalogue->fields[i].key_bytes - 4u);
        if (!json_object_get(properties, name)) fail_msg("%s lacks %s", record, name);
    }
    assert_int_equal(json_object_size(properties), catalogue->count);
}

static void fields(void **state)
{
    (void)state;
    same_fields("attempt", &event_attempt_record);
    same_fields("operation", &event_operation_record);
    same_fields("lost", &event_lost_record);
}

/* The schema's words are exactly those that `name` has from `first` on. */
static void same_words(const char *vocabulary, const char *(*name)(unsigned), unsigned first)
{
    json_t *words = json_object_get(definition(vocabulary), "enum");
    size_t count = 0;
    const char *word;
    for (unsigned value = first; (word = name(value)) != NULL; value++, count++) {
        size_t at = 0;
        while (at < json_array_size(words) &&
               strcmp(json_string_value(json_array_get(words, at)), word) != 0)
            at++;
        if (at == json_array_size(words)) fail_msg("%s lacks %s", vocabulary, word);
    }
    assert_int_equal(json_array_size(words), count);
}

static const char *terminal_name(unsigned value)
{
    return belay_terminal_name((enum belay_terminal)value);
}

static void words(void **state)
{
    (void)state;
    static const struct event_record *const RECORDS[] = {&event_attempt_record,
                                                         &event_operation_record};
    for (size_t r = 0; r < 2; r++) {
        for (size_t i = 0; i < RECORDS[r]->count; i++) {
            const struct event_field *field = &RECORDS[r]->fields[i];
            char name[EVENT_KEY_BYTES] = {0};
            if (field->type != EVENT_WORD) continue;
            memcpy(name, field->key + 2, field->key_bytes - 4u);
            const char *none = field->name(0); /* "there is none" stands in no event */
            same_words(name, field->name, !none || strcmp(none, "none") == 0);
        }
    }
    same_words("terminal", terminal_name, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(fields), cmocka_unit_test(words)};
    return cmocka_run_group_tests_name("schema", tests, load, unload);
}
