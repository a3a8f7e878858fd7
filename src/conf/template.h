/* template.h: path templates: /orders/{id}. */
#ifndef CONF_TEMPLATE_H
#define CONF_TEMPLATE_H

#include <belay/slice.h>

/* NULL when `path` is a template: begins with '/', every segment is either text of URL characters
 * or a {name}, each name once, only the last segment may be empty. Else the rule it breaks. */
const char *template_fault(struct belay_slice path);
/* Does every path that `later` matches also match `earlier`? Both are templates. */
bool template_covers(struct belay_slice earlier, struct belay_slice later);

#endif
