/* phrase.h: does a sentence say that a call failed, and nothing else that a program could read? */
#ifndef INSPECT_PHRASE_H
#define INSPECT_PHRASE_H

#include <belay/slice.h>

/* "request failed", "Call to orders timed out": a call, and within a few words its failure.
 * Thread rule: pure. */
bool phrase_says_failed(struct belay_slice text);

#endif
