/* operation.h: what inspect keeps of one operation: an entry for each attempt and each ending,
 * small, because a log may have millions of operations open at once.
 *
 * Spans are whole milliseconds, saturated below ENTRY_NONE. Texts are kept as keyed hashes; only
 * the operation's id is kept whole, cut to BELAY_OPERATION_ID_MAX bytes. Times that lie further
 * than 24 days from the operation's first record are moved to that bound.
 */
#ifndef INSPECT_OPERATION_H
#define INSPECT_OPERATION_H

#include "base/list.h"
#include "inspect/record.h"

#include <belay/event.h>

#define OPERATION_ENTRIES_MAX 64 /* more of one operation are counted, but not judged */

#define ENTRY_NONE UINT32_MAX   /* a span that was not given */
#define ENTRY_NO_TIME INT32_MIN /* start */
#define ENTRY_NO_WORD UINT8_MAX /* decision, reason */
#define ENTRY_NO_TARGET UINT16_MAX
#define NO_TIME_MS INT64_MIN

enum entry_flag {
    ENTRY_ENDING = 1,   /* an operation record; else an attempt */
    ENTRY_UNSAFE = 2,   /* the method is not safe */
    ENTRY_REPEATED = 4, /* the same line came more than once */
    ENTRY_FALLBACK = 8, /* ending */
    ENTRY_UNKNOWN = 16, /* ending: the effect is unknown */
    ENTRY_FINAL = 32,   /* ending: the result is a terminal reason or a decision */
    ENTRY_UNSENT = 64,  /* attempt: the recipient cannot have seen it */
};

struct entry {
    int32_t start_ms; /* after the operation's base_ms */
    uint32_t elapsed_ms, remaining_ms, wait_ms, retry_after_ms;
    uint32_t print;         /* of the whole record, without its place in the file */
    uint32_t request, span; /* hashes of the ids; 0: none */
    uint32_t line;          /* 0: beyond 2^32 */
    uint16_t number;        /* the attempt's, 0: none given; of an ending: attempts made */
    uint16_t status;        /* of an ending: its result, 0: none */
    uint16_t target;
    uint8_t error, decision, reason; /* of an ending: the decision that is its result */
    uint8_t terminal;                /* ending */
    uint8_t flags;
};

enum operation_flag {
    OPERATION_ENDED = 1,   /* in the table's list of what has ended */
    OPERATION_SIBLING = 2, /* another id of the same trace called the same endpoint */
    OPERATION_CROWD = 4,   /* there are several siblings */
    OPERATION_CHECKED = 8, /* a state check was made */
    OPERATION_LENDS = 32,  /* a requestId under another id names it */
    OPERATION_HIDDEN = 16, /* its id looks like a secret, and must not be shown */
};

struct operation {
    struct list place;     /* in the table's list of open or of ended operations */
    uint64_t hash;         /* of the id */
    uint64_t trace;        /* of trace, method, target and endpoint together; 0: no trace */
    uint64_t lender;       /* hash of the id that a requestId names instead of ours; 0: none does */
    int64_t base_ms;       /* wall clock; NO_TIME_MS: none yet */
    int64_t sibling_at_ms; /* the first start of a sibling after ours; NO_TIME_MS: not known */
    struct entry *entries;
    uint32_t uncounted; /* attempts past OPERATION_ENTRIES_MAX */
    uint8_t count, capacity;
    uint8_t flags;
    uint8_t id_length;
    char id[];
};

/* NULL: no memory. */
struct operation *operation_create(uint64_t hash, struct belay_slice id);
void operation_destroy(struct operation *operation);

enum operation_added { OPERATION_ADDED, OPERATION_REPEAT, OPERATION_FULL, OPERATION_NO_MEMORY };
/* Copies the entry; `start_ms` is its wall clock or NO_TIME_MS. REPEAT: that very record is there.
 */
enum operation_added operation_add(struct operation *operation, const struct entry *entry,
                                   int64_t start_ms);
/* Every record that this operation will ever have is here: attempts 1 to n without a hole, and an
 * ending that says n, or a last decision that ends it. */
bool operation_is_complete(const struct operation *operation);
bool operation_has_ending(const struct operation *operation);

static inline int64_t entry_start(const struct operation *operation, const struct entry *entry)
{
    return entry->start_ms == ENTRY_NO_TIME ? NO_TIME_MS : operation->base_ms + entry->start_ms;
}

static inline int64_t entry_span(uint32_t span_ms)
{
    return span_ms == ENTRY_NONE ? 0 : (int64_t)span_ms;
}

/* When its line was written: its start and what it took. */
static inline int64_t entry_end(const struct operation *operation, const struct entry *entry)
{
    int64_t start_ms = entry_start(operation, entry);
    return start_ms == NO_TIME_MS ? NO_TIME_MS : start_ms + entry_span(entry->elapsed_ms);
}

/* Its reason says that an engine judged it fit to be repeated; foreign streams give none. */
static inline bool entry_is_replay_safe(const struct entry *entry)
{
    return entry->reason == BELAY_REASON_BACKOFF || entry->reason == BELAY_REASON_RETRY_AFTER ||
           entry->reason == BELAY_REASON_STALE_CONNECTION;
}

static inline bool entry_is_ending(const struct entry *entry)
{
    return entry->flags & ENTRY_ENDING;
}

#endif
