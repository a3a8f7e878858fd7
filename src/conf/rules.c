/* rules.c: relations between options that cannot be (load.h). */
#include "conf/load.h"
#include "conf/template.h"
#include "conf/value.h"

struct relation {
    const char *subject, *other;
    bool equal_too;         /* also wrong when both are equal */
    bool cuts_default;      /* a default of the subject does no harm: it is cut to the other */
    const char *is, *is_of; /* subject IS other; other IS_OF subject */
};

static const struct relation RELATIONS[] = {
    {"reserve", "deadline", true, false, "leaves nothing of", "is all kept back by"},
    {"attempt_timeout", "deadline", false, true, "is longer than", "is shorter than"},
    {"connect_timeout", "deadline", false, true, "is longer than", "is shorter than"},
    {"tls_timeout", "deadline", false, true, "is longer than", "is shorter than"},
    {"backoff.base", "backoff.max", false, false, "is longer than", "is shorter than"},
    {"breaker.open_for", "breaker.open_max", false, false, "is longer than", "is shorter than"},
};

static int64_t number_of(const struct policy_state *state, const char *name,
                         char text[VALUE_TEXT_BYTES_MAX])
{
    const struct option *option = option_find(SCOPE_POLICY, belay_slice_z(name));
    int64_t number = value_number(option, &state->values);
    value_text(option, number, text);
    return number;
}

static void check_relation(struct loader *loader, struct policy_state *state,
                           const struct relation *relation)
{
    const struct mark *subject = mark_of(&state->marks, SCOPE_POLICY, relation->subject);
    const struct mark *other = mark_of(&state->marks, SCOPE_POLICY, relation->other);
    if (!subject->fresh && !other->fresh) return;
    /* A constant wait does not grow, so what it would grow to means nothing. */
    bool is_backoff = strncmp(relation->subject, "backoff.", strlen("backoff.")) == 0;
    if (is_backoff && state->values.backoff.kind == BELAY_BACKOFF_CONSTANT) return;
    if (relation->cuts_default && subject->at.line == 0) return;
    char subject_text[VALUE_TEXT_BYTES_MAX], other_text[VALUE_TEXT_BYTES_MAX];
    int64_t left = number_of(state, relation->subject, subject_text);
    int64_t right = number_of(state, relation->other, other_text);
    if (left < right || (left == right && !relation->equal_too)) return;
    const struct mark *far = subject->fresh ? other : subject;
    char where[32] = "the default";
    if (far->at.line) snprintf(where, sizeof where, "line %d", far->at.line);
    if (subject->fresh) {
        problems_add(&loader->problems, subject->at, "%s %s %s %s %s (%s)", relation->subject,
                     subject_text, relation->is, relation->other, other_text, where);
    } else {
        problems_add(&loader->problems, other->at, "%s %s %s %s %s (%s)", relation->other,
                     other_text, relation->is_of, relation->subject, subject_text, where);
    }
}

void rules_policy(struct loader *loader, struct policy_state *state)
{
    for (size_t i = 0; i < sizeof RELATIONS / sizeof RELATIONS[0]; i++) {
        check_relation(loader, state, &RELATIONS[i]);
    }
    const struct mark *quota = mark_of(&state->marks, SCOPE_POLICY, "quota");
    const struct mark *rate = mark_of(&state->marks, SCOPE_POLICY, "quota.rate");
    bool needs_rate = state->values.quota.enabled && state->values.quota.per_call.ns == 0;
    if (needs_rate && quota->fresh && !rate->fresh) {
        problems_add(&loader->problems, quota->at, "quota: needs a rate, such as 50/s");
    }
}

struct belay_policy rules_settle(const struct policy_state *state)
{
    struct belay_policy policy = state->values;
    for (size_t i = 0; i < sizeof RELATIONS / sizeof RELATIONS[0]; i++) {
        const struct relation *relation = &RELATIONS[i];
        const struct option *subject = option_find(SCOPE_POLICY, belay_slice_z(relation->subject));
        const struct option *other = option_find(SCOPE_POLICY, belay_slice_z(relation->other));
        bool said = state->marks.of[subject - OPTIONS].at.line != 0;
        int64_t most = value_number(other, &policy);
        bool too_much = value_number(subject, &policy) > most;
        if (relation->cuts_default && !said && too_much) value_store(subject, &policy, most);
    }
    return policy;
}

static bool route_covers(const struct conf_route *earlier, const struct conf_route *later)
{
    bool methods =
        earlier->methods == 0 || (later->methods != 0 && (later->methods & ~earlier->methods) == 0);
    if (!methods) return false;
    if (!earlier->path) return true;
    return later->path && template_covers(belay_slice_z(earlier->path), belay_slice_z(later->path));
}

void rules_routes(struct loader *loader, const struct conf_listener *listener,
                  const struct position *at, size_t count)
{
    for (size_t later = 1; later < count && !problems_full(&loader->problems); later++) {
        for (size_t earlier = 0; earlier < later; earlier++) {
            if (!route_covers(&listener->routes[earlier], &listener->routes[later])) continue;
            problems_add(&loader->problems, at[later],
                         "no request is left for this route: the one on line %d takes them all",
                         at[earlier].line);
            break;
        }
    }
}

static bool same_address(const struct conf_address *a, const struct conf_address *b)
{
    return a->host && b->host && a->port == b->port && a->port != 0 &&
           strcmp(a->host, b->host) == 0;
}

/* Can both be listened on? A wildcard has the port on every address of its family. */
static bool clash(const struct conf_address *a, const struct conf_address *b)
{
    if (same_address(a, b)) return true;
    if (!a->host || !b->host || a->port != b->port || a->port == 0) return false;
    bool same_family = !strchr(a->host, ':') == !strchr(b->host, ':');
    const char *wildcard = strchr(a->host, ':') ? "::" : "0.0.0.0";
    return same_family && (strcmp(a->host, wildcard) == 0 || strcmp(b->host, wildcard) == 0);
}

static void check_clash(struct loader *loader, const struct conf_address *later,
                        const struct conf_address *earlier, const char *what)
{
    if (!clash(later, earlier)) return;
    struct position at = {later->line, later->column};
    problems_add(&loader->problems, at, "listen: port %u is taken by the %s on line %d",
                 (unsigned)later->port, what, earlier->line);
}

/* A call that belay makes to itself is made again by the same route, for ever. */
static void check_loop(struct loader *loader, const struct conf *conf,
                       const struct conf_listener *listener)
{
    for (size_t i = 0; i < listener->route_count; i++) {
        const struct conf_target *target = &conf->targets[listener->routes[i].target];
        if (target->address_count == 0 || !same_address(&target->addresses[0], &listener->listen))
            continue;
        struct position at = {listener->listen.line, listener->listen.column};
        problems_add(&loader->problems, at,
                     "listen: this is the address of target \"%s\", which is called from here",
                     target->name);
        return;
    }
}

void rules_addresses(struct loader *loader, const struct conf *conf)
{
    for (size_t i = 0; i < conf->listener_count; i++) {
        const struct conf_listener *listener = &conf->listeners[i];
        check_clash(loader, &listener->listen, &conf->admin, "admin listener");
        for (size_t j = 0; j < i; j++)
            check_clash(loader, &listener->listen, &conf->listeners[j].listen, "listener");
        check_loop(loader, conf, listener);
    }
}
