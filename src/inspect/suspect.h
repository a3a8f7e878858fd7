/* suspect.h: does a text hold a credential, or a URL that says too much? The rules, and nothing of
 * the text, may be shown.
 *
 * Each rule is one row with a name; in doubt a rule stays quiet, since an alarm that cries often is
 * switched off. UUIDs, hex ids and digests are no secrets. Thread rule: pure functions.
 */
#ifndef INSPECT_SUSPECT_H
#define INSPECT_SUSPECT_H

#include <belay/slice.h>

enum suspect_finding {
    SUSPECT_URL = 1,   /* scheme://host/... */
    SUSPECT_QUERY = 2, /* ?name=... */
    SUSPECT_USER = 4,  /* name:...@host */
    SUSPECT_SECRET = 8,
};

enum suspect_text {
    SUSPECT_ID,   /* made at random: looking random says nothing */
    SUSPECT_WORD, /* a name, a path */
    SUSPECT_PROSE /* anything that a program may log */
};

/* A set of suspect_finding. */
unsigned suspect_find(struct belay_slice text, enum suspect_text kind);
/* Is this a field whose whole value is a credential ("password", "set-cookie"), and has one? */
bool suspect_value(struct belay_slice name, struct belay_slice value);
/* The name of the rule that calls `text` a secret, for tests and explanations; NULL: none does. */
const char *suspect_rule(struct belay_slice text, enum suspect_text kind);

#endif
