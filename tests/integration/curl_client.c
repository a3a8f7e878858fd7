/* curl_client.c: a program that uses libbelay-curl as its options say, and tells as JSON lines what
 * it saw: every event, then one result an operation. Driven by test_curl.py. */
#include <belay/curl.h>
#include <dlfcn.h>
#include <getopt.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SHOWN_BYTES_MAX 256
#define DEAD_SECONDS 3

typedef int (*look_up)(const char *, const char *, const struct addrinfo *, struct addrinfo **);

static bool names_are_dead;

/* In place of the C library's, which libcurl's resolver threads call: the name server is dead. */
__attribute__((visibility("default"))) int getaddrinfo(const char *name, const char *service,
                                                       const struct addrinfo *hints,
                                                       struct addrinfo **found)
{
    look_up next;
    void *symbol = dlsym(RTLD_NEXT, "getaddrinfo");
    memcpy(&next, &symbol, sizeof next);
    if (!names_are_dead) return next(name, service, hints, found);
    sleep(DEAD_SECONDS);
    return EAI_AGAIN;
}

struct seen {
    size_t body_bytes, head_lines;
    unsigned char body[SHOWN_BYTES_MAX];
    char heads[4096];
};

struct client {
    struct belay_policy policy;
    struct belay_curl_call call;
    CURL *easy;
    struct curl_slist *fields;
    struct seen seen;
    size_t upload_bytes, uploaded;
    unsigned cancel_at; /* attempts; 0: never */
    bool cancel_waiting, plain_after;
    int times;
};

static size_t on_body(char *data, size_t size, size_t count, void *user)
{
    struct seen *seen = user;
    size_t length = size * count;
    for (size_t i = 0; i < length && seen->body_bytes + i < SHOWN_BYTES_MAX; i++)
        seen->body[seen->body_bytes + i] = (unsigned char)data[i];
    seen->body_bytes += length;
    return length;
}

static size_t on_header(char *line, size_t size, size_t count, void *user)
{
    struct seen *seen = user;
    size_t used = strlen(seen->heads);
    seen->head_lines++;
    if (memcmp(line, "HTTP/", 5) == 0)
        (void)snprintf(seen->heads + used, sizeof seen->heads - used, "%.3s ",
                       strchr(line, ' ') + 1);
    return size * count;
}

static size_t on_read(char *out, size_t size, size_t count, void *user)
{
    struct client *client = user;
    size_t left = client->upload_bytes - client->uploaded;
    size_t length = left < size * count ? left : size * count;
    memset(out, 'u', length);
    client->uploaded += length;
    return length;
}

static int on_seek(void *user, curl_off_t offset, int origin)
{
    struct client *client = user;
    if (origin != SEEK_SET) return CURL_SEEKFUNC_CANTSEEK;
    client->uploaded = (size_t)offset;
    return CURL_SEEKFUNC_OK;
}

static int on_progress(void *user, const struct belay_curl_progress *progress)
{
    const struct client *client = user;
    if (client->cancel_waiting && progress->waiting && progress->last) return 1;
    bool late = progress->remaining.ns < client->policy.deadline_for.ns - belay_span_ms(200).ns;
    return client->cancel_at > 0 && progress->attempt >= client->cancel_at && late;
}

static void on_attempt(void *user, const struct belay_attempt_event *event)
{
    char line[BELAY_EVENT_BYTES_MAX];
    (void)user;
    fwrite(line, 1, belay_attempt_event_encode(event, line, sizeof line), stdout);
    fflush(stdout);
}

static void on_operation(void *user, const struct belay_operation_event *event)
{
    char line[BELAY_EVENT_BYTES_MAX];
    (void)user;
    fwrite(line, 1, belay_operation_event_encode(event, line, sizeof line), stdout);
    fflush(stdout);
}

static void tell(const struct client *client, const char *what, CURLcode code, long status)
{
    const struct seen *seen = &client->seen;
    void *kept = NULL;
    curl_easy_getinfo(client->easy, CURLINFO_PRIVATE, &kept);
    printf("{\"%s\":{\"code\":%d,\"status\":%ld,\"refused\":%s,\"terminal\":\"%s\",\"bytes\":%zu,"
           "\"headLines\":%zu,\"heads\":\"%s\",\"private\":%s,\"body\":\"",
           what, (int)code, status, client->call.result.refused ? "true" : "false",
           belay_terminal_name(client->call.result.terminal), seen->body_bytes, seen->head_lines,
           seen->heads, kept == &client->times ? "true" : "false");
    for (size_t i = 0; i < seen->body_bytes && i < SHOWN_BYTES_MAX; i++)
        printf("%02x", (unsigned)seen->body[i]);
    printf("\"}}\n");
    fflush(stdout);
}

enum {
    PLAIN_AFTER = 256,
    SEEK_BODY,
    CANCEL_AT,
    CANCEL_WAITING,
    OWN_TIMEOUT,
    FOLLOW,
    WAIT_JITTER,
    DEAD_NAMES
};

static const struct option OPTIONS[] = {
    {"method", required_argument, NULL, 'X'},
    {"post", required_argument, NULL, 'd'},
    {"upload", required_argument, NULL, 'T'},
    {"seek", no_argument, NULL, SEEK_BODY},
    {"kept", no_argument, NULL, 'k'},
    {"idempotent", no_argument, NULL, 'i'},
    {"keyed", no_argument, NULL, 'K'},
    {"write", no_argument, NULL, 'w'},
    {"owned", no_argument, NULL, 'o'},
    {"deadline", required_argument, NULL, 'D'},
    {"attempts", required_argument, NULL, 'n'},
    {"wait", required_argument, NULL, 'b'},
    {"timeout", required_argument, NULL, OWN_TIMEOUT},
    {"field", required_argument, NULL, 'H'},
    {"plain-fields", no_argument, NULL, 'p'},
    {"id", required_argument, NULL, 'I'},
    {"traceparent", required_argument, NULL, 't'},
    {"route", required_argument, NULL, 'r'},
    {"times", required_argument, NULL, 'N'},
    {"no-header", no_argument, NULL, 'q'},
    {"fail", no_argument, NULL, 'f'},
    {"follow", no_argument, NULL, FOLLOW},
    {"cancel-at", required_argument, NULL, CANCEL_AT},
    {"cancel-waiting", no_argument, NULL, CANCEL_WAITING},
    {"plain-after", no_argument, NULL, PLAIN_AFTER},
    {"jitter", no_argument, NULL, WAIT_JITTER},
    {"dead-names", no_argument, NULL, DEAD_NAMES},
    {"insecure", no_argument, NULL, 'S'},
    {NULL, 0, NULL, 0},
};

static struct belay_span ms(const char *text)
{
    return belay_span_ms(strtol(text, NULL, 10));
}

static void set_body(struct client *client)
{
    curl_easy_setopt(client->easy, CURLOPT_UPLOAD, 1L);
    curl_easy_setopt(client->easy, CURLOPT_READFUNCTION, on_read);
    curl_easy_setopt(client->easy, CURLOPT_READDATA, client);
    curl_easy_setopt(client->easy, CURLOPT_INFILESIZE_LARGE, (curl_off_t)client->upload_bytes);
}

static void set_option(struct client *client, int option, const char *value)
{
    struct belay_curl_call *call = &client->call;
    CURL *easy = client->easy;
    switch (option) {
    case 'X': curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, value); break;
    case 'd': curl_easy_setopt(easy, CURLOPT_COPYPOSTFIELDS, value); break;
    case 'T':
        client->upload_bytes = strtoul(value, NULL, 10);
        set_body(client);
        break;
    case SEEK_BODY:
        call->seek = on_seek;
        call->seek_data = client;
        break;
    case 'k': call->body_kept = true; break;
    case 'i': call->idempotent = true; break;
    case 'K': call->keyed = true; break;
    case 'w': call->write = true; break;
    case 'o': call->owned = true; break;
    case 'D': client->policy.deadline_for = ms(value); break;
    case 'n': client->policy.attempts_max = (uint32_t)strtoul(value, NULL, 10); break;
    case 'b': client->policy.backoff.base = ms(value); break;
    case OWN_TIMEOUT: curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, strtol(value, NULL, 10)); break;
    case 'H': client->fields = curl_slist_append(client->fields, value); break;
    case 'p': call->adds_fields = false; break;
    case 'I': call->operation_id = value; break;
    case 't': call->traceparent = value; break;
    case 'r': call->route = value; break;
    case 'N': client->times = (int)strtol(value, NULL, 10); break;
    case 'q':
        call->header = NULL;
        call->header_data = NULL;
        break;
    case 'f': curl_easy_setopt(easy, CURLOPT_FAILONERROR, 1L); break;
    case FOLLOW: curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 1L); break;
    case CANCEL_AT: client->cancel_at = (unsigned)strtoul(value, NULL, 10); break;
    case CANCEL_WAITING: client->cancel_waiting = true; break;
    case PLAIN_AFTER: client->plain_after = true; break;
    case WAIT_JITTER: client->policy.backoff.kind = BELAY_BACKOFF_ADDITIVE; break;
    case DEAD_NAMES: names_are_dead = true; break;
    case 'S':
        curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 0L);
        curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 0L);
        break;
    default: exit(2);
    }
}

static void set_up(struct client *client)
{
    client->times = 1;
    client->easy = curl_easy_init();
    client->policy = belay_policy_default();
    client->policy.backoff.kind = BELAY_BACKOFF_CONSTANT;
    client->policy.backoff.base = belay_span_ms(10);
    client->policy.deadline_for = belay_span_ms(5000);
    client->call = (struct belay_curl_call){.policy = &client->policy,
                                            .header = on_header,
                                            .header_data = &client->seen,
                                            .adds_fields = true,
                                            .target_name = "origin",
                                            .on_progress = on_progress,
                                            .on_attempt = on_attempt,
                                            .on_operation = on_operation,
                                            .user = client,
                                            .multi = curl_multi_init()};
    curl_easy_setopt(client->easy, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(client->easy, CURLOPT_WRITEDATA, &client->seen);
    curl_easy_setopt(client->easy, CURLOPT_PRIVATE, &client->times);
}

int main(int argc, char **argv)
{
    struct client client = {0};
    int option;
    set_up(&client);
    while ((option = getopt_long(argc, argv, "", OPTIONS, NULL)) != -1)
        set_option(&client, option, optarg);
    if (optind + 1 != argc) return 2;
    curl_easy_setopt(client.easy, CURLOPT_URL, argv[optind]);
    curl_easy_setopt(client.easy, CURLOPT_HTTPHEADER, client.fields);
    curl_easy_setopt(client.easy, CURLOPT_HEADERFUNCTION, client.call.header);
    curl_easy_setopt(client.easy, CURLOPT_HEADERDATA, client.call.header_data);
    client.call.target = belay_target_create(&client.policy, 1);
    client.call.headers = client.fields;
    for (int i = 0; i < client.times; i++) {
        client.seen = (struct seen){0};
        client.uploaded = 0;
        CURLcode code = belay_curl_perform(client.easy, &client.call);
        tell(&client, "result", code, client.call.result.status);
    }
    if (client.plain_after) {
        long status = 0;
        client.seen = (struct seen){0};
        CURLcode code = curl_easy_perform(client.easy);
        curl_easy_getinfo(client.easy, CURLINFO_RESPONSE_CODE, &status);
        tell(&client, "plain", code, status);
    }
    curl_easy_cleanup(client.easy);
    curl_multi_cleanup(client.call.multi);
    curl_slist_free_all(client.fields);
    belay_target_destroy(client.call.target);
    return 0;
}
