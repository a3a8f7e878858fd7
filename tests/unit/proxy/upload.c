/* upload.c: request bodies: collected and repeated, or streamed. */
#include "scene.h"

#include <string.h>

static char *big_post(const char *head, size_t body_bytes, size_t *length)
{
    static char bytes[2000000];
    size_t head_bytes = strlen(head);
    memcpy(bytes, head, head_bytes);
    memset(bytes + head_bytes, 'b', body_bytes);
    *length = head_bytes + body_bytes;
    return bytes;
}

static void collected_bodies_are_repeated(void **state)
{
    (void)state;
    static const char *const requests[] = {
        "PUT /a HTTP/1.1\r\nHost: s\r\nContent-Length: 5\r\n\r\nhello",
        "PUT /a HTTP/1.1\r\nHost: s\r\nTransfer-Encoding: "
        "chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\nX: y\r\n\r\n",
    };
    for (size_t i = 0; i < 2; i++) {
        struct scene scene;
        scene_init(&scene, "", "      - { path: /a, target: shop, idempotent: [PUT] }\n");
        PEER_SAYS(&scene.peer, {.bytes = FAIL(503)}, {.bytes = OK("ok", 2)});
        scene_ask(&scene, requests[i]);
        assert_string_equal(scene_seen(&scene),
                            "PUT /a HTTP/1.1\r\nHost: s\r\nContent-Length: 5\r\n\r\nhello\n--\n"
                            "PUT /a HTTP/1.1\r\nHost: s\r\nContent-Length: 5\r\n\r\nhello\n--\n");
        scene_deinit(&scene);
    }
}

static void large_bodies_stream_and_are_repeated_only_unsent(void **state)
{
    (void)state;
    struct scene scene;
    size_t length;
    scene_init(&scene, "deadline: 30s", "      - { path: /a, target: shop, idempotent: [PUT] }\n");
    PEER_SAYS(&scene.peer, {.bytes = FAIL(503)}, {.bytes = OK("ok", 2)});
    char *bytes =
        big_post("PUT /a HTTP/1.1\r\nHost: s\r\nContent-Length: 1000000\r\n\r\n", 1000000, &length);
    struct scene_client *client = scene_connect(&scene);
    scene_send_bytes(client, belay_slice(bytes, length));
    scene_pass(&scene, 30000);
    assert_got(client, "HTTP/1.1 503 No\r\nContent-Length: 3\r\n\r\nbad");
    assert_story(&scene, "1 503 stop not_replay_safe\n= stop answer 503 attempts 1 unknown\n");
    assert_true(buf_length(&scene.peer.seen) > 1000000);
    scene_deinit(&scene);
}

static void large_chunked_bodies_keep_their_bytes(void **state)
{
    (void)state;
    struct scene scene;
    size_t length;
    static char bytes[700000];
    scene_init(&scene, "deadline: 30s", NULL);
    size_t used =
        (size_t)sprintf(bytes, "POST /a HTTP/1.1\r\nHost: s\r\nTransfer-Encoding: chunked\r\n\r\n");
    for (int i = 0; i < 600; i++) {
        used += (size_t)sprintf(bytes + used, "3e8\r\n");
        memset(bytes + used, 'a' + i % 26, 1000);
        used += 1000;
        used += (size_t)sprintf(bytes + used, "\r\n");
    }
    used += (size_t)sprintf(bytes + used, "0\r\n\r\n");
    struct scene_client *client = scene_connect(&scene);
    scene_send_bytes(client, belay_slice(bytes, used));
    scene_pass(&scene, 20000);
    assert_got(client, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    const char *body = strstr(peer_seen(&scene.peer), "\r\n\r\n") + 4;
    length = strlen(body);
    assert_int_equal(length, 600000 + 4);
    for (size_t i = 0; i < 600000; i++) assert_int_equal(body[i], 'a' + i / 1000 % 26);
    scene_deinit(&scene);
}

static void a_large_body_unsent_is_repeated(void **state)
{
    (void)state;
    struct scene scene;
    size_t length;
    scene_init(&scene, "deadline: 30s", NULL);
    scene.peer.on_accept = PEER_KEEP;
    struct sim_link link = sim_link_perfect();
    link.refused = 1000;
    sim_link_set(scene.rt, &scene.peer.addr, &link);
    char *bytes =
        big_post("POST /a HTTP/1.1\r\nHost: s\r\nContent-Length: 600000\r\n\r\n", 600000, &length);
    struct scene_client *client = scene_connect(&scene);
    scene_send_bytes(client, belay_slice(bytes, length));
    scene_pass(&scene, 50);
    link.refused = 0;
    sim_link_set(scene.rt, &scene.peer.addr, &link);
    scene_pass(&scene, 20000);
    assert_got(client, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    assert_story(&scene, "1 refused/connect retry backoff 100\n2 200 return success\n"
                         "= 200 answer 200 attempts 2 done\n");
    scene_deinit(&scene);
}

static void an_early_answer_to_an_upload(void **state)
{
    (void)state;
    struct scene scene;
    size_t length;
    scene_init(&scene, "", NULL);
    PEER_SAYS(&scene.peer, {.bytes = "HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno",
                            .at_head = true,
                            .deaf = true});
    char *bytes =
        big_post("POST /a HTTP/1.1\r\nHost: s\r\nContent-Length: 900000\r\n\r\n", 900000, &length);
    struct scene_client *client = scene_connect(&scene);
    scene_send_bytes(client, belay_slice(bytes, length));
    scene_pass(&scene, 1500);
    assert_got(client,
               "HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno");
    assert_story(&scene, "1 413 stop not_repeatable\n= stop answer 413 attempts 1 none\n");
    assert_int_equal(scene_stats(&scene).clients.idle, 0);
    scene_deinit(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(collected_bodies_are_repeated),
        cmocka_unit_test(large_bodies_stream_and_are_repeated_only_unsent),
        cmocka_unit_test(large_chunked_bodies_keep_their_bytes),
        cmocka_unit_test(a_large_body_unsent_is_repeated),
        cmocka_unit_test(an_early_answer_to_an_upload),
    };
    return cmocka_run_group_tests_name("proxy/upload", tests, NULL, NULL);
}
