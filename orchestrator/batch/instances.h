// Instances: those that the batch in hand has made or read. Each is read once, stepped as often as
// the batch's inputs concern it, and written once at the end. Engine thread only.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "orchestrator/batch/batch_state.h"
#include "orchestrator/batch/store_lookup.h"
#include "orchestrator/engine/runs.h"

namespace millrace {

/// An instance in the hands of a batch, and how its rows stood when it was read.
struct Touched {
  Instance instance;
  bool is_new = false;
  bool changed = false;
  std::shared_ptr<const std::string> data;  ///< its text as read
  bool had_slots = false;
  bool had_found_data = false;
  std::shared_ptr<const std::string> failed_data;  ///< its text as read
  std::vector<Call> calls;                         ///< as read
  std::vector<HistoryRecord> history;
};

/// What an instance starts with.
struct StartSpec {
  Json data;
  LazyJson how;       ///< detail of its first record
  uint32_t hops = 0;  ///< of the events that started it, the highest
  std::string idempotency_key;
  std::optional<InstanceId> id;         ///< none: a new one
  std::optional<uint64_t> listen_from;  ///< none: from now on
  std::optional<Caller> caller;
  uint32_t depth = 0;
  bool sealed = false;
  std::string traceparent;
  std::string correlation;
  Origin origin;
};

class Instances {
 public:
  explicit Instances(Draft& draft) : draft_(draft) {}

  /// Whether another instance may start now: `direktiv.mutex` if the workflow is singular and one
  /// of it has not ended. To be asked before a start of any kind.
  Status refuse_singular(const WorkflowEntry& entry, const Workflow& workflow) const;
  /// The same for a start that nobody waits for the answer of: one that may not be is counted.
  bool skips(const WorkflowEntry& entry, const Workflow& workflow);

  /// Starts one and lets it run as far as it goes.
  Result<InstanceId> start(TimePoint now, const WorkflowEntry& entry, const Workflow& workflow,
                           StartSpec spec);

  /// The same, but it takes its first step in a batch of its own: for what would come again if the
  /// process died of that step.
  Result<InstanceId> start_later(TimePoint now, const WorkflowEntry& entry,
                                 const Workflow& workflow, StartSpec spec);

  /// The living instance, from this batch or the store; null if there is none, or if its rows are
  /// damaged or do not fit its definition, which is counted and noted.
  Result<Touched*> touch(TimePoint now, NamespaceNumber space, const InstanceId& id);
  /// The same for a command about just this one: error store.damaged_row if it is damaged.
  Result<Touched*> touch_sound(TimePoint now, NamespaceNumber space, const InstanceId& id);

  /// What is left of an instance that was removed although its rows are damaged.
  struct Removed {
    size_t rows = 0;            ///< that it had
    uint64_t last_history = 0;  ///< its newest history row; 0: its head does not decode
  };
  /// Erases the rows of a damaged instance and ends its tasks. If its head decodes, its caller gets
  /// the error direktiv.cancels.api. Subflows that it has started go on.
  Result<Removed> remove_damaged(NamespaceNumber space, const InstanceId& id);

  /// One that has ended, for a stimulus that revives it. Error `direktiv.mutex` as above.
  Result<Touched*> revive(const WorkflowEntry& entry, const Workflow& workflow, Instance ended);

  /// Whether the stimulus changed it; one that is stale does not. An instance that begins to listen
  /// is offered what was kept for it.
  Result<bool> step(TimePoint now, Touched& touched, const Stimulus& stimulus);

  /// Whether the instance, if it waits, was waiting for an event that is kept; it has got all such
  /// events then, in their order.
  Result<bool> offer_recent(TimePoint now, Touched& touched);

  struct Some {
    std::vector<InstanceId> ids;
    std::optional<InstanceId> last;  ///< there may be more behind this one; none: these are all
  };
  /// The next living ones of a namespace behind `behind`, as the batch leaves them, for which
  /// `is_one` holds: about `most`, of so many as a batch can look at.
  Result<Some> living(NamespaceNumber space, const std::optional<InstanceId>& behind, size_t most,
                      const std::function<bool(const Instance& head)>& is_one) const;

  /// Writes all that changed, and forgets them.
  Status write();
  void clear() { touched_.clear(); }

 private:
  Touched& begin(TimePoint now, const WorkflowEntry& entry, const Workflow& workflow,
                 StartSpec spec);
  Status tell(const Touched& touched, const std::vector<HistoryRecord>& records);
  Status note(const Instance& instance);
  Result<bool> step_once(TimePoint now, Touched& touched, const Stimulus& stimulus);

  Draft& draft_;
  StoreLookup lookup_{draft_.tx, draft_.catalog, draft_.id_key};
  std::map<InstanceId, Touched> touched_;  // ordered: what is written has a fixed order
};

}  // namespace millrace
