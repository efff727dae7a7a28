// Instance walk: visits the instances of a filter, newest first. With a workflow or statuses it
// reads the index, so that a filter which matches few instances reads few. Any thread.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "base/result.h"
#include "model/instance.h"
#include "orchestrator/store/transaction.h"

namespace millrace {

/// Which instances a walk visits.
struct InstanceSelection {
  NamespaceNumber ns{};
  std::optional<WorkflowNumber> workflow;  ///< nullopt: all workflows
  std::vector<InstanceStatus> statuses;    ///< the instance has one of these; empty: any
  std::optional<InstanceId> before;        ///< only older instances than this one
};

/// The bounds of a walk.
struct WalkBounds {
  /// The most pairs of a workflow and a status whose instances the index can bring into one order.
  /// With more, the walk looks at all instances of the namespace.
  size_t places = 1'000;
  /// The most instances at which a walk looks.
  size_t heads = 10'000;
};

/// Visits the heads of the selected instances, newest first, until `see` returns false. For a
/// damaged head it calls `damaged` with the id and the error; the result has the same meaning. With
/// the index, the damaged instance has the selected workflow and status; without it, neither is
/// known. Returns the last instance at which the walk has looked, if WalkBounds::heads has ended
/// it: the next walk begins before that instance. Errors: those of the store.
Result<std::optional<InstanceId>> each_selected(
    const View& view, const InstanceSelection& selection,
    const std::function<bool(const Instance& head)>& see,
    const std::function<bool(const InstanceId& id, const Error&)>& damaged,
    const WalkBounds& bounds = {});

}  // namespace millrace
