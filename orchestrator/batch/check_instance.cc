#include "orchestrator/batch/check_instance.h"

#include "orchestrator/engine/fit.h"
#include "orchestrator/store/rows/head_rows.h"

namespace millrace {

Status check_instance(const Workflow& workflow, const Instance& instance, TimePoint now) {
  const Status fits = check_fit(workflow, instance, now);
  if (fits) return {};
  return tl::unexpected(damaged_instance(instance.ns, instance.id, fits.error().message));
}

}  // namespace millrace
