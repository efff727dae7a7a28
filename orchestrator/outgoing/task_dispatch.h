// Tasks: the work outside that has not ended: whose it is, and when it was last heard of. A cache
// of the table `tasks`, kept in step by the batches; once one is on disk, what it has started is
// handed to the runner, and again, under the same id, after a restart. Engine thread only.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/unordered/unordered_flat_map.hpp>
#include <boost/unordered/unordered_flat_set.hpp>

#include "base/batch_notes.h"
#include "base/result.h"
#include "model/effect.h"
#include "orchestrator/memory/catalog.h"
#include "orchestrator/memory/damages.h"
#include "orchestrator/outgoing/begun_tasks.h"
#include "orchestrator/ports/clock.h"
#include "orchestrator/ports/task_runner.h"
#include "orchestrator/store/transaction.h"

namespace millrace {

/// What is known of a task without reading its row.
struct TaskInHand {
  NamespaceNumber space{};
  std::optional<Caller> caller;  ///< none: nobody waits for it
  InstanceId by;
  WorkflowNumber workflow{};
  std::optional<Duration> heartbeat;
  std::optional<Duration> handed_out_at;  ///< by this process, as Clock::elapsed(); until begun
  bool has_begun = false;                 ///< somebody, as far as this process has heard
  std::optional<Duration> silent_at;      ///< as Clock::elapsed(): unless it is heard of before
  /// For which schedule-to-start deadline its runner was asked whether somebody has begun with it.
  std::optional<TimePoint> looked_for;
  bool is_unbegun = false;  ///< that answer is there, and it is no
  bool sealed = false;
};

class Tasks {
 public:
  /// `begun` is kept in step, for other threads.
  Tasks(TaskRunner& runner, const Catalog& catalog, const Clock& clock, BegunTasks& begun,
        Damages& damages, const BatchCount& batches)
      : runner_(runner),
        catalog_(catalog),
        clock_(clock),
        begun_(begun),
        damages_(damages),
        undo_(batches) {}

  /// Reads which there are. Those that this process has not handed out yet are due.
  Status load(const View& view);

  // While a batch is in hand.

  void begin(Transaction& tx, const StartTask& task);
  void end(Transaction& tx, const InstanceId& task);
  /// Those of an instance. Looks at all that there are.
  std::vector<InstanceId> of(const InstanceId& by) const;
  /// null: there is none of that id, or it has ended.
  const TaskInHand* find(const InstanceId& task) const;

  /// There was a sign of life. The first one: how long it took from when it was handed out.
  std::optional<Duration> heard(const InstanceId& task);
  /// Those that have been silent for too long; each is told once. Their runners are asked before:
  /// not every sign of life is told.
  std::vector<InstanceId> silent();
  /// Whether it is still to be told if somebody has begun with the task, whose schedule-to-start
  /// deadline has come. Asks its runner the first time.
  bool awaits_look(const InstanceId& task, TimePoint deadline);
  /// Nobody has.
  void looked(const InstanceId& task);

  /// The batch in hand is lost.
  void undo();

  // Once it is on disk.

  /// Hands it to the runner; one that takes variables as files is due instead.
  void hand_out(const StartTask& task);
  void stop(const InstanceId& task);
  /// It has ended by itself.
  void forget(const InstanceId& task) { handed_out_.erase(task); }
  /// Hands out some of those that are due, with the variables that they take as files. One that
  /// cannot be read stays due behind the others, and the error is the first of those; one whose
  /// rows are damaged is set aside.
  Status hand_out_due(const View& view);
  bool has_due() const { return !due_.empty(); }
  /// Calls of a service that was paused may go out.
  void resume(NamespaceNumber space, std::string_view service);
  /// Settings that could not be read are there again: what waits is looked at anew.
  void resume_all();

  /// When the next one will have been silent for too long, as Clock::elapsed().
  std::optional<Duration> next_silence() const;
  size_t size() const { return tasks_.size(); }

 private:
  void listen(const InstanceId& id, TaskInHand& task, Duration ago = Duration(0));
  void note(const InstanceId& task);
  Status hand_out_due(const View& view, const InstanceId& id);
  /// Whether it may go out now; one of a paused service waits for that.
  bool may_go_out(const StartTask& task);
  void run(const StartTask& task, std::vector<TaskFile> files);
  TaskTarget target_of(const StartTask& task) const;
  bool is_paused(const StartTask& task) const;

  TaskRunner& runner_;
  const Catalog& catalog_;
  const Clock& clock_;
  BegunTasks& begun_;
  Damages& damages_;
  boost::unordered_flat_map<InstanceId, TaskInHand, std::hash<InstanceId>> tasks_;
  std::set<std::pair<Duration, InstanceId>> silences_;
  std::vector<InstanceId> due_;  ///< the next one last
  /// Those that wait for their service to go on, in their order.
  std::map<std::pair<NamespaceNumber, std::string>, std::deque<InstanceId>> waiting_;
  boost::unordered_flat_set<InstanceId, std::hash<InstanceId>> handed_out_;
  /// What the batch in hand has changed, as it was before; nullopt: it was not there.
  BatchNotes<std::vector<std::pair<InstanceId, std::optional<TaskInHand>>>> undo_;
};

}  // namespace millrace
