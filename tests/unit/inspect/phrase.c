/* phrase.c: sentences that say a call failed, and sentences that say something else. */
#include "test.h"

#include "inspect/phrase.h"

static bool says(const char *text)
{
    return phrase_says_failed(belay_slice_z(text));
}

static void failures(void **state)
{
    (void)state;
    assert_true(says("request failed"));
    assert_true(says("Request failed"));
    assert_true(says("REQUEST FAILED"));
    assert_true(says("HTTP request to orders failed with 503"));
    assert_true(says("call to payments timed out"));
    assert_true(says("upstream failure"));
    assert_true(says("attempt 2/3 failed"));
    assert_true(says("it failed; then the retry failed"));
}

static void others(void **state)
{
    (void)state;
    assert_false(says(""));
    assert_false(says("failed"));
    assert_false(says("failed request"));
    assert_false(says("the backup failed"));
    assert_false(says("requests failed over to the second node"));
    assert_false(says("request done; backup failed"));
    assert_false(says("request done. Backup failed"));
    assert_false(says("recall failed"));
    assert_false(
        says("request that came in long before anything else happened here has not failed"));
    assert_false(says("request"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(failures), cmocka_unit_test(others)};
    return cmocka_run_group_tests_name("phrase", tests, NULL, NULL);
}
