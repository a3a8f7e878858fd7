/* suspect.c: each shape of a credential and of a URL that says too much, and what looks like one.
 */
#include "test.h"

#include "inspect/suspect.h"

#include <string.h>

struct row {
    const char *rule, *text;
};

static const struct row SECRETS[] = {
    {"authorization", "Bearer abcDEF123456"},
    {"authorization", "authorization was bearer 0123456789abcdef"},
    {"authorization", "Basic dXNlcjpwYXNz"},
    {"authorization", "x=Bearer+abcDEF123456"},
    {"authorization", "Negotiate YIIGhgYJKoZI"},
    {"json web token", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.sig"},
    {"json web token", "id eyJhbGciOiJub25lIn0.eyJzdWIiOiJhIn0."},
    {"key shape", "AKIAIOSFODNN7EXAMPLE"},
    {"key shape", "key ASIAIOSFODNN7EXAMPLE used"},
    {"key shape", "AIzaSyA1234567890abcdefghijklmnopqrstuv"},
    {"key shape", "ya29.a0AfH6SMBabcdefghijklmn"},
    {"key shape", "ghp_0123456789abcdefghijklmnopqrstuvwxyz"},
    {"key shape", "github_pat_11ABCDEFG0123456789abc"},
    {"key shape", "glpat-0123456789abcdefghij"},
    {"key shape", "xoxb-1234567890-abcdefghij"},
    {"key shape", "sk_live_0123456789abcdef"},
    {"key shape", "sk-proj-0123456789abcdefghijklmnopqrstuv"},
    {"key shape", "npm_0123456789abcdefghijklmnopqrstuvwxyz"},
    {"key shape", "hf_0123456789abcdefghijklmnopqrst"},
    {"key shape", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"},
    {"key shape", "SG.0123456789abcdefghijk.abc"},
    {"private key", "-----BEGIN RSA PRIVATE KEY-----"},
    {"private key", "text -----BEGIN PRIVATE KEY-----\nMIIE"},
    {"private key", "-----BEGIN OPENSSH PRIVATE KEY-----"},
    {"assignment", "password=hunter2"},
    {"assignment", "/login?user=a&Password=hunter2"},
    {"assignment", "token=abc123"},
    {"assignment", "password=.Hunter2secret"},
    {"assignment", "password=$ecretHunter9"},
    {"assignment", "password=nullHunter2"},
    {"assignment", "access_token=abc123"},
    {"assignment", "{\"api_key\": \"abc1234\"}"},
    {"assignment", "{\\\"token\\\":\\\"abc1234\\\"}"},
    {"assignment", "client_secret=x1y2z3"},
    {"assignment", "Cookie: session=abc"},
    {"assignment", "Set-Cookie: sid=abc; Path=/"},
    {"assignment", "Authorization: ApiKey123"},
    {"assignment", "JSESSIONID=0A1B2C3D"},
    {"assignment", "X-Amz-Signature=0123456789abcdef"},
    {"random", "q8Zr2LkP0vXy7TnB4mWc9HdF3sGj6Ke1"},
    {"random", "/files/q8Zr2LkP0vXy7TnB4mWc9HdF3sGj6Ke1/x"},
};

static void secrets(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof SECRETS / sizeof SECRETS[0]; i++) {
        struct belay_slice text = belay_slice_z(SECRETS[i].text);
        const char *rule = suspect_rule(text, SUSPECT_PROSE);
        if (!rule || strcmp(rule, SECRETS[i].rule) != 0)
            fail_msg("%s: %s", SECRETS[i].text, rule ? rule : "quiet");
        assert_true(suspect_find(text, SUSPECT_PROSE) & SUSPECT_SECRET);
    }
}

/* No prefix of a credential's beginning is read beyond its end. */
static void cut_secrets(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof SECRETS / sizeof SECRETS[0]; i++) {
        for (size_t length = 0; length <= strlen(SECRETS[i].text); length++) {
            char exact[256];
            char *at = exact + sizeof exact - length;
            memcpy(at, SECRETS[i].text, length);
            (void)suspect_find(belay_slice(at, length), SUSPECT_WORD);
        }
    }
}

static void look_alikes(void **state)
{
    (void)state;
    static const char *const QUIET[] = {
        "",
        "GET",
        "4bf92f3577b34da6a3ce929d0e0e4736",
        "00f067aa0ba902b7",
        "1490e6b711d4a93fe9316fe9c2c04c2d/attempt-1",
        "f81d4fae-7dec-11d0-a765-00a0c91e6bf6",
        "F81D4FAE-7DEC-11D0-A765-00A0C91E6BF6",
        "01ARZ3NDEKTSV4RRFFQ69G5FAV",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "/orders/{id}/items/{}",
        "/api/v1/things/{id}",
        "/oauth/token",
        "/users/password/reset",
        "/v1/secrets/{id}/versions",
        "orders.internal:8443",
        "docker.io/library/nginx@sha256:e3b0c44298fc1c14",
        "token expired",
        "token: expired",
        "password: required",
        "password=***",
        "token=[redacted]",
        "token=<hidden>",
        "secret=${SECRET}",
        "secret=$SECRET",
        "password=null",
        "password=xxxxxx",
        "no password.",
        "api_key=REDACTED",
        "max_tokens=500",
        "tokens=500",
        "csrf=",
        "bearer of bad news",
        "basic authentication failed",
        "Basic health check",
        "eyJ.eyJ",
        "sk-8",
        "AKIA",
        "ghp_short",
        "-----BEGIN CERTIFICATE-----",
        "the-quick-brown-fox-jumps-over-the-lazy-dog-again",
        "com.example.service.orders.OrderRepositoryImplementation",
        "OrderServiceClientFactoryProviderConfiguration2",
        "2026-01-06T12:00:00.123456789Z",
        "connect ECONNREFUSED 127.0.0.1:9000",
        "are you sure?yes",
    };
    for (size_t i = 0; i < sizeof QUIET / sizeof QUIET[0]; i++) {
        const char *rule = suspect_rule(belay_slice_z(QUIET[i]), SUSPECT_PROSE);
        if (rule) fail_msg("%s: %s", QUIET[i], rule);
        if (suspect_find(belay_slice_z(QUIET[i]), SUSPECT_PROSE))
            fail_msg("%s: not quiet", QUIET[i]);
    }
    assert_null(suspect_rule(belay_slice_z("q8Zr2LkP0vXy7TnB4mWc9HdF3sGj6Ke1"), SUSPECT_ID));
}

static void urls(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum suspect_text kind;
        unsigned found;
    } ROWS[] = {
        {"https://shop.example/orders", SUSPECT_WORD, SUSPECT_URL},
        {"GET http://shop.example/", SUSPECT_PROSE, SUSPECT_URL},
        {"postgres://db.internal/x", SUSPECT_WORD, SUSPECT_URL},
        {"://x", SUSPECT_WORD, 0},
        {"a://x", SUSPECT_WORD, 0},
        {"/orders?id=7", SUSPECT_WORD, SUSPECT_QUERY},
        {"/orders?id=7", SUSPECT_PROSE, SUSPECT_QUERY},
        {"/orders?id", SUSPECT_WORD, SUSPECT_QUERY},
        {"really?no", SUSPECT_PROSE, 0},
        {"/orders?", SUSPECT_WORD, 0},
        {"/a(?:b)/c", SUSPECT_WORD, 0},
        {"/x?filter[a]=1", SUSPECT_PROSE, SUSPECT_QUERY},
        {"https://u:pw@h/x", SUSPECT_PROSE, SUSPECT_URL | SUSPECT_USER | SUSPECT_SECRET},
        {"user:pw@host:80", SUSPECT_WORD, SUSPECT_USER},
        {"mail to:a@b", SUSPECT_PROSE, 0},
        {"orders@eu:8080", SUSPECT_WORD, 0},
    };
    for (size_t i = 0; i < sizeof ROWS / sizeof ROWS[0]; i++) {
        unsigned found = suspect_find(belay_slice_z(ROWS[i].text), ROWS[i].kind);
        if (found != ROWS[i].found) fail_msg("%s: %x", ROWS[i].text, found);
    }
}

static bool named(const char *name, const char *value)
{
    return suspect_value(belay_slice_z(name), belay_slice_z(value));
}

static void names(void **state)
{
    (void)state;
    assert_true(named("password", "x"));
    assert_true(named("Authorization", "anything"));
    assert_true(named("set-cookie", "a=b"));
    assert_true(named("apiKey", "abc"));
    assert_false(named("password", ""));
    assert_false(named("password", "***"));
    assert_false(named("token", "[redacted]"));
    assert_false(named("tokens", "500"));
    assert_false(named("passwords", "x"));
    assert_false(named("", "x"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(secrets), cmocka_unit_test(cut_secrets), cmocka_unit_test(look_alikes),
        cmocka_unit_test(urls),    cmocka_unit_test(names),
    };
    return cmocka_run_group_tests_name("suspect", tests, NULL, NULL);
}
