/* load.c: a configuration from YAML to a snapshot, with every mistake told. */
#include "conf/load.h"
#include "base/text.h"

#include "base/check.h"
#include "base/nearest.h"
#include "conf/number.h"
#include "conf/shape.h"
#include "conf/value.h"

#include <stdlib.h>

#define VISITS_MAX 200000 /* aliases may multiply what was written; this ends it */
#define TARGETS_MAX 256
#define TARGET_NAME_BYTES_MAX 64
#define LISTENERS_MAX 64
#define ROUTES_MAX 1024
#define PATH_BYTES_MAX 64 /* of an option's name, group included */

struct mark *mark_of(struct marks *marks, enum option_scope scope, const char *name)
{
    const struct option *option = option_find(scope, belay_slice_z(name));
    CHECK(option);
    return &marks->of[option - OPTIONS];
}

static struct position position_of(const yaml_node_t *node)
{
    return (struct position){(int)node->start_mark.line + 1, (int)node->start_mark.column + 1};
}

static struct belay_slice text_of(const yaml_node_t *node)
{
    return belay_slice((const char *)node->data.scalar.value, node->data.scalar.length);
}

static const char *kind_of(const yaml_node_t *node)
{
    if (node->type == YAML_MAPPING_NODE) return "a mapping";
    return node->type == YAML_SEQUENCE_NODE ? "a list" : "one word";
}

static bool has_no_value(const yaml_node_t *node)
{
    if (node->type != YAML_SCALAR_NODE) return false;
    struct belay_slice text = text_of(node);
    bool plain = node->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    return text.length == 0 || (plain && belay_slice_equal(text, belay_slice_z("~")));
}

static bool is_empty_list(const yaml_node_t *node)
{
    return node->type == YAML_SEQUENCE_NODE &&
           node->data.sequence.items.start == node->data.sequence.items.top;
}

static bool is_done(struct loader *loader)
{
    return loader->no_memory || problems_full(&loader->problems) || loader->visits > VISITS_MAX;
}

/* False when there is no use in reading on. */
static bool visit(struct loader *loader, const yaml_node_t *node)
{
    if (is_done(loader)) return false;
    if (++loader->visits <= VISITS_MAX) return true;
    problems_add(&loader->problems, position_of(node),
                 "the aliases of this file stand for more than %d values", VISITS_MAX);
    return false;
}

static void fault_kind(struct loader *loader, const yaml_node_t *node, const char *name,
                       const char *expected)
{
    if (has_no_value(node)) {
        problems_add(&loader->problems, position_of(node), "%s: has no value; expected %s", name,
                     expected);
    } else {
        problems_add(&loader->problems, position_of(node), "%s: expected %s, not %s", name,
                     expected, kind_of(node));
    }
}

static void set_defaults(struct loader *loader, enum option_scope scope, struct belay_slice group,
                         void *base)
{
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        const struct option *option = &OPTIONS[i];
        if (option->scope != scope || !option_in_group(option, group)) continue;
        if (!value_default(option, base, loader->snapshot)) loader->no_memory = true;
    }
}

/* ---- one option ---- */

static void set_word(struct loader *loader, const struct option *option, const yaml_node_t *node,
                     void *base)
{
    struct value_error error;
    if (node->type != YAML_SCALAR_NODE || has_no_value(node)) {
        fault_kind(loader, node, option->name, value_kind(option));
        return;
    }
    struct position at = position_of(node);
    if (!value_set(option, base, text_of(node), loader->snapshot, &error)) {
        if (error.no_memory)
            loader->no_memory = true;
        else
            problems_add(&loader->problems, at, "%s", error.rule);
        return;
    }
    struct conf_address *address = NULL;
    if (option->type == TYPE_ADDRESS)
        address = (struct conf_address *)(void *)((char *)base + option->offset);
    if (option->type == TYPE_ADDRESSES) address = &((struct conf_target *)base)->addresses[0];
    if (!address) return;
    address->line = at.line;
    address->column = at.column;
}

static void set_list(struct loader *loader, const struct option *option, const yaml_node_t *node,
                     void *base)
{
    if (!value_clear(option, base, loader->snapshot)) {
        loader->no_memory = true;
        return;
    }
    if (node->type == YAML_SCALAR_NODE) {
        bool is_zero =
            option->zero && belay_slice_equal(text_of(node), belay_slice_z(option->zero));
        if (!is_zero) set_word(loader, option, node, base);
        return;
    }
    if (node->type == YAML_MAPPING_NODE) {
        fault_kind(loader, node, option->name, value_kind(option));
        return;
    }
    for (yaml_node_item_t *item = node->data.sequence.items.start;
         item < node->data.sequence.items.top; item++) {
        yaml_node_t *word = yaml_document_get_node(&loader->document, *item);
        if (!visit(loader, word)) return;
        set_word(loader, option, word, base);
    }
}

/* `breaker: off`. What the group's members were is forgotten: switched on again it starts from the
 * defaults. */
static void set_switch(struct loader *loader, const struct option *option, const yaml_node_t *node,
                       void *base)
{
    if (!option->member) {
        set_word(loader, option, node, base);
        bool *enabled = (bool *)((char *)base + option->offset);
        if (*enabled) return;
        set_defaults(loader, option->scope, belay_slice_z(option->name), base);
        return;
    }
    int64_t on = 1;
    struct value_error error;
    bool is_off =
        node->type == YAML_SCALAR_NODE && number_parse(option, text_of(node), &on, &error) && !on;
    if (is_off)
        value_store(option_find(option->scope, belay_slice_z(option->member)), base, 0);
    else
        fault_kind(loader, node, option->name, value_kind(option));
}

static void set_option(struct loader *loader, const struct option *option, const yaml_node_t *node,
                       void *base, struct marks *marks)
{
    marks->of[option - OPTIONS] =
        (struct mark){.at = position_of(node), .value = node, .fresh = true};
    if (option->type == TYPE_SWITCH) {
        set_switch(loader, option, node, base);
    } else if (option_is_list(option)) {
        set_list(loader, option, node, base);
    } else if (option->type != TYPE_SECTION && option->type != TYPE_TARGET) {
        set_word(loader, option, node, base);
    }
}

/* ---- one mapping ---- */

struct walk {
    enum option_scope scope;
    void *base;
    struct marks *marks;
    const char *title; /* what the outermost mapping is called in messages */
    bool of_route;     /* a route's policy: what a target's routes share is not its to change */
};

/* Where a key would be right that stands beside a policy instead of inside it; NULL: nowhere. */
static const char *policy_beside(const struct walk *walk, struct belay_slice group,
                                 struct belay_slice key)
{
    bool known =
        option_find(SCOPE_POLICY, key) || (key.length && option_is_group(SCOPE_POLICY, key));
    if (!known || group.length) return NULL;
    if (walk->scope == SCOPE_ROOT) return "defaults.policy";
    return walk->scope == SCOPE_TARGET || walk->scope == SCOPE_ROUTE ? "its policy" : NULL;
}

static void fault_unknown(struct loader *loader, const struct walk *walk, struct belay_slice group,
                          const yaml_node_t *key)
{
    char keys[OPTIONS_MAX][OPTION_KEY_BYTES_MAX];
    const char *names[OPTIONS_MAX];
    size_t count = option_keys(walk->scope, group, keys, OPTIONS_MAX);
    for (size_t i = 0; i < count; i++) names[i] = keys[i];
    struct shown shown = show(text_of(key));
    char where[PATH_BYTES_MAX];
    if (group.length)
        snprintf(where, sizeof where, "%.*s", (int)group.length, group.data);
    else
        snprintf(where, sizeof where, "%s", walk->title);
    const char *beside = policy_beside(walk, group, text_of(key));
    if (beside) {
        problems_add(&loader->problems, position_of(key),
                     "unknown key \"%s\" in %s; it belongs in %s", shown.text, where, beside);
        return;
    }
    const char *meant = nearest_name(text_of(key), names, count);
    if (meant) {
        problems_add(&loader->problems, position_of(key),
                     "unknown key \"%s\" in %s; did you mean \"%s\"?", shown.text, where, meant);
        return;
    }
    char all[300] = "";
    size_t used = 0;
    for (size_t i = 0; i < count && used < sizeof all; i++) {
        used += (size_t)snprintf(all + used, sizeof all - used, "%s%s", i ? ", " : "", names[i]);
    }
    problems_add(&loader->problems, position_of(key), "unknown key \"%s\" in %s; the keys are %s",
                 shown.text, where, all);
}

/* Tells a key that is no word, or that stood in the mapping before. */
static bool check_key(struct loader *loader, const yaml_node_t *node, const yaml_node_pair_t *pair)
{
    const yaml_node_t *key = yaml_document_get_node(&loader->document, pair->key);
    if (key->type != YAML_SCALAR_NODE) {
        problems_add(&loader->problems, position_of(key), "a key is one word, not %s",
                     kind_of(key));
        return false;
    }
    for (const yaml_node_pair_t *before = node->data.mapping.pairs.start; before < pair; before++) {
        const yaml_node_t *other = yaml_document_get_node(&loader->document, before->key);
        if (other->type != YAML_SCALAR_NODE || !belay_slice_equal(text_of(other), text_of(key)))
            continue;
        problems_add(&loader->problems, position_of(key),
                     "\"%s\" is given twice; the first is on line %d", show(text_of(key)).text,
                     position_of(other).line);
        return false;
    }
    return true;
}

static bool shares_state(enum option_scope scope, struct belay_slice name)
{
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        const struct option *option = &OPTIONS[i];
        bool is_it =
            belay_slice_equal(belay_slice_z(option->name), name) || option_in_group(option, name);
        if (option->scope == scope && is_it) return option->target_only;
    }
    return false;
}

static void read_mapping(struct loader *loader, const struct walk *walk, struct belay_slice group,
                         const yaml_node_t *node);

static void read_pair(struct loader *loader, const struct walk *walk, struct belay_slice group,
                      const yaml_node_t *key, const yaml_node_t *value)
{
    char path[PATH_BYTES_MAX];
    struct belay_slice word = text_of(key), name = {path, 0};
    bool fits = group.length + 1 + word.length < sizeof path &&
                !memchr(word.data, '.', word.length) && !memchr(word.data, '\0', word.length);
    if (fits) {
        int length = group.length
                         ? snprintf(path, sizeof path, "%.*s.%.*s", (int)group.length, group.data,
                                    (int)word.length, word.data)
                         : snprintf(path, sizeof path, "%.*s", (int)word.length, word.data);
        name.length = (size_t)length;
    }
    const struct option *option = option_find(walk->scope, name);
    bool is_group = name.length > 0 && option_is_group(walk->scope, name);
    if (!option && !is_group) {
        fault_unknown(loader, walk, group, key);
    } else if (walk->of_route && shares_state(walk->scope, name)) {
        problems_add(&loader->problems, position_of(key),
                     "%s: all routes to a target share it; set it in the target's policy", path);
    } else if (is_group && value->type == YAML_MAPPING_NODE) {
        if (option) {
            walk->marks->of[option - OPTIONS] =
                (struct mark){.at = position_of(key), .value = value, .fresh = true};
            if (!option->member) *(bool *)((char *)walk->base + option->offset) = true;
        }
        read_mapping(loader, walk, name, value);
    } else if (option) {
        set_option(loader, option, value, walk->base, walk->marks);
    } else {
        fault_kind(loader, value, path, "a mapping");
    }
}

static void read_mapping(struct loader *loader, const struct walk *walk, struct belay_slice group,
                         const yaml_node_t *node)
{
    if (node->type != YAML_MAPPING_NODE) {
        fault_kind(loader, node, walk->title, "a mapping");
        return;
    }
    yaml_node_pair_t *end = node->data.mapping.pairs.top;
    for (yaml_node_pair_t *pair = node->data.mapping.pairs.start; pair < end; pair++) {
        yaml_node_t *value = yaml_document_get_node(&loader->document, pair->value);
        if (!visit(loader, value)) return;
        if (!check_key(loader, node, pair)) continue;
        read_pair(loader, walk, group, yaml_document_get_node(&loader->document, pair->key), value);
    }
}

static void read_scope(struct loader *loader, const struct walk *walk, const yaml_node_t *node)
{
    set_defaults(loader, walk->scope, belay_slice_z(""), walk->base);
    read_mapping(loader, walk, belay_slice_z(""), node);
}

/* ---- policies, from the defaults down ---- */

static struct policy_state inherit(const struct policy_state *from)
{
    struct policy_state state = *from;
    for (size_t i = 0; i < OPTION_COUNT; i++) state.marks.of[i].fresh = false;
    return state;
}

static void read_policy(struct loader *loader, struct policy_state *state, const yaml_node_t *node,
                        bool of_route)
{
    if (!node) return;
    struct walk walk = {.scope = SCOPE_POLICY,
                        .base = &state->values,
                        .marks = &state->marks,
                        .title = "policy",
                        .of_route = of_route};
    read_mapping(loader, &walk, belay_slice_z(""), node);
    rules_policy(loader, state);
}

/* What nobody set has other defaults where the recipient is far away. */
static void apply_network(struct policy_state *state)
{
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        const struct option *option = &OPTIONS[i];
        if (!option->internet || state->marks.of[i].at.line) continue;
        struct value_error error;
        bool right =
            value_set(option, &state->values, belay_slice_z(option->internet), NULL, &error);
        CHECK(right);
    }
}

/* ---- targets ---- */

static bool is_target_name(struct belay_slice name)
{
    for (size_t i = 0; i < name.length; i++) {
        char c = name.data[i];
        if (!char_is_letter_or_digit(c) && c != '-' && c != '_' && c != '.') return false;
    }
    return name.length > 0 && name.length <= TARGET_NAME_BYTES_MAX &&
           !belay_slice_equal(name, belay_slice_z("none"));
}

static void read_target(struct loader *loader, const yaml_node_t *key, const yaml_node_t *node,
                        struct conf_target *target, struct policy_state *state)
{
    struct marks marks = {0};
    struct shown shown = show(text_of(key));
    char title[80];
    snprintf(title, sizeof title, "target %s", shown.text);
    if (!is_target_name(text_of(key))) {
        problems_add(&loader->problems, position_of(key),
                     "\"%s\" is no name for a target: letters, digits, - _ . and at most 64 of "
                     "them, not \"none\"",
                     shown.text);
    }
    target->name = snapshot_text(loader->snapshot, text_of(key));
    if (!target->name) loader->no_memory = true;
    struct walk walk = {.scope = SCOPE_TARGET, .base = target, .marks = &marks, .title = title};
    read_scope(loader, &walk, node);
    const struct mark *addresses = mark_of(&marks, SCOPE_TARGET, "addresses");
    bool is_missing = !addresses->value && node->type == YAML_MAPPING_NODE;
    bool is_empty = addresses->value && is_empty_list(addresses->value);
    if (is_missing || is_empty) {
        problems_add(&loader->problems, is_empty ? addresses->at : position_of(key),
                     "%s: needs an address, such as addresses: [127.0.0.1:9000]", title);
    }
    read_policy(loader, state, mark_of(&marks, SCOPE_TARGET, "policy")->value, false);
    if (target->network == CONF_NETWORK_INTERNET) apply_network(state);
    target->policy = rules_settle(state);
}

/* The policies of all targets, in their order; NULL when there is none. The caller frees them. */
static struct policy_state *read_targets(struct loader *loader, const yaml_node_t *node,
                                         const struct policy_state *defaults)
{
    if (node->type != YAML_MAPPING_NODE) {
        fault_kind(loader, node, "targets", "a mapping of names to targets");
        return NULL;
    }
    const yaml_node_pair_t *start = node->data.mapping.pairs.start,
                           *end = node->data.mapping.pairs.top;
    size_t count = (size_t)(end - start);
    if (count == 0 || count > TARGETS_MAX) {
        problems_add(&loader->problems, position_of(node), "targets: needs 1 to %d of them",
                     TARGETS_MAX);
        return NULL;
    }
    struct conf *conf = &loader->snapshot->conf;
    conf->targets = snapshot_alloc(loader->snapshot, count, sizeof conf->targets[0]);
    struct policy_state *states = calloc(count, sizeof *states);
    if (!conf->targets || !states) {
        loader->no_memory = true;
        return states;
    }
    for (const yaml_node_pair_t *pair = start; pair < end; pair++) {
        const yaml_node_t *value = yaml_document_get_node(&loader->document, pair->value);
        if (!visit(loader, value)) break;
        if (!check_key(loader, node, pair)) continue;
        size_t index = conf->target_count++;
        states[index] = inherit(defaults);
        read_target(loader, yaml_document_get_node(&loader->document, pair->key), value,
                    &conf->targets[index], &states[index]);
    }
    return states;
}

/* ---- listeners and routes ---- */

/* The index of the target that a node names; -1, with a problem, when it names none. */
static int find_target(struct loader *loader, const yaml_node_t *node)
{
    const struct conf *conf = &loader->snapshot->conf;
    if (node->type != YAML_SCALAR_NODE || has_no_value(node)) {
        fault_kind(loader, node, "target", "the name of a target");
        return -1;
    }
    const char *names[TARGETS_MAX];
    for (size_t i = 0; i < conf->target_count; i++) {
        names[i] = conf->targets[i].name;
        if (belay_slice_equal(belay_slice_z(names[i]), text_of(node))) return (int)i;
    }
    const char *meant = nearest_name(text_of(node), names, conf->target_count);
    problems_add(&loader->problems, position_of(node), "target: there is no target \"%s\"%s%s%s",
                 show(text_of(node)).text, meant ? "; did you mean \"" : "", meant ? meant : "",
                 meant ? "\"?" : "");
    return -1;
}

static bool is_none(const yaml_node_t *node)
{
    return node->type == YAML_SCALAR_NODE &&
           belay_slice_equal(text_of(node), belay_slice_z("none"));
}

static void read_route(struct loader *loader, const yaml_node_t *node, struct conf_route *route,
                       int own, const struct policy_state *states, struct position *at)
{
    struct marks marks = {0};
    struct walk walk = {.scope = SCOPE_ROUTE, .base = route, .marks = &marks, .title = "route"};
    read_scope(loader, &walk, node);
    const struct mark *path = mark_of(&marks, SCOPE_ROUTE, "path");
    *at = path->value ? path->at : position_of(node);
    const struct mark *named = mark_of(&marks, SCOPE_ROUTE, "target");
    int target = named->value ? find_target(loader, named->value) : own;
    if (!named->value && own < 0 && node->type == YAML_MAPPING_NODE) {
        problems_add(&loader->problems, position_of(node),
                     "route: needs a target, since its listener has none");
    }
    if (target < 0) return;
    route->target = (size_t)target;
    struct policy_state state = inherit(&states[target]);
    read_policy(loader, &state, mark_of(&marks, SCOPE_ROUTE, "policy")->value, true);
    route->policy = rules_settle(&state);
}

static void read_routes(struct loader *loader, const yaml_node_t *node,
                        struct conf_listener *listener, int own, const struct policy_state *states)
{
    size_t count = 0;
    if (node && node->type != YAML_SEQUENCE_NODE) {
        fault_kind(loader, node, "routes", "a list of routes");
        return;
    }
    if (node) count = (size_t)(node->data.sequence.items.top - node->data.sequence.items.start);
    loader->routes += count;
    if (loader->routes > ROUTES_MAX) {
        problems_add(&loader->problems, position_of(node),
                     "routes: at most %d of them, over all listeners", ROUTES_MAX);
        return;
    }
    listener->routes = snapshot_alloc(loader->snapshot, count + 1, sizeof listener->routes[0]);
    struct position *at = calloc(count + 1, sizeof *at);
    if (!listener->routes || !at) {
        loader->no_memory = true;
        free(at);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        const yaml_node_t *item =
            yaml_document_get_node(&loader->document, node->data.sequence.items.start[i]);
        if (!visit(loader, item)) break;
        read_route(loader, item, &listener->routes[listener->route_count], own, states,
                   &at[listener->route_count]);
        listener->route_count++;
    }
    rules_routes(loader, listener, at, listener->route_count);
    free(at);
    if (own < 0) return;
    struct conf_route *last = &listener->routes[listener->route_count++];
    set_defaults(loader, SCOPE_ROUTE, belay_slice_z(""), last);
    last->target = (size_t)own;
    last->policy = rules_settle(&states[own]);
}

static void read_listener(struct loader *loader, const yaml_node_t *node,
                          struct conf_listener *listener, const struct policy_state *states)
{
    struct marks marks = {0};
    struct walk walk = {
        .scope = SCOPE_LISTENER, .base = listener, .marks = &marks, .title = "listener"};
    read_scope(loader, &walk, node);
    if (node->type != YAML_MAPPING_NODE || is_done(loader)) return;
    struct position at = position_of(node);
    if (!mark_of(&marks, SCOPE_LISTENER, "listen")->value) {
        problems_add(&loader->problems, at,
                     "listener: needs an address, such as listen: 127.0.0.1:8080");
    }
    if (listener->kind == CONF_KIND_GUARD) {
        problems_add(&loader->problems, mark_of(&marks, SCOPE_LISTENER, "kind")->at,
                     "kind: guard is not in this version, only egress");
    }
    const struct mark *target = mark_of(&marks, SCOPE_LISTENER, "target");
    const struct mark *routes = mark_of(&marks, SCOPE_LISTENER, "routes");
    int own = target->value && !is_none(target->value) ? find_target(loader, target->value) : -1;
    read_routes(loader, routes->value, listener, own, states);
    bool is_empty = !routes->value || is_empty_list(routes->value);
    bool needs_target = !target->value || is_none(target->value);
    if (is_empty && needs_target && !is_done(loader)) {
        problems_add(&loader->problems, at, "listener: needs a target or routes");
    }
}

static void read_listeners(struct loader *loader, const yaml_node_t *node,
                           const struct policy_state *states)
{
    if (node->type != YAML_SEQUENCE_NODE) {
        fault_kind(loader, node, "listeners", "a list of listeners");
        return;
    }
    size_t count = (size_t)(node->data.sequence.items.top - node->data.sequence.items.start);
    if (count == 0 || count > LISTENERS_MAX) {
        problems_add(&loader->problems, position_of(node), "listeners: needs 1 to %d of them",
                     LISTENERS_MAX);
        return;
    }
    struct conf *conf = &loader->snapshot->conf;
    conf->listeners = snapshot_alloc(loader->snapshot, count, sizeof conf->listeners[0]);
    if (!conf->listeners) {
        loader->no_memory = true;
        return;
    }
    for (size_t i = 0; i < count; i++) {
        const yaml_node_t *item =
            yaml_document_get_node(&loader->document, node->data.sequence.items.start[i]);
        if (!visit(loader, item)) break;
        read_listener(loader, item, &conf->listeners[conf->listener_count++], states);
    }
    rules_addresses(loader, conf);
}

/* ---- the whole ---- */

static void read_root(struct loader *loader, const yaml_node_t *root)
{
    struct marks marks = {0};
    struct walk walk = {.scope = SCOPE_ROOT,
                        .base = &loader->snapshot->conf,
                        .marks = &marks,
                        .title = "the configuration"};
    read_scope(loader, &walk, root);
    if (root->type != YAML_MAPPING_NODE) return;
    struct policy_state defaults = {0};
    set_defaults(loader, SCOPE_POLICY, belay_slice_z(""), &defaults.values);
    read_policy(loader, &defaults, mark_of(&marks, SCOPE_ROOT, "defaults.policy")->value, false);
    const yaml_node_t *targets = mark_of(&marks, SCOPE_ROOT, "targets")->value;
    const yaml_node_t *listeners = mark_of(&marks, SCOPE_ROOT, "listeners")->value;
    if (!targets)
        problems_add(&loader->problems, position_of(root), "targets: needs 1 to %d of them",
                     TARGETS_MAX);
    if (!listeners) {
        problems_add(&loader->problems, position_of(root), "listeners: needs 1 to %d of them",
                     LISTENERS_MAX);
    }
    if (is_done(loader) || !targets) return;
    struct policy_state *states = read_targets(loader, targets, &defaults);
    if (listeners && states && !is_done(loader)) read_listeners(loader, listeners, states);
    free(states);
}

static void read_document(struct loader *loader, struct belay_slice text)
{
    if (!shape_load(&loader->document, text, &loader->problems, &loader->no_memory)) return;
    read_root(loader, yaml_document_get_root_node(&loader->document));
    yaml_document_delete(&loader->document);
}

enum conf_verdict conf_parse(const char *file, struct belay_slice text, FILE *errors,
                             struct conf **conf)
{
    struct loader loader = {.snapshot = snapshot_create()};
    if (loader.snapshot) read_document(&loader, text);
    if (!loader.snapshot || loader.no_memory) {
        fprintf(errors, "%s: cannot be read: no memory is left\n", file);
    } else {
        problems_print(&loader.problems, file, errors);
    }
    bool unreadable = !loader.snapshot || loader.no_memory;
    if (!unreadable && loader.problems.count == 0) {
        *conf = &loader.snapshot->conf;
        return CONF_GOOD;
    }
    if (loader.snapshot) conf_give(&loader.snapshot->conf);
    return unreadable ? CONF_UNREADABLE : CONF_WRONG;
}
