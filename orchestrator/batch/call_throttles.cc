#include "orchestrator/batch/call_throttles.h"

#include <string>
#include <utility>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "orchestrator/batch/call_slots.h"
#include "orchestrator/batch/call_waits.h"
#include "orchestrator/batch/instances.h"
#include "orchestrator/batch/start_rates.h"
#include "orchestrator/store/rows/task_rows.h"

namespace millrace {

Result<std::optional<Error>> refusal_of_call_throttle(BatchState& batch, const StartTask& task) {
  StartRates rates(batch);
  const CallSlotKey key = call_throttle_key_of(task);
  return rates.refusal_of_throttle(task.created, task.ns, rates.place_of(key));
}

CallPlaceRecord throttled_record(const StartTask& task, TimePoint since) {
  const TaskThrottle& throttle = *task.throttle;
  CallPlaceRecord record{.task = task.task,
                         .since = since,
                         .limit = throttle.rate.limit,
                         .period = throttle.rate.period};
  if (throttle.timeout) record.until = throttle.timeout->after(since);
  return record;
}

Result<bool> pass_call_throttle(BatchState& batch, const StartTask& task, TimePoint now) {
  const TaskThrottle& throttle = *task.throttle;
  const CallSlotKey key = call_throttle_key_of(task);
  StartRates rates(batch);
  const StartRatePlace at = rates.place_of(key);
  CallSlotCounts counts = TRY(call_counts_of(batch, key));
  const bool is_held = is_service_held(batch, key.ns, slot_service_of(task));
  const bool is_first = counts.queued == 0 && !is_held;
  if (is_first && !TRY(rates.throttled_until(now, at, throttle.rate))) {
    TRY(rates.count_throttled(now, key.ns, at, throttle.rate));
    return true;
  }
  const CallPlace place{
      .kind = waiting_kind(key), .priority = throttle.priority, .number = throttle.number};
  const CallPlaceRecord record = throttled_record(task, now);
  describe_calls(counts, task, key);
  count_more(counts, place.kind);
  write_call_place(batch.tx, key, place, record);
  write_call_counts(batch.tx, key, counts);
  batch.tasks.set_throttled(task.task, place, record.until);
  ++batch.outcome.counts.calls_queued;
  // CallQueues arms the timers.
  batch.woken_calls.push_back(key);
  return false;
}

Result<CallSlotCounts> release_first_call(BatchState& batch, Instances& instances,
                                          const CallSlotKey& key, const PlacedCall& first,
                                          TimePoint now) {
  const InstanceId task = first.record.task;
  const OpenTask* const known = batch.tasks.find(task);
  const bool waits = known != nullptr && known->awaits_throttle() && known->throttle->key == key &&
                     *known->throttle->place == first.place;
  const StartLimit rate = rate_of(first.record);
  if (waits && TRY(is_caller_paused(instances, *known, now))) {
    TRY(leave_out_call(batch, key, first, now));
    return call_counts_of(batch, key);
  }
  CallSlotCounts counts = TRY(call_counts_of(batch, key));
  erase_call_place(batch.tx, key, first.place);
  count_less(counts, first.place.kind);
  write_call_counts(batch.tx, key, counts);
  if (!waits) {
    batch.damages.note(damaged_row(
        Table::kQueues, call_place_key(key, first.place),
        fmt::format("task {}, which it names, does not wait for this throttle", to_string(task))));
    return counts;
  }
  StartRates rates(batch);
  TRY(rates.count_throttled(now, key.ns, rates.place_of(key), rate));
  batch.tasks.set_throttled(task, std::nullopt);
  ++batch.outcome.counts.calls_admitted;
  batch.after_commit(AdmittedTask{task});
  return counts;
}

}  // namespace millrace
