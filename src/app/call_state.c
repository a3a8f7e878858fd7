/* call_state.c: a file that several runs share, locked for each step (call_state.h).
 *
 * The file is a header and one slot a target; a slot is two copies of a record:
 *   0 checksum of all that follows, 8 sequence, 16 monotonic and 24 wall clock of the export,
 *   32 the boot that the monotonic clock is of, 48 length of the name and the name, 320 the state.
 * Numbers have their lowest byte first. Everything 0: the copy was never written.
 */
#include "app/call_state.h"

#include "base/check.h"
#include "base/hash.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    SEQUENCE_AT = 8,
    INSTANT_AT = 16,
    WALL_AT = 24,
    BOOT_AT = 32,
    LENGTH_AT = 48,
    NAME_AT = 50,
    STATE_AT = 320
};
enum { BOOT_BYTES = 16, COPIES = 2 };

#define LOCK_WAIT_MS_MAX 2000 /* others hold it for microseconds */
#define FILE_BYTES                                                                                 \
    (CALL_STATE_HEADER_BYTES + (off_t)CALL_STATE_TARGETS_MAX * COPIES * CALL_STATE_RECORD_BYTES)

#define SLOTS_AT ((off_t)1 << 40) /* no byte of the file */

static const char LOCK_IS_HELD[] = "another run holds its lock";
static const char MAGIC[] = "belay state, version ";
static const char HEADER[CALL_STATE_HEADER_BYTES] = "belay state, version 1\n";

struct record {
    unsigned char bytes[CALL_STATE_RECORD_BYTES];
};

_Static_assert(STATE_AT + BELAY_TARGET_STATE_BYTES <= CALL_STATE_RECORD_BYTES, "a record fits");
_Static_assert(NAME_AT + CALL_STATE_NAME_BYTES_MAX <= STATE_AT, "a name fits");

static bool tell(struct call_state *state, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Returns false, for its callers to return. */
static bool tell(struct call_state *state, const char *format, ...)
{
    char text[1024];
    int used = snprintf(text, sizeof text, "%.500s: ", state->file);
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text + used, sizeof text - (size_t)used, format, arguments);
    va_end(arguments);
    state->owner.notice(state->owner.user, text);
    return false;
}

/* Nothing more is shared: what this run decided alone must not meet what others have written since.
 */
static bool go_alone(struct call_state *state, const char *why)
{
    state->alone = true;
    return tell(state, "%s; this run goes on without it", why);
}

/* ---- records ---- */

static uint64_t get(const unsigned char *at, int bytes)
{
    uint64_t value = 0;
    for (int i = 0; i < bytes; i++) value |= (uint64_t)at[i] << 8 * i;
    return value;
}

static void put(unsigned char *at, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++) at[i] = (unsigned char)(value >> 8 * i);
}

static uint64_t checksum(const struct record *record)
{
    const char *bytes = (const char *)record->bytes;
    return hash_bytes(belay_slice(bytes + SEQUENCE_AT, sizeof record->bytes - SEQUENCE_AT));
}

static uint64_t sequence(const struct record *record)
{
    return get(record->bytes + SEQUENCE_AT, 8);
}

static bool is_empty(const struct record *record)
{
    for (size_t i = 0; i < sizeof record->bytes; i++) {
        if (record->bytes[i]) return false;
    }
    return true;
}

static bool is_whole(const struct record *record)
{
    uint64_t length = get(record->bytes + LENGTH_AT, 2);
    return get(record->bytes, 8) == checksum(record) && sequence(record) > 0 && length > 0 &&
           length <= CALL_STATE_NAME_BYTES_MAX;
}

static struct belay_slice name_of(const struct record *record)
{
    return belay_slice((const char *)record->bytes + NAME_AT,
                       (size_t)get(record->bytes + LENGTH_AT, 2));
}

static off_t place(int slot, int copy)
{
    return CALL_STATE_HEADER_BYTES + (off_t)(slot * COPIES + copy) * CALL_STATE_RECORD_BYTES;
}

static bool write_record(const struct call_state *state, const struct record *record, int slot,
                         int copy)
{
    ssize_t wrote = pwrite(state->fd, record->bytes, sizeof record->bytes, place(slot, copy));
    return wrote == (ssize_t)sizeof record->bytes;
}

/* ---- clocks ---- */

static struct belay_instant instant_now(void)
{
    struct timespec time;
    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return belay_instant_of(time.tv_sec, time.tv_nsec);
}

static struct belay_wall wall_now(void)
{
    struct timespec time;
    (void)clock_gettime(CLOCK_REALTIME, &time);
    return belay_wall_of(time.tv_sec, time.tv_nsec);
}

/* All zero when the system does not say: then no instant is taken to be of this boot. */
static void read_boot(unsigned char boot[BOOT_BYTES])
{
    char text[64] = "";
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t length = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
    if (fd >= 0) (void)close(fd);
    memset(boot, 0, BOOT_BYTES);
    for (ssize_t i = 0, nibble = 0; i < length && nibble < 2 * BOOT_BYTES; i++) {
        const char *digit = strchr("0123456789abcdef", text[i]);
        if (!text[i] || !digit) continue;
        boot[nibble / 2] = (unsigned char)(boot[nibble / 2] << 4 | (digit - "0123456789abcdef"));
        nibble++;
    }
}

/* The instant, on this boot's monotonic clock, at which the record was written. */
static struct belay_instant exported_at(const struct record *record)
{
    static const unsigned char unknown[BOOT_BYTES];
    unsigned char boot[BOOT_BYTES];
    int64_t now = instant_now().ns, written = (int64_t)get(record->bytes + INSTANT_AT, 8);
    read_boot(boot);
    bool known = memcmp(boot, unknown, BOOT_BYTES) != 0;
    if (!known || memcmp(boot, record->bytes + BOOT_AT, BOOT_BYTES) != 0) {
        int64_t passed = belay_ns_sub(wall_now().ns, (int64_t)get(record->bytes + WALL_AT, 8));
        written = belay_ns_sub(now, passed > 0 ? passed : 0);
    }
    return (struct belay_instant){written < now ? written : now};
}

/* ---- the file ---- */

/* Locks of an open file, not of a process: closed with it, also when its process is killed. */
static bool set_lock(int fd, short type, off_t from, off_t bytes)
{
    struct flock range = {.l_type = type, .l_whence = SEEK_SET, .l_start = from, .l_len = bytes};
    return fcntl(fd, F_OFD_SETLK, &range) == 0;
}

/* Polled, so that a run that was stopped with the lock in its hands stops no other for long. */
static bool lock(struct call_state *state)
{
    const struct timespec pause = {.tv_nsec = BELAY_NS_PER_MS};
    struct belay_instant now = instant_now();
    struct belay_span half = {belay_instant_since(state->deadline_at, now).ns / 2};
    struct belay_instant until =
        belay_instant_add(now, belay_span_min(half, belay_span_ms(LOCK_WAIT_MS_MAX)));
    for (;;) {
        if (set_lock(state->fd, F_WRLCK, 0, FILE_BYTES)) return true;
        if (errno != EAGAIN && errno != EACCES && errno != EINTR) return false;
        if (state->owner.stopped(state->owner.user) || instant_now().ns >= until.ns) return false;
        (void)nanosleep(&pause, NULL);
    }
}

static void unlock(struct call_state *state)
{
    (void)set_lock(state->fd, F_UNLCK, 0, FILE_BYTES);
}

/* A call in flight is a locked byte far behind the end, one of those of its target. */
static off_t slot_byte(const struct call_state *state, uint32_t number)
{
    return SLOTS_AT + (off_t)state->slot * CALL_STATE_SLOTS_MAX + number;
}

static bool take_slot(struct belay_target_share *share, uint32_t max)
{
    struct call_state *state = CONTAINER_OF(share, struct call_state, share);
    for (uint32_t i = 0; i < max && i < CALL_STATE_SLOTS_MAX; i++) {
        if (set_lock(state->slot_fd, F_WRLCK, slot_byte(state, i), 1)) return true;
    }
    return false;
}

static void give_slot(struct belay_target_share *share)
{
    struct call_state *state = CONTAINER_OF(share, struct call_state, share);
    (void)set_lock(state->slot_fd, F_UNLCK, SLOTS_AT, 0);
}

struct search {
    int found, empty, damaged, oldest; /* slots, or -1 */
    int64_t oldest_ns;
    const char *rule;     /* that the damaged one breaks */
    struct record record; /* the found one's newest copy */
    int copy;
};

/* The newest good copy in a slot; -1: none. */
static int newest(const struct record copies[COPIES])
{
    bool whole[COPIES] = {is_whole(&copies[0]), is_whole(&copies[1])};
    if (!whole[0] && !whole[1]) return -1;
    if (!whole[0] || !whole[1]) return whole[1];
    return sequence(&copies[1]) > sequence(&copies[0]);
}

static void look_at(struct search *search, int slot, const struct record copies[COPIES],
                    struct call_state *state)
{
    int copy = newest(copies);
    if (copy < 0) {
        bool empty = is_empty(&copies[0]) && is_empty(&copies[1]);
        int *free_slot = empty ? &search->empty : &search->damaged;
        if (*free_slot < 0) *free_slot = slot;
        if (!empty) search->rule = "its checksum is wrong";
        return;
    }
    const struct record *record = &copies[copy];
    int64_t wall_ns = (int64_t)get(record->bytes + WALL_AT, 8);
    if (search->oldest < 0 || wall_ns < search->oldest_ns) {
        search->oldest = slot;
        search->oldest_ns = wall_ns;
    }
    if (!belay_slice_equal(name_of(record), state->target)) return;
    const char *rule = belay_target_state_decode(record->bytes + STATE_AT, &state->share.state);
    if (rule) {
        search->damaged = slot;
        search->rule = rule;
        return;
    }
    search->found = slot;
    search->copy = copy;
    search->record = *record;
}

static bool search_all(struct call_state *state, struct search *search)
{
    *search = (struct search){.found = -1, .empty = -1, .damaged = -1, .oldest = -1};
    for (int slot = 0; slot < CALL_STATE_TARGETS_MAX && search->found < 0; slot++) {
        struct record copies[COPIES] = {0}; /* what lies behind the end was never written */
        if (pread(state->fd, copies, sizeof copies, place(slot, 0)) < 0) return false;
        look_at(search, slot, copies, state);
    }
    return true;
}

/* Both copies of the slot are forgotten, so that the damage is told once. */
static bool make_room(struct call_state *state, const struct search *search)
{
    const struct record empty = {0};
    int slot = search->damaged >= 0 ? search->damaged : search->empty;
    if (slot < 0) slot = search->oldest;
    if (search->damaged >= 0)
        (void)tell(state, "entry %d is damaged: %s; what it knew is lost", slot, search->rule);
    state->slot = slot;
    state->copy = 0;
    state->sequence = 1;
    return write_record(state, &empty, slot, 0) && write_record(state, &empty, slot, 1);
}

static bool load(struct belay_target_share *share, struct belay_instant now,
                 struct belay_instant *at)
{
    struct call_state *state = CONTAINER_OF(share, struct call_state, share);
    struct search search;
    if (state->alone) return false;
    if (!lock(state)) return go_alone(state, LOCK_IS_HELD);
    if (!search_all(state, &search)) {
        unlock(state);
        return go_alone(state, "it cannot be read");
    }
    if (search.found >= 0) {
        state->slot = search.found;
        state->copy = 1 - search.copy;
        state->sequence = sequence(&search.record) + 1;
        *at = exported_at(&search.record);
        return true;
    }
    belay_target_state_init(&share->state, (uint64_t)wall_now().ns);
    *at = now;
    if (make_room(state, &search)) return true;
    unlock(state);
    return go_alone(state, "it cannot be written");
}

static void store(struct belay_target_share *share, struct belay_instant at)
{
    struct call_state *state = CONTAINER_OF(share, struct call_state, share);
    struct record record = {0};
    put(record.bytes + SEQUENCE_AT, state->sequence, 8);
    put(record.bytes + INSTANT_AT, (uint64_t)at.ns, 8);
    put(record.bytes + WALL_AT, (uint64_t)wall_now().ns, 8);
    read_boot(record.bytes + BOOT_AT);
    put(record.bytes + LENGTH_AT, state->target.length, 2);
    memcpy(record.bytes + NAME_AT, state->target.data, state->target.length);
    belay_target_state_encode(&share->state, record.bytes + STATE_AT);
    put(record.bytes, checksum(&record), 8);
    bool wrote = write_record(state, &record, state->slot, state->copy);
    unlock(state);
    if (!wrote) (void)go_alone(state, "it cannot be written");
}

/* ---- open ---- */

/* Under the lock. A header that was cut while the file was made is made again. */
static bool check_header(struct call_state *state)
{
    char header[CALL_STATE_HEADER_BYTES] = "";
    const size_t magic = sizeof MAGIC - 1;
    ssize_t length = pread(state->fd, header, sizeof header, 0);
    if (length < 0) return tell(state, "cannot be read: %s", strerror(errno));
    bool ours = memcmp(header, HEADER, (size_t)length) == 0;
    if (length == CALL_STATE_HEADER_BYTES && ours) return true;
    if ((size_t)length >= magic && memcmp(header, MAGIC, magic) == 0 && !ours)
        return tell(state, "is of another version of belay, and is left as it is");
    if (!ours) return tell(state, "is no state file of belay, and is left as it is");
    if (pwrite(state->fd, HEADER, sizeof HEADER, 0) != (ssize_t)sizeof HEADER)
        return tell(state, "cannot be made: %s", strerror(errno));
    int fault = posix_fallocate(state->fd, 0, FILE_BYTES); /* no full disk stops a later step */
    return fault == 0 || tell(state, "cannot be made: %s", strerror(fault));
}

static bool check_file(struct call_state *state)
{
    struct stat about;
    if (fstat(state->fd, &about) != 0) return tell(state, "cannot be read: %s", strerror(errno));
    if (!S_ISREG(about.st_mode)) return tell(state, "is no regular file");
    if (!lock(state)) {
        (void)go_alone(state, LOCK_IS_HELD);
        return true;
    }
    bool good = check_header(state);
    unlock(state);
    return good;
}

bool call_state_open(struct call_state *state, const char *file, struct belay_slice target,
                     struct belay_instant deadline_at, const struct call_state_owner *owner)
{
    CHECK(target.length > 0 && target.length <= CALL_STATE_NAME_BYTES_MAX);
    *state = (struct call_state){
        .share = {.load = load, .store = store, .take_slot = take_slot, .give_slot = give_slot},
        .file = file,
        .target = target,
        .owner = *owner,
        .deadline_at = deadline_at};
    const int flags = O_RDWR | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
    state->fd = open(file, flags, 0600);
    state->slot_fd = open(file, flags, 0600);
    bool opened = state->fd >= 0 && state->slot_fd >= 0;
    if (!opened) (void)tell(state, "cannot be opened: %s", strerror(errno));
    if (opened && check_file(state)) return true;
    call_state_close(state);
    return false;
}

void call_state_close(struct call_state *state)
{
    if (state->fd >= 0) (void)close(state->fd);
    if (state->slot_fd >= 0) (void)close(state->slot_fd);
}
