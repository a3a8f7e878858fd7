/* manual.c: the manual page lists every option as the table has it. `--print` prints that part
 * anew. */
#include "conf/number.h"
#include "conf/option.h"
#include "conf/value.h"

#include "test.h"

#include <stdio.h>
#include <stdlib.h>

#define MANUAL SOURCE_ROOT "/man/belay.yaml.5"
static const char BEGIN[] = ".\\\" The options, as test_conf_manual --print prints them.\n";
static const char END[] = ".\\\" The end of the options.\n";

struct section {
    enum option_scope scope;
    const char *title;
};

static const struct section SECTIONS[] = {
    {SCOPE_ROOT, "The file"}, {SCOPE_TARGET, "A target"}, {SCOPE_LISTENER, "A listener"},
    {SCOPE_ROUTE, "A route"}, {SCOPE_POLICY, "A policy"},
};

/* Words between backticks become quoted ones; a line ends before column 80. */
static void print_text(const char *text, FILE *out)
{
    int column = 0;
    bool quoted = false;
    while (*text) {
        int length = (int)strcspn(text, " ");
        if (column > 0 && column + length > 70) {
            fputc('\n', out);
            column = 0;
        } else if (column > 0) {
            fputc(' ', out);
        }
        for (int i = 0; i < length; i++) {
            if (text[i] == '`')
                fputs(quoted ? "\\(rq" : "\\(lq", out);
            else
                fputc(text[i], out);
            if (text[i] == '`') quoted = !quoted;
        }
        column += length + 1;
        text += length + (text[length] == ' ');
    }
    fputc('\n', out);
}

static void print_words(const struct option *option, FILE *out)
{
    char text[300] = "The words are ";
    size_t used = strlen(text);
    for (int i = 0; option->words[i]; i++) {
        if (!option->words[i][0]) continue;
        const char *comma = used > strlen("The words are ") ? ", " : "";
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", comma, option->words[i]);
        assert_true(used < sizeof text);
    }
    const char *end = option->type == TYPE_OUTCOMES ? " and statuses from 100 to 599." : ".";
    snprintf(text + used, sizeof text - used, "%s", end);
    print_text(text, out);
}

/* Lists are written with commas. */
static void print_default(const struct option *option, FILE *out)
{
    char text[300];
    size_t used = 0;
    const char *initial = option->initial ? option->initial : option->member ? "on" : option->zero;
    if (!initial) return;
    bool is_list = option_is_list(option) && option->initial;
    used += (size_t)snprintf(text, sizeof text, "Default: %s", is_list ? "[" : "");
    for (const char *c = initial; *c; c++) {
        used += (size_t)snprintf(text + used, sizeof text - used, *c == ' ' ? ", " : "%c", *c);
        assert_true(used < sizeof text);
    }
    used += (size_t)snprintf(text + used, sizeof text - used, "%s", is_list ? "]" : "");
    if (option->internet) {
        snprintf(text + used, sizeof text - used, "; %s over the internet.", option->internet);
    } else {
        snprintf(text + used, sizeof text - used, ".");
    }
    print_text(text, out);
}

static void print_option(const struct option *option, FILE *out)
{
    fprintf(out, ".It Cm %s\n", option->name);
    print_text(option->help, out);
    if (option->words) print_words(option, out);
    bool is_ranged =
        value_has_number(option) && option->max > option->min && option->type != TYPE_BOOLEAN;
    if (is_ranged) {
        char range[120], text[160];
        number_range(option, range, sizeof range);
        snprintf(text, sizeof text, "Allowed: %s.", range);
        print_text(text, out);
    }
    print_default(option, out);
}

static void print_options(FILE *out)
{
    fputs(BEGIN, out);
    for (size_t s = 0; s < sizeof SECTIONS / sizeof SECTIONS[0]; s++) {
        fprintf(out, ".Ss %s\n.Bl -tag -width Ds\n", SECTIONS[s].title);
        for (size_t i = 0; i < OPTION_COUNT; i++) {
            if (OPTIONS[i].scope == SECTIONS[s].scope) print_option(&OPTIONS[i], out);
        }
        fputs(".El\n", out);
    }
    fputs(END, out);
}

static char *read_manual(void)
{
    FILE *in = fopen(MANUAL, "r");
    assert_non_null(in);
    char *text = calloc(1, 100000);
    assert_non_null(text);
    size_t length = fread(text, 1, 99999, in);
    assert_true(length > 0 && length < 99999);
    fclose(in);
    return text;
}

static void test_the_manual_lists_every_option_as_it_is(void **state)
{
    (void)state;
    char *expected = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&expected, &length);
    assert_non_null(out);
    print_options(out);
    fclose(out);
    char *manual = read_manual();
    char *begin = strstr(manual, BEGIN);
    char *end = strstr(manual, END);
    assert_non_null(begin);
    assert_non_null(end);
    end[strlen(END)] = '\0';
    assert_string_equal(begin, expected);
    free(manual);
    free(expected);
}

static void test_every_section_of_the_table_is_in_the_manual(void **state)
{
    (void)state;
    assert_int_equal(sizeof SECTIONS / sizeof SECTIONS[0], SCOPE_COUNT);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_manual_lists_every_option_as_it_is),
        cmocka_unit_test(test_every_section_of_the_table_is_in_the_manual),
    };
    if (argc == 2 && strcmp(argv[1], "--print") == 0) {
        print_options(stdout);
        return 0;
    }
    return cmocka_run_group_tests_name("conf/manual", tests, NULL, NULL);
}
