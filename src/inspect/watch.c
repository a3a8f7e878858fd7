/* watch.c: inotify on a file and its folder (watch.h). */
#include "inspect/watch.h"

#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

void watch_init(struct watch *watch)
{
    *watch = (struct watch){.fd = -1};
}

void watch_deinit(struct watch *watch)
{
    if (watch->fd >= 0) (void)close(watch->fd);
    watch_init(watch);
}

/* The folder tells of the file's replacement; the file itself may be behind a symbolic link. */
static void begin(struct watch *watch, const char *path)
{
    char folder[PATH_MAX];
    const char *slash = strrchr(path, '/');
    int length = slash ? (int)(slash - path) + 1 : 0;
    watch->begun = true;
    watch->fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (watch->fd < 0) return;
    (void)snprintf(folder, sizeof folder, "%.*s.", length, path);
    (void)inotify_add_watch(watch->fd, folder, IN_CREATE | IN_MOVED_TO | IN_MODIFY | IN_DELETE);
    (void)inotify_add_watch(watch->fd, path, IN_MODIFY | IN_ATTRIB | IN_MOVE_SELF);
}

/* Which change it was is found by looking at the file. */
static void drain(const struct watch *watch)
{
    char events[4096];
    while (read(watch->fd, events, sizeof events) > 0) continue;
}

void watch_wait(struct watch *watch, const char *path, int timeout_ms)
{
    if (!watch->begun) {
        begin(watch, path);
        return;
    }
    struct pollfd poll_fd = {.fd = watch->fd, .events = POLLIN};
    if (poll(&poll_fd, 1, timeout_ms) > 0) drain(watch);
}
