#include "orchestrator/batch/call_waits.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "base/excerpt.h"
#include "orchestrator/batch/call_slots.h"
#include "orchestrator/batch/call_throttles.h"
#include "orchestrator/batch/instances.h"
#include "orchestrator/store/rows/task_rows.h"

namespace millrace {
namespace {

/// How many waits one firing of the timer ends.
constexpr size_t kWaitsEndedAtOnce = 256;
/// The least time after which a wait that a pause of its service holds is looked at again.
constexpr Duration kLookAgain = std::chrono::minutes(1);
/// How many bytes of a key an error message shows.
constexpr size_t kShownKeyBytes = 128;

/// `service "bank"`, or `image "…"`.
std::string name_of_service(const SlotService& service) {
  switch (service.kind) {
    case SlotService::Kind::kService:
      return fmt::format("service \"{}\"", service.name);
    case SlotService::Kind::kGlobalService:
      return fmt::format("the global service \"{}\"", service.name);
    case SlotService::Kind::kContainer:
      break;
  }
  return fmt::format("image \"{}\"", service.name);
}

std::string limit_in_words(const StartTask& task, bool of_slot) {
  std::string limit = of_slot ? fmt::format("limit {}", task.slot->limit)
                              : fmt::format("limit {} in {}", task.throttle->rate.limit,
                                            task.throttle->rate.period.text);
  const std::string& key = of_slot ? task.slot->key : task.throttle->key;
  if (key.empty()) return limit;
  return fmt::format("{}, key {}", limit, task.sealed ? "(sealed)" : excerpt(key, kShownKeyBytes));
}

/// Lets a task that waits do so without an end.
void drop_wait_end(BatchState& batch, const InstanceId& id, const OpenTask& known) {
  if (known.awaits_slot()) {
    batch.tasks.set_place(id, *known.place);
  } else {
    batch.tasks.set_throttled(id, known.throttle->place);
  }
}

/// Ends a task whose wait has lasted too long.
Status end_wait(BatchState& batch, const InstanceId& id, const OpenTask& known) {
  const bool of_slot = known.awaits_slot();
  Error error{std::string(of_slot ? kCallSlotTimeout : kCallThrottleTimeout),
              fmt::format("the call waited for {} until {}, which is as long as `{}.timeout` "
                          "permits",
                          TRY(awaited_limit(batch.tx, batch.tasks, id)),
                          format_rfc3339(*known.wait_end()), of_slot ? "concurrency" : "throttle")};
  TRY(end_task(batch, id));
  ++batch.outcome.counts.calls_timed_out;
  if (!known.caller) {
    spdlog::warn("a detached call of instance {} was not made: {}", to_string(known.by),
                 error.message);
    return {};
  }
  batch.messages.push_back({ReturnResult{.ns = known.ns,
                                         .to = *known.caller,
                                         .result = tl::unexpected(std::move(error)),
                                         .sealed = known.sealed},
                            batch.listen_from_now(), WorkLane{known.ns, known.workflow}});
  return {};
}

/// Takes a task out of the order, if it is not left out already and its row is not damaged.
Status leave_out_now(BatchState& batch, const OpenTask& known, TimePoint now) {
  const bool of_slot = known.awaits_slot();
  const CallPlace place = of_slot ? *known.place : *known.throttle->place;
  const CallSlotKey key = of_slot ? known.slots : known.throttle->key;
  if (place.kind != waiting_kind(key)) return {};
  const auto record = TRY(batch.damages.pass_over(read_call_place(batch.tx, key, place)));
  if (!record) return {};
  TRY(leave_out_call(batch, key, {place, *record}, now));
  batch.woken_calls.push_back(key);
  return {};
}

/// Lets the wait begin again; in memory it does not end before `least`.
Status restart(BatchState& batch, const InstanceId& id, TimePoint now, TimePoint least) {
  const OpenTask known = *batch.tasks.find(id);
  const auto task = TRY(batch.damages.pass_over(read_task(batch.tx, id)));
  const bool of_slot = known.awaits_slot();
  if (!task || (of_slot ? !task->slot : !task->throttle)) {
    drop_wait_end(batch, id, known);
    return {};
  }
  if (of_slot) {
    write_call_place(batch.tx, known.slots, *known.place,
                     {.task = id, .since = now, .limit = task->slot->limit});
    const auto until = end_of_slot_wait(*task, now);
    batch.tasks.set_place(id, *known.place, until ? std::max(*until, least) : until);
  } else {
    const CallPlaceRecord record = throttled_record(*task, now);
    write_call_place(batch.tx, known.throttle->key, *known.throttle->place, record);
    batch.tasks.set_throttled(id, known.throttle->place,
                              record.until ? std::max(*record.until, least) : record.until);
  }
  return {};
}

/// Whether the service of the task is paused.
Result<bool> is_held(BatchState& batch, const InstanceId& id) {
  const auto task = TRY(batch.damages.pass_over(read_task(batch.tx, id)));
  return task && is_service_held(batch, task->ns, slot_service_of(*task));
}

/// Calls `see` with each task of the instance that waits for a slot or a throttle.
template <class See>
void each_waiting_call(const BatchState& batch, const Instance& instance, const See& see) {
  for (const Call& call : instance.calls) {
    if (call.status != Call::Status::kRunning || !call.outside || call.started) continue;
    const OpenTask* const known = batch.tasks.find(call.id);
    if (known != nullptr && known->awaits_turn()) see(call.id, *known);
  }
}

}  // namespace

std::optional<TimePoint> end_of_slot_wait(const StartTask& task, TimePoint since) {
  const auto& timeout = task.slot->timeout;
  return timeout ? std::optional(timeout->after(since)) : std::nullopt;
}

Result<std::string> awaited_limit(const View& view, const TaskDispatch& tasks,
                                  const InstanceId& id) {
  const OpenTask* const known = tasks.find(id);
  if (known == nullptr || !known->awaits_turn()) return std::string();
  const bool of_slot = known->awaits_slot();
  const std::string_view what = of_slot ? "a slot" : "the throttle";
  const auto task = read_task(view, id);
  if (!task && !is_damaged_row(task.error())) return tl::unexpected(task.error());
  const bool is_known =
      task && *task && (of_slot ? (*task)->slot.has_value() : (*task)->throttle.has_value());
  if (!is_known) return fmt::format("{} of its service", what);
  return fmt::format("{} of {} ({})", what, name_of_service(slot_service_of(**task)),
                     limit_in_words(**task, of_slot));
}

Result<bool> is_caller_paused(Instances& instances, const OpenTask& task, TimePoint now) {
  if (!task.caller) return false;
  const NamespaceNumber ns = task.ns;
  const LoadedInstance* const loaded = TRY(instances.load(now, ns, task.caller->instance));
  return loaded != nullptr && loaded->instance.paused;
}

Status leave_out_call(BatchState& batch, const CallSlotKey& key, const PlacedCall& call,
                      TimePoint now) {
  CallSlotCounts counts = TRY(call_counts_of(batch, key));
  erase_call_place(batch.tx, key, call.place);
  count_less(counts, call.place.kind);
  CallPlace place = call.place;
  place.kind = paused_kind(key);
  count_more(counts, place.kind);
  CallPlaceRecord record = call.record;
  record.since = now;
  record.until.reset();
  write_call_place(batch.tx, key, place, record);
  write_call_counts(batch.tx, key, counts);
  if (key.is_throttle) {
    batch.tasks.set_throttled(record.task, place);
  } else {
    batch.tasks.set_place(record.task, place);
  }
  return {};
}

Status restart_call_wait(BatchState& batch, const InstanceId& task, TimePoint now) {
  return restart(batch, task, now, now);
}

Status restart_call_waits(BatchState& batch, const Instance& instance,
                          const ServicesResumed& resumed, TimePoint now) {
  std::vector<InstanceId> waiting;
  each_waiting_call(batch, instance, [&](const InstanceId& id, const OpenTask& known) {
    if (known.wait_end()) waiting.push_back(id);
  });
  for (const InstanceId& id : waiting) {
    const auto task = TRY(batch.damages.pass_over(read_task(batch.tx, id)));
    const auto* const service = task ? std::get_if<NamedService>(&task->runs) : nullptr;
    if (service == nullptr) continue;
    const bool is_resumed = resumed.names == nullptr || resumed.names->contains(service->name);
    if (is_resumed) TRY(restart_call_wait(batch, id, now));
  }
  return {};
}

Status leave_out_calls(BatchState& batch, const Instance& instance, TimePoint now) {
  std::vector<InstanceId> waiting;
  each_waiting_call(batch, instance,
                    [&](const InstanceId& id, const OpenTask&) { waiting.push_back(id); });
  for (const InstanceId& id : waiting) TRY(leave_out_now(batch, *batch.tasks.find(id), now));
  return {};
}

Status end_call_wait(BatchState& batch, Instances& instances, const InstanceId& id, TimePoint now) {
  const OpenTask known = *batch.tasks.find(id);
  if (!batch.catalog.has_namespace(known.ns)) {
    drop_wait_end(batch, id, known);  // a purge ends the task
    return {};
  }
  if (TRY(is_caller_paused(instances, known, now))) {
    drop_wait_end(batch, id, known);  // of a damaged row
    return leave_out_now(batch, known, now);
  }
  if (TRY(is_held(batch, id))) return restart(batch, id, now, now + kLookAgain);
  return end_wait(batch, id, known);
}

Status end_call_waits(BatchState& batch, Instances& instances, TimePoint now) {
  for (const InstanceId& id : batch.tasks.ended_waits(now, kWaitsEndedAtOnce)) {
    TRY(end_call_wait(batch, instances, id, now));
  }
  return {};
}

}  // namespace millrace
