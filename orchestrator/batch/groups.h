// Groups: the events that wait for an eventsAnd start to be whole. Each
// group of a workflow has a queue for every entry of the start; when all have an event, the heads
// start one instance. Rows of the store; the timers of lifespans are in Waiting. Engine thread
// only.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "orchestrator/batch/batch_state.h"
#include "orchestrator/batch/instances.h"
#include "orchestrator/store/rows/group_rows.h"
#include "orchestrator/store/rows/purge.h"

namespace millrace {

/// Whether groups made for one start fit the other.
bool same_groups(const Start& a, const Start& b);

class Groups {
 public:
  Groups(Draft& draft, Instances& instances) : draft_(draft), instances_(instances) {}

  /// Stores the event, which is the stream's with that sequence, and starts what it makes whole.
  /// False: it lacks a correlated attribute.
  Result<bool> offer(TimePoint now, uint64_t sequence, const Event& event,
                     const WorkflowEntry& entry, const Workflow& workflow,
                     const std::vector<size_t>& entries);

  /// The lifespan of an event is over.
  Status expire(uint64_t number);

  /// Closes groups of a workflow as far as the budget reaches: each event in them up to that number
  /// becomes a dead letter, or is dropped if the record has no name of the namespace. One that
  /// waits in a group which its workflow still has stays: then the record is damaged. Returns
  /// whether these were all; if not, `at` is where to go on.
  /// `space` is the namespace that the workflow is or was in; none: the one of that name.
  Result<bool> close(WorkflowNumber workflow, const PurgeRecord& record,
                     std::optional<NamespaceNumber> space, std::string& at, PurgeBudget& budget);

 private:
  Result<std::vector<uint32_t>> counts_of(WorkflowNumber workflow, const Fingerprint& group,
                                          size_t entries);
  Result<bool> start(TimePoint now, const Event& last, const WorkflowEntry& entry,
                     const Workflow& workflow, const Fingerprint& group,
                     std::vector<uint32_t>& waiting);
  Result<bool> is_open(const GroupedEvent& grouped, const Event& event);

  Draft& draft_;
  Instances& instances_;
};

}  // namespace millrace
