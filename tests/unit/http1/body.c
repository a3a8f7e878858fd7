/* body.c: random contents in random chunks come out as they went in; limits; what follows an end or
 * a fault. */
#include "base/rng.h"
#include "support.h"

static void test_random_chunks(void **state)
{
    (void)state;
    struct rng rng;
    rng_seed(&rng, 71);
    for (int round = 0; round < 300; round++) {
        char content[600], wire[4096];
        size_t length = (size_t)rng_scale(rng_next(&rng), sizeof content), at = 0, to = 0;
        for (size_t i = 0; i < length; i++) content[i] = (char)rng_next(&rng);
        while (at < length) {
            size_t chunk = 1 + (size_t)rng_scale(rng_next(&rng), length - at);
            to += http1_write_chunk_head(wire + to, sizeof wire - to, chunk);
            memcpy(wire + to, content + at, chunk);
            memcpy(wire + to + chunk, "\r\n", 2);
            to += chunk + 2;
            at += chunk;
            if (sizeof wire - to < 700) break;
        }
        memcpy(wire + to, "0\r\n\r\nrest", 9);
        struct decoded *decoded = chunks(belay_slice(wire, to + 9));
        assert_int_equal(decoded->step, HTTP1_DONE);
        assert_int_equal(decoded->used, to + 5);
        assert_int_equal(decoded->length, at);
        assert_memory_equal(decoded->content, content, at);
    }
}

static void test_the_end_comes_with_the_last_piece(void **state)
{
    (void)state;
    struct http1_limits limits = http1_limits_default();
    struct http1_body body;
    struct belay_slice piece;
    struct http1_error error;
    size_t used;
    http1_body_init(&body, &limits, HTTP1_CHUNKED, 0);
    assert_int_equal(http1_body_step(&body, TEXT("3\r\nabc\r\n0\r\n\r\n"), &used, &piece, &error),
                     HTTP1_DONE);
    assert_text(piece, "abc");
    assert_int_equal(used, 13);
    http1_body_init(&body, &limits, HTTP1_CHUNKED, 0);
    struct belay_slice two = TEXT("3\r\nabc\r\n2\r\nde");
    assert_int_equal(http1_body_step(&body, two, &used, &piece, &error), HTTP1_MORE);
    assert_text(piece, "abc");
    assert_int_equal(used, 11); /* up to the next content */
    assert_int_equal(http1_body_step(&body, TEXT("de"), &used, &piece, &error), HTTP1_MORE);
    assert_text(piece, "de");
    http1_body_init(&body, &limits, HTTP1_LENGTH, 3);
    assert_int_equal(http1_body_step(&body, TEXT("abcd"), &used, &piece, &error), HTTP1_DONE);
    assert_text(piece, "abc");
    assert_int_equal(http1_body_step(&body, TEXT("d"), &used, &piece, &error), HTTP1_DONE);
    assert_int_equal(used, 0);
    assert_int_equal(piece.length, 0);
}

static void test_nothing_to_read_is_done_at_once(void **state)
{
    (void)state;
    assert_int_equal(decode(HTTP1_NO_BODY, 0, TEXT(""))->step, HTTP1_DONE);
    assert_int_equal(decode(HTTP1_LENGTH, 0, TEXT(""))->step, HTTP1_DONE);
    assert_int_equal(decode(HTTP1_LENGTH, 1, TEXT(""))->step, HTTP1_MORE);
    assert_int_equal(chunks(TEXT(""))->step, HTTP1_MORE);
    assert_int_equal(decode(HTTP1_UNTIL_CLOSE, 0, TEXT(""))->step, HTTP1_MORE);
    assert_true(decode(HTTP1_UNTIL_CLOSE, 0, TEXT(""))->ended_by_close);
}

static void test_a_broken_body_stays_broken(void **state)
{
    (void)state;
    struct http1_limits limits = http1_limits_default();
    struct http1_body body;
    struct belay_slice piece;
    struct http1_error error;
    size_t used;
    http1_body_init(&body, &limits, HTTP1_CHUNKED, 0);
    assert_int_equal(http1_body_step(&body, TEXT("3\r\nabcX"), &used, &piece, &error), HTTP1_BAD);
    assert_int_equal(error.offset, 6);
    assert_string_equal(error.rule, "chunk longer than its size");
    assert_int_equal(http1_body_step(&body, TEXT("0\r\n\r\n"), &used, &piece, &error), HTTP1_BAD);
    assert_int_equal(used, 0);
    assert_false(http1_body_closed(&body));
}

static void test_trailer_limit(void **state)
{
    (void)state;
    struct http1_limits limits = http1_limits_default();
    limits.trailer_bytes_max = 20; /* with the empty line */
    assert_int_equal(
        decode_with(&limits, HTTP1_CHUNKED, 0, TEXT("0\r\nA: 3456789012345\r\n\r\n"))->step,
        HTTP1_DONE);
    struct decoded *decoded =
        decode_with(&limits, HTTP1_CHUNKED, 0, TEXT("0\r\nA: 34567890123456\r\n\r\n"));
    assert_broken(decoded, 431);
    assert_int_equal(decoded->error.offset, 3 + 20);
    static char text[70000];
    memset(text, 'x', sizeof text);
    memcpy(text, "0\r\nA: ", 6);
    assert_broken(chunks(belay_slice(text, sizeof text)), 431);
    for (size_t i = 3; i + 5 < sizeof text; i += 5) memcpy(text + i, "A:b\r\n", 5);
    assert_broken(chunks(belay_slice(text, sizeof text)), 431);
}

static void test_chunk_line_limit(void **state)
{
    (void)state;
    struct http1_limits limits = http1_limits_default();
    limits.chunk_line_bytes_max = 4;
    assert_int_equal(decode_with(&limits, HTTP1_CHUNKED, 0, TEXT("0;ab\r\n\r\n"))->step,
                     HTTP1_DONE);
    assert_broken(decode_with(&limits, HTTP1_CHUNKED, 0, TEXT("0;abc\r\n\r\n")), 400);
    assert_broken(decode_with(&limits, HTTP1_CHUNKED, 0, TEXT("00000\r\n\r\n")), 400);
    assert_broken(decode_with(&limits, HTTP1_CHUNKED, 0, TEXT("0    ;\r\n\r\n")), 400);
    struct decoded *decoded =
        decode_with(&limits, HTTP1_CHUNKED, 0, TEXT("1;ab\r\nx\r\n1;cd\r\ny\r\n0\r\n\r\n"));
    assert_int_equal(decoded->step, HTTP1_DONE); /* each line by itself */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_chunks),
        cmocka_unit_test(test_the_end_comes_with_the_last_piece),
        cmocka_unit_test(test_nothing_to_read_is_done_at_once),
        cmocka_unit_test(test_a_broken_body_stays_broken),
        cmocka_unit_test(test_trailer_limit),
        cmocka_unit_test(test_chunk_line_limit),
    };
    return cmocka_run_group_tests_name("http1/body", tests, NULL, NULL);
}
