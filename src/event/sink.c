/* sink.c: gathers the workers' records and writes them in batches (sink.h). */
#include "event/sink.h"

#include "base/check.h"
#include "event/ring.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define BATCH_BYTES 65536
#define BATCH_FOR_MS 100
#define WORKER_BYTES_MIN 16384
#define PIPE_PIECE_BYTES 4096 /* a pipe that polls as writable takes this much without blocking */
#define STALLED_TURNS_MAX 10

struct worker {
    struct event_out out;
    struct event_sink *sink;
    struct ring ring;
    size_t since_wake; /* bytes committed since the thread was last woken */
    size_t wake_bytes; /* so many wake it: a small ring must not run full before its batch */
    _Atomic uint64_t lost;
};

struct event_sink {
    char *file;
    void (*notice)(const char *text);
    int fd;
    bool regular, failing, needs_newline;
    struct worker *torn; /* the front of its ring is the rest of a record that is partly written */
    off_t torn_size;     /* of the file, just after that */
    uint64_t reported;   /* lost records that a written line has told of */
    uint64_t reporting;  /* those that the line in the sink's own ring tells of */
    _Atomic uint64_t dropped, written_bytes, writes, reopened, failures;
    _Atomic bool reopen, stop;
    bool started;
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t wake;
    uint32_t count; /* of workers; one more follows, for the sink's own records */
    struct worker workers[];
};

/* ---- the workers' side ---- */

static char *reserve(struct event_out *out, size_t bytes)
{
    struct worker *worker = CONTAINER_OF(out, struct worker, out);
    char *room = ring_reserve(&worker->ring, bytes);
    if (!room) atomic_fetch_add_explicit(&worker->lost, 1, memory_order_relaxed);
    return room;
}

static void commit(struct event_out *out, size_t bytes)
{
    struct worker *worker = CONTAINER_OF(out, struct worker, out);
    ring_commit(&worker->ring, bytes);
    worker->since_wake += bytes;
    if (worker->since_wake < worker->wake_bytes) return;
    worker->since_wake = 0;
    /* Missed between two turns, it costs 100 ms and nothing else. */
    (void)pthread_cond_signal(&worker->sink->wake);
}

/* ---- the file ---- */

static void tell(struct event_sink *sink, const char *what, int error)
{
    char text[256];
    if (!sink->notice) return;
    (void)snprintf(text, sizeof text, "events: %s %s%s%s", what, sink->file, error ? ": " : "",
                   error ? strerror(error) : "");
    sink->notice(text);
}

static void failed(struct event_sink *sink, int error)
{
    atomic_fetch_add_explicit(&sink->failures, 1, memory_order_relaxed);
    if (!sink->failing) tell(sink, "cannot write", error);
    sink->failing = true;
}

static void recovered(struct event_sink *sink)
{
    if (sink->failing) tell(sink, "writing again to", 0);
    sink->failing = false;
}

static off_t file_size(int fd)
{
    struct stat status;
    return fstat(fd, &status) == 0 ? status.st_size : -1;
}

/* Does a record that is written now start on a line of its own? */
static bool ends_with_newline(int fd)
{
    off_t size = file_size(fd);
    char last = 0;
    if (size <= 0) return true;
    return pread(fd, &last, 1, size - 1) != 1 || last == '\n';
}

/* Non-blocking, so that a pipe nobody reads stalls no shutdown; readable, to look at the last byte.
 */
static int open_file(const char *file)
{
    int flags = O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
    if (strcmp(file, "-") == 0) return fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    int fd = open(file, O_RDWR | flags, 0640);
    if (fd < 0 && errno == EACCES) fd = open(file, O_WRONLY | flags, 0640);
    return fd;
}

static void use_file(struct event_sink *sink, int fd)
{
    struct stat status;
    sink->fd = fd;
    sink->regular = fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
    sink->needs_newline = sink->regular && !ends_with_newline(fd);
}

/* The rest of a torn record is of no use to anybody: it is left, and counted. */
static void leave_torn(struct event_sink *sink)
{
    struct belay_slice rest = ring_peek(&sink->torn->ring);
    const char *newline = memchr(rest.data, '\n', rest.length);
    CHECK(newline != NULL);
    ring_drop(&sink->torn->ring, (size_t)(newline - rest.data) + 1);
    atomic_fetch_add_explicit(&sink->dropped, 1, memory_order_relaxed);
    sink->torn = NULL;
}

static void reopen(struct event_sink *sink)
{
    struct stat old_status, new_status;
    if (!atomic_exchange(&sink->reopen, false) || strcmp(sink->file, "-") == 0) return;
    int fd = open_file(sink->file);
    if (fd < 0) {
        failed(sink, errno);
        return;
    }
    bool same = fstat(sink->fd, &old_status) == 0 && fstat(fd, &new_status) == 0 &&
                old_status.st_dev == new_status.st_dev && old_status.st_ino == new_status.st_ino;
    if (sink->torn && !same) leave_torn(sink);
    (void)close(sink->fd);
    use_file(sink, fd);
    if (sink->torn) sink->needs_newline = false;
    atomic_fetch_add_explicit(&sink->reopened, 1, memory_order_relaxed);
}

/* A torn record may be continued only where it was left. */
static void check_torn(struct event_sink *sink)
{
    if (!sink->torn || !sink->regular || file_size(sink->fd) == sink->torn_size) return;
    leave_torn(sink);
    sink->needs_newline = !ends_with_newline(sink->fd);
}

/* Bytes written; 0 when nothing can be written now (the failure is noted). */
static size_t write_some(struct event_sink *sink, const char *data, size_t length)
{
    if (!sink->regular) {
        struct pollfd poll_fd = {.fd = sink->fd, .events = POLLOUT};
        if (length > PIPE_PIECE_BYTES) length = PIPE_PIECE_BYTES;
        if (poll(&poll_fd, 1, BATCH_FOR_MS) <= 0) {
            failed(sink, EAGAIN);
            return 0;
        }
    }
    ssize_t wrote;
    do wrote = write(sink->fd, data, length);
    while (wrote < 0 && errno == EINTR);
    if (wrote <= 0) {
        failed(sink, wrote < 0 ? errno : ENOSPC);
        return 0;
    }
    recovered(sink);
    atomic_fetch_add_explicit(&sink->writes, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&sink->written_bytes, (uint64_t)wrote, memory_order_relaxed);
    return (size_t)wrote;
}

/* ---- a turn ---- */

static bool write_run(struct event_sink *sink, struct worker *worker, struct belay_slice run)
{
    while (run.length > 0) {
        size_t wrote = write_some(sink, run.data, run.length);
        if (wrote == 0) return false;
        bool whole = run.data[wrote - 1] == '\n';
        sink->torn = whole ? NULL : worker;
        if (!whole && sink->regular) sink->torn_size = file_size(sink->fd);
        ring_drop(&worker->ring, wrote);
        run = belay_slice(run.data + wrote, run.length - wrote);
    }
    return true;
}

/* Two runs: up to the ring's end, and from its beginning. More may have come meanwhile; that is the
 * next turn's. */
static bool drain_worker(struct event_sink *sink, struct worker *worker)
{
    return write_run(sink, worker, ring_peek(&worker->ring)) &&
           write_run(sink, worker, ring_peek(&worker->ring));
}

static bool fresh_line(struct event_sink *sink)
{
    if (sink->needs_newline && write_some(sink, "\n", 1) == 0) return false;
    sink->needs_newline = false;
    return true;
}

static uint64_t lost_records(const struct event_sink *sink)
{
    uint64_t lost = atomic_load_explicit(&sink->dropped, memory_order_relaxed);
    for (uint32_t i = 0; i < sink->count; i++) {
        lost += atomic_load_explicit(&sink->workers[i].lost, memory_order_relaxed);
    }
    return lost;
}

static bool drain_own(struct event_sink *sink)
{
    if (!drain_worker(sink, &sink->workers[sink->count])) return false;
    sink->reported += sink->reporting;
    sink->reporting = 0;
    return true;
}

/* Called when everything else is written: the file takes records again. */
static bool report_lost(struct event_sink *sink)
{
    uint64_t lost = lost_records(sink);
    if (lost == sink->reported) return true;
    struct ring *ring = &sink->workers[sink->count].ring;
    struct belay_lost_event event = {.records = (int64_t)(lost - sink->reported)};
    char *room = ring_reserve(ring, BELAY_EVENT_BYTES_MAX);
    CHECK(room != NULL); /* that ring holds one line at a time */
    ring_commit(ring, belay_lost_event_encode(&event, room, BELAY_EVENT_BYTES_MAX));
    sink->reporting = lost - sink->reported;
    return drain_own(sink);
}

bool event_sink_turn(struct event_sink *sink)
{
    reopen(sink);
    check_torn(sink);
    if (sink->torn && !drain_worker(sink, sink->torn)) return false;
    if (!fresh_line(sink)) return false;
    for (uint32_t i = 0; i < sink->count; i++) {
        if (!drain_worker(sink, &sink->workers[i])) return false;
    }
    return drain_own(sink) && report_lost(sink);
}

static void *run(void *argument)
{
    struct event_sink *sink = argument;
    while (!atomic_load(&sink->stop)) {
        struct timespec until;
        (void)clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_nsec += BATCH_FOR_MS * BELAY_NS_PER_MS;
        if (until.tv_nsec >= BELAY_NS_PER_S) {
            until.tv_nsec -= BELAY_NS_PER_S;
            until.tv_sec++;
        }
        (void)pthread_mutex_lock(&sink->mutex);
        if (!atomic_load(&sink->stop))
            (void)pthread_cond_timedwait(&sink->wake, &sink->mutex, &until);
        (void)pthread_mutex_unlock(&sink->mutex);
        (void)event_sink_turn(sink);
    }
    return NULL;
}

/* ---- life ---- */

static bool init_worker(struct event_sink *sink, struct worker *worker, size_t bytes)
{
    worker->out = (struct event_out){.reserve = reserve, .commit = commit};
    worker->sink = sink;
    if (!ring_init(&worker->ring, bytes < WORKER_BYTES_MIN ? WORKER_BYTES_MIN : bytes))
        return false;
    size_t part = (size_t)worker->ring.capacity / 4;
    worker->wake_bytes = part < BATCH_BYTES ? part : BATCH_BYTES;
    return true;
}

static bool init_workers(struct event_sink *sink, size_t buffer_bytes)
{
    for (uint32_t i = 0; i < sink->count; i++) {
        if (!init_worker(sink, &sink->workers[i], buffer_bytes / sink->count)) return false;
    }
    return init_worker(sink, &sink->workers[sink->count], WORKER_BYTES_MIN);
}

static void init_wake(struct event_sink *sink)
{
    pthread_condattr_t monotonic;
    (void)pthread_mutex_init(&sink->mutex, NULL);
    (void)pthread_condattr_init(&monotonic);
    (void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&sink->wake, &monotonic);
    (void)pthread_condattr_destroy(&monotonic);
}

static void release(struct event_sink *sink)
{
    for (uint32_t i = 0; i <= sink->count; i++) ring_deinit(&sink->workers[i].ring);
    if (sink->fd >= 0) (void)close(sink->fd);
    (void)pthread_cond_destroy(&sink->wake);
    (void)pthread_mutex_destroy(&sink->mutex);
    free(sink->file);
    free(sink);
}

struct event_sink *event_sink_create(const char *file, size_t buffer_bytes, uint32_t workers,
                                     void (*notice)(const char *text), const char **error)
{
    CHECK(workers > 0);
    size_t bytes = sizeof(struct event_sink) + (workers + (size_t)1) * sizeof(struct worker);
    struct event_sink *sink = aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (!sink) {
        *error = strerror(ENOMEM);
        return NULL;
    }
    memset(sink, 0, bytes);
    sink->count = workers;
    sink->notice = notice;
    sink->fd = -1;
    init_wake(sink);
    sink->file = strdup(file);
    int fd = -1;
    if (sink->file && init_workers(sink, buffer_bytes)) fd = open_file(file);
    if (fd < 0) {
        *error = strerror(errno);
        release(sink);
        return NULL;
    }
    use_file(sink, fd);
    return sink;
}

struct event_out *event_sink_out(struct event_sink *sink, uint32_t worker)
{
    CHECK(worker < sink->count);
    return &sink->workers[worker].out;
}

/* The thread takes no signals: a broken pipe or a file over its limit is an error of write, and the
 * rest belong to the main thread. */
bool event_sink_start(struct event_sink *sink)
{
    sigset_t all, before;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    sink->started = pthread_create(&sink->thread, NULL, run, sink) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return sink->started;
}

void event_sink_reopen(struct event_sink *sink)
{
    atomic_store(&sink->reopen, true);
    (void)pthread_cond_signal(&sink->wake);
}

static uint64_t waiting_bytes(const struct event_sink *sink)
{
    uint64_t waiting = 0;
    for (uint32_t i = 0; i <= sink->count; i++) waiting += ring_waiting(&sink->workers[i].ring);
    return waiting;
}

void event_sink_stats(struct event_sink *sink, struct event_sink_stats *out)
{
    *out = (struct event_sink_stats){
        .written_bytes = atomic_load_explicit(&sink->written_bytes, memory_order_relaxed),
        .writes = atomic_load_explicit(&sink->writes, memory_order_relaxed),
        .lost = lost_records(sink),
        .waiting_bytes = waiting_bytes(sink),
        .reopened = atomic_load_explicit(&sink->reopened, memory_order_relaxed),
        .failures = atomic_load_explicit(&sink->failures, memory_order_relaxed),
    };
}

static uint64_t records_left(struct worker *worker)
{
    uint64_t records = 0;
    for (struct belay_slice run; (run = ring_peek(&worker->ring)).length > 0;
         ring_drop(&worker->ring, run.length)) {
        for (size_t i = 0; i < run.length; i++) records += run.data[i] == '\n';
    }
    return records;
}

uint64_t event_sink_destroy(struct event_sink *sink)
{
    if (sink->started) {
        (void)pthread_mutex_lock(&sink->mutex);
        atomic_store(&sink->stop, true);
        (void)pthread_cond_signal(&sink->wake);
        (void)pthread_mutex_unlock(&sink->mutex);
        (void)pthread_join(sink->thread, NULL);
    }
    int stalled = 0;
    do stalled = event_sink_turn(sink) ? 0 : stalled + 1;
    while (waiting_bytes(sink) > 0 && stalled < STALLED_TURNS_MAX);
    uint64_t untold = lost_records(sink) - sink->reported;
    for (uint32_t i = 0; i < sink->count; i++) untold += records_left(&sink->workers[i]);
    release(sink);
    return untold;
}
