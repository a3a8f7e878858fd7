/* redact.c: names of an API stay, ids, tokens and people do not. */
#include "test.h"

#include <belay/event.h>
#include <string.h>

struct row {
    const char *path, *endpoint;
};

static const struct row KEPT[] = {
    {"/", "/"},
    {"", ""},
    {"*", "*"},
    {"/orders", "/orders"},
    {"/orders/", "/orders/"},
    {"//a//b", "//a//b"},
    {"/api/v1/orders", "/api/v1/orders"},
    {"/v2beta/oauth2/token", "/v2beta/oauth2/token"},
    {"/user-notification-settings", "/user-notification-settings"},
    {"/getUserNotificationSettings", "/getUserNotificationSettings"},
    {"/package.service.v1.Orders/ListOrders", "/package.service.v1.Orders/ListOrders"},
    {"/static/app.js", "/static/app.js"},
    {"/sha256/p384", "/sha256/p384"},
    {"/feed", "/feed"},
};

static const struct row REPLACED[] = {
    {"/orders/42", "/orders/{}"},
    {"/orders/42/items/7", "/orders/{}/items/{}"},
    {"/orders/0", "/orders/{}"},
    {"/2024-01-06/report", "/{}/report"},
    {"/INV-2024-001", "/{}"},
    {"/u/123e4567-e89b-12d3-a456-426614174000", "/u/{}"},
    {"/u/123E4567-E89B-12D3-A456-426614174000/x", "/u/{}/x"},
    {"/c/9f86d081884c7d659a2feaa0c55ad015", "/c/{}"},
    {"/c/deadbeefdeadbeef", "/c/{}"},
    {"/c/9f86d081", "/c/{}"},
    {"/t/eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl", "/t/{}"},
    {"/t/dGhpcyBpcyBhIHRva2Vu", "/t/{}"},
    {"/t/QmFzZTY0IHdpdGhvdXQ=", "/t/{}"},
    {"/t/01ARZ3NDEKTSV4RRFFQ69G5FAV", "/t/{}"},
    {"/t/aXbYcZdWeVfUgThSiRjQ", "/t/{}"},
    {"/users/ann@example.org", "/users/{}"},
    {"/users/ann%40example.org", "/users/{}"},
    {"/search/John%20Doe", "/search/{}"},
    {"/kv/password=hunter", "/kv/{}"},
    {"/tel/+49301234", "/tel/{}"},
    {"/n/\xd0\x98\xd0\xb2\xd0\xb0\xd0\xbd", "/n/{}"},
    {"/x/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "/x/{}"},
};

static const struct row CUT_OFF[] = {
    {"/orders?token=secret", "/orders"},
    {"/orders?", "/orders"},
    {"/orders#frag", "/orders"},
    {"/orders#a?b", "/orders"},
    {"/cart;jsessionid=ABC/items", "/cart/items"},
    {"http://user:password@host.example/orders/1?q=2", "/orders/{}"},
    {"http://user:password@host.example", "/"},
    {"https://host.example?token=secret", "/"},
    {"HTTP://host.example/", "/"},
    {"http:///orders", "/orders"},
    {"?token=secret", ""},
};

static void check(const struct row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char room[BELAY_EVENT_ENDPOINT_BYTES_MAX], text[BELAY_EVENT_ENDPOINT_BYTES_MAX + 1] = "";
        struct belay_slice got =
            belay_event_endpoint(belay_slice_z(rows[i].path), belay_slice_z(""), room);
        assert_true(got.length <= sizeof room);
        if (got.length) memcpy(text, got.data, got.length);
        assert_string_equal(text, rows[i].endpoint);
    }
}

static void test_names_of_an_api_are_kept(void **state)
{
    (void)state;
    check(KEPT, sizeof KEPT / sizeof KEPT[0]);
}

static void test_what_could_be_an_id_is_replaced(void **state)
{
    (void)state;
    check(REPLACED, sizeof REPLACED / sizeof REPLACED[0]);
}

static void test_all_but_the_path_is_cut_off(void **state)
{
    (void)state;
    check(CUT_OFF, sizeof CUT_OFF / sizeof CUT_OFF[0]);
}

static void test_a_route_speaks_for_itself(void **state)
{
    (void)state;
    char room[BELAY_EVENT_ENDPOINT_BYTES_MAX];
    struct belay_slice route = belay_slice_z("/orders/{id}");
    struct belay_slice got =
        belay_event_endpoint(belay_slice_z("/orders/ann@example.org?x=1"), route, room);
    assert_true(belay_slice_equal(got, route));
}

static void test_a_long_path_ends_in_dots_within_the_room(void **state)
{
    (void)state;
    char path[2000], room[BELAY_EVENT_ENDPOINT_BYTES_MAX];
    for (size_t n = 0; n < sizeof path; n++) path[n] = n % 5 ? 'a' : '/';
    for (size_t length = 200; length < 400; length++) {
        struct belay_slice got =
            belay_event_endpoint(belay_slice(path, length), belay_slice_z(""), room);
        assert_true(got.length <= sizeof room);
        if (length <= 250) assert_int_equal(got.length, length);
        if (length > 260) assert_memory_equal(got.data + got.length - 4, "/...", 4);
    }
}

static void test_ids_are_bounded_in_length_and_characters(void **state)
{
    (void)state;
    char longest[130];
    memset(longest, 'x', sizeof longest);
    assert_true(belay_event_id_valid(belay_slice(longest, 128)));
    assert_false(belay_event_id_valid(belay_slice(longest, 129)));
    assert_false(belay_event_id_valid(belay_slice("", 0)));
    assert_true(belay_event_id_valid(belay_slice_z("op-42_A.b:c+d=e~")));
    for (int c = 0; c < 256; c++) {
        char one = (char)c;
        bool good = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
                    (c && strchr("-_.:+=~", c));
        assert_int_equal(belay_event_id_valid(belay_slice(&one, 1)), good);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_of_an_api_are_kept),
        cmocka_unit_test(test_what_could_be_an_id_is_replaced),
        cmocka_unit_test(test_all_but_the_path_is_cut_off),
        cmocka_unit_test(test_a_route_speaks_for_itself),
        cmocka_unit_test(test_a_long_path_ends_in_dots_within_the_room),
        cmocka_unit_test(test_ids_are_bounded_in_length_and_characters),
    };
    return cmocka_run_group_tests_name("event/redact", tests, NULL, NULL);
}
