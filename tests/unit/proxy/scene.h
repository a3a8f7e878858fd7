/* scene.h: clients, a proxy and a scripted origin in the simulated world; what happened as text
 * that tests compare. */
#ifndef TESTS_PROXY_SCENE_H
#define TESTS_PROXY_SCENE_H

#include "test.h"

#include "event/out.h"
#include "peer.h"
#include "proxy/proxy.h"
#include "world.h"

#define SCENE_CLIENTS_MAX 1024
#define GET(path) "GET " path " HTTP/1.1\r\nHost: shop\r\n\r\n"
#define FAIL(status) "HTTP/1.1 " #status " No\r\nContent-Length: 3\r\n\r\nbad"
#define POST "POST /orders HTTP/1.1\r\nHost: shop\r\nContent-Length: 5\r\n\r\nhello"
#define ANSWER "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
#define OK(body, length) "HTTP/1.1 200 OK\r\nContent-Length: " #length "\r\n\r\n" body

struct scene_client {
    struct scene *scene;
    struct rt_conn *conn;
    struct buf got; /* all that came */
    struct belay_slice to_send;
    bool deaf, ended, broken; /* ended: properly closed; broken: reset */
    int64_t over_at_ms;       /* when the last byte or the end came */
};

struct scene {
    struct rt *rt;
    struct peer peer;
    struct conf *conf;
    struct belay_target *targets[2]; /* shop, and another at the same address */
    struct proxy *proxy;
    struct rt_addr addr;
    struct event_out out;
    struct buf events; /* NDJSON as it was handed over */
    char record[BELAY_EVENT_BYTES_MAX];
    char story[16384];
    struct scene_client clients[SCENE_CLIENTS_MAX];
    size_t client_count;
    bool events_lost; /* the event buffer has no room */
};

/* Two targets, shop and other, with one origin. `policy` is the inside of shop's policy in YAML,
 * `routes` the listener's routes (NULL: every request goes to shop). The defaults are: deadline 2
 * s, constant backoff of 100 ms. */
void scene_init(struct scene *scene, const char *policy, const char *routes);
void scene_seeded(struct scene *scene, const char *policy, const char *routes, uint64_t seed);
/* The same target with other options, from the next request on. */
void scene_configure(struct scene *scene, const char *policy, const char *routes);
/* Ends the world and checks that nothing is left. */
void scene_deinit(struct scene *scene);
void scene_pass(struct scene *scene, int64_t span_ms);
int64_t scene_ms(const struct scene *scene); /* since the start */

struct scene_client *scene_connect(struct scene *scene);
void scene_send(struct scene_client *client, const char *bytes);
void scene_send_bytes(struct scene_client *client, struct belay_slice bytes);
void scene_hang_up(struct scene_client *client);
/* The same bytes, one a turn. */
void scene_drip(struct scene_client *client, struct belay_slice bytes);
/* Connects, sends, and lets half a minute pass, which is less than an idle client is kept. */
struct scene_client *scene_ask(struct scene *scene, const char *bytes);
/* What the client got, without Date and X-Operation-Id. */
const char *scene_got(struct scene_client *client);
/* What the origin was sent, without what belay adds. */
const char *scene_seen(struct scene *scene);
bool scene_saw(struct scene *scene, const char *text);

/* One line a record: "1 503 retry backoff 100", "2 reset/headers stop answer_started", "= 200
 * answer 200 attempts 2",
 * "= deadline_exceeded answer 504 attempts 1 unknown". */
const char *scene_story(struct scene *scene);
#define assert_story(scene, text) assert_string_equal(scene_story(scene), text)
#define assert_got(client, text) assert_string_equal(scene_got(client), text)
/* The value of a key in the n-th record (from 0) as it stands there; "" when it is not there. */
const char *scene_value(struct scene *scene, size_t record, const char *key);
struct proxy_stats scene_stats(const struct scene *scene);
/* The answer is a problem document with this status and this last part of its type. */
void assert_problem(struct scene_client *client, int status, const char *word,
                    const char *proxy_error);

#endif
