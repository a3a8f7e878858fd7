/* belay.h: all of libbelay: what decides about a call over a network, without I/O and without a
 * clock.
 *
 * Begin with operation.h: one logical operation, from its first byte to its answer. A policy
 * (policy.h) says how, a target (target.h) is what all calls to one recipient share, an outcome
 * (outcome.h) is what an attempt came to, and event.h tells it as JSON. The other headers are the
 * parts that an operation is composed of, each usable alone. curl.h, for programs that use libcurl,
 * is of a library of its own and not included here.
 *
 * Units: nanoseconds in distinct types (time.h); names that end in _ms or _bytes say theirs.
 * Ownership: no function keeps a pointer that it is not said to keep; only belay_target_create
 * allocates. Errors are values; a call that breaks a function's contract (admit after finish) ends
 * the program. Thread rule: each header states its own; nothing is global.
 */
#ifndef BELAY_BELAY_H
#define BELAY_BELAY_H

#include <belay/backoff.h>
#include <belay/breaker.h>
#include <belay/budget.h>
#include <belay/bulkhead.h>
#include <belay/classify.h>
#include <belay/deadline.h>
#include <belay/event.h>
#include <belay/export.h>
#include <belay/hold.h>
#include <belay/method.h>
#include <belay/operation.h>
#include <belay/outcome.h>
#include <belay/policy.h>
#include <belay/quota.h>
#include <belay/retry.h>
#include <belay/retry_after.h>
#include <belay/slice.h>
#include <belay/target.h>
#include <belay/target_state.h>
#include <belay/time.h>
#include <belay/version.h>

#endif
