/* signals.c: a thread waits for signals and posts them to a loop (signals.h). */
#include "app/signals.h"

#include "app/app.h"
#include "app/log.h"
#include "base/check.h"

#include <unistd.h>

void signals_block(struct signals *signals)
{
    (void)sigemptyset(&signals->set);
    (void)sigaddset(&signals->set, SIGTERM);
    (void)sigaddset(&signals->set, SIGINT);
    (void)sigaddset(&signals->set, SIGHUP);
    (void)pthread_sigmask(SIG_BLOCK, &signals->set, NULL);
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGXFSZ, SIG_IGN);
}

/* In the loop. */
static void tell(struct rt_post *post)
{
    struct signals *signals = CONTAINER_OF(post, struct signals, post);
    atomic_store(&signals->posted, false);
    if (atomic_exchange(&signals->reload_seen, false)) signals->reload(signals->owner);
    if (!atomic_load(&signals->stop_seen) || signals->stop_told) return;
    signals->stop_told = true;
    signals->stop(signals->owner);
}

static void *wait_for_signals(void *argument)
{
    struct signals *signals = argument;
    for (;;) {
        int number;
        if (sigwait(&signals->set, &number) != 0) continue;
        if (atomic_load(&signals->ending)) return NULL;
        if (number == SIGHUP) {
            atomic_store(&signals->reload_seen, true);
        } else if (atomic_exchange(&signals->stop_seen, true)) {
            log_line("stopped at once by a second signal");
            _exit(APP_NEGATIVE);
        }
        if (!atomic_exchange(&signals->posted, true)) rt_post(signals->rt, &signals->post);
    }
}

bool signals_start(struct signals *signals, struct rt *rt, void (*stop)(void *),
                   void (*reload)(void *), void *owner)
{
    signals->rt = rt;
    signals->stop = stop;
    signals->reload = reload;
    signals->owner = owner;
    signals->post.run = tell;
    return pthread_create(&signals->thread, NULL, wait_for_signals, signals) == 0;
}

void signals_end(struct signals *signals)
{
    atomic_store(&signals->ending, true);
    (void)pthread_kill(signals->thread, SIGHUP);
    (void)pthread_join(signals->thread, NULL);
}
