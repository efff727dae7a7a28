// HistorySweep: the part of a pass of the retention (retention.h) that trims the histories of
// stored instances, live and ended: those that were written before the limit was set, and those
// that a write left too long (history_trims.h). It looks at all instances of a namespace once in
// each process and after each change of the limits; otherwise only at the instances that a write
// left. Engine thread only.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "base/result.h"
#include "orchestrator/batch/batch_state.h"
#include "orchestrator/batch/instances.h"
#include "orchestrator/batch/purges.h"
#include "orchestrator/definition/retention_settings.h"
#include "orchestrator/store/rows/purge.h"

namespace millrace {

/// The position of the sweep in one namespace.
struct HistoryPosition {
  bool is_within = false;             ///< the members below belong to a sweep that has started
  bool sees_all = false;              ///< the sweep looks at all instances
  HistoryRules rules;                 ///< as they were when the sweep started
  bool is_ended = false;              ///< all live instances were looked at
  std::optional<InstanceId> behind;   ///< the last instance that was looked at
  std::vector<InstanceId> left = {};  ///< without `sees_all`: the instances to look at
};

class HistorySweep {
 public:
  HistorySweep(BatchState& batch, const Purges& purges, Instances& instances)
      : batch_(batch), purges_(purges), instances_(instances) {}

  /// Continues the sweep of a namespace. Returns whether it is finished; false: the budget is
  /// spent, or too many purges run, and a later batch continues. Errors: those of the store.
  Result<bool> go_on(NamespaceNumber ns, HistoryPosition& at, PurgeBudget& budget);

  /// Forgets which instances were looked at: the next sweeps look at all.
  void clear() { seen_.clear(); }

 private:
  void begin(NamespaceNumber ns, HistoryRules rules, HistoryPosition& at);
  Result<bool> see_all(NamespaceNumber ns, HistoryPosition& at, PurgeBudget& budget);
  Result<bool> see_left(NamespaceNumber ns, HistoryPosition& at, PurgeBudget& budget);
  Result<std::optional<Instance>> next_long(NamespaceNumber ns, HistoryPosition& at,
                                            PurgeBudget& budget);
  Result<bool> trim(const Instance& head, PurgeBudget& budget);

  BatchState& batch_;
  const Purges& purges_;
  Instances& instances_;
  /// The namespaces of which all instances were looked at, with the limits at that time.
  std::map<NamespaceNumber, HistoryRules> seen_;
};

}  // namespace millrace
