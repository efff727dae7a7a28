// The record of the workflow of an instance. Any thread.
#pragma once

#include <optional>
#include <string_view>

#include "base/result.h"
#include "model/instance.h"
#include "orchestrator/service/undamaged.h"
#include "orchestrator/store/rows/catalog_rows.h"
#include "orchestrator/store/transaction.h"

namespace millrace {

/// The record of the workflow of the instance, which has that id; nullopt: it is damaged, or the id
/// is that of another workflow now. Errors: those of the view.
inline Result<std::optional<WorkflowRecord>> workflow_of_instance(const View& view,
                                                                  const Instance& instance,
                                                                  std::string_view id) {
  auto record = TRY(undamaged(read_workflow(view, instance.ns, id)));
  if (record && record->number != instance.revision.workflow) record.reset();
  return record;
}

}  // namespace millrace
