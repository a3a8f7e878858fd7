/* catalogue.h: every field of every record: its name, type, order, and when it is there. Drives the
 * encoder. */
#ifndef EVENT_CATALOGUE_H
#define EVENT_CATALOGUE_H

#include <stddef.h>
#include <stdint.h>

enum event_type {
    EVENT_VERSION,    /* the contract's version */
    EVENT_KIND,       /* the record's own word */
    EVENT_TIME,       /* belay_wall */
    EVENT_TEXT,       /* belay_slice, at most bytes_max when encoded */
    EVENT_REQUEST_ID, /* belay_slice of the operation's id, and the attempt's number */
    EVENT_COUNT,      /* uint32_t */
    EVENT_INTEGER,    /* int64_t */
    EVENT_STATUS,     /* int; 0: null */
    EVENT_WORD,       /* an enum with its name function; a value that has no word: null */
    EVENT_SPAN,       /* belay_span in whole milliseconds, floored */
    EVENT_TRUE,       /* bool */
    EVENT_RESULT,     /* belay_ending: {"status":200} or {"status":"stop"} */
};

enum event_presence {
    EVENT_ALWAYS,
    EVENT_IF_SET,   /* not zero, not empty */
    EVENT_IF_RETRY, /* the decision was retry */
    EVENT_IF_WAIT,  /* it was, and the wait has a source */
    EVENT_IF_HINT,  /* the server gave a hint */
};

#define EVENT_KEY_BYTES 16
#define EVENT_WORD_BYTES_MAX 24 /* no vocabulary has a longer word */

struct event_field {
    char key[EVENT_KEY_BYTES]; /* `,"name":`, filled up with zeros, so that it is copied whole */
    uint8_t key_bytes, type, presence;
    uint16_t offset, bytes_max;
    const char *word;              /* EVENT_KIND */
    const char *(*name)(unsigned); /* EVENT_WORD */
};

struct event_record {
    const struct event_field *fields;
    size_t count;
};

extern const struct event_record event_attempt_record, event_operation_record, event_lost_record;

#endif
