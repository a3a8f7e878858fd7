/* contract.h: what a stream of events lacks against the contract (semantics 2): `inspect --check`.
 *
 * For people who write such events from other languages. The fields are those of the event
 * catalogue. Memory is bounded whatever the stream; what does not fit makes the counts of one rule
 * a lower bound. Thread rule: one thread.
 */
#ifndef INSPECT_CONTRACT_H
#define INSPECT_CONTRACT_H

#include "inspect/reader.h"

#include <stdio.h>

enum inspect_lack_rule {
    INSPECT_LACK_MISSING, /* these four speak of a field */
    INSPECT_LACK_TYPE,
    INSPECT_LACK_WORD,
    INSPECT_LACK_REPEATED,
    INSPECT_LACK_BOTH,       /* status and errorClass at once */
    INSPECT_LACK_NEITHER,    /* both are null */
    INSPECT_LACK_REQUEST_ID, /* not <operationId>/attempt-<n> */
    INSPECT_LACK_OPERATION,  /* operations that ended without their record */
    INSPECT_LACK_MERGED,
    INSPECT_LACK_VERSION,
    INSPECT_LACK_EVENT,
    INSPECT_LACK_FULL_URL,
    INSPECT_LACK_SECRET,
    INSPECT_LACK_JUNK,
    INSPECT_LACK_NOTHING, /* there is no record at all */
    INSPECT_LACK_RULE_COUNT
};

struct inspect_lack {
    enum inspect_lack_rule rule;
    const char *record, *field; /* "attempt", ... and the name; NULL where it speaks of neither */
    bool required;              /* else it is advised: the stream is still ok */
    uint64_t count, of;         /* in so many of so many records; of 0: not counted in records */
    uint64_t line;              /* the first; 0: none */
};

#define INSPECT_LACKS_MAX 256

struct inspect_contract_result {
    bool ok; /* there are records, and nothing that is required is lacking */
    uint64_t attempts, operations, lost, others;
    size_t count;
    struct inspect_lack lacks[INSPECT_LACKS_MAX];
};

struct inspect_contract;

struct inspect_contract *inspect_contract_create(void); /* NULL: no memory */
void inspect_contract_destroy(struct inspect_contract *contract);
void inspect_contract_add(struct inspect_contract *contract, const struct inspect_record *record);
/* Sums up; lives as long as the contract. `reading` may be NULL. */
const struct inspect_contract_result *inspect_contract_result(
    struct inspect_contract *contract, const struct inspect_reading *reading);

/* "missing", "wrong_type", ...; what --check --json says. */
const char *inspect_lack_name(enum inspect_lack_rule rule);
void inspect_contract_write_text(const struct inspect_contract_result *result, FILE *out);
void inspect_contract_write_json(const struct inspect_contract_result *result, FILE *out);

#endif
