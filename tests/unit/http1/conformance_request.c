/* conformance_request.c: the rows of tests/conformance/http1.tsv about requests that parsing
 * answers, and the kind that each stands for. */
#include "http1/chars.h"
#include "support.h"

/* "PREFIX c SUFFIX" in one slice that lives until the next call. */
static struct belay_slice with_byte(const char *prefix, char c, const char *suffix)
{
    static char text[1024];
    size_t before = strlen(prefix), after = strlen(suffix);
    memcpy(text, prefix, before);
    text[before] = c;
    memcpy(text + before + 1, suffix, after);
    return belay_slice(text, before + 1 + after);
}

static struct belay_slice with_text(const char *prefix, const char *middle, const char *suffix)
{
    static char text[1024];
    int length = snprintf(text, sizeof text, "%s%s%s", prefix, middle, suffix);
    return belay_slice(text, (size_t)length);
}

#define POST "POST /a HTTP/1.1\r\nHost: a\r\n"
#define OK "HTTP/1.1 200 OK\r\n"
#define END "\r\n\r\n"

static void h1(void **state)
{
    (void)state;
    assert_refused(request(TEXT(POST "Content-Length: 6\r\nTransfer-Encoding: chunked" END "0" END
                                     "GET /2 HTTP/1.1" END)),
                   400);
    assert_refused(request(TEXT(POST "Transfer-Encoding: chunked\r\nContent-Length: 6" END)), 400);
    assert_refused(request(TEXT(POST "transfer-encoding:CHUNKED\r\nX: y\r\ncontent-length:0" END)),
                   400);
    assert_refused(
        request(TEXT(
            POST
            "Connection: Content-Length\r\nContent-Length: 6\r\nTransfer-Encoding: chunked" END)),
        400);
    assert_refused(request(TEXT(POST "Connection: Transfer-Encoding\r\nContent-Length: 6\r\n"
                                     "Transfer-Encoding: chunked" END)),
                   400);
}

static void h2(void **state)
{
    (void)state;
    static const char *const lengths[] = {"5\r\nContent-Length: 6",
                                          "6\r\nX: y\r\ncontent-length: 5",
                                          "5\r\nContent-Length: 5",
                                          "5, 5",
                                          "5,5",
                                          "5, 6",
                                          "5,",
                                          ",5",
                                          "5\r\nContent-Length:"};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        assert_refused(request(with_text(POST "Content-Length: ", lengths[i], END)), 400);
        assert_refused(response(with_text(OK "Content-Length: ", lengths[i], END)), 502);
    }
}

static void h4(void **state)
{
    (void)state;
    static const char *const lengths[] = {"+2",    "-1",  "0x2", "1_0", "",     "2 3", " ",
                                          "2.0",   "2e0", "\t",  "-0",  "+0",   "0b1", "2\t2",
                                          "\"2\"", "2;",  "a",   "0x",  "\xb2", "1'0", "NaN"};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        assert_refused(request(with_text(POST "Content-Length: ", lengths[i], END)), 400);
        assert_refused(response(with_text(OK "Content-Length: ", lengths[i], END)), 502);
        assert_refused(
            response_to(BELAY_METHOD_HEAD, with_text(OK "Content-Length: ", lengths[i], END)), 502);
    }
    for (int c = 0; c < 256; c++) {
        bool blank = c == ' ' || c == '\t';
        struct parsed before = request(with_byte(POST "Content-Length:", (char)c, "2" END));
        struct parsed after = request(with_byte(POST "Content-Length: 2", (char)c, END));
        if (char_is_digit((char)c) || blank) {
            assert_accepted(before);
            assert_accepted(after);
        } else {
            assert_refused(before, 400);
            assert_refused(after, 400);
        }
        if (!char_is_digit((char)c)) {
            assert_refused(request(with_byte(POST "Content-Length: 2", (char)c, "2" END)), 400);
        }
    }
    struct parsed zeros = request(TEXT(POST "Content-Length: 0007" END));
    assert_accepted(zeros);
    assert_int_equal(zeros.head.content_length, 7);
}

static void h6(void **state)
{
    (void)state;
    static const char *const lengths[] = {
        "18446744073709551618", "18446744073709551616",
        "18446744073709551615", "9223372036854775808",
        "36893488147419103234", "99999999999999999999999999999999999999999999999999"};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        assert_refused(request(with_text(POST "Content-Length: ", lengths[i], END)), 400);
        assert_refused(response(with_text(OK "Content-Length: ", lengths[i], END)), 502);
    }
    struct parsed largest = request(TEXT(POST "Content-Length: 9223372036854775807" END));
    assert_accepted(largest);
    assert_true(largest.head.content_length == INT64_MAX);
}

static void h7(void **state)
{
    (void)state;
    static const char *const names[] = {"Content-Length ", "Content-Length\t", "Host ", "X-Any ",
                                        "Transfer-Encoding \t"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        assert_refused(request(with_text(POST, names[i], ": 2" END)), 400);
        assert_refused(response(with_text(OK, names[i], ": 2" END)), 502);
    }
}

static void h8(void **state)
{
    (void)state;
    static const char *const values[] = {"xchunked",
                                         ",chunked",
                                         "chunked,chunked",
                                         "chunked\r\nTransfer-Encoding: chunked",
                                         "chunked, gzip",
                                         "chunked,",
                                         "gzip\r\nTransfer-Encoding: chunked",
                                         "chunked;q=1",
                                         "\"chunked\"",
                                         "chunked chunked",
                                         "",
                                         ",",
                                         "identity",
                                         "identity, identity",
                                         "chunke",
                                         "chunkedx",
                                         "chunked, identity",
                                         "chunked\xa0",
                                         "chu\tnked",
                                         "x chunked",
                                         "gzip",
                                         "gzip, chunked, chunked",
                                         "ch\xc3\xbcnked",
                                         "[chunked]",
                                         "gzip;, chunked"};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        assert_refused(request(with_text(POST "Transfer-Encoding: ", values[i], END)), 400);
        assert_refused(response(with_text(OK "Transfer-Encoding: ", values[i], END)), 502);
    }
    for (int c = 0; c < 256; c++) { /* every byte on either side */
        bool blank = c == ' ' || c == '\t';
        struct parsed before =
            request(with_byte(POST "Transfer-Encoding:", (char)c, "chunked" END));
        struct parsed after = request(with_byte(POST "Transfer-Encoding: chunked", (char)c, END));
        if (blank) {
            assert_accepted(before);
            assert_accepted(after);
        } else {
            assert_refused(before, 400);
            assert_refused(after, 400);
        }
    }
    assert_refused(request(TEXT("POST /a HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked" END)),
                   400);
    assert_refused(response(TEXT("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked" END)), 502);
    assert_int_equal(request(TEXT(POST "TRANSFER-ENCODING: cHuNkEd" END)).head.framing,
                     HTTP1_CHUNKED);
}

static void h10(void **state)
{
    (void)state;
    static const char *const values[] = {"gzip, chunked",     "gzip,chunked",
                                         "deflate , chunked", "gzip, br, Chunked",
                                         "identity, chunked", ", gzip, chunked"};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        assert_refused(request(with_text(POST "Transfer-Encoding: ", values[i], END)), 501);
        assert_refused(response(with_text(OK "Transfer-Encoding: ", values[i], END)), 502);
    }
}

static void h12(void **state)
{
    (void)state;
    static const char *const sizes[] = {"0x2", " 2",  "-1", "+2",  "2_0", "",      "2 ",
                                        "2\t", "\t2", "g",  "2g",  "2,",  "\"2\"", "2 2",
                                        "0X2", "2h",  "x2", "2.0", ";a",  " ;a"};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        assert_broken(chunks(with_text("", sizes[i], "\r\nab\r\n0" END)), 400);
    }
    for (int c = 0; c < 256; c++) { /* every byte as the size, and behind it */
        bool hex = char_hex((char)c) >= 0;
        if (!hex) assert_broken(chunks(with_byte("", (char)c, "2\r\nab\r\n0" END)), 400);
        if (!hex && c != ';')
            assert_broken(chunks(with_byte("2", (char)c, "\r\nab\r\n0" END)), 400);
    }
    static const char *const good[] = {"2",     "02",    "0000000000000002", "2;",
                                       "2;a=b", "2 ; a", "2\t;a=\"b c\"",    "2;\xff"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        struct decoded *decoded = chunks(with_text("", good[i], "\r\nab\r\n0" END));
        assert_int_equal(decoded->step, HTTP1_DONE);
        assert_int_equal(decoded->length, 2);
        assert_memory_equal(decoded->content, "ab", 2);
    }
    struct decoded *ten = chunks(TEXT("a\r\n0123456789\r\nB\r\n0123456789a\r\n000" END));
    assert_int_equal(ten->step, HTTP1_DONE);
    assert_int_equal(ten->length, 21);
}

static void h14(void **state)
{
    (void)state;
    static const char *const sizes[] = {"10000000000000002", "ffffffffffffffff",
                                        "8000000000000000",  "FFFFFFFFFFFFFFFE",
                                        "00000000000000002", "fffffffffffffffffffffffffffffff2",
                                        "10000000000000000"};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        assert_broken(chunks(with_text("", sizes[i], "\r\nab\r\n0" END)), 400);
    }
    assert_int_equal(chunks(TEXT("7fffffffffffffff\r\nab"))->step, HTTP1_MORE);
}

static void h16(void **state)
{
    (void)state;
    for (int c = 0; c < 256; c++) {
        struct decoded *decoded = chunks(with_byte("2;a", (char)c, "b\r\nab\r\n0" END));
        bool control = (c < 0x20 && c != '\t') || c == 0x7f;
        if (control) {
            assert_broken(decoded, 400);
        } else {
            assert_int_equal(decoded->step, HTTP1_DONE);
        }
    }
    assert_broken(chunks(TEXT("0;\n\r\n\r\n")), 400);
    assert_broken(chunks(TEXT("2;\rab\r\nab\r\n0" END)), 400);
    static char text[70 * 1024];
    memset(text, 'x', sizeof text);
    memcpy(text, "2;", 2);
    assert_broken(chunks(belay_slice(text, 65536)), 400);
    /* 256 bytes are the limit, and enough. */
    memcpy(text + 256, "\r\nab\r\n0" END, sizeof "\r\nab\r\n0" END - 1);
    assert_int_equal(chunks(belay_slice(text, 256 + sizeof "\r\nab\r\n0" END - 1))->step,
                     HTTP1_DONE);
    memset(text + 256, 'x', 64);
    memcpy(text + 257, "\r\nab\r\n0" END, sizeof "\r\nab\r\n0" END - 1);
    struct decoded *one_more = chunks(belay_slice(text, 257 + sizeof "\r\nab\r\n0" END - 1));
    assert_broken(one_more, 400);
    assert_int_equal(one_more->error.offset, 256);
}

static void h17(void **state)
{
    (void)state;
    static const char *const bodies[] = {"2\nab\r\n0\r\n\r\n",
                                         "2\r\nab\n0\r\n\r\n",
                                         "2\r\nab\r\n0\n\r\n",
                                         "2\r\nab\r\n0\r\n\n",
                                         "2\r\nab\r\n0\r\nA: b\n\r\n",
                                         "2;a\nab\r\n0\r\n\r\n",
                                         "2\nab\n0\n\n",
                                         "2\rab\r0\r\r",
                                         "2\r\nabc\r\n0\r\n\r\n",
                                         "2\r\nab0\r\n\r\n",
                                         "2\r\nab\rx0\r\n\r\n",
                                         "2\r\rab\r\n0\r\n\r\n"};
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        assert_broken(chunks(with_text("", bodies[i], "")), 400);
    }
}

static void h20(void **state)
{
    (void)state;
    static const char *const trailers[] = {"Content-Length: 5",
                                           "Transfer-Encoding: chunked",
                                           "Host: evil",
                                           "Authorization: Basic eA==",
                                           "X:",
                                           "X:y\r\nZ: \t\xff"};
    for (size_t i = 0; i < sizeof trailers / sizeof *trailers; i++) {
        struct decoded *decoded = chunks(with_text("2\r\nab\r\n0\r\n", trailers[i], END));
        assert_int_equal(decoded->step, HTTP1_DONE);
        assert_int_equal(decoded->length, 2); /* the content and nothing else comes out */
    }
    static const char *const malformed[] = {" X: y",    "X : y",    "X",        ": y",
                                            "X\xff: y", "X: a\x01", "X: a\x7f", "X: a\r\n folded",
                                            "X: a\rb",  "X: a\nb",  "\tX: y",   "X y: z"};
    for (size_t i = 0; i < sizeof malformed / sizeof *malformed; i++) {
        assert_broken(chunks(with_text("2\r\nab\r\n0\r\n", malformed[i], END)), 400);
    }
    for (int c = 0; c < 256; c++) {
        bool in_value = char_is((char)c, CHAR_VALUE),
             in_name = char_is((char)c, CHAR_TOKEN) || c == ':';
        struct decoded *value = chunks(with_byte("0\r\nX: a", (char)c, "b" END));
        assert_int_equal(value->step, in_value ? HTTP1_DONE : HTTP1_BAD);
        struct decoded *name = chunks(with_byte("0\r\nX", (char)c, "Y: b" END));
        assert_int_equal(name->step, in_name ? HTTP1_DONE : HTTP1_BAD);
    }
}

static void h24(void **state)
{
    (void)state;
    assert_refused(request(TEXT("GET / HTTP/1.1\nHost: a\n\n")), 400);
    assert_refused(response(TEXT("HTTP/1.1 200 OK\nContent-Length: 0\n\n")), 502);
    /* one LF alone among CRLFs, in each place */
    assert_refused(request(TEXT("GET / HTTP/1.1\nHost: a\r\n\r\n")), 400);
    assert_refused(request(TEXT("GET / HTTP/1.1\r\nHost: a\n\r\n")), 400);
    assert_refused(request(TEXT("GET / HTTP/1.1\r\nHost: a\r\n\n")), 400);
    assert_refused(request(TEXT("\nGET / HTTP/1.1\r\nHost: a\r\n\r\n")), 400);
    assert_refused(response(TEXT("HTTP/1.1 200 OK\nX: a\r\n\r\n")), 502);
    assert_refused(response(TEXT("HTTP/1.1 200\nX: a\r\n\r\n")), 502);
    assert_refused(response(TEXT("HTTP/1.1 200 OK\r\nX: a\n\r\n")), 502);
    assert_refused(response(TEXT("HTTP/1.1 200 OK\r\nX: a\r\n\n")), 502);
}

static void h25(void **state)
{
    (void)state;
    for (int c = 0; c < 256; c++) {
        bool good = (c >= 0x20 && c != 0x7f) || c == '\t';
        static const char *const places[][2] = {
            {POST "X: ", "" END},
            {POST "X: a", "b" END},
            {POST "X:", "a" END},
            {POST "X: abcdefghijklmnopq", "rstuvwxyzabcdefg" END}};
        for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
            struct parsed parsed = request(with_byte(places[i][0], (char)c, places[i][1]));
            if (good) {
                assert_accepted(parsed);
            } else {
                assert_refused(parsed, 400);
            }
        }
        struct parsed value = response(with_byte(OK "X: abcdefgh", (char)c, "ijklmnop" END));
        struct parsed reason = response(with_byte("HTTP/1.1 200 O", (char)c, "K" END));
        assert_int_equal(value.step, good ? HTTP1_DONE : HTTP1_BAD);
        assert_int_equal(reason.step, good ? HTTP1_DONE : HTTP1_BAD);
    }
}

static void h27(void **state)
{
    (void)state;
    for (int c = 0; c < 256; c++) {
        bool token = char_is((char)c, CHAR_TOKEN);
        struct parsed inside = request(with_byte(POST "X", (char)c, "Y: b" END));
        struct parsed first = request(with_byte(POST, (char)c, "Y: b" END));
        struct parsed answer = response(with_byte(OK "X", (char)c, "Y: b" END));
        assert_int_equal(inside.step, token || c == ':' ? HTTP1_DONE : HTTP1_BAD);
        assert_int_equal(first.step, token ? HTTP1_DONE : HTTP1_BAD);
        assert_int_equal(answer.step, token || c == ':' ? HTTP1_DONE : HTTP1_BAD);
    }
    static const char *const lines[] = {
        ": empty",         "no colon",         "nocolon",   " X: y",       "\tX: y",
        "X: a\r\n folded", "X: a\r\n\tfolded", "X: a\r\n ", ":",           "(x): y",
        "X@Y: z",          "X/Y: z",           "\"X\": z",  "X\xc3\xbc: y"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        assert_refused(request(with_text(POST, lines[i], END)), 400);
        assert_refused(response(with_text(OK, lines[i], END)), 502);
    }
    assert_refused(request(TEXT("GET / HTTP/1.1\r\n Host: a" END)),
                   400); /* before the first field */
    assert_refused(response(TEXT("HTTP/1.1 200 OK\r\n X: a" END)), 502);
}

static void h28(void **state)
{
    (void)state;
    assert_refused(request(TEXT("GET / HTTP/1.1" END)), 400);
    assert_refused(request(TEXT("GET / HTTP/1.1\r\nX-Host: a" END)), 400);
    assert_refused(request(TEXT("GET http://a/ HTTP/1.1" END)), 400);
    static const char *const hosts[] = {"a\r\nHost: a", "a\r\nHost: b", "a\r\nX: y\r\nhOST: a",
                                        "a,b",          "a, b",         "u@a",
                                        "a/",           "a/b",          "",
                                        "a b",          "a:b",          "a:80:80",
                                        ":80",          "a:65536",      "a:999999",
                                        "a?b",          "a#b",          "a\\b",
                                        "[::1",         "::1",          "[]",
                                        "[::1]x",       "[g::1]",       "a%zz",
                                        "a%4",          "a\xff",        "<a>",
                                        "a|b",          "a\"b",         "{a}",
                                        "a;b",          "http://a",     "a:+80",
                                        "[::1]:x"};
    for (size_t i = 0; i < sizeof hosts / sizeof *hosts; i++) {
        assert_refused(request(with_text("GET / HTTP/1.1\r\nHost: ", hosts[i], END)), 400);
        assert_refused(request(with_text("GET / HTTP/1.0\r\nHost: ", hosts[i], END)), 400);
    }
    static const char *const good[] = {
        "a",      "a.example", "a:80", "127.0.0.1:8080", "[::1]", "[::1]:443",        "a_b",
        "a-b.c.", "a%20b",     "a:",   "xn--a",          "A.B",   "[::ffff:1.2.3.4]", "a:0",
        "a:65535"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        struct parsed parsed = request(with_text("GET / HTTP/1.1\r\nHost: ", good[i], END));
        assert_accepted(parsed);
    }
    for (int c = 0; c < 256; c++) {
        struct parsed parsed = request(with_byte("GET / HTTP/1.1\r\nHost: a", (char)c, "b" END));
        assert_int_equal(parsed.step, char_is((char)c, CHAR_HOST) ? HTTP1_DONE : HTTP1_BAD);
    }
}

static void h29(void **state)
{
    (void)state;
    struct parsed parsed = request(TEXT("GET http://b/1 HTTP/1.1\r\nHost: a" END));
    assert_accepted(parsed);
    assert_text(parsed.head.authority, "b");
    assert_text(parsed.head.path, "/1");
    assert_text(parsed.head.target, "http://b/1");
    parsed = request(TEXT("GET HTTPS://b:8443?q=/ HTTP/1.0\r\n\r\n"));
    assert_accepted(parsed);
    assert_text(parsed.head.authority, "b:8443");
    assert_text(parsed.head.path, "/");
    assert_text(parsed.head.query, "q=/");
    static const char *const bad[] = {
        "http://", "http:///x",   "http://?x",   "http://u@b/", "http://u:p@b/",
        "http:/b", "http:b",      "ftp://b/",    "b",           "b:80",
        "x/y",     "file:///etc", "http://b,c/", "http://b:x/", "*",
        "**",      "?x"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_refused(request(with_text("GET ", bad[i], " HTTP/1.1\r\nHost: a" END)), 400);
    }
}

static void h32(void **state)
{
    (void)state;
    static const char *const methods[] = {
        "get", "Get", "post", "PURGE", "gET", "M-SEARCH", "!#$%&'*+-.^_`|~0"};
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        struct parsed parsed = request(with_text("", methods[i], " / HTTP/1.1\r\nHost: a" END));
        assert_accepted(parsed);
        assert_int_equal(parsed.head.method, BELAY_METHOD_OTHER);
        assert_int_equal(parsed.head.method_text.length, strlen(methods[i]));
    }
    for (int c = 0; c < 256; c++) {
        struct parsed parsed = request(with_byte("G", (char)c, "T / HTTP/1.1\r\nHost: a" END));
        assert_int_equal(parsed.step, char_is((char)c, CHAR_TOKEN) ? HTTP1_DONE : HTTP1_BAD);
    }
}

static void h34(void **state)
{
    (void)state;
    static char text[80 * 1024];
    memset(text, 'x', sizeof text);
    /* 64 KB target: refused at byte 8193 of it, without its end */
    memcpy(text, "GET /", 5);
    struct parsed parsed = request(belay_slice(text, 65536));
    assert_refused(parsed, 414);
    assert_int_equal(request(belay_slice(text, 4 + 8192)).step, HTTP1_MORE);
    assert_refused(request(belay_slice(text, 4 + 8193)), 414);
    /* an endless value, name or reason: 16 KiB */
    memcpy(text, POST "X: ", sizeof POST "X: " - 1);
    assert_refused(request(belay_slice(text, sizeof text)), 431);
    assert_refused(request(belay_slice(text, 16384)), 431);
    assert_int_equal(request(belay_slice(text, 16383)).step, HTTP1_MORE);
    memcpy(text, POST "xxx", sizeof POST "xxx" - 1);
    assert_refused(request(belay_slice(text, 16384)), 431);
    memcpy(text, "HTTP/1.1 200 ", 13);
    assert_refused(response(belay_slice(text, 16384)), 502);
    memset(text, 'G', 100);
    assert_refused(request(belay_slice(text, 65)), 501);
    assert_int_equal(request(belay_slice(text, 64)).step, HTTP1_MORE);
    /* a head of exactly the limit is good */
    memset(text, 'x', sizeof text);
    memcpy(text, POST "X: ", sizeof POST "X: " - 1);
    memcpy(text + 16380, END "GET", 7);
    parsed = request(belay_slice(text, 16390));
    assert_accepted(parsed);
    assert_int_equal(parsed.used, 16384);
    memcpy(text + 16380, "x" END, 5);
    assert_refused(request(belay_slice(text, 16390)), 431);
    /* too many fields */
    for (size_t count = 99; count <= 120; count++) {
        size_t length = (size_t)snprintf(text, sizeof text, "GET / HTTP/1.1\r\nHost: a\r\n");
        for (size_t i = 1; i < count; i++)
            length += (size_t)snprintf(text + length, 64, "X-%zu: a\r\n", i);
        memcpy(text + length, "\r\n", 2);
        parsed = request(belay_slice(text, length + 2));
        if (count <= 100) {
            assert_accepted(parsed);
        } else {
            assert_refused(parsed, 431);
        }
    }
}

static bool is_hop_by_hop(const struct http1_head *head, const char *name)
{
    for (size_t i = 0; i < head->field_count; i++) {
        if (belay_slice_equal(head->fields[i].name, belay_slice_z(name)))
            return head->fields[i].hop_by_hop;
    }
    fail_msg("no field %s", name);
    return false;
}

static void h37(void **state)
{
    (void)state;
    static const char *const options[] = {
        "X-Auth",      "x-auth",        "close, X-AUTH",
        ",, X-Auth ,", "X-Auth,close",  "a\r\nConnection: x-auth",
        "\tx-auth\t",  "(bad), x-auth", "keep-alive , x-auth;y, x-auth"};
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        struct parsed parsed = request(
            with_text(POST "X-Auth: s\r\nX-Aut: t\r\nX-AuthX: u\r\nConnection: ", options[i], END));
        assert_accepted(parsed);
        assert_true(is_hop_by_hop(&parsed.head, "X-Auth"));
        assert_false(is_hop_by_hop(&parsed.head, "X-Aut"));
        assert_false(is_hop_by_hop(&parsed.head, "X-AuthX"));
        parsed = response(with_text(OK "X-Auth: s\r\nX-Auth: t\r\nConnection: ", options[i], END));
        assert_accepted(parsed);
        assert_true(parsed.head.fields[0].hop_by_hop && parsed.head.fields[1].hop_by_hop);
    }
    /* what Connection names is not for any rule of ours either */
    struct parsed parsed =
        request(TEXT(POST "Idempotency-Key: k\r\nConnection: idempotency-key" END));
    assert_null(http1_find(&parsed.head, HTTP1_IDEMPOTENCY_KEY));
    assert_true(is_hop_by_hop(&parsed.head, "Idempotency-Key"));
    /* what says where the message goes and ends cannot be named away */
    parsed = request(TEXT(
        POST
        "Content-Length: 5\r\nConnection: host, content-length, close, transfer-encoding" END));
    assert_accepted(parsed);
    assert_false(is_hop_by_hop(&parsed.head, "Host"));
    assert_false(is_hop_by_hop(&parsed.head, "Content-Length"));
    assert_int_equal(parsed.head.content_length, 5);
    assert_text(parsed.head.authority, "a");
    parsed = request(TEXT(POST "Transfer-Encoding: chunked\r\nConnection: transfer-encoding" END));
    assert_int_equal(parsed.head.framing, HTTP1_CHUNKED);
}

static void h39(void **state)
{
    (void)state;
    struct parsed parsed = request(TEXT(
        POST "Proxy-Connection: keep-alive\r\nKeep-Alive: timeout=5\r\nTE: gzip\r\nUpgrade: h2c\r\n"
             "HTTP2-Settings: AAMAAABk\r\nTrailer: X\r\nProxy-Authorization: Basic eA==\r\n"
             "Proxy-Authenticate: Basic\r\nConnection: Upgrade, HTTP2-Settings\r\n"
             "Transfer-Encoding: chunked" END));
    assert_accepted(parsed);
    for (size_t i = 1; i < parsed.head.field_count; i++)
        assert_true(parsed.head.fields[i].hop_by_hop);
    assert_false(parsed.head.fields[0].hop_by_hop);
    assert_non_null(http1_find(&parsed.head, HTTP1_UPGRADE));
    assert_non_null(http1_find(&parsed.head, HTTP1_TE));
}

static void h41(void **state)
{
    (void)state;
    static const char three[] =
        "GET /1 HTTP/1.1\r\nHost: a" END "\r\nGET /2 HTTP/1.1\r\nHost: a" END
        "GET /3 HTTP/1.1\r\nHost: a" END;
    struct belay_slice rest = TEXT(three);
    for (char number = '1'; number <= '3'; number++) {
        struct parsed parsed = request(rest);
        assert_accepted(parsed);
        assert_int_equal(parsed.head.path.data[1], number);
        rest = belay_slice(rest.data + parsed.used, rest.length - parsed.used);
    }
    assert_int_equal(rest.length, 0);
}

static void h48(void **state)
{
    (void)state;
    struct parsed parsed = request(TEXT("GET / HTTP/1.0\r\nConnection: keep-alive" END));
    assert_accepted(parsed);
    assert_true(parsed.head.keep_alive);
    assert_int_equal(parsed.head.minor_version, 0);
    assert_int_equal(parsed.head.authority.length, 0);
    static const struct {
        const char *head;
        bool keep_alive;
    } cases[] = {
        {"GET / HTTP/1.0\r\nHost: a", false},
        {"GET / HTTP/1.0\r\nHost: a\r\nConnection: KEEP-ALIVE", true},
        {"GET / HTTP/1.0\r\nHost: a\r\nConnection: keep-alive, close", false},
        {"GET / HTTP/1.0\r\nHost: a\r\nProxy-Connection: keep-alive", false},
        {"GET / HTTP/1.0\r\nHost: a\r\nKeep-Alive: timeout=5", false},
        {"GET / HTTP/1.1\r\nHost: a", true},
        {"GET / HTTP/1.1\r\nHost: a\r\nConnection: close", false},
        {"GET / HTTP/1.1\r\nHost: a\r\nConnection: x\r\nConnection: Close", false},
        {"GET / HTTP/1.1\r\nHost: a\r\nConnection: closed", true},
        {"GET / HTTP/1.1\r\nHost: a\r\nConnection:", true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        parsed = request(with_text("", cases[i].head, END));
        assert_accepted(parsed);
        assert_int_equal(parsed.head.keep_alive, cases[i].keep_alive);
    }
}

#define ROW(function, text)                                                                        \
    {                                                                                              \
        text, function, NULL, NULL, NULL                                                           \
    }

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROW(h1, "H1 Content-Length with Transfer-Encoding in a request is refused"),
        ROW(h2, "H2 two Content-Lengths are refused"),
        ROW(h4, "H4 a Content-Length that is no plain number is refused"),
        ROW(h6, "H6 a Content-Length past 2^63 - 1 is refused, not wrapped"),
        ROW(h7, "H7 white space before the colon is refused"),
        ROW(h8, "H8 Transfer-Encoding other than one 'chunked' is refused"),
        ROW(h10, "H10 a coding before chunked is not implemented"),
        ROW(h12, "H12 a chunk size that is not plain hex is refused"),
        ROW(h14, "H14 a chunk size past 2^63 - 1 is refused"),
        ROW(h16, "H16 a control character in a chunk extension, or a long one, is refused"),
        ROW(h17, "H17 bare LF in chunk framing is refused"),
        ROW(h20, "H20 trailers are checked and dropped"),
        ROW(h24, "H24 bare LF in a head is refused"),
        ROW(h25, "H25 bare CR, NUL and controls in a value are refused"),
        ROW(h27, "H27 a malformed field name is refused"),
        ROW(h28, "H28 a missing, second or invalid Host is refused"),
        ROW(h29, "H29 the authority of an absolute target wins over Host"),
        ROW(h32, "H32 a method is kept as it came"),
        ROW(h34, "H34 limits refuse early"),
        ROW(h37, "H37 what Connection names ends here"),
        ROW(h39, "H39 hop-by-hop fields are marked"),
        ROW(h41, "H41 pipelined requests come one by one"),
        ROW(h48, "H48 HTTP/1.0 with and without keep-alive and Host"),
    };
    return cmocka_run_group_tests_name("http1/conformance_request", tests, NULL, NULL);
}
