// Purges: erases what was in namespaces that were deleted, a little in each batch, until nothing of
// them is in the store. A namespace is gone with the commit that deletes its name: from then on its
// rows are led to by nothing, and its number is not given again, so a new one of that name has
// nothing to do with them. Engine thread only.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <string>

#include "base/result.h"
#include "orchestrator/batch/batch_state.h"
#include "orchestrator/batch/groups.h"
#include "orchestrator/store/rows/purge.h"

namespace millrace {

class Purges {
 public:
  Purges(Draft& draft, Groups& groups) : draft_(draft), groups_(groups), before_(draft.batches) {}

  /// Finds what is left to do. A row that would erase what was not deleted is set aside, and where
  /// rows are of a namespace that is neither there nor being erased, the server is not ready. The
  /// catalog is loaded by then.
  Status load();

  /// Does as much as one batch should, of what earlier batches have begun.
  Status go_on();
  bool empty() const { return jobs_.empty(); }

  /// The batch in hand is lost.
  void undo() {
    if (auto before = before_.take()) jobs_ = *std::move(before);
  }

  /// The namespace has no living instance and is being deleted. `name` is empty where it is not
  /// known any more.
  void begin(NamespaceNumber space, const std::string& name);
  /// Whether what was in the namespace is being erased.
  bool is_erasing(NamespaceNumber space) const;
  /// All events that wait in groups of the workflow now.
  Status begin_groups(const WorkflowEntry& workflow, const std::string& space);
  /// The history of an instance that is gone, from that row backward.
  void begin_history(uint64_t row);

 private:
  /// In this order: what works outside ends first.
  enum class Step : uint8_t {
    kTasks,
    kHooks,
    kDelayed,
    kEnded,
    kLive,
    kWorkflows,
    kRetired,
    kVariables,
    kSecrets,
    kDone,
  };
  struct Job {
    Purge purge;
    Step step = Step::kTasks;
    std::string at;  ///< the key to go on from
    /// The batch that began it. It writes the instances that it has touched at its end: what is
    /// erased before would be there again. 0: an earlier life.
    uint64_t begun_in = 0;
  };

  void note_change();
  Status check(const Purge& purge) const;
  Status check_namespace(const Purge& purge) const;
  Status hold_lost() const;
  Status note_leftovers() const;
  Result<bool> run(Job& job, PurgeBudget& budget);
  Result<bool> run_step(Job& job, PurgeBudget& budget);
  /// The workflows that a row names, be they deleted or of a namespace that is: that row is how
  /// their definitions are erased, or why they are kept.
  Result<std::set<WorkflowNumber>> known_workflows() const;
  /// The namespace of a workflow, deleted or not; none: there is nothing else of the workflow.
  Result<std::optional<NamespaceNumber>> namespace_of(WorkflowNumber workflow) const;
  Result<bool> purge_workflows(Job& job, PurgeBudget& budget);
  Result<bool> purge_retired(const Job& job, PurgeBudget& budget);

  Draft& draft_;
  Groups& groups_;
  std::deque<Job> jobs_;
  BatchNotes<std::optional<std::deque<Job>>> before_;  ///< as the last commit left them
};

}  // namespace millrace
