/* watch.h: waits until a file may have changed: grown, truncated, or replaced under its name. */
#ifndef INSPECT_WATCH_H
#define INSPECT_WATCH_H

#include <stdbool.h>

struct watch {
    int fd; /* inotify; -1: not begun, or the system has none to give */
    bool begun;
};

void watch_init(struct watch *watch);
void watch_deinit(struct watch *watch);
/* Returns early rather than late: at once when it was not watching yet, so that nothing is missed
 * between the last read and this call; at the latest after `timeout_ms`. */
void watch_wait(struct watch *watch, const char *path, int timeout_ms);

#endif
