/* curl_easy.c: one GET with libcurl's easy interface that survives a flaky service. The answer goes
 * to standard output, one JSON line an attempt to standard error.
 *
 *     cc curl_easy.c $(pkg-config --cflags --libs belay-curl) -o curl_easy
 *     belay flaky --listen 127.0.0.1:9000 --fail-first 2 &
 *     ./curl_easy http://127.0.0.1:9000/orders/42
 */
#include <belay/curl.h>
#include <stdio.h>

static void on_attempt(void *user, const struct belay_attempt_event *event)
{
    char line[BELAY_EVENT_BYTES_MAX];
    fwrite(line, 1, belay_attempt_event_encode(event, line, sizeof line), user);
}

static void on_operation(void *user, const struct belay_operation_event *event)
{
    char line[BELAY_EVENT_BYTES_MAX];
    fwrite(line, 1, belay_operation_event_encode(event, line, sizeof line), user);
}

int main(int argc, char **argv)
{
    if (argc != 2) return 2;
    CURL *easy = curl_easy_init();
    curl_easy_setopt(easy, CURLOPT_URL, argv[1]);

    struct belay_policy policy = belay_policy_default();
    policy.deadline_for = belay_span_ms(2000);
    struct belay_curl_call call = {.policy = &policy,
                                   .target_name = "orders",
                                   .adds_fields = true,
                                   .on_attempt = on_attempt,
                                   .on_operation = on_operation,
                                   .user = stderr};
    CURLcode code = belay_curl_perform(easy, &call);
    if (code != CURLE_OK) fprintf(stderr, "no answer: %s\n", curl_easy_strerror(code));
    curl_easy_cleanup(easy);
    return code == CURLE_OK && call.result.status == 200 ? 0 : 1;
}
