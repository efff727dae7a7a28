// TaskDispatch: the tasks that have not ended, with their callers and heartbeat deadlines. A cache
// of the table `tasks`, updated by the batches. A task is handed to its runner once its batch is on
// disk, and again, under the same id, after a restart. Engine thread only.
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

#include "base/batch_notes.h"
#include "base/result.h"
#include "base/sharded_table.h"
#include "model/effect.h"
#include "orchestrator/memory/catalog.h"
#include "orchestrator/memory/damages.h"
#include "orchestrator/outgoing/call_budget.h"
#include "orchestrator/outgoing/started_tasks.h"
#include "orchestrator/outgoing/task_files.h"
#include "orchestrator/ports/clock.h"
#include "orchestrator/ports/task_runner.h"
#include "orchestrator/store/rows/call_slot_rows.h"
#include "orchestrator/store/transaction.h"

namespace millrace {

/// What is known of the throttle of a task without reading its row.
struct OpenThrottle {
  CallSlotKey key;
  /// Its row among the tasks that wait for the throttle, or will when their instance is resumed;
  /// nullopt: the throttle has let it pass, or it needs a slot first.
  std::optional<CallPlace> place = {};
  std::optional<TimePoint> until = {};  ///< when the wait ends with an error; not without `place`
};

/// The data of a task that is needed without reading its row.
struct OpenTask {
  NamespaceNumber ns{};
  std::optional<Caller> caller;  ///< nullopt: no call waits for the task
  InstanceId by;
  WorkflowNumber workflow{};
  ServiceFigures::Number service = 0;  ///< of the service that it is for
  std::optional<Duration> heartbeat;
  std::optional<Duration> handed_out_at;  ///< as Clock::elapsed(); reset by the first report
  bool has_started = false;               ///< a worker started it, as far as this process knows
  bool is_accepted = false;               ///< its service answers it by a callback
  bool has_files = false;                 ///< its service gets files over HTTP
  std::optional<Duration> heartbeat_deadline;  ///< as Clock::elapsed(); nullopt: no deadline
  /// The schedule-to-start deadline for which the runner was asked whether a worker has the task.
  std::optional<TimePoint> looked_for;
  bool is_not_started = false;  ///< the runner answered that no worker has it
  /// Its row among the slots of calls; nullopt: it needs no slot.
  std::optional<CallPlace> place;
  CallSlotKey slots;  ///< the key of its slot; not set without `place`
  /// When the wait for the slot ends with an error; only while it waits.
  std::optional<TimePoint> slot_until = {};
  std::optional<OpenThrottle> throttle = {};  ///< nullopt: no throttle decides about it
  /// Its input may contain data of a secret; or, once it is handed out, one of its files.
  Sealing sealed;

  bool awaits_slot() const { return place && place->kind != QueueRow::kCallHolder; }
  bool awaits_throttle() const { return throttle && throttle->place; }
  /// Whether it may not be handed out yet.
  bool awaits_turn() const { return awaits_slot() || awaits_throttle(); }
  /// When its wait for the slot or the throttle ends with an error; nullopt: it does not wait, or
  /// the wait has no end.
  std::optional<TimePoint> wait_end() const {
    if (awaits_slot()) return slot_until;
    return awaits_throttle() ? throttle->until : std::nullopt;
  }
};

class TaskDispatch {
 public:
  /// `started` is updated here and read by other threads.
  TaskDispatch(TaskRunner& runner, const Catalog& catalog, const Clock& clock,
               StartedTasks& started, Damages& damages, const BatchCount& batches,
               CallBudget::Limits limits = {})
      : runner_(runner),
        catalog_(catalog),
        clock_(clock),
        started_(started),
        damages_(damages),
        budget_(limits),
        undo_(batches) {}

  /// From now on the runners of tasks read large variables with this function. Without it the
  /// engine thread reads all variables.
  void read_large_variables_with(ReadVariable read) { read_variable_ = std::move(read); }

  /// Reads the tasks. Those that this process has not handed out yet become due.
  Status load(const View& view);

  // During a batch.

  /// `place`: the row of a task with a slot, which the caller has written.
  void begin(Transaction& tx, const StartTask& task, const std::optional<CallPlace>& place = {});
  /// Notes another row of a task with a slot, which the caller has written; `until`: when its wait
  /// ends with an error.
  void set_place(const InstanceId& task, const CallPlace& place,
                 const std::optional<TimePoint>& until = {});
  /// Notes that a task with a throttle waits for it, with the row that the caller has written, and
  /// until when; nullopt: it does not wait any more.
  void set_throttled(const InstanceId& task, const std::optional<CallPlace>& place,
                     const std::optional<TimePoint>& until = {});
  void end(Transaction& tx, const InstanceId& task);
  /// The tasks of an instance. Scans all tasks.
  std::vector<InstanceId> of(const InstanceId& by) const;
  /// Returns null if there is no task with that id, or if it has ended.
  const OpenTask* find(const InstanceId& task) const;

  /// Whether an HTTP service or a container has the task, as far as this process has handed it out.
  /// Such a task has its answer from its runner or by a callback only, and not from a worker over
  /// NATS.
  bool is_called_directly(const InstanceId& task) const;

  /// Stores that the service of the task has accepted it: the task is not handed out again, also
  /// after a restart; of one with files, the files are. Returns whether that is new. Errors: those
  /// of the store, also of damaged rows.
  Result<bool> accept(Transaction& tx, const InstanceId& task);

  /// Notes a heartbeat or another report of the task. For the first report of a task, returns the
  /// time since the task was handed out.
  std::optional<Duration> heard(const InstanceId& task);
  /// Notes in the figures of its service that an attempt of the task has failed.
  void note_failure(const OpenTask& task, const Error& error, TimePoint at) const;
  /// How many tasks one call of missed_heartbeats() asks about if nothing else is said.
  static constexpr size_t kHeartbeatsAtOnce = 100;
  /// Returns each task that missed its heartbeat, once. Asks the runner of the task first, because
  /// runners need not report each heartbeat. One call asks about `most` tasks only: while
  /// next_heartbeat_deadline() has passed, further calls continue.
  std::vector<InstanceId> missed_heartbeats(size_t most = kHeartbeatsAtOnce);
  /// For a task whose schedule-to-start deadline has passed: whether the runner has not yet
  /// answered whether a worker has started the task. The first call of this function for a task and
  /// a deadline sends that question to the runner.
  bool awaits_start_check(const InstanceId& task, TimePoint deadline);
  /// Notes that the runner has answered: no worker has started the task.
  void start_checked(const InstanceId& task);

  /// Undoes the changes of a batch that was lost.
  void undo();

  // After the commit.

  /// Hands the task to its runner; a task with variables as files becomes due instead.
  void hand_out(const StartTask& task);
  /// Makes a task due that has got the slot for which it waited.
  void hand_out_later(const InstanceId& task) { due_.push_front(task); }
  void stop(const InstanceId& task);
  /// The runner of an accepted task needs no memory for it any more.
  void accepted(const InstanceId& task) { budget_.end(task); }
  /// Forgets a task that ended without being stopped.
  void forget(const InstanceId& task);
  /// Hands out some of the due tasks, with the variables that they get as files. A task that cannot
  /// be read stays due, after the others, and the first such error is returned. A task with damaged
  /// rows is not handed out.
  Status hand_out_due(const View& view);
  bool has_due() const { return !due_.empty() || (holds_tasks_ && budget_.has_releasable()); }
  /// Makes the tasks due that wait because their service was paused.
  void resume(NamespaceNumber ns, std::string_view service);
  /// Settings that could not be read are set again: makes all waiting tasks due, so that each is
  /// checked again.
  void resume_all();

  /// The next heartbeat deadline, as Clock::elapsed().
  std::optional<Duration> next_heartbeat_deadline() const;
  /// When the next heartbeat deadline passes, or hand_out_due() looks whether held tasks may be
  /// handed out, as Clock::elapsed().
  std::optional<Duration> next_time() const;
  size_t size() const { return tasks_.size(); }
  /// The number of tasks of a namespace.
  size_t count(NamespaceNumber ns) const { return started_.open(ns); }
  /// The first time at which the wait of a task for its slot or its throttle ends with an error.
  std::optional<TimePoint> next_wait_end() const;
  /// The tasks whose wait has ended by `now`, at most `most` of them.
  std::vector<InstanceId> ended_waits(TimePoint now, size_t most) const;
  /// How many tasks of each namespace wait for a slot or a throttle, or will when their instance is
  /// resumed; none is 0.
  const std::map<NamespaceNumber, size_t>& awaiting_slots() const { return awaiting_slots_; }
  /// The tasks that wait in the store because their namespace has used its budget, or has many
  /// bytes of tasks that the broker does not have yet.
  size_t held() const;

 private:
  OpenTask summary_of(const StartTask& task, const std::optional<CallPlace>& place);
  static std::optional<OpenThrottle> open_throttle(const StartTask& task);
  OpenTask stored_summary(const View& view, const StartTask& task, Status& status);
  std::optional<CallPlace> stored_place(const View& view, const StartTask& task, Status& status);
  void clear_waits();
  void listen(const InstanceId& id, OpenTask& task, Duration ago = Duration(0));
  void note(const InstanceId& task);
  void put(const InstanceId& id, OpenTask task);
  void count_awaiting(const InstanceId& id, const OpenTask& task, bool is_added);
  void remove(const InstanceId& id);
  Status hand_out_due(const View& view, const InstanceId& id, uint64_t& file_bytes);
  /// Whether the task may be handed out now; a task of a paused service is queued until it is
  /// resumed, and a task beyond the budget of its namespace until older ones have ended, or until
  /// the broker has older ones.
  bool may_go_out(const StartTask& task);
  bool has_memory(NamespaceNumber ns) const;
  void release_unsent();
  void forget_unsent(const InstanceId& task);
  /// `files`: with the sealing of the task, too.
  Task made(const StartTask& task, FilesOfTask files) const;
  void run(const StartTask& task, FilesOfTask files);
  TaskTarget target_of(const StartTask& task) const;
  /// Whether the runner of the task keeps the input in memory until the task has ended. Tasks over
  /// NATS are in the stream once the broker has them.
  bool is_budgeted(const StartTask& task) const;
  bool is_paused(const StartTask& task) const;

  TaskRunner& runner_;
  const Catalog& catalog_;
  const Clock& clock_;
  StartedTasks& started_;
  ReadVariable read_variable_;
  Damages& damages_;
  std::map<NamespaceNumber, size_t> awaiting_slots_;
  std::set<std::pair<TimePoint, InstanceId>> wait_ends_;  ///< those of OpenTask::wait_end()
  CallBudget budget_;         ///< for tasks whose runners keep the input in memory
  bool holds_tasks_ = false;  ///< false: no task is held, so a turn asks nothing of the budget
  ShardedTable<boost::unordered_flat_map<InstanceId, OpenTask, std::hash<InstanceId>>> tasks_;
  std::set<std::pair<Duration, InstanceId>> heartbeat_deadlines_;
  std::deque<InstanceId> due_;  ///< the next task is the last element
  /// Tasks that wait until their service is resumed, in their order.
  std::map<std::pair<NamespaceNumber, std::string>, std::deque<InstanceId>> waiting_;
  /// Tasks that wait until the broker has older ones of their namespace. Ids sort by time; no set
  /// is empty.
  std::map<NamespaceNumber, std::set<InstanceId>> unsent_;
  Duration looked_at_{};  ///< as Clock::elapsed(): when a place for them was last looked for
  /// The tasks that runners have, and whether each of them is sealed.
  ShardedTable<boost::unordered_flat_map<InstanceId, Sealing, std::hash<InstanceId>>> handed_out_;
  /// The tasks that the current batch changed, with their values before the batch; nullopt: the
  /// task is new.
  BatchNotes<std::vector<std::pair<InstanceId, std::optional<OpenTask>>>> undo_;
};

}  // namespace millrace
