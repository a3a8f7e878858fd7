/* export.h: BELAY_API marks every function that libbelay exports; the shared library shows no
 * other.
 *
 * Define BELAY_STATIC to compile the sources into a program or a library of your own: then nothing
 * of belay is exported from it. The amalgamated belay.h does so.
 */
#ifndef BELAY_EXPORT_H
#define BELAY_EXPORT_H

#if defined(__GNUC__) && !defined(BELAY_STATIC)
#define BELAY_API __attribute__((visibility("default")))
#else
#define BELAY_API
#endif

/* Its result says whether it succeeded, or owns something: the compiler warns when it is dropped.
 */
#if defined(__GNUC__)
#define BELAY_MUST_USE __attribute__((warn_unused_result))
#else
#define BELAY_MUST_USE
#endif

#endif
