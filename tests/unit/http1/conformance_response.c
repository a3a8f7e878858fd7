/* conformance_response.c: the rows of tests/conformance/http1.tsv about answers that parsing
 * answers, and the kind that each stands for. */
#include "http1/chars.h"
#include "support.h"

static struct belay_slice with_text(const char *prefix, const char *middle, const char *suffix)
{
    static char text[1024];
    int length = snprintf(text, sizeof text, "%s%s%s", prefix, middle, suffix);
    return belay_slice(text, (size_t)length);
}

#define OK "HTTP/1.1 200 OK\r\n"
#define END "\r\n\r\n"

static void h50(void **state)
{
    (void)state;
    static const char both[] =
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    struct parsed first = response(TEXT(both));
    assert_accepted(first);
    assert_int_equal(first.head.status, 100);
    assert_int_equal(first.head.framing, HTTP1_NO_BODY);
    struct parsed last = response(belay_slice(both + first.used, sizeof both - 1 - first.used));
    assert_accepted(last);
    assert_int_equal(last.head.status, 200);
    assert_int_equal(last.head.content_length, 2);
}

static void h53(void **state)
{
    (void)state;
    struct parsed parsed = response(
        TEXT("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nContent-Length: 5" END "hello"));
    assert_accepted(parsed);
    assert_int_equal(parsed.head.status, 101);
    assert_int_equal(parsed.head.framing, HTTP1_NO_BODY);
    assert_false(parsed.head.has_content_length);
}

static void h54(void **state)
{
    (void)state;
    struct parsed parsed = response_to(BELAY_METHOD_HEAD, TEXT(OK "Content-Length: 5" END "hello"));
    assert_accepted(parsed);
    assert_int_equal(parsed.head.framing, HTTP1_NO_BODY);
    assert_true(parsed.head.has_content_length);
    assert_int_equal(parsed.head.content_length, 5);
    assert_int_equal(parsed.used, sizeof OK "Content-Length: 5" END - 1);
    parsed = response_to(BELAY_METHOD_HEAD, TEXT(OK "Transfer-Encoding: chunked" END));
    assert_int_equal(parsed.head.framing, HTTP1_NO_BODY);
    parsed = response(TEXT("HTTP/1.1 304 Not Modified\r\nContent-Length: 5" END));
    assert_int_equal(parsed.head.framing, HTTP1_NO_BODY);
    assert_true(parsed.head.has_content_length && parsed.head.keep_alive);
    parsed = response(TEXT("HTTP/1.1 204 No Content\r\nContent-Length: 5" END));
    assert_int_equal(parsed.head.framing, HTTP1_NO_BODY);
    assert_false(parsed.head.has_content_length);
    parsed = response_to(BELAY_METHOD_CONNECT, TEXT(OK "Content-Length: 5" END));
    assert_int_equal(parsed.head.framing, HTTP1_NO_BODY);
    parsed = response_to(BELAY_METHOD_CONNECT, TEXT("HTTP/1.1 400 No\r\nContent-Length: 5" END));
    assert_int_equal(parsed.head.framing, HTTP1_LENGTH);
}

static void h56(void **state)
{
    (void)state;
    struct parsed parsed = response(TEXT(OK "Content-Length: 5\r\nTransfer-Encoding: chunked" END));
    assert_accepted(parsed);
    assert_int_equal(parsed.head.framing, HTTP1_CHUNKED);
    assert_true(parsed.head.length_ignored);
    assert_false(parsed.head.keep_alive || parsed.head.has_content_length);
    parsed = response(TEXT(OK "Transfer-Encoding: chunked" END));
    assert_true(parsed.head.keep_alive);
    assert_false(parsed.head.length_ignored);
}

static void h58(void **state)
{
    (void)state;
    struct decoded *decoded = decode(HTTP1_LENGTH, 5, TEXT("helloEVIL"));
    assert_int_equal(decoded->step, HTTP1_DONE);
    assert_int_equal(decoded->used, 5);
    assert_memory_equal(decoded->content, "hello", 5);
    decoded = chunks(TEXT("5\r\nhello\r\n0" END "EVIL"));
    assert_int_equal(decoded->step, HTTP1_DONE);
    assert_int_equal(decoded->used, sizeof "5\r\nhello\r\n0" END - 1);
    assert_int_equal(decode(HTTP1_NO_BODY, 0, TEXT("EVIL"))->used, 0);
    assert_int_equal(decode(HTTP1_LENGTH, 0, TEXT("EVIL"))->used, 0);
}

static void h59(void **state)
{
    (void)state;
    static const char whole[] = "5\r\nhello\r\n3;x\r\nabc\r\n0\r\nT: u\r\n\r\n";
    for (size_t length = 0; length < sizeof whole - 1;
         length++) { /* cut anywhere: never a clean end */
        struct decoded *decoded = chunks(belay_slice(whole, length));
        assert_int_equal(decoded->step, HTTP1_MORE);
        assert_false(decoded->ended_by_close);
    }
    assert_true(chunks(TEXT(whole))->ended_by_close);
    for (size_t length = 0; length < 5; length++) {
        struct decoded *decoded = decode(HTTP1_LENGTH, 5, belay_slice("hello", length));
        assert_int_equal(decoded->step, HTTP1_MORE);
        assert_false(decoded->ended_by_close);
    }
    struct decoded *decoded = decode(HTTP1_UNTIL_CLOSE, 0, TEXT("hello"));
    assert_int_equal(decoded->step, HTTP1_MORE);
    assert_true(decoded->ended_by_close);
}

static void h62(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "HTTP/1.1 99 X",    "HTTP/1.1 2000 X", "HTTP/3 200",          "HTTP/1.1 099 X",
        "HTTP/1.1 600 X",   "HTTP/1.1 999 X",  "HTTP/1.1 000",        "HTTP/1.1 20",
        "HTTP/1.1 2",       "HTTP/1.1",        "HTTP/1.1 ",           "HTTP/1.1  200 OK",
        "HTTP/1.1 2x0 OK",  "HTTP/1.1 +20 OK", "HTTP/1.1 -20 OK",     "HTTP/2.0 200 OK",
        "HTTP/0.9 200 OK",  "HTTP/1.2 200 OK", "HTTP/1.10 200 OK",    "HTTP/11 200 OK",
        "http/1.1 200 OK",  "HTTQ/1.1 200 OK", "ICY 200 OK",          "\x16\x03\x01",
        "SSH-2.0-x",        "hello",           " HTTP/1.1 200 OK",    "HTTP/1.1\t200 OK",
        "HTTP/1.1 200\tOK", "HTTP/1.1 200.1",  "\r\nHTTP/1.1 200 OK", "HTTP /1.1 200 OK"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        assert_refused(response(with_text("", lines[i], "\r\nContent-Length: 0" END)), 502);
    }
    for (int status = 0; status < 1000; status++) {
        char text[64];
        int length = snprintf(text, sizeof text, "HTTP/1.1 %03d X\r\n\r\n", status);
        struct parsed parsed = response(belay_slice(text, (size_t)length));
        assert_int_equal(parsed.step, status >= 100 && status < 600 ? HTTP1_DONE : HTTP1_BAD);
        if (parsed.step == HTTP1_DONE) assert_int_equal(parsed.head.status, status);
    }
    assert_text(response(TEXT("HTTP/1.1 200 \r\n\r\n")).head.reason_phrase, "");
    assert_text(response(TEXT("HTTP/1.1 200\r\n\r\n")).head.reason_phrase, "");
    assert_text(response(TEXT("HTTP/1.0 404 Nicht da\xdf\t!\r\n\r\n")).head.reason_phrase,
                "Nicht da\xdf\t!");
}

#define ROW(function, text)                                                                        \
    {                                                                                              \
        text, function, NULL, NULL, NULL                                                           \
    }

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROW(h50, "H50 an interim head and the final one"),
        ROW(h53, "H53 a 101 is a head without a body"),
        ROW(h54, "H54 HEAD, 204 and 304 have no body"),
        ROW(h56, "H56 Transfer-Encoding wins in a response, which is the connection's last"),
        ROW(h58, "H58 bytes past the end belong to nobody"),
        ROW(h59, "H59 a cut body never ends properly"),
        ROW(h62, "H62 a malformed status line is refused"),
    };
    return cmocka_run_group_tests_name("http1/conformance_response", tests, NULL, NULL);
}
