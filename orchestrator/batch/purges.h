// Purges: erases the rows of deleted namespaces, in portions, until none are left; also the history
// of removed instances, compensations that an instance has dropped, the events of closed groups,
// and ended instances that a command selects by a filter. The purges of different namespaces take
// turns. A namespace no longer exists after the commit that deletes its name. From then on nothing
// refers to its rows, and its number is not assigned again, so a new namespace of the same name has
// none of these rows. Engine thread only.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "base/result.h"
#include "orchestrator/batch/batch_state.h"
#include "orchestrator/batch/ended_selection.h"
#include "orchestrator/batch/groups.h"
#include "orchestrator/batch/instances.h"
#include "orchestrator/store/rows/purge.h"

namespace millrace {

class Purges {
 public:
  /// While so many purges are unfinished, the retention and the trims of histories, which begin
  /// purges without a command, wait.
  static constexpr size_t kMost = 1'000;

  Purges(BatchState& batch, Groups& groups, const Instances& instances)
      : batch_(batch), groups_(groups), instances_(instances), before_(batch.batches) {}

  /// Reads the unfinished purges from the store. A purge row that would erase something that was
  /// not deleted is ignored and noted as damaged. If rows belong to a namespace that neither exists
  /// nor is being erased, the server is not ready. Precondition: the catalog is loaded.
  Status load();

  /// Erases one portion of rows, for purges of one namespace that started in earlier batches; the
  /// next call is for the next namespace. `unit` ends the portion early. Returns whether another
  /// portion can follow in this batch.
  Result<bool> go_on(const WorkBudget* unit = nullptr);
  bool empty() const { return jobs_.empty(); }
  /// Whether go_on() can erase anything. Purges of instances that must be archived wait while a
  /// page is written or is due to the retention, and after a page of their namespace that could not
  /// be written.
  bool has_work() const;
  /// Whether a purge that started in an earlier batch is unfinished.
  bool has_earlier() const;
  /// The number of unfinished purges.
  size_t size() const { return jobs_.size(); }

  /// Undoes the changes of a batch that was lost.
  void undo();

  /// Starts the purge of a namespace that has no live instance and is being deleted. `name` is
  /// empty if the name of the namespace is no longer known.
  void begin(NamespaceNumber ns, const std::string& name);
  /// Whether the rows of the namespace are being erased.
  bool is_erasing(NamespaceNumber ns) const;
  /// Starts to close all groups that the workflow has now.
  Status begin_groups(const WorkflowEntry& workflow, const std::string& ns);
  /// Starts to erase the history of a removed instance, backward from the history row `row`, or the
  /// rows that were trimmed from the history of an instance. `ns` is the namespace of the instance.
  void begin_history(NamespaceNumber ns, uint64_t row);
  /// Starts to erase the compensations that instances have dropped in this batch
  /// (BatchState::dropped_compensations). To be called when the batch has written its instances.
  Status begin_compensations();
  /// Starts to erase the pieces of values that no variable gets (BatchState::dropped_pieces). To be
  /// called at the same time.
  void begin_pieces();
  /// Starts to delete the ended instances that the filter selects, except those that end or begin a
  /// new run from now on. `ns` and `workflow` are the names of its namespace and workflow.
  Status begin_instances(EndedFilter filter, const std::string& ns, const std::string& workflow);

 private:
  /// The steps of a namespace's purge, in order: first tasks and webhooks end, because they act
  /// outside of millrace.
  enum class Step : uint8_t {
    kTasks,
    kWebhooks,
    kDelayed,
    kNames,  ///< finds the workflows of the namespace
    kEnded,
    kLive,
    kWorkflows,
    kRetired,
    kVariables,
    kSecrets,
    kByStatus,
    kCounts,
    kUsage,
    kDone,
  };
  struct Job {
    Purge purge;
    Step step = Step::kTasks;
    std::string at;      ///< the key to continue from
    EndedPosition next;  ///< of kInstances: where to continue
    /// Of kInstances: ArchiveQueue::failed_page() when the walk that `next` continues began.
    uint64_t failed_page = 0;
    std::string erased;  ///< of kNamespace: the id of the workflow that was erased last
    /// Of kNamespace: the workflows of the namespace that Step::kNames has found.
    std::shared_ptr<std::set<WorkflowNumber>> workflows;
    /// Of kNamespace: the workflows of all namespaces; null: not needed so far.
    std::shared_ptr<const std::set<WorkflowNumber>> all_workflows;
    /// The batch in which the purge started; 0: before this process. The purge does not run in that
    /// batch: the batch writes its loaded instances at its end, and would write rows again that the
    /// purge had erased.
    uint64_t started_in = 0;
  };

  /// The jobs of a namespace run in the order of their places.
  struct Key {
    NamespaceNumber ns{};
    int64_t place = 0;

    auto operator<=>(const Key&) const = default;
  };
  using Jobs = std::map<Key, Job>;
  static constexpr int64_t kFirstPlace = std::numeric_limits<int64_t>::min();
  static constexpr int64_t kLastPlace = std::numeric_limits<int64_t>::max();

  void note_change(const Key& key);
  void add(NamespaceNumber ns, int64_t place, const Purge& purge);
  Jobs::iterator next_job();
  Jobs::iterator next_job_of(NamespaceNumber ns);
  bool can_run(const Job& job) const;
  void let_others_run_first(Jobs::iterator job);
  Status check(const Purge& purge) const;
  Status check_namespace(const Purge& purge) const;
  Status check_instances(const Purge& purge) const;
  Status hold_lost() const;
  Status note_leftovers() const;
  Result<bool> run(NamespaceNumber ns, Job& job, PurgeBudget& budget);
  Result<bool> run_step(Job& job, PurgeBudget& budget);
  /// The workflows of which a row of `workflows` or a row `retired/` exists, including workflows of
  /// deleted namespaces. A purge finds their definitions by that row.
  Result<std::set<WorkflowNumber>> known_workflows() const;
  Result<bool> is_unknown(Job& job, WorkflowNumber workflow) const;
  Result<NamespaceNumber> namespace_of(const Purge& purge) const;
  /// The namespace of a workflow, even if the workflow is deleted; nullopt: no row names the
  /// workflow.
  Result<std::optional<NamespaceNumber>> namespace_of(WorkflowNumber workflow) const;
  bool waits_for_archive(const Job& job) const;
  Result<bool> delete_instances(Job& job, PurgeBudget& budget);
  Result<bool> purge_workflows(Job& job, PurgeBudget& budget);
  Result<bool> erase_dropped(const DroppedCompensations& dropped, PurgeBudget& budget);
  Result<bool> erase_pieces(const Purge& purge, PurgeBudget& budget);

  BatchState& batch_;
  Groups& groups_;
  const Instances& instances_;
  Jobs jobs_;
  NamespaceNumber turn_{};   ///< the namespace that had the last portion
  int64_t first_place_ = 0;  ///< the lowest place of a job so far
  int64_t last_place_ = 0;   ///< the highest place of a job so far
  /// The jobs that the current batch changed, as of the last commit; nullopt: the job is new.
  BatchNotes<std::map<Key, std::optional<Job>>> before_;
};

}  // namespace millrace
