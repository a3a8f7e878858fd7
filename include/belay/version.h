/* version.h: which release of the library a program was compiled against, and which it runs with.
 *
 * Two releases with one soname (libbelay.so.0) run each other's programs. Thread rule: constants.
 */
#ifndef BELAY_VERSION_H
#define BELAY_VERSION_H

#include <belay/export.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What was compiled against. */
#define BELAY_VERSION_MAJOR 0
#define BELAY_VERSION_MINOR 1
#define BELAY_VERSION_PATCH 0
#define BELAY_VERSION "0.1.0"

/* What runs: the BELAY_VERSION of the library itself. A constant; never NULL. */
BELAY_API const char *belay_version(void);

#ifdef __cplusplus
}
#endif
#endif
