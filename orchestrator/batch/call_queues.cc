#include "orchestrator/batch/call_queues.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "orchestrator/batch/call_slots.h"
#include "orchestrator/batch/call_throttles.h"
#include "orchestrator/batch/call_waits.h"
#include "orchestrator/batch/start_rates.h"
#include "orchestrator/store/rows/damage.h"
#include "orchestrator/store/rows/task_rows.h"

namespace millrace {
namespace {

/// How many keys of throttles one firing of their timer moves to the lanes.
constexpr size_t kDueCallKeysAtOnce = 256;

bool is_over(const std::optional<TimePoint>& deadline, TimePoint now) {
  return deadline && *deadline <= now;
}

/// Whether a timeout of the call whose task is that one has passed.
bool is_overdue(const Instance& instance, const InstanceId& task, TimePoint now) {
  return std::any_of(instance.calls.begin(), instance.calls.end(), [&](const Call& call) {
    return call.id == task && std::any_of(call.deadlines.begin(), call.deadlines.end(),
                                          [&](const auto& one) { return is_over(one, now); });
  });
}

/// Whether the time of the task's wait is over. No process may have been there when it was.
bool is_wait_over(const TaskDispatch& tasks, const InstanceId& task, TimePoint now) {
  const OpenTask* const known = tasks.find(task);
  return known != nullptr && is_over(known->wait_end(), now);
}

}  // namespace

Status CallQueues::load() {
  lanes_.clear();
  due_.clear();
  arm();
  for (const NamespaceNumber ns : TRY(namespaces_with_call_slots(batch_.tx))) {
    if (batch_.catalog.has_namespace(ns)) lanes_.of({ns, {}}).review();
  }
  return {};
}

Status CallQueues::run(TimePoint now) {
  std::set<WorkLane> fresh;
  const auto add = [&](const CallSlotKey& key) { lanes_.of({key.ns, {}}, fresh).add(key); };
  for (const CallSlotKey& key : std::exchange(batch_.woken_calls, {})) add(key);
  if (std::exchange(batch_.has_due_call_throttle, false)) {
    for (const CallSlotKey& key : due_.take(now, kDueCallKeysAtOnce)) add(key);
  }
  for (const NamespaceNumber ns : std::exchange(batch_.reviewed_calls, {})) {
    lanes_.of({ns, {}}, fresh).review();
  }
  for (const WorkLane& lane : fresh) {
    while (may_go_on(lane) && !batch_.meter.is_spent()) TRY(go_on(now, lane));
  }
  arm();
  return {};
}

Status CallQueues::go_on(TimePoint now, const WorkLane& lane) {
  return lanes_.go_on(
      lane, [&](Lanes::Lane& reviewed) { return review(lane.ns, reviewed); },
      [&](const CallSlotKey& key) { return admit_next(now, key); });
}

/// Adds the next keys of the namespace that have a task that waits.
Status CallQueues::review(NamespaceNumber ns, Lanes::Lane& lane) {
  lane.begin_portion();
  return each_call_counts(
      batch_.tx, ns, lane.reviewed_until(),
      [&](const CallSlotKey& key, const CallSlotCounts& counts) {
        return lane.note(key, counts.queued > 0);
      },
      batch_.damages.noting());
}

/// Gives the task that is next a slot, if one is free, or lets it pass the throttle, if that
/// permits it. Returns whether another one may follow.
Result<bool> CallQueues::admit_next(TimePoint now, const CallSlotKey& key) {
  if (!batch_.catalog.has_namespace(key.ns)) return false;  // a purge ends its tasks
  CallSlotCounts counts = TRY(call_counts_of(batch_, key));
  // The command that resumes the service reviews the keys of its namespace.
  if (counts.queued == 0 || is_service_held(batch_, key.ns, counts.service)) return false;
  const auto first =
      TRY(read_first_call(batch_.tx, waiting_kind(key), key, batch_.damages.noting()));
  if (!first) {
    TRY(recount_calls(batch_, key));
    return false;
  }
  if (is_wait_over(batch_.tasks, first->record.task, now)) {
    --left_;
    TRY(end_call_wait(batch_, instances_, first->record.task, now));
    return true;
  }
  if (key.is_throttle) return admit_throttled(now, key, *first);
  TRY(drop_gone_calls(batch_, key, counts, first->record.limit));
  if (counts.queued == 0 || counts.held >= first->record.limit) return false;
  const Turn turn = TRY(turn_of(now, first->record.task));
  if (turn != Turn::kTakes) return turn == Turn::kAgain;
  return admit(now, key, std::move(counts), *first);
}

/// Fires the passed timers of the instance that waits for the task. The turn may be that of a call
/// that ended by a timer of the same time, and then the time of this call is over, too. The
/// timeouts of a paused instance do not count.
Result<CallQueues::Turn> CallQueues::turn_of(TimePoint now, const InstanceId& task) {
  const OpenTask* const known = batch_.tasks.find(task);
  if (known == nullptr || !known->caller) return Turn::kTakes;
  const NamespaceNumber ns = known->ns;
  LoadedInstance* const loaded = TRY(instances_.load(now, ns, known->caller->instance));
  if (loaded == nullptr || loaded->instance.paused) return Turn::kTakes;
  const auto& timers = loaded->instance.timers;
  const bool is_due = std::any_of(timers.begin(), timers.end(),
                                  [&](const Timer& timer) { return timer.deadline <= now; });
  // Events that are undecided come before the timers.
  if (!is_due || batch_.kept_events.undecided().has(loaded->instance.id)) return Turn::kTakes;
  if (TRY(instances_.fire_passed(now, *loaded, now, batch_.listen_from_now()))) {
    TRY(instances_.offer_kept_events(now, *loaded));
    --left_;
    return Turn::kAgain;
  }
  return is_overdue(loaded->instance, task, now) ? Turn::kWaits : Turn::kTakes;
}

Result<bool> CallQueues::admit(TimePoint now, const CallSlotKey& key, CallSlotCounts counts,
                               const PlacedCall& first) {
  --left_;
  const InstanceId task = first.record.task;
  erase_call_place(batch_.tx, key, first.place);
  --counts.queued;
  const OpenTask* const known = batch_.tasks.find(task);
  if (known == nullptr || known->place != first.place || known->slots != key) {
    batch_.damages.note(damaged_row(
        Table::kQueues, call_place_key(key, first.place),
        fmt::format("task {}, which it names, does not wait for this slot", to_string(task))));
    write_call_counts(batch_.tx, key, counts);
    return counts.queued > 0;
  }
  CallPlace place = first.place;
  if (TRY(is_caller_paused(instances_, *known, now))) {
    // Instances::step() puts it back when the instance is resumed.
    place.kind = QueueRow::kCallPaused;
    ++counts.paused;
  } else {
    place.kind = QueueRow::kCallHolder;
    ++counts.held;
    ++batch_.outcome.counts.calls_admitted;
  }
  write_call_place(batch_.tx, key, place,
                   {.task = task, .since = now, .limit = first.record.limit});
  write_call_counts(batch_.tx, key, counts);
  batch_.tasks.set_place(task, place);
  if (place.kind == QueueRow::kCallHolder) TRY(hand_out(now, task));
  return counts.queued > 0;
}

/// Hands out a task that has got its slot, unless its throttle makes it wait.
Status CallQueues::hand_out(TimePoint now, const InstanceId& id) {
  const OpenTask* const known = batch_.tasks.find(id);
  if (known != nullptr && known->throttle) {
    const auto task = TRY(batch_.damages.pass_over(read_task(batch_.tx, id)));
    const bool has_throttle = task && task->throttle;
    if (has_throttle && !TRY(pass_call_throttle(batch_, *task, now))) return {};
  }
  batch_.after_commit(AdmittedTask{id});
  return {};
}

/// Lets the task pass that is next, if the throttle permits it. If it does not permit it now, the
/// timer is armed.
Result<bool> CallQueues::admit_throttled(TimePoint now, const CallSlotKey& key,
                                         const PlacedCall& first) {
  StartRates& rates = instances_.rates();
  const auto until = TRY(rates.throttled_until(now, rates.place_of(key), rate_of(first.record)));
  if (until) {
    due_.put(key, *until);
    arm();
    return false;
  }
  const Turn turn = TRY(turn_of(now, first.record.task));
  if (turn != Turn::kTakes) return turn == Turn::kAgain;
  --left_;
  return TRY(release_first_call(batch_, instances_, key, first, now)).queued > 0;
}

void CallQueues::arm() {
  std::optional<TimePoint> at = due_.first();
  if (const auto end = batch_.tasks.next_wait_end()) at = std::min(at.value_or(*end), *end);
  if (at) {
    batch_.waiting.arm_call_throttle(*at);
  } else {
    batch_.waiting.disarm_call_throttle();
  }
}

}  // namespace millrace
