// Groups: the events that wait until each entry of an eventsAnd start has one. A group has one
// queue for each entry; when all queues have an event, the first event of each starts one instance.
// The queues are rows of the store; the timers of lifespans are in WaitIndex. Engine thread only.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "orchestrator/batch/batch_state.h"
#include "orchestrator/batch/event_start_id.h"
#include "orchestrator/batch/instances.h"
#include "orchestrator/store/rows/group_rows.h"
#include "orchestrator/store/rows/purge.h"

namespace millrace {

/// Whether events that wait in groups of the start `a` may stay there after the start `b` has
/// replaced `a`.
bool same_groups(const Start& a, const Start& b);

class Groups {
 public:
  Groups(BatchState& batch, Instances& instances) : batch_(batch), instances_(instances) {}

  /// Stores the event and starts an instance if the event completes a group. Events of the group
  /// whose lifespan has ended by the timestamp of the event are removed before. Returns false if
  /// the event lacks an attribute of the correlation, or if the events of the group are too large
  /// together (`over` is set; the event does not join the group).
  Result<bool> offer(TimePoint now, const AppliedEvent& applied, const WorkflowEntry& entry,
                     const Workflow& workflow, const std::vector<size_t>& entries,
                     std::optional<Error>& over);

  /// Whether one unit of work should not remove all events of the group whose lifespan has ended by
  /// the timestamp of the event, because there may be many: then the event must be decided late.
  Result<bool> must_wait(TimePoint now, const AppliedEvent& applied, const WorkflowEntry& entry,
                         const Workflow& workflow);
  /// Removes some of these events. Returns whether none is left. `applied` is decided late.
  Result<bool> make_way(const AppliedEvent& applied, const WorkflowEntry& entry,
                        const Workflow& workflow);

  /// Removes an event whose lifespan has ended.
  Status expire(uint64_t number);

  /// What a call of drop() has done.
  struct Dropped {
    uint64_t events = 0;
    bool is_all = true;  ///< none is left
  };
  /// Removes events of a group with numbers up to `up_to`, the oldest of each queue first, until
  /// the budget is spent, at least one. Each becomes a dead letter.
  Result<Dropped> drop(const WorkflowEntry& entry, const Workflow& workflow,
                       const Fingerprint& group, uint64_t up_to, PurgeBudget& budget);

  /// Closes groups of a workflow as far as the budget allows. Each event in them with a number up
  /// to `record.up_to` becomes a dead letter, or is dropped if the record has no namespace name. An
  /// event in a group that the workflow still has is not removed; `record` is then reported as
  /// damaged. Returns whether all events were processed; if not, `at` is the key to continue from.
  /// `ns` is the namespace that the workflow belongs or belonged to; nullopt: it is the namespace
  /// with the name in the record.
  Result<bool> close(WorkflowNumber workflow, const PurgeRecord& record,
                     std::optional<NamespaceNumber> ns, std::string& at, PurgeBudget& budget);

 private:
  Result<std::vector<uint32_t>> counts_of(WorkflowNumber workflow, const Fingerprint& group,
                                          size_t entries);
  Result<std::optional<Error>> refusal_of_bytes(const WorkflowEntry& entry,
                                                const GroupedEvent& last, size_t entries);
  Result<size_t> expire_passed(WorkflowNumber workflow, const Fingerprint& group,
                               const std::vector<uint32_t>& waiting, TimePoint until, size_t most);
  Result<bool> start(TimePoint now, const AppliedEvent& last, const WorkflowEntry& entry,
                     const Workflow& workflow, const Fingerprint& group,
                     std::vector<uint32_t>& waiting);
  Status leave_closed(WorkflowNumber workflow, const GroupedEvent& grouped, const Event& event,
                      const std::string& ns, std::optional<NamespaceNumber> number,
                      std::string detail);
  Status refuse(NamespaceNumber ns, const std::vector<GroupedEvent>& grouped,
                const std::vector<Event>& events, const Error& reason);
  Result<bool> is_open(const GroupedEvent& grouped, const Event& event);

  BatchState& batch_;
  Instances& instances_;
};

}  // namespace millrace
