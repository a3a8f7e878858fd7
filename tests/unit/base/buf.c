/* buf.c: the capped buffer keeps its bytes and its limit. */
#include "base/buf.h"

#include "test.h"

static void test_add_and_drop_keep_the_bytes(void **state)
{
    (void)state;
    struct buf buf;
    buf_init(&buf, 1000);
    for (int i = 0; i < 100; i++) assert_true(buf_add(&buf, "0123456789", 10));
    assert_false(buf_add(&buf, "x", 1));
    buf_drop(&buf, 995);
    assert_true(buf_add(&buf, "abc", 3));
    assert_int_equal(buf_length(&buf), 8);
    assert_memory_equal(buf_slice(&buf).data, "56789abc", 8);
    buf_deinit(&buf);
}

static void test_reserve_offers_what_the_limit_leaves(void **state)
{
    (void)state;
    struct buf buf;
    size_t room;
    buf_init(&buf, 10);
    assert_true(buf_add(&buf, "12345678", 8));
    assert_non_null(buf_reserve(&buf, 100, &room));
    assert_int_equal(room, 2);
    buf_wrote(&buf, 2);
    assert_null(buf_reserve(&buf, 1, &room));
    assert_int_equal(room, 0);
    buf_drop(&buf, 10);
    assert_non_null(buf_reserve(&buf, 10, &room));
    buf_deinit(&buf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_add_and_drop_keep_the_bytes),
        cmocka_unit_test(test_reserve_offers_what_the_limit_leaves),
    };
    return cmocka_run_group_tests_name("base/buf", tests, NULL, NULL);
}
