/* target.c: the forms of a request target and what they are split into. */
#include "http1/chars.h"
#include "support.h"

struct target_case {
    const char *method, *target, *path, *query, *authority; /* query NULL: none */
};

static const struct target_case cases[] = {
    {"GET", "/", "/", NULL, "h"},
    {"GET", "/a/b", "/a/b", NULL, "h"},
    {"GET", "/a?", "/a", "", "h"},
    {"GET", "/a?b=c&d", "/a", "b=c&d", "h"},
    {"GET", "/a?b?c", "/a", "b?c", "h"},
    {"GET", "/?x", "/", "x", "h"},
    {"GET", "//a", "//a", NULL, "h"},
    {"GET", "/http://b/", "/http://b/", NULL, "h"},
    {"GET", "/a:80@b,c;d\\e|f", "/a:80@b,c;d\\e|f", NULL, "h"},
    {"GET", "/%00%zz", "/%00%zz", NULL, "h"},
    {"GET", "http://b", "/", NULL, "b"},
    {"GET", "http://b/", "/", NULL, "b"},
    {"GET", "http://b:80/c?d", "/c", "d", "b:80"},
    {"GET", "HTTP://b?c/d", "/", "c/d", "b"},
    {"GET", "https://[::1]:8443/x", "/x", NULL, "[::1]:8443"},
    {"OPTIONS", "*", "*", NULL, "h"},
    {"OPTIONS", "/a", "/a", NULL, "h"},
    {"OPTIONS", "http://b", "*", NULL, "b"},
    {"OPTIONS", "http://b/", "/", NULL, "b"},
    {"OPTIONS", "http://b?q", "/", "q", "b"},
};

static struct parsed request_for(const char *method, const char *target)
{
    static char text[1024];
    int length = snprintf(text, sizeof text, "%s %s HTTP/1.1\r\nHost: h\r\n\r\n", method, target);
    return request(belay_slice(text, (size_t)length));
}

static void test_forms(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct target_case *c = &cases[i];
        struct parsed parsed = request_for(c->method, c->target);
        assert_accepted(parsed);
        assert_true(belay_slice_equal(parsed.head.path, belay_slice_z(c->path)));
        assert_true(belay_slice_equal(parsed.head.authority, belay_slice_z(c->authority)));
        assert_int_equal(parsed.head.has_query, c->query != NULL);
        if (c->query) assert_true(belay_slice_equal(parsed.head.query, belay_slice_z(c->query)));
    }
}

static void test_forward_line_is_in_origin_form(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct target_case *c = &cases[i];
        struct parsed parsed = request_for(c->method, c->target);
        char wanted[256], got[256];
        int length = snprintf(wanted, sizeof wanted, "%s %s%s%s HTTP/1.1\r\n", c->method, c->path,
                              c->query ? "?" : "", c->query ? c->query : "");
        assert_int_equal(http1_write_forward_line(got, sizeof got, &parsed.head), length);
        assert_memory_equal(got, wanted, (size_t)length);
        assert_int_equal(http1_write_forward_line(got, (size_t)length, &parsed.head), length);
        assert_int_equal(http1_write_forward_line(got, (size_t)length - 1, &parsed.head), 0);
    }
}

static void test_connect_is_not_implemented(void **state)
{
    (void)state;
    static const char *const targets[] = {"a:443", "/", "*", "http://a/", "x"};
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
        assert_refused(request_for("CONNECT", targets[i]), 501);
    }
    assert_refused(request_for("connect", "a:443"),
                   400); /* another method, which has no authority-form */
}

static void test_every_byte_in_a_target(void **state)
{
    (void)state;
    for (int c = 0; c < 256; c++) {
        char text[] = "GET /a_b HTTP/1.1\r\nHost: h\r\n\r\n";
        text[6] = (char)c;
        struct parsed parsed = request(belay_slice(text, sizeof text - 1));
        bool good = c > ' ' && c < 0x7f && c != '#';
        assert_int_equal(parsed.step, good ? HTTP1_DONE : HTTP1_BAD);
        if (!good) assert_refused(parsed, 400);
    }
}

static void test_malformed_lines(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        int status;
    } lines[] = {
        {"GET /", 400}, /* HTTP/0.9 */
        {"GET", 400},
        {"GET  / HTTP/1.1", 400},
        {"GET /  HTTP/1.1", 400},
        {" GET / HTTP/1.1", 400},
        {"GET / HTTP/1.1 ", 400},
        {"GET\t/ HTTP/1.1", 400},
        {"GET /\tHTTP/1.1", 400},
        {"GET / a HTTP/1.1", 400},
        {"GET / http/1.1", 400},
        {"GET / HTTP/1.", 400},
        {"GET / HTTP/1", 400},
        {"GET / HTTP/11", 400},
        {"GET / HTTP/1.10", 400},
        {"GET / HTTP/01.1", 400},
        {"GET / HTTP/1,1", 400},
        {"GET / HTTPS/1.1", 400},
        {"GET / HTTP/+1.1", 400},
        {"GET / HTTP/2.0", 505},
        {"GET / HTTP/2.1", 505},
        {"GET / HTTP/1.2", 505},
        {"GET / HTTP/1.9", 505},
        {"GET / HTTP/0.9", 505},
        {"GET / HTTP/3.0", 505},
        {"PRI * HTTP/2.0", 505},
        {"GET /#a HTTP/1.1", 400},
        {"GET # HTTP/1.1", 400},
        {"G@T / HTTP/1.1", 400},
        {"G\xc3\x8bT / HTTP/1.1", 400},
        {"\x16\x03\x01\x02", 400},
        {"HTTP/1.1 200 OK", 400},
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        char text[256];
        int length = snprintf(text, sizeof text, "%s\r\nHost: h\r\n\r\n", lines[i].line);
        assert_refused(request(belay_slice(text, (size_t)length)), lines[i].status);
    }
}

/* A version that begins twice is none, also where the second begins a new read; the fault is the
 * first one. */
static void test_a_version_begins_once(void **state)
{
    (void)state;
    for (size_t kept = 1; kept <= sizeof "HTTP/1.1\r" - 1; kept++) {
        char text[80];
        int length = snprintf(text, sizeof text, "GET / %.*sHTTP/1.1\r\nno colon\r\n\r\n",
                              (int)kept, "HTTP/1.1\r");
        struct parsed parsed = request(belay_slice(text, (size_t)length));
        assert_refused(parsed, 400);
        assert_int_equal(parsed.error.offset, 6 + kept);
    }
}

static void test_garbage_is_refused_at_its_first_byte(void **state)
{
    (void)state;
    struct parsed parsed = request(TEXT("\x16"));
    assert_refused(parsed, 400);
    assert_int_equal(parsed.error.offset, 0);
    assert_refused(response(TEXT("J")), 502);
    parsed = request(TEXT("GET /\r"));
    assert_refused(parsed, 400);
    assert_int_equal(parsed.error.offset, 5);
    assert_string_equal(request(TEXT("GET /\0")).error.rule, "NUL");
}

static void test_empty_lines_in_front_are_skipped(void **state)
{
    (void)state;
    struct parsed parsed = request(TEXT("\r\n\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\nrest"));
    assert_accepted(parsed);
    assert_int_equal(parsed.used, sizeof "\r\n\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n" - 1);
    assert_int_equal(request(TEXT("\r\n")).step, HTTP1_MORE);
    assert_int_equal(request(TEXT("\r")).step, HTTP1_MORE);
    assert_int_equal(request(TEXT("")).step, HTTP1_MORE);
    assert_refused(request(TEXT("\r\n\rGET / HTTP/1.1\r\nHost: h\r\n\r\n")), 400);
    assert_refused(response(TEXT("\r\nHTTP/1.1 200 OK\r\n\r\n")), 502);
    static char many[20000];
    for (size_t i = 0; i < sizeof many; i += 2) memcpy(many + i, "\r\n", 2);
    assert_refused(request(belay_slice(many, sizeof many)), 431);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forms),
        cmocka_unit_test(test_forward_line_is_in_origin_form),
        cmocka_unit_test(test_connect_is_not_implemented),
        cmocka_unit_test(test_every_byte_in_a_target),
        cmocka_unit_test(test_malformed_lines),
        cmocka_unit_test(test_a_version_begins_once),
        cmocka_unit_test(test_garbage_is_refused_at_its_first_byte),
        cmocka_unit_test(test_empty_lines_in_front_are_skipped),
    };
    return cmocka_run_group_tests_name("http1/target", tests, NULL, NULL);
}
