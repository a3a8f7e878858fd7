/* shape.h: from bytes to a YAML document of bounded size, depth and number of anchors. */
#ifndef CONF_SHAPE_H
#define CONF_SHAPE_H

#include "conf/problem.h"

#include <yaml.h>

/* True: *document has a root and is the caller's to delete. False: a problem was added, or
 * *no_memory is set. */
bool shape_load(yaml_document_t *document, struct belay_slice text, struct problems *problems,
                bool *no_memory) __attribute__((warn_unused_result));

#endif
