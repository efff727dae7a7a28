// The timers of an instance: those that fire when they are due, and those that must fire before an
// event because their deadline is not after the event's timestamp.
#include <algorithm>
#include <iterator>
#include <tuple>
#include <vector>

#include "orchestrator/batch/instances.h"

namespace millrace {

Result<bool> Instances::fire(TimePoint now, LoadedInstance& loaded, const Timer& timer,
                             const ListenFrom& from) {
  Instance& instance = loaded.instance;
  const auto& timers = instance.timers;
  if (std::find(timers.begin(), timers.end(), timer) == timers.end()) return false;
  if (timer.kind == TimerKind::kCalls && awaits_start_check(now, instance)) return false;
  // Events since its last step are kept only for an instance that is evaluating or has calls under
  // way. Any other instance listens only to events that come from now on.
  if (!may_come_to_listen(instance)) instance.listen_from = from;
  const bool ends_wait = timer.kind == TimerKind::kQueue || timer.kind == TimerKind::kThrottle;
  if (ends_wait) ++batch_.outcome.counts.starts_timed_out;
  return step_once(now, loaded, Fired{.kind = timer.kind, .deadline = timer.deadline});
}

Result<bool> Instances::fire_passed(TimePoint now, LoadedInstance& loaded, TimePoint until,
                                    const ListenFrom& from) {
  const auto is_passed = [&](const Timer& timer) { return timer.deadline <= until; };
  const auto& timers = loaded.instance.timers;
  if (std::none_of(timers.begin(), timers.end(), is_passed)) return false;
  std::vector<Timer> passed;
  std::copy_if(timers.begin(), timers.end(), std::back_inserter(passed), is_passed);
  std::sort(passed.begin(), passed.end(), [](const Timer& a, const Timer& b) {
    return std::tie(a.deadline, a.kind) < std::tie(b.deadline, b.kind);
  });
  bool fired = false;
  for (const Timer& timer : passed) fired |= TRY(fire(now, loaded, timer, from));
  return fired;
}

/// Before a schedule-to-start deadline counts, asks the runner whether a worker has the task, since
/// workers need not report the start. Until the runner answers, the timer of the calls does not
/// fire: the answer fires the timer, or the timer is armed again.
bool Instances::awaits_start_check(TimePoint now, const Instance& instance) {
  bool awaits = false;
  for (const Call& call : instance.calls) {
    const auto& deadline = call.deadlines[static_cast<size_t>(TimeoutKind::kScheduleToStart)];
    if (call.status != Call::Status::kRunning || !call.outside || !deadline) continue;
    if (*deadline <= now) awaits |= batch_.tasks.awaits_start_check(call.id, *deadline);
  }
  return awaits;
}

}  // namespace millrace
