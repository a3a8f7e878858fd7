/* lock.h: a mutex for short critical sections; wraps pthread so that callers name one concept. */
#ifndef BASE_LOCK_H
#define BASE_LOCK_H

#include <pthread.h>

struct lock {
    pthread_mutex_t mutex;
};

static inline void lock_init(struct lock *lock)
{
    (void)pthread_mutex_init(&lock->mutex, NULL);
}

static inline void lock_deinit(struct lock *lock)
{
    (void)pthread_mutex_destroy(&lock->mutex);
}

static inline void lock_take(struct lock *lock)
{
    (void)pthread_mutex_lock(&lock->mutex);
}

static inline void lock_give(struct lock *lock)
{
    (void)pthread_mutex_unlock(&lock->mutex);
}

#endif
