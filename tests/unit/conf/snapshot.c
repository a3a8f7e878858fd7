/* snapshot.c: when memory ends, at whatever allocation, nothing leaks and the reason is told. */
#include "conf/conf.h"

#include "shortage.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

/* The YAML library allocates through these, and takes ours in place of its own. */
#define EXPORTED __attribute__((visibility("default")))
EXPORTED void *yaml_malloc(size_t size);
EXPORTED void *yaml_realloc(void *old, size_t size);
EXPORTED unsigned char *yaml_strdup(const unsigned char *text);

static long yaml_allocations;

void *yaml_malloc(size_t size)
{
    yaml_allocations++;
    return malloc(size ? size : 1);
}

void *yaml_realloc(void *old, size_t size)
{
    return realloc(old, size ? size : 1);
}

unsigned char *yaml_strdup(const unsigned char *text)
{
    return text ? (unsigned char *)strdup((const char *)text) : NULL;
}

/* The library's own leak, of 128 bytes, at one of its allocations. */
EXPORTED const char *__lsan_default_suppressions(void);
EXPORTED const char *__lsan_default_suppressions(void)
{
    return "leak:yaml_parser_load";
}

static long read_without_memory(long n, long width)
{
    char said[4096] = "";
    FILE *errors = fmemopen(said, sizeof said, "w");
    assert_non_null(errors);
    struct conf *conf = NULL;
    shortage_begin(n, width);
    enum conf_verdict verdict = conf_read(SOURCE_ROOT "/examples/quickstart.yaml", errors, &conf);
    long failed = shortage_end();
    fclose(errors);
    if (failed == 0) {
        assert_int_equal(verdict, CONF_GOOD);
        conf_give(conf);
        return 0;
    }
    assert_int_equal(verdict, CONF_UNREADABLE);
    assert_null(conf);
    if (!strstr(said, "quickstart.yaml: cannot be read: no memory is left\n"))
        fail_msg("allocation %ld: %s", n, said);
    return failed;
}

static void test_every_allocation_may_fail(void **state)
{
    (void)state;
    static const long widths[] = {1, SHORTAGE_FOREVER};
    for (size_t w = 0; w < 2; w++) {
        long n = 0;
        while (read_without_memory(n, widths[w]) > 0) n++;
        print_message("%ld allocations failed, one at a time\n", n);
        assert_true(n > 100);
    }
    assert_true(yaml_allocations > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_allocation_may_fail),
    };
    return cmocka_run_group_tests_name("conf/snapshot", tests, NULL, NULL);
}
