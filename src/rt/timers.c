/* timers.c: a heap of the timers that callers own, ordered by (instant, sequence) (timers.h). */
#include "rt/timers.h"

#include "base/check.h"

static struct rt_timer *timer_of(const struct heap_node *node)
{
    return CONTAINER_OF(node, struct rt_timer, node);
}

static bool timer_before(const struct heap_node *a, const struct heap_node *b)
{
    const struct rt_timer *x = timer_of(a), *y = timer_of(b);
    return x->at.ns != y->at.ns ? x->at.ns < y->at.ns : x->sequence < y->sequence;
}

void timers_init(struct timers *timers)
{
    heap_init(&timers->heap, timer_before);
    timers->sequence = 0;
}

void timers_arm(struct timers *timers, struct rt_timer *timer, struct belay_instant at)
{
    timer->at = at;
    timer->sequence = timers->sequence++;
    if (rt_timer_armed(timer))
        heap_moved(&timers->heap, &timer->node);
    else
        heap_insert(&timers->heap, &timer->node);
}

void timers_disarm(struct timers *timers, struct rt_timer *timer)
{
    if (rt_timer_armed(timer)) heap_remove(&timers->heap, &timer->node);
}

struct belay_instant timers_next_at(const struct timers *timers)
{
    const struct heap_node *top = timers->heap.top;
    return top ? timer_of(top)->at : belay_instant_never();
}

void timers_fire(struct timers *timers, struct belay_instant now)
{
    uint64_t barrier = timers->sequence;
    for (;;) {
        struct heap_node *top = timers->heap.top;
        if (!top) return;
        struct rt_timer *timer = timer_of(top);
        if (belay_instant_before(now, timer->at) || timer->sequence >= barrier) return;
        heap_remove(&timers->heap, top);
        timer->fire(timer);
    }
}

void rt_timer_init(struct rt_timer *timer, void (*fire)(struct rt_timer *))
{
    *timer = (struct rt_timer){.fire = fire};
}

bool rt_timer_armed(const struct rt_timer *timer)
{
    return heap_holds(&timer->node);
}
