// Retention: deletes ended instances that the settings of their namespace no longer keep
// (retention_settings.h), and trims histories (history_sweep.h). Once in a minute a pass begins,
// which looks through the namespaces with rules or limits; each batch takes one step of it. The
// namespaces take turns, so that none waits for another one with millions of due instances; if the
// pass takes longer than a minute, those that are finished have a turn again. The positions of a
// pass are in memory only: a new process begins a new pass. Engine thread only.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/batch_notes.h"
#include "base/result.h"
#include "base/time.h"
#include "orchestrator/batch/batch_state.h"
#include "orchestrator/batch/history_sweep.h"
#include "orchestrator/batch/purges.h"
#include "orchestrator/definition/retention_settings.h"
#include "orchestrator/store/rows/purge.h"

namespace millrace {

class Retention {
 public:
  Retention(BatchState& batch, Purges& purges, Instances& instances)
      : batch_(batch),
        purges_(purges),
        histories_(batch, purges, instances),
        before_(batch.batches) {}

  /// Begins a pass if the last one began at least a minute before `now`, the engine time, and takes
  /// the next step of the pass: one portion of work, less while purges run; `unit` ends it early. A
  /// portion is for one namespace, or for several of which it finishes all but the last one.
  /// Waits while too many purges run, because deleted instances may leave histories to them. Sets
  /// the plan (BatchState::retention), so it is to be called in each batch for which the plan has
  /// work, and in each batch that may change settings; after all inputs of the batch. At the end of
  /// a pass sets BatchOutcome::pass_end. Returns whether another step can follow in this batch.
  /// Errors: those of the store.
  Result<bool> go_on(TimePoint now, const WorkBudget* unit = nullptr);

  /// Whether a pass has steps left. It may wait for the archive.
  bool is_running() const { return state_.at.has_value(); }
  /// See RetentionPlan::next_pass.
  std::optional<TimePoint> next_pass() const;

  /// Forgets the current pass and when it began.
  void clear();
  /// Undoes the changes of a batch that was lost. Precondition: the catalog is undone.
  void undo();

 private:
  enum class Stage : uint8_t { kWorkflows, kBytes, kHistories };
  /// The position of a pass in one namespace. It first takes one workflow after the other, for
  /// `age` and `count`, then all ended instances by their ids, for `bytes`, and then the histories.
  struct Position {
    NamespaceNumber ns{};
    std::optional<WorkflowNumber> done;  ///< the last workflow that needs no further look
    Stage stage = Stage::kWorkflows;
    HistoryPosition histories = {};

    bool is_within = false;  ///< the members below belong to a walk that has started
    WorkflowNumber workflow{};
    bool is_failed = false;            ///< the walk is for the instances with the rule `failed`
    bool is_shared = false;            ///< the instances with the rule `failed` have the same rule
    std::optional<InstanceId> behind;  ///< the last instance that was looked at
    uint64_t kept = 0;                 ///< how many instances up to `behind` stay
    /// How many instances from `behind` on were too many for `count` when the walk began; nullopt:
    /// not known yet.
    std::optional<uint64_t> too_many;

    /// The search for the first instance that may be too much for `bytes`: the workflow and status
    /// from which it continues, and the lowest id that it has found.
    WorkflowNumber searched{};
    std::optional<InstanceStatus> searched_status;
    std::optional<InstanceId> found;
  };
  struct State {
    /// When the last pass began, or the finished namespaces of the current one began another walk.
    std::optional<TimePoint> began;
    std::optional<Position> at;  ///< in the namespace that has the turn; nullopt: no pass runs
    NamespaceNumber last{};      ///< the namespaces up to this one have had a turn since `began`
    /// In the other namespaces with an unfinished walk. Shared with the state as of the last
    /// commit.
    std::map<NamespaceNumber, std::shared_ptr<const Position>> others;
  };
  using Statuses = std::span<const InstanceStatus>;

  void note_change();
  void note_due(TimePoint due);
  void end_pass(TimePoint now);
  void set_plan();
  bool waits_for_archive(const Position& at) const;
  bool waits_for_page(const Position& at) const;
  template <class Is>
  bool any_left(const Is& is) const;
  bool give_turn_after(NamespaceNumber ns);
  bool end_turn(TimePoint now, bool is_finished);
  template <class Is>
  bool give_turn(TimePoint now, const Is& is);
  Status run(TimePoint now, const WorkBudget* unit);
  Status take_turns(TimePoint now, PurgeBudget& budget);
  Result<bool> sweep(TimePoint now, const RetentionSettings& settings, PurgeBudget& budget);
  Result<bool> sweep_workflows(TimePoint now, const RetentionSettings& settings,
                               PurgeBudget& budget);
  Result<bool> begin_workflow(PurgeBudget& budget);
  Result<bool> sweep_workflow(TimePoint now, const RetentionSettings& settings,
                              PurgeBudget& budget);
  Result<bool> sweep_statuses(TimePoint now, const RetentionRule& rule, Statuses statuses,
                              PurgeBudget& budget);
  static void restart(Position& at);
  Result<uint64_t> count_too_many(const RetentionRule& rule, Statuses statuses);
  Result<std::vector<std::pair<InstanceId, InstanceStatus>>> next_ids(Statuses statuses,
                                                                      size_t most,
                                                                      PurgeBudget& budget);
  Result<bool> sweep_for_bytes(const RetentionSettings& settings, PurgeBudget& budget);
  Result<bool> find_first_for_bytes(const RetentionSettings& settings, uint64_t used,
                                    PurgeBudget& budget);
  Result<std::vector<Instance>> next_heads(PurgeBudget& budget);
  Result<bool> remove(const Instance& head, PurgeBudget& budget);
  /// The id of the workflow; empty: it was deleted.
  std::string_view id_of(WorkflowNumber workflow) const;

  BatchState& batch_;
  Purges& purges_;
  HistorySweep histories_;
  State state_;
  BatchNotes<std::optional<State>> before_;  ///< state_ as of the last commit
  /// RetentionPassEnd::next_due of the current pass so far. A lost batch need not undo it: the pass
  /// notes the same times again.
  std::map<NamespaceNumber, TimePoint> next_due_;
};

}  // namespace millrace
