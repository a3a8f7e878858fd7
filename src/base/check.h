/* check.h: assertions for the programmer, on in every build; never for input. */
#ifndef BASE_CHECK_H
#define BASE_CHECK_H

#define CHECK(condition) ((condition) ? (void)0 : __builtin_trap())

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

#define CONTAINER_OF(pointer, type, member)                                                        \
    ((type *)(void *)((char *)(pointer)-offsetof(type, member)))

#endif
