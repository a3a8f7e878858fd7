/* snapshot.c: when memory ends, at whatever allocation, nothing leaks and the reason is told. */
#include "conf/conf.h"

#include "test.h"

#include <stdlib.h>

/* The linker sends every calloc and realloc of the project here (--wrap); those of the YAML library
 * stay as they are. */
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);

static int left = -1; /* allocations until one fails; negative: none fails */

static bool fails(void)
{
    if (left < 0) return false;
    return left-- == 0;
}

void *__wrap_calloc(size_t count, size_t size)
{
    return fails() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size)
{
    return fails() ? NULL : __real_realloc(old, size);
}

static void test_every_allocation_may_fail(void **state)
{
    (void)state;
    int failures = 0;
    for (;; failures++) {
        char said[4096] = "";
        FILE *errors = fmemopen(said, sizeof said, "w");
        assert_non_null(errors);
        struct conf *conf = NULL;
        left = failures;
        enum conf_verdict verdict =
            conf_read(SOURCE_ROOT "/examples/quickstart.yaml", errors, &conf);
        bool none_failed = left >= 0;
        left = -1;
        fclose(errors);
        if (none_failed) {
            assert_int_equal(verdict, CONF_GOOD);
            conf_give(conf);
            break;
        }
        assert_int_equal(verdict, CONF_UNREADABLE);
        assert_null(conf);
        assert_non_null(strstr(said, "quickstart.yaml: cannot be read: no memory is left\n"));
    }
    print_message("%d allocations failed, one at a time\n", failures);
    assert_true(failures > 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_allocation_may_fail),
    };
    return cmocka_run_group_tests_name("conf/snapshot", tests, NULL, NULL);
}
