/* call.c: `belay call`: one operation from the shell, over libbelay-curl. */
#include "app/app.h"
#include "app/call_events.h"
#include "app/call_exit.h"
#include "app/call_options.h"
#include "app/call_say.h"
#include "app/call_state.h"

#include <belay/version.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#define STATUS_BAD_MIN 400

struct call {
    struct call_options options;
    struct belay_curl_call operation;
    struct call_events events;
    struct call_state state;
    struct belay_instant deadline_at; /* of all that is done, waiting for the state file too */
    struct belay_target *target;
    CURL *easy;
    int output;       /* a file descriptor; -1: opened with the first byte */
    int output_error; /* errno; 0: none */
    bool mid_line;    /* the last byte on the standard output was no newline */
    bool shows_progress, progress_shown;
};

static volatile sig_atomic_t stop_signal;

static void on_stop_signal(int number)
{
    stop_signal = number;
}

/* The second one ends the process at once. */
static void catch_signals(void)
{
    struct sigaction action = {.sa_handler = on_stop_signal, .sa_flags = (int)SA_RESETHAND};
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        (void)sigaction(numbers[i], &action, NULL);
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGXFSZ, SIG_IGN);
}

/* ---- the person at the terminal ---- */

static void erase_progress(struct call *call)
{
    if (call->progress_shown) fputs("\r\033[K", stderr);
    call->progress_shown = false;
}

static void say(struct call *call, const char *text)
{
    erase_progress(call);
    if (!call->options.silent || call->options.show_error)
        fprintf(stderr, "belay call: %s\n", text);
}

static void on_notice(void *user, const char *text)
{
    say(user, text);
}

static bool is_stopped(void *user)
{
    (void)user;
    return stop_signal != 0;
}

static int on_progress(void *user, const struct belay_curl_progress *progress)
{
    struct call *call = user;
    char line[CALL_LINE_BYTES_MAX];
    if (stop_signal) return 1;
    if (!call->shows_progress || call->mid_line) return 0;
    call_say_progress(progress, call->options.policy.attempts_max, line);
    fprintf(stderr, "\r\033[K%s", line);
    call->progress_shown = true;
    return 0;
}

/* ---- the answer ---- */

static bool open_output(struct call *call)
{
    const char *file = call->options.output;
    if (call->output >= 0) return true;
    call->output = file ? open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0666)
                        : STDOUT_FILENO;
    if (call->output < 0) call->output_error = errno;
    return call->output >= 0;
}

static bool put(struct call *call, const char *bytes, size_t count)
{
    erase_progress(call);
    if (!open_output(call)) return false;
    if (call->output == STDOUT_FILENO && count > 0) call->mid_line = bytes[count - 1] != '\n';
    while (count > 0) {
        ssize_t wrote = write(call->output, bytes, count);
        if (wrote < 0 && errno == EINTR && !stop_signal) continue;
        if (wrote < 0 && errno == EINTR) return false; /* cancelled while nobody read on */
        if (wrote <= 0) {
            call->output_error = wrote < 0 ? errno : EIO;
            return false;
        }
        bytes += wrote;
        count -= (size_t)wrote;
    }
    return true;
}

static size_t on_body(char *bytes, size_t size, size_t count, void *user)
{
    struct call *call = user;
    long status = 0;
    (void)curl_easy_getinfo(call->easy, CURLINFO_RESPONSE_CODE, &status);
    if (call->options.fail && status >= STATUS_BAD_MIN) return size * count;
    return put(call, bytes, size * count) ? size * count : 0;
}

static size_t on_header(char *bytes, size_t size, size_t count, void *user)
{
    return put(user, bytes, size * count) ? size * count : 0;
}

/* An answer without a body leaves an empty file; a full disk may show only now. */
static void close_output(struct call *call, bool answered)
{
    bool is_file = call->options.output != NULL;
    if (is_file && answered && !call->output_error && !open_output(call)) return;
    if (is_file && call->output >= 0 && close(call->output) != 0 && !call->output_error)
        call->output_error = errno;
}

/* ---- the evidence ---- */

static void begin_line(struct call *call)
{
    bool between = call->events.file && call->events.fd == STDOUT_FILENO && call->mid_line;
    if (between) call->events.broken_line = true;
    call->mid_line = false;
}

static void on_attempt(void *user, const struct belay_attempt_event *event)
{
    struct call *call = user;
    begin_line(call);
    call_events_attempt(&call->events, event);
}

static void on_operation(void *user, const struct belay_operation_event *event)
{
    struct call *call = user;
    begin_line(call);
    call_events_operation(&call->events, event);
}

/* ---- the handle ---- */

#define SET(option, value) good = good && curl_easy_setopt(call->easy, option, value) == CURLE_OK

static const char *method_of(const struct call_options *options)
{
    if (options->head) return "HEAD";
    if (options->method) return options->method;
    return options->has_body ? "POST" : "GET";
}

static bool set_request(struct call *call)
{
    const struct call_options *options = &call->options;
    bool is_head = strcmp(method_of(options), "HEAD") == 0;
    bool good = true;
    if (options->has_body) {
        struct belay_slice body = buf_slice(&options->body);
        SET(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)body.length);
        SET(CURLOPT_POSTFIELDS, body.data ? body.data : "");
    }
    if (is_head) {
        SET(CURLOPT_NOBODY, 1L);
    } else if (options->method) {
        SET(CURLOPT_CUSTOMREQUEST, options->method);
    }
    return good;
}

static bool set_handle(struct call *call)
{
    const struct call_options *options = &call->options;
    int64_t silence_s = (belay_span_ceil_ms(options->policy.silence_timeout_for) + 999) / 1000;
    int64_t connect_ms = belay_span_ceil_ms(options->connect_for);
    bool good = set_request(call);
    SET(CURLOPT_URL, options->url);
    SET(CURLOPT_PROTOCOLS_STR, "http,https");
    SET(CURLOPT_NOSIGNAL, 1L);
    SET(CURLOPT_USERAGENT, "belay/" BELAY_VERSION);
    SET(CURLOPT_WRITEFUNCTION, on_body);
    SET(CURLOPT_WRITEDATA, call);
    SET(CURLOPT_LOW_SPEED_LIMIT, 1L);
    SET(CURLOPT_LOW_SPEED_TIME, silence_s < 1 ? 1L : (long)silence_s);
    if (connect_ms > 0) SET(CURLOPT_CONNECTTIMEOUT_MS, (long)connect_ms);
    if (options->cacert) SET(CURLOPT_CAINFO, options->cacert);
    if (options->insecure) {
        SET(CURLOPT_SSL_VERIFYPEER, 0L);
        SET(CURLOPT_SSL_VERIFYHOST, 0L);
    }
    if (options->netrc || options->netrc_file) SET(CURLOPT_NETRC, (long)CURL_NETRC_OPTIONAL);
    if (options->netrc_file) SET(CURLOPT_NETRC_FILE, options->netrc_file);
    return good;
}

static void fill_operation(struct call *call)
{
    const struct call_options *options = &call->options;
    bool wants_head = options->include || options->head;
    struct belay_span left = belay_instant_since(call->deadline_at, belay_curl_now());
    call->operation = (struct belay_curl_call){
        .policy = &options->policy,
        .target = call->target,
        .deadline_for = belay_span_max(left, belay_span_ns(1)),
        .write = options->write,
        .idempotent = options->idempotent,
        .keyed = options->keyed,
        .body_kept = true,
        .header = wants_head ? on_header : NULL,
        .header_data = call,
        .adds_fields = true,
        .headers = options->headers,
        .operation_id = options->operation_id,
        .method = method_of(options),
        .target_name = options->target,
        .route = options->route,
        .on_progress = on_progress,
        .on_attempt = on_attempt,
        .on_operation = on_operation,
        .user = call,
    };
}

/* ---- the command ---- */

static int end(struct call *call, CURLcode code)
{
    struct belay_curl_result *result = &call->operation.result;
    char line[CALL_LINE_BYTES_MAX];
    if (result->ending.attempts == 0 && !result->refused) result->code = code;
    close_output(call, result->status > 0);
    if (call->events.error) {
        (void)snprintf(line, sizeof line, "%.400s: events are lost: %s", call->options.events,
                       strerror(call->events.error));
        say(call, line);
    }
    enum call_exit ended = call_exit_of(result, call->output_error != 0, stop_signal != 0);
    if (ended == CALL_OUTPUT) {
        (void)snprintf(line, sizeof line, "output: the answer cannot be written: %s",
                       strerror(call->output_error));
    } else {
        call_say_failure(ended, call->options.target, result, line);
    }
    if (ended != CALL_DONE) say(call, line);
    erase_progress(call);
    return (int)ended;
}

static uint64_t seed(void)
{
    uint64_t luck = 0;
    if (getentropy(&luck, sizeof luck) != 0) luck = (uint64_t)belay_curl_now().ns;
    return luck;
}

static int perform(struct call *call)
{
    call->easy = curl_easy_init();
    if (!call->easy || !set_handle(call)) {
        say(call, "failed: libcurl cannot be set up, or there is no memory left");
        curl_easy_cleanup(call->easy);
        return CALL_FAILED;
    }
    fill_operation(call);
    CURLcode code = belay_curl_perform(call->easy, &call->operation);
    curl_easy_cleanup(call->easy);
    return end(call, code);
}

static int with_target(struct call *call)
{
    call->target = belay_target_create(&call->options.policy, seed());
    if (!call->target) {
        say(call, "failed: no memory is left");
        return CALL_FAILED;
    }
    if (call->options.state) belay_target_share_with(call->target, &call->state.share);
    int code = perform(call);
    belay_target_destroy(call->target);
    return code;
}

static int with_files(struct call *call)
{
    const struct call_options *options = &call->options;
    if (!call_events_open(&call->events, options->events)) {
        fprintf(stderr, "belay call: %s: cannot be opened: %s\n", options->events, strerror(errno));
        return CALL_USAGE;
    }
    bool shares = options->state != NULL;
    const struct call_state_owner owner = {on_notice, is_stopped, call};
    if (shares && !call_state_open(&call->state, options->state, belay_slice_z(options->target),
                                   call->deadline_at, &owner)) {
        call_events_close(&call->events);
        return CALL_USAGE;
    }
    int code = with_target(call);
    if (shares) call_state_close(&call->state);
    call_events_close(&call->events);
    return code;
}

int app_call(int argc, char **argv)
{
    struct call call = {.output = -1};
    int code = CALL_USAGE;
    (void)curl_global_init(CURL_GLOBAL_DEFAULT);
    bool good = call_options_read(&call.options, argc, argv);
    if (good && call.options.help) {
        call_options_print_help(stdout);
        code = CALL_DONE;
    } else if (good) {
        catch_signals();
        call.deadline_at = belay_instant_add(belay_curl_now(), call.options.policy.deadline_for);
        call.shows_progress = !call.options.silent && isatty(STDERR_FILENO);
        code = with_files(&call);
    }
    call_options_deinit(&call.options);
    curl_global_cleanup();
    return code;
}
