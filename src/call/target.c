/* target.c: the policies that all calls to one recipient share, under one short lock (target.h). */
#include "call/gates.h"
#include "call/state.h"

#include <belay/deadline.h>

#include "base/check.h"
#include "base/lock.h"
#include "base/rng.h"

#include <sched.h>
#include <stdlib.h>

enum { HOLDS_MAX = BELAY_TARGET_HOLDS_MAX };

/* Where a waiter stands. */
enum place { NOWHERE, IN_QUOTA_QUEUE, IN_SLOT_QUEUE, HAS_PROMISE };

/* How long after its attempt's end a probe is taken to have vanished. */
static const struct belay_span lease_grace = {BELAY_NS_PER_S};

struct keyed_hold {
    uint64_t key; /* 0: the whole target */
    struct belay_hold hold;
};

struct belay_target {
    struct lock lock;
    struct belay_target_share *share; /* NULL: this process's alone */
    bool loaded;                      /* from it, in this step: */
    struct belay_instant loaded_at;   /* exported then */
    struct belay_instant latest;      /* no `now` here is earlier */
    struct belay_budget budget;
    uint32_t own_tokens;                 /* reserved by this process */
    struct belay_instant reserved_until; /* what others have reserved has vanished then */
    struct belay_breaker breaker;
    struct belay_quota quota;
    struct belay_bulkhead bulkhead;
    struct belay_hold_config hold_config;
    struct keyed_hold holds[HOLDS_MAX];
    struct belay_waiter slot_queue, quota_queue; /* heads of rings, in the order of coming */
    uint32_t quota_waiting;
    struct rng rng;
    int64_t in_flight_ns;
    struct belay_target_stats stats;
};

size_t belay_target_size(void)
{
    return sizeof(struct belay_target);
}

static void ring_init(struct belay_waiter *head)
{
    head->next = head->prev = head;
}

struct belay_target *belay_target_init(void *memory, const struct belay_policy *policy,
                                       uint64_t seed)
{
    struct belay_target *target = memory;
    *target = (struct belay_target){
        .latest = {INT64_MIN}, .reserved_until = {INT64_MIN}, .hold_config = policy->hold};
    lock_init(&target->lock);
    belay_budget_init(&target->budget, &policy->budget);
    belay_breaker_init(&target->breaker, &policy->breaker);
    belay_quota_init(&target->quota, &policy->quota);
    belay_bulkhead_init(&target->bulkhead, &policy->bulkhead);
    for (int i = 0; i < HOLDS_MAX; i++) belay_hold_init(&target->holds[i].hold);
    ring_init(&target->slot_queue);
    ring_init(&target->quota_queue);
    rng_seed(&target->rng, seed);
    return target;
}

void belay_target_deinit(struct belay_target *target)
{
    CHECK(target->bulkhead.in_flight == 0 && target->bulkhead.waiting == 0 &&
          target->quota_waiting == 0);
    lock_deinit(&target->lock);
}

struct belay_target *belay_target_create(const struct belay_policy *policy, uint64_t seed)
{
    void *memory = malloc(sizeof(struct belay_target));
    return memory ? belay_target_init(memory, policy, seed) : NULL;
}

void belay_target_destroy(struct belay_target *target)
{
    if (!target) return;
    belay_target_deinit(target);
    free(target);
}

/* ---- what other processes know too ---- */

/* *out was exported at `before`. */
static void export_all(const struct belay_target *target, struct belay_instant before,
                       struct belay_target_state *out)
{
    struct belay_instant at = target->latest;
    struct belay_span later = belay_instant_since(at, before);
    out->budget = (struct belay_state_budget){target->budget.free, target->budget.reserved,
                                              belay__span_from(at, target->reserved_until)};
    belay__export_breaker(&target->breaker, at, later, &out->breaker);
    belay__export_quota(&target->quota, at, later, &out->quota);
    bool holds = target->hold_config.max.ns > 0;
    for (int i = 0; i < HOLDS_MAX; i++) {
        const struct belay_hold *hold = holds ? &target->holds[i].hold : NULL;
        belay__export_hold(hold, target->holds[i].key, at, later, &out->holds[i]);
    }
}

/* A token that its process never sent nor gave back is lost; our own are here. */
static void import_budget(struct belay_target *target, struct belay_instant at,
                          const struct belay_state_budget *in)
{
    target->reserved_until = belay__instant_from(at, in->reserved_for);
    bool vanished = target->reserved_until.ns < target->latest.ns;
    belay_budget_restore(&target->budget, in->free, vanished ? 0 : in->reserved,
                         target->own_tokens);
}

static void import_all(struct belay_target *target, struct belay_instant at,
                       const struct belay_target_state *in)
{
    target->latest = belay_instant_max(target->latest, at);
    import_budget(target, at, &in->budget);
    belay__import_breaker(&target->breaker, at, &in->breaker);
    belay__import_quota(&target->quota, at, &in->quota);
    for (int i = 0; target->hold_config.max.ns > 0 && i < HOLDS_MAX; i++) {
        const struct belay_state_hold *hold = &in->holds[i];
        target->holds[i] =
            (struct keyed_hold){hold->key,
                                {belay__instant_from(at, hold->until_at),
                                 belay__instant_from(at, hold->release_at), hold->generation}};
    }
}

/* Every step of the target stands between these two; returns its `now`. */
static struct belay_instant begin_step(struct belay_target *target, struct belay_instant now)
{
    struct belay_target_share *share = target->share;
    lock_take(&target->lock);
    target->latest = belay_instant_max(target->latest, now);
    target->loaded = share && share->load(share, target->latest, &target->loaded_at);
    if (target->loaded) import_all(target, target->loaded_at, &share->state);
    return target->latest;
}

static void end_step(struct belay_target *target)
{
    if (target->loaded) {
        export_all(target, target->loaded_at, &target->share->state);
        target->share->store(target->share, target->latest);
    }
    lock_give(&target->lock);
}

/* ---- waiters ---- */

/* Its address names the thread. */
static _Thread_local char this_thread;

/* Under the lock: the first in the queue was promised a slot; `waker` keeps its owner from going
 * away meanwhile. */
static struct belay_waiter *promise_to_first(struct belay_target *target)
{
    struct belay_waiter *first = target->slot_queue.next;
    CHECK(first != &target->slot_queue);
    first->prev->next = first->next;
    first->next->prev = first->prev;
    first->place = HAS_PROMISE;
    __atomic_store_n(&first->waker, &this_thread, __ATOMIC_RELAXED);
    return first;
}

/* Without the lock. The last touch of the waiter is the store: its owner may be gone right after.
 */
static void tell(struct belay_waiter *waiter)
{
    if (!waiter) return;
    waiter->wake(waiter);
    __atomic_store_n(&waiter->waker, NULL, __ATOMIC_RELEASE);
}

/* Without the lock: until no other thread is in this waiter's `wake`. */
static void await_wake(const struct belay_waiter *waiter)
{
    for (const void *waker; (waker = __atomic_load_n(&waiter->waker, __ATOMIC_ACQUIRE)) != NULL;) {
        CHECK(waker != &this_thread); /* `wake` called into the library */
        (void)sched_yield();
    }
}

static void enter(struct belay_target *target, struct belay_waiter *waiter, enum place place)
{
    struct belay_waiter *head = place == IN_SLOT_QUEUE ? &target->slot_queue : &target->quota_queue;
    if (place == IN_SLOT_QUEUE) {
        belay_bulkhead_on_wait(&target->bulkhead);
    } else {
        target->quota_waiting++;
    }
    waiter->place = (int)place;
    waiter->prev = head->prev;
    waiter->next = head;
    head->prev->next = waiter;
    head->prev = waiter;
}

/* Returns who must be told, if a promise went back. */
static struct belay_waiter *leave(struct belay_target *target, struct belay_waiter *waiter)
{
    enum place place = (enum place)waiter->place;
    waiter->place = NOWHERE;
    if (place == NOWHERE) return NULL;
    if (place == HAS_PROMISE) {
        return belay_bulkhead_give(&target->bulkhead, true) ? promise_to_first(target) : NULL;
    }
    if (place == IN_SLOT_QUEUE) {
        belay_bulkhead_on_leave(&target->bulkhead);
    } else {
        target->quota_waiting--;
    }
    waiter->prev->next = waiter->next;
    waiter->next->prev = waiter->prev;
    return NULL;
}

static uint32_t ahead_in_quota(const struct belay_target *target, const struct belay_waiter *waiter)
{
    if (waiter->place != IN_QUOTA_QUEUE) return target->quota_waiting;
    uint32_t ahead = 0;
    for (const struct belay_waiter *w = target->quota_queue.next; w != waiter; w = w->next) ahead++;
    return ahead;
}

/* ---- holds ---- */

static struct keyed_hold *find_hold(struct belay_target *target, uint64_t key)
{
    if (key == 0) return &target->holds[0];
    for (int i = 1; i < HOLDS_MAX; i++) {
        if (target->holds[i].key == key) return &target->holds[i];
    }
    return NULL;
}

/* The table is bounded: a new key takes the place of the hold that ends first. */
static struct keyed_hold *make_hold(struct belay_target *target, uint64_t key)
{
    struct keyed_hold *found = find_hold(target, key);
    if (found) return found;
    found = &target->holds[1];
    for (int i = 2; i < HOLDS_MAX; i++) {
        if (target->holds[i].hold.until_at.ns < found->hold.until_at.ns) found = &target->holds[i];
    }
    found->key = key;
    found->hold.until_at =
        (struct belay_instant){INT64_MIN}; /* the generation goes on: old tickets are void */
    return found;
}

/* ---- the gates, in their order; each leaves `out` ADMITTED or says why not ---- */

static void refuse(struct belay_admission *out, enum belay_terminal terminal, uint64_t *counter)
{
    out->kind = BELAY_REFUSED;
    out->terminal = terminal;
    ++*counter;
}

static void refuse_until(struct belay_admission *out, struct belay_instant now,
                         struct belay_instant at, enum belay_terminal terminal, uint64_t *counter)
{
    refuse(out, terminal, counter);
    out->has_hint = at.ns > now.ns;
    out->retry_hint = belay_deadline_remaining(at, now);
}

/* Can a call still be made at `at`? What cannot be waited for ends at once. */
static bool fits(const struct belay_operation *op, struct belay_instant at)
{
    struct belay_span left = belay_instant_since(op->deadline_at, at);
    return belay_deadline_allows(left, belay_span_ns(0), op->policy->reserve_for);
}

static void wait_until(struct belay_admission *out, struct belay_instant at)
{
    out->kind = BELAY_WAIT;
    out->at = at;
}

static void ask_breaker(struct belay_target *target, const struct belay_operation *op,
                        struct belay_instant now, struct belay_admission *out)
{
    struct belay_breaker_answer answer =
        belay_breaker_decide(&target->breaker, now, op->attempts > 0);
    if (answer.kind == BELAY_BREAKER_REFUSE) {
        refuse_until(out, now, answer.at, BELAY_TERMINAL_BREAKER_OPEN,
                     &target->stats.refused_breaker);
    } else if (answer.kind == BELAY_BREAKER_WAIT && fits(op, answer.at)) {
        wait_until(out, answer.at);
    } else if (answer.kind == BELAY_BREAKER_WAIT) {
        refuse_until(out, now, answer.at, BELAY_TERMINAL_NOT_BEFORE, &target->stats.refused_hold);
    }
}

static void ask_hold(struct belay_target *target, struct belay_operation *op,
                     struct belay_instant now, struct belay_admission *out)
{
    struct keyed_hold *found = find_hold(target, op->claim.hold_key);
    if (!found) return;
    struct belay_instant at = belay_hold_next_at(&found->hold, now, &op->claim.ticket);
    if (at.ns <= now.ns) return;
    if (!fits(op, at)) {
        refuse_until(out, now, at, BELAY_TERMINAL_NOT_BEFORE, &target->stats.refused_hold);
        return;
    }
    belay_hold_take(&found->hold, &target->hold_config, now, &op->claim.ticket);
    wait_until(out, at);
}

static void ask_quota(struct belay_target *target, const struct belay_operation *op,
                      struct belay_instant now, struct belay_admission *out)
{
    struct belay_instant at =
        belay_quota_next_at(&target->quota, now, ahead_in_quota(target, &op->waiter));
    if (at.ns <= now.ns) return;
    bool has_place =
        op->waiter.place == IN_QUOTA_QUEUE || target->quota_waiting < target->quota.config.queue;
    if (has_place && fits(op, at)) {
        wait_until(out, at);
    } else {
        refuse_until(out, now, at, BELAY_TERMINAL_QUOTA_EXCEEDED, &target->stats.refused_quota);
    }
}

/* The last gate: what it takes is used. */
static void ask_all_processes(struct belay_target *target, struct belay_operation *op,
                              struct belay_admission *out)
{
    struct belay_target_share *share = target->share;
    op->claim.shared = share->take_slot(share, target->bulkhead.config.max);
    if (!op->claim.shared)
        refuse(out, BELAY_TERMINAL_BULKHEAD_FULL, &target->stats.refused_bulkhead);
}

static void ask_bulkhead(struct belay_target *target, struct belay_operation *op,
                         struct belay_admission *out)
{
    bool for_all = target->loaded && target->share->take_slot && target->bulkhead.config.enabled;
    if (for_all) {
        ask_all_processes(target, op, out);
        return;
    }
    if (op->waiter.place == HAS_PROMISE) return;
    enum belay_bulkhead_answer answer = op->waiter.place == IN_SLOT_QUEUE
                                            ? BELAY_BULKHEAD_QUEUE
                                            : belay_bulkhead_decide(&target->bulkhead);
    if (answer == BELAY_BULKHEAD_FREE) return;
    if (answer == BELAY_BULKHEAD_FULL || !op->waiter.wake) {
        refuse(out, BELAY_TERMINAL_BULKHEAD_FULL, &target->stats.refused_bulkhead);
        return;
    }
    out->kind = BELAY_QUEUED;
    out->at = belay_instant_add(op->deadline_at,
                                belay_span_ns(belay_ns_sub(0, op->policy->reserve_for.ns)));
}

static enum place look(struct belay_target *target, struct belay_operation *op,
                       struct belay_instant now, struct belay_span remaining,
                       struct belay_admission *out)
{
    *out = (struct belay_admission){.kind = BELAY_ADMITTED};
    if (!belay_deadline_allows(remaining, belay_span_ns(0), op->policy->reserve_for)) {
        refuse(out, BELAY_TERMINAL_DEADLINE_EXCEEDED, &target->stats.refused_deadline);
        return NOWHERE;
    }
    ask_breaker(target, op, now, out);
    if (out->kind == BELAY_ADMITTED) ask_hold(target, op, now, out);
    if (out->kind != BELAY_ADMITTED) return NOWHERE;
    ask_quota(target, op, now, out);
    if (out->kind != BELAY_ADMITTED) return out->kind == BELAY_WAIT ? IN_QUOTA_QUEUE : NOWHERE;
    ask_bulkhead(target, op, out);
    return out->kind == BELAY_QUEUED ? IN_SLOT_QUEUE : NOWHERE;
}

static void take_all(struct belay_target *target, struct belay_operation *op,
                     struct belay_instant now, struct belay_instant attempt_end_at)
{
    struct belay_claim *claim = &op->claim;
    claim->permit =
        belay_breaker_take(&target->breaker, belay_instant_add(attempt_end_at, lease_grace));
    belay_quota_take(&target->quota, now);
    belay_bulkhead_take(&target->bulkhead, op->waiter.place == HAS_PROMISE);
    if (op->waiter.place == HAS_PROMISE) op->waiter.place = NOWHERE;
    claim->in_flight = true;
    if (op->attempts == 0) {
        belay_budget_on_operation(&target->budget);
        target->stats.operations++;
    } else {
        CHECK(claim->token);
        belay_budget_on_retry(&target->budget);
        target->own_tokens--;
        claim->token = false;
        target->stats.retries++;
    }
    target->stats.attempts++;
}

void belay__target_admit(struct belay_operation *op, struct belay_instant now,
                         struct belay_instant attempt_end_at, struct belay_admission *out)
{
    struct belay_target *target = op->target;
    struct belay_waiter *told = NULL;
    bool may_be_told = op->claim.waiting;
    struct belay_instant shared_now = begin_step(target, now);
    struct belay_span remaining = belay_deadline_remaining(op->deadline_at, now);
    enum place place = look(target, op, shared_now, remaining, out);
    if (out->kind == BELAY_ADMITTED) take_all(target, op, shared_now, attempt_end_at);
    bool stays = place == (enum place)op->waiter.place;
    if (!stays) told = leave(target, &op->waiter);
    if (!stays && place != NOWHERE) enter(target, &op->waiter, place);
    op->claim.waiting = place != NOWHERE;
    end_step(target);
    tell(told);
    if (may_be_told) await_wake(&op->waiter);
}

/* ---- the way back ---- */

static struct belay_waiter *give_slot(struct belay_target *target, struct belay_claim *claim)
{
    claim->in_flight = false;
    if (claim->shared) target->share->give_slot(target->share);
    claim->shared = false;
    return belay_bulkhead_give(&target->bulkhead, false) ? promise_to_first(target) : NULL;
}

static void obey(struct belay_target *target, uint64_t hold_key, const struct belay__report *report,
                 struct belay_instant now)
{
    if (report->too_many) {
        target->stats.too_many_requests++;
        belay_quota_on_too_many(&target->quota, now);
    }
    if (report->holds) {
        belay_hold_on_hint(&make_hold(target, hold_key)->hold, &target->hold_config, now,
                           report->hint);
    }
}

static struct belay__shared_facts reserve_retry(struct belay_target *target,
                                                struct belay_operation *op)
{
    struct belay__shared_facts facts = {false, target->breaker.state == BELAY_BREAKER_CLOSED};
    facts.has_token = belay_budget_take(&target->budget);
    if (!facts.has_token) {
        target->stats.refused_budget++;
    } else if (!facts.closed) {
        target->stats.refused_breaker++;
        belay_budget_give(&target->budget);
    } else {
        op->claim.token = true;
        target->own_tokens++;
        target->reserved_until = belay_instant_max(target->reserved_until, op->deadline_at);
    }
    return facts;
}

struct belay__shared_facts belay__target_record(struct belay_operation *op,
                                                const struct belay__report *report)
{
    struct belay_target *target = op->target;
    struct belay__shared_facts facts = {false, false};
    struct belay_instant now = begin_step(target, report->now);
    uint64_t luck = report->result.health == BELAY_HEALTH_GOOD ? 0 : rng_next(&target->rng);
    belay_breaker_on_result(&target->breaker, op->claim.permit, &report->result, now, luck);
    target->in_flight_ns = belay_ns_add(target->in_flight_ns, report->result.elapsed.ns);
    struct belay_waiter *told = give_slot(target, &op->claim);
    obey(target, op->claim.hold_key, report, now);
    if (report->wants_retry) facts = reserve_retry(target, op);
    end_step(target);
    tell(told);
    return facts;
}

void belay__target_leave(struct belay_operation *op, struct belay_instant now)
{
    struct belay_target *target = op->target;
    struct belay_claim *claim = &op->claim;
    if (!claim->in_flight && !claim->token && !claim->waiting) return;
    (void)begin_step(target, now);
    struct belay_waiter *told = claim->waiting ? leave(target, &op->waiter) : NULL;
    if (claim->in_flight) {
        belay_breaker_give(&target->breaker, claim->permit);
        told = give_slot(target, claim);
    }
    if (claim->token) {
        belay_budget_give(&target->budget);
        target->own_tokens--;
    }
    claim->token = claim->waiting = false;
    end_step(target);
    tell(told);
    await_wake(&op->waiter);
}

/* ---- from outside ---- */

void belay_target_on_limit(struct belay_target *target, struct belay_instant now, uint64_t left,
                           struct belay_span reset_for)
{
    now = begin_step(target, now);
    belay_quota_on_limit(&target->quota, now, left, reset_for);
    end_step(target);
}

void belay_target_export(struct belay_target *target, struct belay_instant now,
                         struct belay_target_state *state)
{
    lock_take(&target->lock);
    target->latest = belay_instant_max(target->latest, now);
    belay_target_state_init(state, target->breaker.generation);
    export_all(target, target->latest, state);
    lock_give(&target->lock);
}

void belay_target_import(struct belay_target *target, struct belay_instant at,
                         const struct belay_target_state *state)
{
    lock_take(&target->lock);
    import_all(target, at, state);
    lock_give(&target->lock);
}

void belay_target_share_with(struct belay_target *target, struct belay_target_share *share)
{
    target->share = share;
}

void belay_target_stats(struct belay_target *target, struct belay_instant now,
                        struct belay_target_stats *out)
{
    lock_take(&target->lock);
    target->latest = belay_instant_max(target->latest, now);
    *out = target->stats;
    out->in_flight_ms = (uint64_t)belay_span_floor_ms(belay_span_ns(target->in_flight_ns));
    out->in_flight = target->bulkhead.in_flight;
    out->in_flight_peak = target->bulkhead.in_flight_peak;
    out->waiting = target->bulkhead.waiting + target->quota_waiting;
    out->breaker_opened = target->breaker.opened;
    out->breaker_state = target->breaker.state;
    lock_give(&target->lock);
}
