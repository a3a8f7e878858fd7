/* head.c: what of an answer's head reaches the caller, and when. */
#include "curl/run.h"

#include "test.h"

#include <stdlib.h>
#include <string.h>

struct world {
    struct belay_policy policy;
    struct belay_curl_call call;
    struct belay_curl_multi multi;
    struct run *run;
    char given[1024];
    size_t pause_at, refuse_at; /* the how-manieth line; 0: none */
    size_t lines;
};

static size_t on_line(char *line, size_t size, size_t count, void *user)
{
    struct world *world = user;
    size_t length = size * count;
    world->lines++;
    if (world->lines == world->refuse_at) return length + 1;
    if (world->lines == world->pause_at) return CURL_WRITEFUNC_PAUSE;
    strncat(world->given, line, length);
    return length;
}

/* A request that the handle calls GET is under way. */
static void begin(struct world *world)
{
    *world = (struct world){.policy = belay_policy_default()};
    world->call = (struct belay_curl_call){.header = on_line, .header_data = world};
    struct run *run = world->run = calloc(1, sizeof *run);
    run->call = &world->call;
    run->multi = &world->multi;
    run->easy = curl_easy_init();
    run->policy = world->policy;
    run->target = belay_target_create(&run->policy, 1);
    struct belay_traits traits = {0};
    struct belay_instant now = belay_curl_now();
    belay_operation_init(&run->op, &run->policy, run->target, &traits, now,
                         belay_instant_add(now, belay_span_ms(10000)), NULL);
    assert_int_equal(belay_operation_admit(&run->op, now).kind, BELAY_ADMITTED);
    run->state = RUN_CALLING;
    run->attempt.begun = 1;
}

static void end(struct world *world)
{
    struct run *run = world->run;
    (void)belay_operation_finish(&run->op, belay_curl_now());
    belay__curl_head_clear(&run->attempt.head);
    belay_target_destroy(run->target);
    curl_easy_cleanup(run->easy);
    free(run);
}

static size_t line(struct world *world, const char *text)
{
    char copy[256];
    size_t length = strlen(text);
    memcpy(copy, text, length + 1);
    return belay__curl_on_header(copy, 1, length, world->run);
}

static void takes(struct world *world, const char *text)
{
    assert_int_equal(line(world, text), strlen(text));
}

static void test_a_final_head_is_given_whole_and_in_order(void **state)
{
    (void)state;
    struct world world;
    begin(&world);
    takes(&world, "HTTP/1.1 200 OK\r\n");
    takes(&world, "A: 1\r\n");
    assert_string_equal(world.given, "");
    takes(&world, "\r\n");
    assert_string_equal(world.given, "HTTP/1.1 200 OK\r\nA: 1\r\n\r\n");
    assert_true(world.run->attempt.passed && world.run->attempt.answered);
    assert_false(world.run->held || world.run->attempt.recorded);
    takes(&world, "Trailer: 1\r\n");
    assert_string_equal(world.given, "HTTP/1.1 200 OK\r\nA: 1\r\n\r\nTrailer: 1\r\n");
    end(&world);
}

static void test_a_head_that_is_repeated_is_kept_until_it_is_let_go(void **state)
{
    (void)state;
    struct world world;
    begin(&world);
    takes(&world, "HTTP/1.1 503 Busy\r\n");
    takes(&world, "retry-after:  2 \r\n");
    assert_int_equal(line(&world, "\r\n"), CURL_WRITEFUNC_PAUSE);
    struct run *run = world.run;
    assert_true(run->held && run->attempt.recorded && run->state == RUN_ASKING);
    assert_false(run->attempt.passed);
    assert_int_equal(run->verdict.decision, BELAY_DECISION_RETRY);
    assert_int_equal(run->outcome.retry_after_ms, 2000);
    assert_int_equal(run->due_at.ns, run->verdict.retry_at.ns);
    assert_true(run->multi->next_at.ns <= run->due_at.ns);
    assert_string_equal(world.given, "");
    run->held = false; /* as when the repeat is refused: libcurl gives the line again */
    takes(&world, "\r\n");
    assert_string_equal(world.given, "HTTP/1.1 503 Busy\r\nretry-after:  2 \r\n\r\n");
    assert_true(run->attempt.passed);
    end(&world);
}

static void test_interim_heads_and_those_of_a_tunnel_decide_nothing(void **state)
{
    (void)state;
    struct world world;
    begin(&world);
    world.run->attempt.begun = 0;
    takes(&world, "HTTP/1.1 503 no tunnel\r\n");
    takes(&world, "\r\n");
    assert_string_equal(world.given, "HTTP/1.1 503 no tunnel\r\n\r\n");
    world.run->attempt.begun = 1;
    takes(&world, "HTTP/1.1 103 Early Hints\r\n");
    takes(&world, "\r\n");
    assert_true(world.run->attempt.answer_bytes);
    assert_false(world.run->attempt.answered || world.run->attempt.passed);
    takes(&world, "HTTP/2 204\r\n");
    takes(&world, "\r\n");
    assert_int_equal(world.run->attempt.head.status, 204);
    assert_true(world.run->attempt.answered && world.run->attempt.passed);
    end(&world);
}

static void test_what_is_no_status_line_opens_no_head(void **state)
{
    (void)state;
    static const char *const LINES[] = {"",
                                        "HTTP/1.1",
                                        "HTTP/1.1 ",
                                        "HTTP/1.1 20",
                                        "HTTP/1.1 2x0 ",
                                        "HTTP/1.1 099 x",
                                        "HTTP/2 \r\n",
                                        "220 ready\r\n",
                                        "\r\n"};
    for (size_t i = 0; i < sizeof LINES / sizeof LINES[0]; i++) {
        struct world world;
        begin(&world);
        takes(&world, LINES[i]);
        assert_false(world.run->attempt.head.open || world.run->attempt.answered);
        assert_string_equal(world.given, LINES[i]);
        end(&world);
    }
}

struct hint {
    const char *first, *second;
    bool valid;
};

static const struct hint HINTS[] = {
    {"Retry-After: 7\r\n", NULL, true},    {"RETRY-AFTER:7\r\n", NULL, true},
    {"Retry-After: -7\r\n", NULL, false},  {"Retry-After: 7s\r\n", NULL, false},
    {"Retry-After:\r\n", NULL, false},     {"Retry-After : 7\r\n", NULL, false},
    {"X-Retry-After: 7\r\n", NULL, false}, {"Retry-After: 7\r\n", "Retry-After: 7\r\n", false},
};

static void test_one_valid_hint_is_a_hint(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof HINTS / sizeof HINTS[0]; i++) {
        struct world world;
        begin(&world);
        takes(&world, "HTTP/1.1 429 slow down\r\n");
        takes(&world, HINTS[i].first);
        if (HINTS[i].second) takes(&world, HINTS[i].second);
        (void)line(&world, "\r\n");
        assert_int_equal(world.run->outcome.has_retry_after, HINTS[i].valid);
        assert_int_equal(world.run->outcome.retry_after_ms, HINTS[i].valid ? 7000 : 0);
        end(&world);
    }
}

static void test_the_callers_callback_may_pause_at_any_line(void **state)
{
    (void)state;
    for (size_t at = 1; at <= 3; at++) {
        struct world world;
        begin(&world);
        world.pause_at = at;
        takes(&world, "HTTP/1.1 200 OK\r\n");
        takes(&world, "A: 1\r\n");
        assert_int_equal(line(&world, "\r\n"), CURL_WRITEFUNC_PAUSE);
        assert_false(world.run->held);
        takes(&world, "\r\n");
        assert_string_equal(world.given, "HTTP/1.1 200 OK\r\nA: 1\r\n\r\n");
        end(&world);
    }
}

static void test_the_callers_callback_may_end_it_at_any_line(void **state)
{
    (void)state;
    for (size_t at = 1; at <= 3; at++) {
        struct world world;
        begin(&world);
        world.refuse_at = at;
        takes(&world, "HTTP/1.1 200 OK\r\n");
        takes(&world, "A: 1\r\n");
        assert_int_equal(line(&world, "\r\n"), 0);
        end(&world);
    }
}

static void test_without_a_callback_nothing_is_kept(void **state)
{
    (void)state;
    struct world world;
    begin(&world);
    world.call.header = NULL;
    takes(&world, "HTTP/1.1 503 Busy\r\n");
    assert_int_equal(line(&world, "\r\n"), CURL_WRITEFUNC_PAUSE);
    assert_null(world.run->attempt.head.lines);
    end(&world);
}

static void test_a_head_without_end_is_refused(void **state)
{
    (void)state;
    struct world world;
    char filler[256];
    memset(filler, 'a', sizeof filler - 1);
    filler[sizeof filler - 1] = '\0';
    begin(&world);
    takes(&world, "HTTP/1.1 200 OK\r\n");
    size_t taken = 0;
    while (line(&world, filler) == strlen(filler)) taken += strlen(filler);
    assert_in_range(taken, 900 * 1024, 1024 * 1024);
    end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_final_head_is_given_whole_and_in_order),
        cmocka_unit_test(test_a_head_that_is_repeated_is_kept_until_it_is_let_go),
        cmocka_unit_test(test_interim_heads_and_those_of_a_tunnel_decide_nothing),
        cmocka_unit_test(test_what_is_no_status_line_opens_no_head),
        cmocka_unit_test(test_one_valid_hint_is_a_hint),
        cmocka_unit_test(test_the_callers_callback_may_pause_at_any_line),
        cmocka_unit_test(test_the_callers_callback_may_end_it_at_any_line),
        cmocka_unit_test(test_without_a_callback_nothing_is_kept),
        cmocka_unit_test(test_a_head_without_end_is_refused),
    };
    return cmocka_run_group_tests_name("curl/head", tests, NULL, NULL);
}
