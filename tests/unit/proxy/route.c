/* route.c: which route a request takes. */
#include "test.h"

#include "proxy/route.h"

static bool matches(const char *path, const char *template_path)
{
    return route_path_matches(belay_slice_z(path), template_path);
}

static void templates_match_segment_by_segment(void **state)
{
    (void)state;
    static const struct {
        const char *path, *template_path;
        bool matches;
    } rows[] = {
        {"/", "/", true},
        {"/a", "/", false},
        {"", "/", false},
        {"/orders", "/orders", true},
        {"/orders/", "/orders", false},
        {"/Orders", "/orders", false},
        {"/orders/1", "/orders/{id}", true},
        {"/orders/1/", "/orders/{id}", false},
        {"/orders/", "/orders/{id}", false},
        {"/orders", "/orders/{id}", false},
        {"/orders/1/2", "/orders/{id}", false},
        {"/orders/a%2Fb", "/orders/{id}", true},
        {"/orders/1/items/2", "/orders/{id}/items/{item}", true},
        {"/orders//items/2", "/orders/{id}/items/{item}", false},
        {"/orders/1/items/2", "/{a}/{b}/{c}/{d}", true},
        {"/1", "/{a}", true},
        {"*", "/{a}", false},
        {"*", "/", false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (matches(rows[i].path, rows[i].template_path) != rows[i].matches) {
            fail_msg("%s %s", rows[i].path, rows[i].template_path);
        }
    }
}

static void a_path_is_never_read_past_its_end(void **state)
{
    (void)state;
    static const char bytes[] = "/orders/17/items";
    for (size_t length = 0; length < sizeof bytes; length++) {
        bool whole = length == sizeof "/orders/17" - 1;
        bool partial = length == sizeof "/orders/1" - 1;
        assert_int_equal(route_path_matches(belay_slice(bytes, length), "/orders/{id}"),
                         whole || partial);
    }
}

static void the_first_match_wins_and_methods_are_told(void **state)
{
    (void)state;
    char allow[64];
    struct conf_route routes[] = {
        {.path = (char *)(uintptr_t) "/a/{x}",
         .methods = 1u << BELAY_METHOD_GET | 1u << BELAY_METHOD_HEAD},
        {.path = (char *)(uintptr_t) "/a/b", .methods = 1u << BELAY_METHOD_POST},
        {.path = (char *)(uintptr_t) "/c"},
    };
    struct conf_listener listener = {.routes = routes, .route_count = 3};
    assert_ptr_equal(route_find(&listener, belay_slice_z("/a/b"), BELAY_METHOD_GET).route,
                     &routes[0]);
    assert_ptr_equal(route_find(&listener, belay_slice_z("/a/b"), BELAY_METHOD_POST).route,
                     &routes[1]);
    assert_ptr_equal(route_find(&listener, belay_slice_z("/c"), BELAY_METHOD_OTHER).route,
                     &routes[2]);
    struct route_match none = route_find(&listener, belay_slice_z("/a/b"), BELAY_METHOD_PUT);
    assert_null(none.route);
    size_t length = route_allow(none.allowed, allow, sizeof allow);
    assert_int_equal(length, strlen("GET, HEAD, POST"));
    assert_memory_equal(allow, "GET, HEAD, POST", length);
    assert_int_equal(route_allow(none.allowed, allow, 12),
                     strlen("GET, HEAD")); /* whole names only */
    none = route_find(&listener, belay_slice_z("/nowhere"), BELAY_METHOD_GET);
    assert_null(none.route);
    assert_int_equal(none.allowed, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(templates_match_segment_by_segment),
        cmocka_unit_test(a_path_is_never_read_past_its_end),
        cmocka_unit_test(the_first_match_wins_and_methods_are_told),
    };
    return cmocka_run_group_tests_name("proxy/route", tests, NULL, NULL);
}
