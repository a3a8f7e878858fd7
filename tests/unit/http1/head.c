/* head.c: a full head of each kind, a head that drips in, and limits at their edges. */
#include "base/rng.h"
#include "http1/chars.h"
#include "support.h"

static void test_request(void **state)
{
    (void)state;
    struct parsed parsed =
        request(TEXT("PATCH /orders/7?full HTTP/1.1\r\nHost: shop.example:8080\r\nAccept: */*\r\n"
                     "Content-Type: text/plain\r\nContent-Length: 3\r\n\r\nabcGET /"));
    assert_accepted(parsed);
    assert_int_equal(parsed.head.method, BELAY_METHOD_PATCH);
    assert_text(parsed.head.method_text, "PATCH");
    assert_text(parsed.head.target, "/orders/7?full");
    assert_text(parsed.head.path, "/orders/7");
    assert_text(parsed.head.query, "full");
    assert_text(parsed.head.authority, "shop.example:8080");
    assert_int_equal(parsed.head.minor_version, 1);
    assert_int_equal(parsed.head.field_count, 4);
    assert_text(parsed.head.fields[1].name, "Accept");
    assert_text(parsed.head.fields[1].value, "*/*");
    assert_int_equal(parsed.head.status, 0);
}

static void test_response(void **state)
{
    (void)state;
    struct parsed parsed =
        response(TEXT("HTTP/1.1 503 Busy now\r\nRetry-After: 2\r\nContent-Length: 0\r\n\r\n"));
    assert_accepted(parsed);
    assert_int_equal(parsed.head.status, 503);
    assert_text(parsed.head.reason_phrase, "Busy now");
    assert_text(http1_find(&parsed.head, HTTP1_RETRY_AFTER)->value, "2");
    assert_int_equal(parsed.head.method, BELAY_METHOD_OTHER);
    assert_int_equal(parsed.head.target.length, 0);
}

static void test_a_head_without_fields(void **state)
{
    (void)state;
    assert_accepted(request(TEXT("GET / HTTP/1.0\r\n\r\n")));
    assert_accepted(response(TEXT("HTTP/1.1 200 OK\r\n\r\n")));
}

static void test_the_array_bounds_the_fields(void **state)
{
    (void)state;
    struct how how = responses_to(BELAY_METHOD_GET);
    how.limits.fields_max = 1000;
    for (int count = 127; count <= 129; count++) {
        char text[2048] = "HTTP/1.1 200 OK\r\n";
        for (int i = 0; i < count; i++) strcat(text, "A: b\r\n");
        strcat(text, "\r\n");
        struct parsed parsed = parse(&how, belay_slice_z(text));
        assert_int_equal(parsed.step, count <= HTTP1_FIELDS_MAX ? HTTP1_DONE : HTTP1_BAD);
    }
    how = requests();
    how.limits.fields_max = 2;
    struct parsed parsed = parse(&how, TEXT("GET / HTTP/1.1\r\nHost: a\r\nB: c\r\nD"));
    assert_refused(parsed, 431);
    assert_int_equal(parsed.error.offset, sizeof "GET / HTTP/1.1\r\nHost: a\r\nB: c\r\n" - 1);
}

static void test_a_small_head_limit(void **state)
{
    (void)state;
    static const char text[] = "GET /abc HTTP/1.1\r\nHost: a\r\n\r\n";
    struct how how = requests();
    for (size_t limit = 1; limit < sizeof text + 4; limit++) {
        how.limits.head_bytes_max = limit;
        struct parsed parsed = parse(&how, TEXT(text));
        if (limit >= sizeof text - 1) {
            assert_accepted(parsed);
        } else {
            assert_refused(parsed, limit >= 4 && limit <= 8 ? 414 : 431);
        }
    }
    how = requests();
    for (size_t limit = 1; limit < 8; limit++) {
        how.limits.target_bytes_max = limit;
        struct parsed parsed = parse(&how, TEXT(text));
        if (limit >= 4) {
            assert_accepted(parsed);
        } else {
            assert_refused(parsed, 414);
        }
    }
}

/* Random edits of good heads: whatever comes out comes out for every cut (support.h looks), inside
 * the bytes. */
static void test_random_edits(void **state)
{
    (void)state;
    static const char *const seeds[] = {
        "POST http://b/x?y HTTP/1.1\r\nHost: a\r\nConnection: close, X-A\r\nX-A: "
        "b\r\nContent-Length: 5\r\n\r\nhello",
        "GET /abc HTTP/1.0\r\nConnection: keep-alive\r\nTE: trailers\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Type: "
        "text/plain\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
        "HTTP/1.0 404 Not Found\r\nDate: Tue, 06 Jan 2026 12:01:00 GMT\r\nX: y\r\n\r\n",
    };
    struct rng rng;
    rng_seed(&rng, 2);
    for (int round = 0; round < 6000; round++) {
        char text[256];
        size_t length = strlen(seeds[round & 3]);
        memcpy(text, seeds[round & 3], length);
        for (uint64_t edits = 1 + (rng_next(&rng) & 3); edits > 0; edits--) {
            size_t at = (size_t)rng_scale(rng_next(&rng), length);
            static const char favourites[] = "\r\n\0 \t:,;/?0a\x7f\xff";
            uint64_t luck = rng_next(&rng);
            text[at] =
                luck & 1 ? favourites[rng_scale(luck, sizeof favourites)] : (char)(luck >> 8);
        }
        struct parsed parsed =
            round & 2 ? response(belay_slice(text, length)) : request(belay_slice(text, length));
        if (parsed.step == HTTP1_DONE) assert_true(parsed.used <= length);
        if (parsed.step == HTTP1_BAD) assert_true(parsed.error.offset <= length);
    }
}

/* The fast ways stop where the slow one does, at every place in and around a word. */
static void test_skipping(void **state)
{
    (void)state;
    for (size_t length = 0; length < 40; length++) {
        for (size_t at = 0; at < length; at++) {
            for (int c = 0; c < 512; c++) {
                char text[40];
                memset(text, c < 256 ? 'a' : '\xff', sizeof text);
                text[at] = (char)c;
                const char *end = text + length;
                assert_ptr_equal(char_skip_target(text, end), char_skip(text, end, CHAR_TARGET));
                if (at > 3) text[at - 3] = '\t';
                assert_ptr_equal(char_skip_value(text, end), char_skip(text, end, CHAR_VALUE));
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_request),
        cmocka_unit_test(test_response),
        cmocka_unit_test(test_a_head_without_fields),
        cmocka_unit_test(test_the_array_bounds_the_fields),
        cmocka_unit_test(test_a_small_head_limit),
        cmocka_unit_test(test_random_edits),
        cmocka_unit_test(test_skipping),
    };
    return cmocka_run_group_tests_name("http1/head", tests, NULL, NULL);
}
