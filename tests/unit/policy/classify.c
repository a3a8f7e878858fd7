/* classify.c: what every outcome means, for a request that may be repeated and for one that may
 * not. */
#include <belay/classify.h>

#include "test.h"

static const struct belay_traits get = {.safe_method = true};
static const struct belay_traits post = {.write = true};
static const struct belay_traits keyed_post = {.write = true, .keyed = true};
static const struct belay_traits declared_put = {.write = true, .idempotent = true};
static const struct belay_traits writing_get = {.safe_method = true, .write = true};

static struct belay_outcome status(int code)
{
    return (struct belay_outcome){.status = code, .sent = BELAY_ANSWERED};
}

static struct belay_outcome error(enum belay_error_class error_class, enum belay_sent sent)
{
    return (struct belay_outcome){.error = error_class, .sent = sent};
}

static struct belay_class classify(const struct belay_traits *traits, struct belay_outcome outcome)
{
    struct belay_retry_on list = belay_retry_on_default();
    return belay_classify_decide(traits, &list, false, &outcome);
}

static void check(struct belay_class c, enum belay_outcome_class kind, enum belay_reason reason)
{
    assert_int_equal(c.kind, kind);
    assert_int_equal(c.reason, reason);
}

static void test_who_is_replay_safe(void **state)
{
    (void)state;
    assert_true(belay_traits_replay_safe(&get));
    assert_false(belay_traits_replay_safe(&post));
    assert_true(belay_traits_replay_safe(&keyed_post));
    assert_true(belay_traits_replay_safe(&declared_put));
    assert_false(belay_traits_replay_safe(&writing_get));
    struct belay_traits reading_post = {.safe_method = false, .write = false};
    assert_false(
        belay_traits_replay_safe(&reading_post)); /* a declared read does not make a POST safe */
}

static void test_2xx_is_success_for_everybody(void **state)
{
    (void)state;
    for (int code = 200; code < 300; code++) {
        check(classify(&get, status(code)), BELAY_CLASS_SUCCESS, BELAY_REASON_SUCCESS);
        check(classify(&post, status(code)), BELAY_CLASS_SUCCESS, BELAY_REASON_SUCCESS);
    }
}

static bool is_default_repeatable(int code)
{
    return code == 429 || code == 502 || code == 503 || code == 504;
}

static void test_every_status_for_a_get(void **state)
{
    (void)state;
    for (int code = 100; code < 600; code++) {
        if (code / 100 == 2) continue;
        if (is_default_repeatable(code)) {
            check(classify(&get, status(code)), BELAY_CLASS_REPEATABLE, BELAY_REASON_BACKOFF);
            check(classify(&keyed_post, status(code)), BELAY_CLASS_REPEATABLE,
                  BELAY_REASON_BACKOFF);
            check(classify(&declared_put, status(code)), BELAY_CLASS_REPEATABLE,
                  BELAY_REASON_BACKOFF);
        } else {
            check(classify(&get, status(code)), BELAY_CLASS_FINAL, BELAY_REASON_NOT_REPEATABLE);
        }
    }
}

static void test_every_status_for_a_post(void **state)
{
    (void)state;
    for (int code = 100; code < 600; code++) {
        if (code / 100 == 2) continue;
        struct belay_class c = classify(&post, status(code));
        if (code == 502 || code == 504)
            check(c, BELAY_CLASS_UNKNOWN, BELAY_REASON_GATEWAY_UNKNOWN);
        else if (code == 429 || code == 503)
            check(c, BELAY_CLASS_FINAL, BELAY_REASON_NOT_REPLAY_SAFE);
        else
            check(c, BELAY_CLASS_FINAL, BELAY_REASON_NOT_REPEATABLE);
    }
}

static void test_a_status_counts_as_answered_whatever_sent_says(void **state)
{
    (void)state;
    struct belay_outcome outcome = {.status = 503, .sent = BELAY_UNSENT};
    check(classify(&post, outcome), BELAY_CLASS_FINAL, BELAY_REASON_NOT_REPLAY_SAFE);
    outcome.sent = BELAY_SENT;
    check(classify(&post, outcome), BELAY_CLASS_FINAL, BELAY_REASON_NOT_REPLAY_SAFE);
}

/* error class; is it repeated at all; is the effect unknown when it was sent; */
static const struct {
    enum belay_error_class error;
    bool repeatable, unknown;
} errors[] = {
    {BELAY_ERROR_DNS, true, false},       {BELAY_ERROR_REFUSED, true, false},
    {BELAY_ERROR_TIMEOUT, true, true},    {BELAY_ERROR_TLS, false, false},
    {BELAY_ERROR_RESET, true, true},      {BELAY_ERROR_CLOSED, true, true},
    {BELAY_ERROR_PROTOCOL, false, true},  {BELAY_ERROR_TOO_LARGE, false, true},
    {BELAY_ERROR_CANCELLED, false, true},
};
enum { ERRORS = sizeof errors / sizeof errors[0] };

static void test_every_error_for_a_get(void **state)
{
    (void)state;
    assert_int_equal(ERRORS, BELAY_ERROR_COUNT - 1);
    for (size_t i = 0; i < ERRORS; i++) {
        for (int sent = 0; sent < BELAY_SENT_COUNT; sent++) {
            struct belay_class c = classify(&get, error(errors[i].error, (enum belay_sent)sent));
            if (errors[i].repeatable)
                check(c, BELAY_CLASS_REPEATABLE, BELAY_REASON_BACKOFF);
            else
                check(c, BELAY_CLASS_FINAL, BELAY_REASON_NOT_REPEATABLE);
        }
    }
}

static void test_every_error_for_a_post(void **state)
{
    (void)state;
    for (size_t i = 0; i < ERRORS; i++) {
        struct belay_class unsent = classify(&post, error(errors[i].error, BELAY_UNSENT));
        if (errors[i].repeatable)
            check(unsent, BELAY_CLASS_REPEATABLE, BELAY_REASON_BACKOFF);
        else
            check(unsent, BELAY_CLASS_FINAL, BELAY_REASON_NOT_REPEATABLE);
        assert_int_equal(unsent.effect, BELAY_EFFECT_NONE);

        struct belay_class sent = classify(&post, error(errors[i].error, BELAY_SENT));
        if (errors[i].unknown)
            check(sent, BELAY_CLASS_UNKNOWN, BELAY_REASON_EFFECT_UNKNOWN);
        else
            assert_int_equal(sent.kind, BELAY_CLASS_FINAL);
        assert_int_equal(sent.effect, BELAY_EFFECT_UNKNOWN);

        struct belay_class answered = classify(&post, error(errors[i].error, BELAY_ANSWERED));
        assert_int_equal(
            answered.kind,
            BELAY_CLASS_FINAL); /* a final status was read: never again, nothing to ask */
        assert_int_equal(answered.effect, BELAY_EFFECT_UNKNOWN);
    }
}

static void test_a_declared_refusal_may_be_repeated(void **state)
{
    (void)state;
    struct belay_retry_on list = belay_retry_on_default();
    for (int code = 400; code < 600; code++) {
        struct belay_outcome outcome = status(code);
        struct belay_class c = belay_classify_decide(&post, &list, true, &outcome);
        bool refusal = code == 429 || code == 503;
        assert_int_equal(c.kind == BELAY_CLASS_REPEATABLE, refusal);
        if (refusal) assert_int_equal(c.effect, BELAY_EFFECT_NONE);
    }
}

static void test_the_list_is_the_users(void **state)
{
    (void)state;
    struct belay_retry_on list = {0};
    struct belay_outcome unavailable = status(503), internal = status(500),
                         timeout = error(BELAY_ERROR_TIMEOUT, 0);
    assert_int_equal(belay_classify_decide(&get, &list, false, &unavailable).kind,
                     BELAY_CLASS_FINAL);
    assert_int_equal(belay_classify_decide(&get, &list, false, &timeout).kind, BELAY_CLASS_FINAL);
    belay_retry_on_add_status(&list, 500);
    assert_int_equal(belay_classify_decide(&get, &list, false, &internal).kind,
                     BELAY_CLASS_REPEATABLE);
    assert_int_equal(belay_classify_decide(&post, &list, false, &internal).kind, BELAY_CLASS_FINAL);
}

static void test_no_list_makes_success_tls_or_cancelled_repeatable(void **state)
{
    (void)state;
    struct belay_retry_on all = {.errors = UINT32_MAX};
    for (int code = 0; code < 1000; code++) belay_retry_on_add_status(&all, code);
    struct belay_outcome ok = status(204), tls = error(BELAY_ERROR_TLS, 0),
                         gone = error(BELAY_ERROR_CANCELLED, 0);
    assert_int_equal(belay_classify_decide(&get, &all, false, &ok).kind, BELAY_CLASS_SUCCESS);
    assert_int_equal(belay_classify_decide(&get, &all, false, &tls).kind, BELAY_CLASS_FINAL);
    assert_int_equal(belay_classify_decide(&get, &all, false, &gone).kind, BELAY_CLASS_FINAL);
    struct belay_outcome gateway = status(502);
    assert_int_equal(belay_classify_decide(&post, &all, false, &gateway).kind, BELAY_CLASS_UNKNOWN);
}

static void test_a_number_that_is_no_status_is_final(void **state)
{
    (void)state;
    static const int codes[] = {1, 99, 600, 640, 999, 100000};
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        check(classify(&get, status(codes[i])), BELAY_CLASS_FINAL, BELAY_REASON_NOT_REPEATABLE);
    }
}

static void test_what_an_answer_says_of_the_effect(void **state)
{
    (void)state;
    static const struct {
        int code;
        enum belay_effect effect;
    } cases[] = {
        {200, BELAY_EFFECT_DONE},    {201, BELAY_EFFECT_DONE},    {204, BELAY_EFFECT_DONE},
        {303, BELAY_EFFECT_DONE},    {302, BELAY_EFFECT_UNKNOWN}, {307, BELAY_EFFECT_NONE},
        {400, BELAY_EFFECT_NONE},    {404, BELAY_EFFECT_NONE},    {409, BELAY_EFFECT_NONE},
        {422, BELAY_EFFECT_NONE},    {429, BELAY_EFFECT_NONE},    {500, BELAY_EFFECT_UNKNOWN},
        {501, BELAY_EFFECT_NONE},    {502, BELAY_EFFECT_UNKNOWN}, {503, BELAY_EFFECT_UNKNOWN},
        {504, BELAY_EFFECT_UNKNOWN}, {505, BELAY_EFFECT_NONE},    {599, BELAY_EFFECT_UNKNOWN},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(classify(&post, status(cases[i].code)).effect, cases[i].effect);
    }
}

static void test_what_every_outcome_says_of_the_recipient(void **state)
{
    (void)state;
    for (int code = 100; code < 600; code++) {
        struct belay_outcome outcome = status(code);
        enum belay_health expected = BELAY_HEALTH_NEUTRAL;
        if (code / 100 == 2 || code / 100 == 3) expected = BELAY_HEALTH_GOOD;
        if (code / 100 == 4 && code != 429) expected = BELAY_HEALTH_ALIVE;
        if (code == 500 || code == 502 || code == 503 || code == 504) expected = BELAY_HEALTH_BAD;
        assert_int_equal(classify(&get, outcome).health, expected);
    }
    for (int e = BELAY_ERROR_NONE + 1; e < BELAY_ERROR_COUNT; e++) {
        struct belay_outcome outcome = error((enum belay_error_class)e, BELAY_SENT);
        bool neutral = e == BELAY_ERROR_TOO_LARGE || e == BELAY_ERROR_CANCELLED;
        assert_int_equal(classify(&get, outcome).health,
                         neutral ? BELAY_HEALTH_NEUTRAL : BELAY_HEALTH_BAD);
        outcome.stale = true;
        assert_int_equal(classify(&get, outcome).health, BELAY_HEALTH_NEUTRAL);
    }
}

static void test_what_a_method_alone_says(void **state)
{
    (void)state;
    for (int m = 0; m < BELAY_METHOD_COUNT; m++) {
        struct belay_traits traits = belay_traits_of((enum belay_method)m);
        assert_int_equal(traits.safe_method, belay_method_is_safe((enum belay_method)m));
        assert_int_equal(traits.write, !traits.safe_method);
        assert_int_equal(belay_traits_replay_safe(&traits), traits.safe_method);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_who_is_replay_safe),
        cmocka_unit_test(test_what_a_method_alone_says),
        cmocka_unit_test(test_2xx_is_success_for_everybody),
        cmocka_unit_test(test_every_status_for_a_get),
        cmocka_unit_test(test_every_status_for_a_post),
        cmocka_unit_test(test_a_status_counts_as_answered_whatever_sent_says),
        cmocka_unit_test(test_every_error_for_a_get),
        cmocka_unit_test(test_every_error_for_a_post),
        cmocka_unit_test(test_a_declared_refusal_may_be_repeated),
        cmocka_unit_test(test_the_list_is_the_users),
        cmocka_unit_test(test_no_list_makes_success_tls_or_cancelled_repeatable),
        cmocka_unit_test(test_a_number_that_is_no_status_is_final),
        cmocka_unit_test(test_what_an_answer_says_of_the_effect),
        cmocka_unit_test(test_what_every_outcome_says_of_the_recipient),
    };
    return cmocka_run_group_tests_name("policy/classify", tests, NULL, NULL);
}
