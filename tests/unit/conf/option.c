/* option.c: the table of options is whole, and its defaults are those of the policies. */
#include "conf/option.h"

#include "conf/conf.h"
#include "conf/value.h"

#include "test.h"

#include <stdlib.h>

static void test_every_name_stands_once_in_its_scope(void **state)
{
    (void)state;
    assert_true(OPTION_COUNT <= OPTIONS_MAX);
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        assert_ptr_equal(option_find(OPTIONS[i].scope, belay_slice_z(OPTIONS[i].name)),
                         &OPTIONS[i]);
    }
}

static void test_every_option_has_a_sentence(void **state)
{
    (void)state;
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        const char *help = OPTIONS[i].help;
        assert_non_null(help);
        assert_true((help[0] >= 'A' && help[0] <= 'Z') || help[0] == '`');
        assert_int_equal(help[strlen(help) - 1], '.');
    }
}

static void test_a_group_has_its_members_and_nothing_else(void **state)
{
    (void)state;
    assert_true(option_is_group(SCOPE_POLICY, belay_slice_z("backoff")));
    assert_false(option_is_group(SCOPE_POLICY, belay_slice_z("back")));
    assert_false(option_is_group(SCOPE_POLICY, belay_slice_z("deadline")));
    assert_false(option_is_group(SCOPE_ROOT, belay_slice_z("backoff")));
    assert_false(option_is_group(SCOPE_POLICY, belay_slice("backoff\0", 8)));
    char keys[8][OPTION_KEY_BYTES_MAX];
    assert_int_equal(option_keys(SCOPE_POLICY, belay_slice_z("backoff"), keys, 8), 3);
    assert_string_equal(keys[0], "kind");
    assert_string_equal(keys[2], "max");
    assert_int_equal(option_keys(SCOPE_TARGET, belay_slice_z(""), keys, 8), 3);
    assert_int_equal(option_keys(SCOPE_TARGET, belay_slice_z(""), keys, 2), 2);
}

static void test_a_group_and_its_members_have_one_key(void **state)
{
    (void)state;
    char keys[OPTIONS_MAX][OPTION_KEY_BYTES_MAX];
    size_t count = option_keys(SCOPE_POLICY, belay_slice_z(""), keys, OPTIONS_MAX);
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < i; j++) assert_string_not_equal(keys[i], keys[j]);
    }
}

static void test_the_defaults_are_those_of_the_policies(void **state)
{
    (void)state;
    struct belay_policy expected = belay_policy_default();
    struct belay_policy policy = {0};
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        if (OPTIONS[i].scope != SCOPE_POLICY) continue;
        assert_true(value_default(&OPTIONS[i], &policy, NULL));
        if (value_has_number(&OPTIONS[i])) {
            assert_int_equal(value_number(&OPTIONS[i], &policy),
                             value_number(&OPTIONS[i], &expected));
        }
    }
    assert_memory_equal(&policy.retry_on, &expected.retry_on, sizeof policy.retry_on);
}

static void test_the_words_are_those_of_the_library(void **state)
{
    (void)state;
    const struct option *methods = option_find(SCOPE_ROUTE, belay_slice_z("method"));
    for (unsigned m = 0; m < BELAY_METHOD_COUNT; m++) {
        const char *name = belay_method_name((enum belay_method)m);
        assert_string_equal(methods->words[m], name ? name : "");
    }
    assert_null(methods->words[BELAY_METHOD_COUNT]);
    const struct option *outcomes = option_find(SCOPE_POLICY, belay_slice_z("retry_on"));
    for (unsigned e = 0; e < BELAY_ERROR_COUNT; e++) {
        bool never = e == BELAY_ERROR_NONE || e == BELAY_ERROR_TLS || e == BELAY_ERROR_CANCELLED;
        const char *name = never ? "" : belay_error_class_name((enum belay_error_class)e);
        assert_string_equal(outcomes->words[e], name);
    }
    assert_null(outcomes->words[BELAY_ERROR_COUNT]);
}

static void test_the_help_names_every_option(void **state)
{
    (void)state;
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    assert_non_null(out);
    conf_help(out);
    fclose(out);
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        char line[64];
        snprintf(line, sizeof line, "\n  %s", OPTIONS[i].name);
        assert_non_null(strstr(text, line));
    }
    for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        assert_true(strcspn(line, "\n") <= 120);
    }
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_name_stands_once_in_its_scope),
        cmocka_unit_test(test_every_option_has_a_sentence),
        cmocka_unit_test(test_a_group_has_its_members_and_nothing_else),
        cmocka_unit_test(test_a_group_and_its_members_have_one_key),
        cmocka_unit_test(test_the_defaults_are_those_of_the_policies),
        cmocka_unit_test(test_the_words_are_those_of_the_library),
        cmocka_unit_test(test_the_help_names_every_option),
    };
    return cmocka_run_group_tests_name("conf/option", tests, NULL, NULL);
}
