// The instance that the tests in this folder begin with.
#pragma once

#include <utility>

#include "orchestrator/engine/runs.h"
#include "tests/tables/instance_run.h"

namespace millrace {

/// An instance of the workflow that has not entered its first state yet.
inline Instance new_instance(const Workflow& workflow, Json input = Json::object()) {
  return make_instance({}, NamespaceNumber(1), {WorkflowNumber(1), 1}, workflow, std::move(input),
                       run_start(), {});
}

}  // namespace millrace
