/* file.c: what cannot be read is told in two lines, and is not the same as what is wrong. */
#include "conf/conf.h"

#include "test.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/belay-conf-XXXXXX";

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? chdir(folder) : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    return chdir("/") == 0 ? rmdir(folder) : -1;
}

/* A right configuration, and a comment that makes it `length` bytes long. */
static void write_file(const char *name, size_t length)
{
    static const char TEXT[] = "targets: { t: { addresses: [127.0.0.1:9000] } }\n"
                               "listeners: [ { listen: 127.0.0.1:8080, target: t } ]\n";
    FILE *out = fopen(name, "w");
    assert_non_null(out);
    fputs(TEXT, out);
    for (size_t i = strlen(TEXT); i < length; i++) fputc('#', out);
    assert_int_equal(fclose(out), 0);
}

static void check_unreadable(const char *name, const char *told)
{
    char *said = NULL;
    size_t length = 0;
    FILE *errors = open_memstream(&said, &length);
    assert_non_null(errors);
    struct conf *conf = NULL;
    assert_int_equal(conf_read(name, errors, &conf), CONF_UNREADABLE);
    fclose(errors);
    assert_null(conf);
    assert_string_equal(said, told);
    free(said);
}

static void test_a_file_that_is_not_there(void **state)
{
    (void)state;
    check_unreadable("missing.yaml", "missing.yaml: cannot be read: No such file or directory\n");
}

static void test_a_directory(void **state)
{
    (void)state;
    check_unreadable(".", ".: cannot be read: it is a directory\n");
}

static void test_a_file_that_is_too_large(void **state)
{
    (void)state;
    write_file("large.yaml", CONF_FILE_BYTES_MAX + 1);
    check_unreadable("large.yaml", "large.yaml: cannot be read: it is larger than 1 MiB\n");
    assert_int_equal(unlink("large.yaml"), 0);
}

static void test_a_file_that_is_as_large_as_it_may_be(void **state)
{
    (void)state;
    write_file("full.yaml", CONF_FILE_BYTES_MAX);
    struct conf *conf = NULL;
    assert_int_equal(conf_read("full.yaml", stderr, &conf), CONF_GOOD);
    conf_give(conf);
    assert_int_equal(unlink("full.yaml"), 0);
}

static void test_a_file_without_the_right_to_read_it(void **state)
{
    (void)state;
    if (geteuid() == 0) skip(); /* root may read everything */
    write_file("closed.yaml", 0);
    assert_int_equal(chmod("closed.yaml", 0), 0);
    check_unreadable("closed.yaml", "closed.yaml: cannot be read: Permission denied\n");
    assert_int_equal(unlink("closed.yaml"), 0);
}

static void test_a_wrong_file_can_be_read(void **state)
{
    (void)state;
    FILE *out = fopen("wrong.yaml", "w");
    assert_non_null(out);
    fputs("workers: many\n", out);
    assert_int_equal(fclose(out), 0);
    FILE *errors = fopen("/dev/null", "w");
    assert_non_null(errors);
    struct conf *conf = NULL;
    assert_int_equal(conf_read("wrong.yaml", errors, &conf), CONF_WRONG);
    assert_null(conf);
    fclose(errors);
    assert_int_equal(unlink("wrong.yaml"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_file_that_is_not_there),
        cmocka_unit_test(test_a_directory),
        cmocka_unit_test(test_a_file_that_is_too_large),
        cmocka_unit_test(test_a_file_that_is_as_large_as_it_may_be),
        cmocka_unit_test(test_a_file_without_the_right_to_read_it),
        cmocka_unit_test(test_a_wrong_file_can_be_read),
    };
    return cmocka_run_group_tests_name("conf/file", tests, make_folder, remove_folder);
}
