/* call_state.h: the file in which runs of `belay call` share what they know of their targets.
 *
 * Guarantees:
 *   - a step of a target (belay/target_state.h) is one locked step of the file: two runs never
 *     decide on the same state; the lock is not held while a call is under way;
 *   - a run that is killed at any instant leaves a good file: each entry has two copies with a
 *     checksum, and the older one is written;
 *   - the file has a fixed size: CALL_STATE_TARGETS_MAX targets; a new one takes the place of the
 *     one that was not called for the longest time;
 *   - at most bulkhead.max calls (CALL_STATE_SLOTS_MAX at most) are in flight to a target over all
 *     runs; the system itself gives the slot of a killed run back;
 *   - what is damaged is told, and its target begins anew; what is not belay's, or of another
 *     version, is not touched.
 * Without the file (a full disk, a lock that cannot be had) the run goes on alone, which is told. A
 * lock is waited for two seconds, but no longer than half of the time to the deadline: the call
 * needs some of it.
 */
#ifndef APP_CALL_STATE_H
#define APP_CALL_STATE_H

#include <belay/target_state.h>

#define CALL_STATE_TARGETS_MAX 64
#define CALL_STATE_NAME_BYTES_MAX 270
#define CALL_STATE_RECORD_BYTES 1088
#define CALL_STATE_HEADER_BYTES 64
#define CALL_STATE_SLOTS_MAX 1024

/* Whose run it is. */
struct call_state_owner {
    void (*notice)(void *user, const char *text); /* one line, without the newline */
    bool (*stopped)(void *user);                  /* a signal came: no lock is waited for */
    void *user;
};

/* Of one run, which has one call in flight at a time. */
struct call_state {
    struct belay_target_share share; /* for belay_target_share_with */
    const char *file;
    struct belay_slice target;
    struct call_state_owner owner;
    struct belay_instant deadline_at;
    int fd, slot_fd; /* slots are locked by themselves */
    bool alone;      /* from here on */
    int slot, copy;  /* where the state goes next */
    uint64_t sequence;
};

/* Opens the file, or makes it (mode 0600). `file` and `target` must outlive it. False, and told,
 * when it cannot be used. */
bool call_state_open(struct call_state *state, const char *file, struct belay_slice target,
                     struct belay_instant deadline_at, const struct call_state_owner *owner)
    __attribute__((warn_unused_result));
void call_state_close(struct call_state *state);

#endif
