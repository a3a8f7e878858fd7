/* metrics.h: a snapshot as text: Prometheus 0.0.4, and JSON for the targets. Pure. */
#ifndef ADMIN_METRICS_H
#define ADMIN_METRICS_H

#include "admin/admin.h"
#include "base/buf.h"

/* False at the buffer's limit or without memory; what stands in it is then of no use. */
bool metrics_write(const struct admin_snapshot *snapshot, struct buf *out)
    __attribute__((warn_unused_result));
bool metrics_write_targets(const struct admin_snapshot *snapshot, struct buf *out)
    __attribute__((warn_unused_result));

#endif
