// Instance walk: visits the instances of a filter, newest or oldest first. With a workflow or
// statuses it reads the index, so that a filter which matches few instances reads few. Any thread.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "base/id_range.h"
#include "base/result.h"
#include "model/instance.h"
#include "orchestrator/store/transaction.h"

namespace millrace {

/// Which instances a walk visits.
struct InstanceSelection {
  NamespaceNumber ns{};
  std::optional<WorkflowNumber> workflow;  ///< nullopt: all workflows
  std::vector<InstanceStatus> statuses;    ///< the instance has one of these; empty: any
  IdRange ids;                             ///< only instances with these ids
  bool oldest_first = false;               ///< in the order of the ids; otherwise against it
};

/// The bounds of a walk.
struct WalkBounds {
  /// The most pairs of a workflow and a status whose instances the index can bring into one order.
  /// With more, the walk looks at all instances of the namespace.
  size_t places = 1'000;
  /// The most instances at which a walk looks.
  size_t heads = 20'000;
  /// Whether the time of the walk is over; it looks at one instance at least. Empty: no bound.
  std::function<bool()> is_over;
};

/// How a walk ended.
struct WalkEnd {
  /// The last instance at which the walk has looked, if one of its bounds has ended it: the next
  /// walk begins behind that instance.
  std::optional<InstanceId> cut;
  size_t looked = 0;  ///< at how many instances the walk has looked
};

/// Visits the heads of the selected instances until `see` returns false. For a damaged head it
/// calls `damaged` with the id and the error; the result has the same meaning. With the index, the
/// damaged instance has the selected workflow and status; without it, neither is known. Errors:
/// those of the store.
Result<WalkEnd> each_selected(
    const View& view, const InstanceSelection& selection,
    const std::function<bool(const Instance& head)>& see,
    const std::function<bool(const InstanceId& id, const Error&)>& damaged,
    const WalkBounds& bounds = {});

/// Like each_selected(), but visits only the selected ones of the instances `ids`, which are in the
/// order of the selection. For a damaged head neither workflow nor status is known.
Result<WalkEnd> each_of(const View& view, const InstanceSelection& selection,
                        const std::vector<InstanceId>& ids,
                        const std::function<bool(const Instance& head)>& see,
                        const std::function<bool(const InstanceId& id, const Error&)>& damaged,
                        const WalkBounds& bounds = {});

}  // namespace millrace
