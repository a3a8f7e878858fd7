/* conformance.c: the rows of http1.tsv about bytes: what is refused, forwarded and passed on by a
 * running proxy. */
#include "scene.h"

#include "base/check.h"

#include <stdio.h>
#include <string.h>

#define HEAD "POST / HTTP/1.1\r\nHost: s\r\n"
#define EVIL "GET /evil HTTP/1.1\r\nHost: s\r\n\r\n"
#define CHUNKED HEAD "Transfer-Encoding: chunked\r\n\r\n"

struct bad {
    const char *bytes;
    size_t length; /* 0: up to the NUL */
    int status;    /* 0: 400 */
};

/* The client is told the status and cut off, nobody else hears of it, and one record says so. */
static void refuse_one(const struct bad *row, bool drip)
{
    struct scene scene;
    scene_init(&scene, "", NULL);
    struct scene_client *client = scene_connect(&scene);
    struct belay_slice bytes =
        belay_slice(row->bytes, row->length ? row->length : strlen(row->bytes));
    if (drip)
        scene_drip(client, bytes);
    else
        scene_send_bytes(client, bytes);
    scene_pass(&scene, 1500); /* less than the deadline: nothing but the bytes may be the reason */
    char status[32];
    int length = snprintf(status, sizeof status, "HTTP/1.1 %d ", row->status ? row->status : 400);
    const char *got = scene_got(client);
    if (strncmp(got, status, (size_t)length) != 0) fail_msg("%s\n-> %s", row->bytes, got);
    assert_null(strstr(got + 1, "HTTP/1.1 "));
    assert_non_null(strstr(got, "\r\nConnection: close\r\n"));
    assert_int_equal(scene.peer.accepted, 0);
    (void)snprintf(status, sizeof status, "answer %d", row->status ? row->status : 400);
    const char *story = scene_story(&scene);
    assert_memory_equal(story, "= bad_request ", 14);
    assert_non_null(strstr(story, status));
    assert_int_equal(strchr(story, '\n')[1], '\0'); /* one record */
    scene_deinit(&scene);
}

static void refuse_all(const struct bad *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        refuse_one(&rows[i], false);
        refuse_one(&rows[i], true);
    }
}

#define REFUSE(...)                                                                                \
    do {                                                                                           \
        static const struct bad rows_[] = {__VA_ARGS__};                                           \
        refuse_all(rows_, sizeof rows_ / sizeof rows_[0]);                                         \
    } while (0)
#define BAD(text)                                                                                  \
    {                                                                                              \
        .bytes = text, .length = sizeof(text) - 1                                                  \
    }
#define BAD_WITH(status_, text)                                                                    \
    {                                                                                              \
        .bytes = text, .length = sizeof(text) - 1, .status = status_                               \
    }

/* ---- requests that are none ---- */

static void h1(void **state)
{
    (void)state;
    REFUSE(BAD(HEAD "Content-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" EVIL),
           BAD(HEAD "Transfer-Encoding: chunked\r\nContent-Length: 6\r\n\r\n0\r\n\r\n" EVIL),
           BAD(HEAD "Transfer-Encoding: chunked\r\nContent-Length: 0\r\n\r\n0\r\n\r\n" EVIL));
}

static void h2(void **state)
{
    (void)state;
    REFUSE(BAD(HEAD "Content-Length: 1\r\nContent-Length: 2\r\n\r\nab"),
           BAD(HEAD "Content-Length: 1\r\nX: y\r\ncontent-length: 2\r\n\r\nab"));
}

static void h4(void **state)
{
    (void)state;
    REFUSE(BAD(HEAD "Content-Length: +2\r\n\r\nab"), BAD(HEAD "Content-Length: -1\r\n\r\nab"),
           BAD(HEAD "Content-Length: 0x2\r\n\r\nab"), BAD(HEAD "Content-Length: 1_0\r\n\r\nab"),
           BAD(HEAD "Content-Length:\r\n\r\nab"), BAD(HEAD "Content-Length: 2 3\r\n\r\nab"));
}

static void h6(void **state)
{
    (void)state;
    REFUSE(BAD(HEAD "Content-Length: 18446744073709551618\r\n\r\nab"),
           BAD(HEAD "Content-Length: 18446744073709551616\r\n\r\nab"));
}

static void h7(void **state)
{
    (void)state;
    REFUSE(BAD(HEAD "Content-Length : 2\r\n\r\nab"),
           BAD(HEAD "Transfer-Encoding\t: chunked\r\n\r\n0\r\n\r\n"));
}

static void h8(void **state)
{
    (void)state;
    REFUSE(BAD_WITH(501, HEAD "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"),
           BAD(HEAD "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n"),
           BAD(HEAD "Transfer-Encoding: ,chunked\r\n\r\n0\r\n\r\n"),
           BAD(HEAD "Transfer-Encoding: chunked,chunked\r\n\r\n0\r\n\r\n"),
           BAD(HEAD "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
           BAD(HEAD "Transfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n"));
}

static void h10(void **state)
{
    (void)state;
    REFUSE(BAD_WITH(501, HEAD "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"));
}

static void h12(void **state)
{
    (void)state;
    REFUSE(BAD(CHUNKED "0x2\r\nab\r\n0\r\n\r\n"), BAD(CHUNKED " 2\r\nab\r\n0\r\n\r\n"),
           BAD(CHUNKED "-1\r\nab\r\n0\r\n\r\n"), BAD(CHUNKED "+2\r\nab\r\n0\r\n\r\n"),
           BAD(CHUNKED "2_0\r\nab\r\n0\r\n\r\n"), BAD(CHUNKED "\r\nab\r\n0\r\n\r\n"));
}

static void h14(void **state)
{
    (void)state;
    REFUSE(BAD(CHUNKED "10000000000000002\r\nab\r\n0\r\n\r\n"),
           BAD(CHUNKED "ffffffffffffffff\r\nab\r\n0\r\n\r\n"));
}

static void h16(void **state)
{
    (void)state;
    static char bytes[70000];
    size_t head = sizeof(CHUNKED "2;x=") - 1;
    memset(bytes, 'x', 65536);
    memcpy(bytes, CHUNKED "2;x=", head);
    struct bad row = {.bytes = bytes, .length = 65536};
    refuse_one(&row, false);
    REFUSE(BAD(CHUNKED "2;x\ny\r\nab\r\n0\r\n\r\n"), BAD(CHUNKED "2;x\ry\r\nab\r\n0\r\n\r\n"));
}

static void h17(void **state)
{
    (void)state;
    REFUSE(BAD(CHUNKED "2\nab\r\n0\r\n\r\n"), BAD(CHUNKED "2\r\nab\n0\r\n\r\n"),
           BAD(CHUNKED "2\r\nab\r\n0\n\r\n"), BAD(CHUNKED "2\r\nab\r\n0\r\n\n"));
}

static void h24(void **state)
{
    (void)state;
    REFUSE(BAD("GET / HTTP/1.1\nHost: s\n\n"), BAD("GET / HTTP/1.1\r\nHost: s\n\r\n"),
           BAD("GET / HTTP/1.1\r\nHost: s\r\n\n"));
}

static void h25(void **state)
{
    (void)state;
    for (int c = 0; c < 128; c++) {
        if (c == '\t' || c == '\n' || (c >= 32 && c < 127)) continue;
        char bytes[64];
        int length = snprintf(bytes, sizeof bytes, "GET / HTTP/1.1\r\nHost: s\r\nX: a?b\r\n\r\n");
        *(char *)memchr(bytes, '?', (size_t)length) = (char)c;
        struct bad row = {.bytes = bytes, .length = (size_t)length};
        refuse_one(&row, false);
    }
}

static void h27(void **state)
{
    (void)state;
    REFUSE(BAD("GET / HTTP/1.1\r\n Host: s\r\n\r\n"),
           BAD("GET / HTTP/1.1\r\nHost: s\r\n: x\r\n\r\n"),
           BAD("GET / HTTP/1.1\r\nHost: s\r\nnocolon\r\n\r\n"),
           BAD("GET / HTTP/1.1\r\nHost: s\r\na\x7f: x\r\n\r\n"),
           BAD("GET / HTTP/1.1\r\nHost: s\r\na\x01: x\r\n\r\n"),
           BAD("GET / HTTP/1.1\r\nHost: s\r\n\xe4: x\r\n\r\n"));
}

static void h28(void **state)
{
    (void)state;
    REFUSE(BAD("GET / HTTP/1.1\r\n\r\n"), BAD("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"),
           BAD("GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n"),
           BAD("GET / HTTP/1.1\r\nHost: a,b\r\n\r\n"), BAD("GET / HTTP/1.1\r\nHost: u@a\r\n\r\n"),
           BAD("GET / HTTP/1.1\r\nHost: a/b\r\n\r\n"));
}

static void h34(void **state)
{
    (void)state;
    static char bytes[70000];
    memset(bytes, 'x', sizeof bytes);
    memcpy(bytes, "GET /", 5);
    struct bad row = {.bytes = bytes, .length = 65536, .status = 414};
    refuse_one(&row, false);
    memcpy(bytes, "GET / HTTP/1.1\r\nHost: s\r\nX: ", 28);
    row.status = 431;
    refuse_one(&row, false);
    size_t used = (size_t)snprintf(bytes, sizeof bytes, "GET / HTTP/1.1\r\nHost: s\r\n");
    for (int i = 0; i < 120; i++)
        used += (size_t)snprintf(bytes + used, sizeof bytes - used, "A%d: b\r\n", i);
    used += (size_t)snprintf(bytes + used, sizeof bytes - used, "\r\n");
    row.length = used;
    refuse_one(&row, false);
    refuse_one(&row, true);
}

/* ---- what is forwarded ---- */

static void forwards(const char *request, const char *seen)
{
    for (int drip = 0; drip < 2; drip++) {
        struct scene scene;
        scene_init(&scene, "", NULL);
        struct scene_client *client = scene_connect(&scene);
        if (drip)
            scene_drip(client, belay_slice_z(request));
        else
            scene_send(client, request);
        scene_pass(&scene, 100);
        assert_string_equal(scene_seen(&scene), seen);
        assert_got(client, ANSWER);
        scene_deinit(&scene);
    }
}

static void h20(void **state)
{
    (void)state;
    forwards(CHUNKED "2\r\nab\r\n0\r\nContent-Length: 5\r\nTransfer-Encoding: gzip\r\n"
                     "Host: evil\r\nAuthorization: x\r\n\r\n",
             HEAD "Content-Length: 2\r\n\r\nab\n--\n");
}

static void h29(void **state)
{
    (void)state;
    forwards("GET http://b/1?x HTTP/1.1\r\nHost: a\r\n\r\n",
             "GET /1?x HTTP/1.1\r\nHost: b\r\n\r\n\n--\n");
    forwards("GET http://b HTTP/1.1\r\nHost: a\r\n\r\n", "GET / HTTP/1.1\r\nHost: b\r\n\r\n\n--\n");
}

static void h32(void **state)
{
    (void)state;
    forwards("get / HTTP/1.1\r\nHost: a\r\n\r\n", "get / HTTP/1.1\r\nHost: a\r\n\r\n\n--\n");
}

static void h37(void **state)
{
    (void)state;
    forwards("GET / HTTP/1.1\r\nHost: a\r\nConnection: X-Auth, x-two\r\nX-Auth: s\r\nX-Two: "
             "t\r\nX-Keep: u\r\n\r\n",
             "GET / HTTP/1.1\r\nHost: a\r\nX-Keep: u\r\n\r\n\n--\n");
}

static void h39(void **state)
{
    (void)state;
    forwards(
        "GET / HTTP/1.1\r\nHost: a\r\nProxy-Connection: keep-alive\r\nKeep-Alive: timeout=5\r\nTE: "
        "gzip\r\n"
        "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\n\r\n\n--\n");
}

static void h41(void **state)
{
    (void)state;
    struct scene scene;
    scene_init(&scene, "", NULL);
    PEER_SAYS(&scene.peer, {.bytes = OK("1", 1)}, {.bytes = OK("2", 1), .after_ms = 500},
              {.bytes = OK("3", 1)});
    struct scene_client *client = scene_ask(&scene, GET("/1") GET("/2") GET("/3"));
    assert_got(client, OK("1", 1) OK("2", 1) OK("3", 1));
    assert_string_equal(scene_seen(&scene),
                        GET("/1") "\n--\n" GET("/2") "\n--\n" GET("/3") "\n--\n");
    scene_deinit(&scene);
}

static void h48(void **state)
{
    (void)state;
    struct scene scene;
    scene_init(&scene, "", NULL);
    struct scene_client *client = scene_connect(&scene);
    for (int i = 0; i < 2; i++) {
        scene_send(client, "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
        scene_pass(&scene, 100);
    }
    static const char kept[] =
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: keep-alive\r\n\r\nok";
    char twice[2 * sizeof kept];
    (void)snprintf(twice, sizeof twice, "%s%s", kept, kept);
    assert_got(client, twice);
    assert_non_null(client->conn);
    assert_true(scene_saw(&scene, "GET / HTTP/1.1\r\nHost: 127.0.0.1:9000\r\n"));
    scene_send(client, "GET / HTTP/1.0\r\n\r\n");
    scene_pass(&scene, 100);
    assert_true(client->ended);
    scene_deinit(&scene);
}

/* ---- answers ---- */

/* What the client gets of an answer, and whether the connection to the origin is kept. */
static void answers(const char *request, const struct peer_reply *reply, const char *got, bool kept)
{
    struct scene scene;
    scene_init(&scene, "", NULL);
    scene.peer.script = reply;
    struct scene_client *client = scene_connect(&scene);
    scene_send(client, request);
    scene_pass(&scene, 100);
    assert_got(client, got);
    assert_int_equal(scene_stats(&scene).clients.idle, kept);
    scene_deinit(&scene);
}

static void h50(void **state)
{
    (void)state;
    struct peer_reply reply = {
        .bytes = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nLink: x\r\n\r\n" ANSWER};
    answers(GET("/"), &reply, ANSWER, true);
}

static void h53(void **state)
{
    (void)state;
    struct scene scene;
    scene_init(&scene, "attempts: 1", NULL);
    PEER_SAYS(&scene.peer,
              {.bytes = "HTTP/1.1 101 Switching\r\nConnection: upgrade\r\nUpgrade: h2c\r\n\r\n"});
    assert_problem(scene_ask(&scene, GET("/")), 502, "protocol", "http_protocol_error");
    assert_int_equal(peer_open(&scene.peer), 0);
    scene_deinit(&scene);
}

static void h54(void **state)
{
    (void)state;
    struct scene scene;
    scene_init(&scene, "", NULL);
    PEER_SAYS(&scene.peer, {.bytes = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"},
              {.bytes = ANSWER});
    struct scene_client *client = scene_connect(&scene);
    scene_send(client, "HEAD / HTTP/1.1\r\nHost: s\r\n\r\n");
    scene_pass(&scene, 100);
    assert_got(client, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n");
    scene_send(client, GET("/"));
    scene_pass(&scene, 100);
    assert_got(client, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n" ANSWER);
    assert_int_equal(scene.peer.accepted, 2);
    scene_deinit(&scene);
}

static void h56(void **state)
{
    (void)state;
    struct peer_reply reply = {
        .bytes = "HTTP/1.1 200 OK\r\nContent-Length: 99\r\nTransfer-Encoding: chunked\r\n\r\n"
                 "2\r\nok\r\n0\r\n\r\n"};
    answers(GET("/"), &reply,
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", false);
}

static void h58(void **state)
{
    (void)state;
    static const int64_t gaps_ms[] = {0, 1, 50};
    for (size_t i = 0; i < 3; i++) {
        struct scene scene;
        scene_init(&scene, "", NULL);
        PEER_SAYS(&scene.peer, {.bytes = ANSWER "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nEVIL"},
                  {.bytes = ANSWER});
        struct scene_client *client = scene_connect(&scene);
        scene_send(client, GET("/"));
        scene_pass(&scene, 10 + gaps_ms[i]);
        scene_send(client, GET("/"));
        scene_pass(&scene, 10);
        assert_got(client, ANSWER ANSWER);
        assert_int_equal(scene.peer.accepted, 2);
        scene_deinit(&scene);
    }
}

static void h59(void **state)
{
    (void)state;
    static const char *const rows[] = {
        "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n0\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nhalf",
    };
    for (size_t i = 0; i < 8; i++) {
        struct scene scene;
        scene_init(&scene, "", NULL);
        struct peer_reply reply = {
            .bytes = rows[i % 4], .then = i < 4 ? PEER_CLOSE : PEER_RESET, .then_ms = 5};
        scene.peer.script = &reply;
        struct scene_client *client = scene_ask(&scene, GET("/"));
        assert_true(client->broken);
        assert_false(client->ended);
        assert_null(strstr(scene_got(client), "0\r\n\r\n"));
        assert_story(&scene,
                     i < 4 ? "1 closed/body stop answer_started\n= stop answer 200 attempts 1\n"
                           : "1 reset/body stop answer_started\n= stop answer 200 attempts 1\n");
        assert_int_equal(scene.peer.requests, 1);
        scene_deinit(&scene);
    }
}

static void h61(void **state)
{
    (void)state;
    static const char *const rows[] = {
        "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n",
        "HTTP/1.0 200 OK\r\n\r\nhalf"};
    for (size_t i = 0; i < 6; i++) {
        struct scene scene;
        scene_init(&scene, "", NULL);
        struct peer_reply reply = {.bytes = rows[i % 3]};
        scene.peer.script = &reply;
        struct scene_client *client = scene_connect(&scene);
        scene_send(client, i < 3 ? GET("/") : "GET / HTTP/1.0\r\n\r\n");
        scene_pass(&scene, 60000);
        assert_true(client->broken);
        assert_true(client->over_at_ms >= 2000 && client->over_at_ms <= 2050);
        assert_int_equal(peer_open(&scene.peer), 0);
        assert_story(&scene, "1 timeout/body stop answer_started\n= stop answer 200 attempts 1\n");
        scene_deinit(&scene);
    }
}

static void h62(void **state)
{
    (void)state;
    static const char *const rows[] = {"HTTP/1.1 99 X\r\n\r\n", "HTTP/1.1 2000 X\r\n\r\n",
                                       "HTTP/3 200\r\n\r\n", "garbage\r\n\r\n", "\x16\x03\x01\x02"};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct scene scene;
        scene_init(&scene, "breaker: { consecutive: 2 }", NULL);
        struct peer_reply reply = {.bytes = rows[i]};
        scene.peer.script = &reply;
        for (int n = 0; n < 3; n++) {
            scene_send(scene_connect(&scene), GET("/"));
            scene_pass(&scene, 10);
        }
        assert_problem(&scene.clients[0], 502, "protocol", "http_protocol_error");
        assert_problem(&scene.clients[2], 503, "breaker-open",
                       "destination_unavailable"); /* it counted */
        assert_int_equal(peer_open(&scene.peer), 0);
        assert_int_equal(scene.peer.requests, 2);
        scene_deinit(&scene);
    }
}

#define ROW(function, text)                                                                        \
    {                                                                                              \
        text, function, NULL, NULL, NULL                                                           \
    }

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROW(h1, "H1 a request with both lengths is refused, and what follows is not read"),
        ROW(h2, "H2 two Content-Lengths are refused"),
        ROW(h4, "H4 a Content-Length that is no plain number is refused"),
        ROW(h6, "H6 a Content-Length past 64 bits is refused"),
        ROW(h7, "H7 white space before the colon is refused"),
        ROW(h8, "H8 Transfer-Encoding other than one 'chunked' is refused"),
        ROW(h10, "H10 a coding before chunked is not implemented"),
        ROW(h12, "H12 a chunk size that is not plain hex is refused, nothing forwarded"),
        ROW(h14, "H14 a chunk size past 2^63 - 1 is refused"),
        ROW(h16, "H16 a control character in a chunk extension, or a long one, is refused"),
        ROW(h17, "H17 bare LF in chunk framing is refused"),
        ROW(h20, "H20 trailers are not forwarded"),
        ROW(h24, "H24 bare LF in a head is refused"),
        ROW(h25, "H25 controls in a value are refused"),
        ROW(h27, "H27 a malformed field name is refused"),
        ROW(h28, "H28 a missing, second or invalid Host is refused"),
        ROW(h29, "H29 the authority of an absolute target is forwarded"),
        ROW(h32, "H32 a method is forwarded as it came"),
        ROW(h34, "H34 limits refuse early"),
        ROW(h37, "H37 what Connection names is not forwarded"),
        ROW(h39, "H39 hop-by-hop fields are not forwarded"),
        ROW(h41, "H41 pipelined requests are answered in order"),
        ROW(h48, "H48 HTTP/1.0 with keep-alive, and without Host"),
        ROW(h50, "H50 interim answers are dropped"),
        ROW(h53, "H53 a 101 that nobody asked for is a 502"),
        ROW(h54, "H54 the body of an answer to HEAD goes nowhere"),
        ROW(h56, "H56 both lengths in an answer: no length forwarded, connection not kept"),
        ROW(h58, "H58 bytes past an answer reach nobody"),
        ROW(h59, "H59 a cut answer is seen as cut, and not repeated"),
        ROW(h61, "H61 a body that stalls is cut at the deadline"),
        ROW(h62, "H62 a malformed answer is a 502 that the breaker counts"),
    };
    return cmocka_run_group_tests_name("proxy/conformance", tests, NULL, NULL);
}
