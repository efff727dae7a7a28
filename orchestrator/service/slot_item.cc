#include "orchestrator/service/slot_item.h"

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "base/excerpt.h"
#include "base/lazy_json.h"
#include "base/time.h"
#include "model/start_rate.h"
#include "orchestrator/engine/queueing.h"
#include "orchestrator/service/slot_holders.h"
#include "orchestrator/service/workflow_of_instance.h"
#include "orchestrator/store/rows/catalog_rows.h"
#include "orchestrator/store/rows/damage.h"
#include "orchestrator/store/rows/queue_rows.h"
#include "orchestrator/store/rows/start_rate_rows.h"
#include "orchestrator/store/rows/task_rows.h"
#include "states/workflow.h"

namespace millrace {
namespace {

/// At how many holders of a key an answer looks for one that is not paused.
constexpr size_t kMostHoldersLooked = 100;

/// Adds {"until","error","paused"?}: when the wait of a start ends with that error, by its timer of
/// the kind. Nothing if the wait has no timeout.
void add_end_of_wait(const Instance& instance, TimerKind kind, Json& item) {
  for (const auto* const timers : {&instance.timers, &instance.held_timers}) {
    for (const Timer& timer : *timers) {
      if (timer.kind != kind) continue;
      item["until"] = format_rfc3339(timer.deadline);
      item["error"] = kind == TimerKind::kQueue ? kSlotTimeout : kThrottleTimeout;
      if (timers == &instance.held_timers) item["paused"] = true;
    }
  }
}

/// The newest revision of a workflow, and whether the workflow is paused.
struct NewestRevision {
  std::shared_ptr<const Workflow> workflow;  ///< null: it cannot be read
  bool is_paused = false;
};

Result<NewestRevision> newest_of(const View& view, DefinitionCache& definitions,
                                 const Instance& instance, std::string_view workflow) {
  const auto record = TRY(workflow_of_instance(view, instance, workflow));
  if (!record) return NewestRevision();
  return NewestRevision{
      .workflow =
          definitions.find_or_load(view, {record->number, record->latest}).value_or(nullptr),
      .is_paused = record->paused};
}

/// The calls that have held a slot of the key longest.
Result<Json> oldest_holders(const View& view, const CallSlotKey& key) {
  std::vector<CallPlaceRecord> holders;
  TRY(each_call_place(
      view, QueueRow::kCallHolder, key,
      [&](const PlacedCall& holder) {
        holders.push_back(holder.record);
        return holders.size() < kShownHolders;
      },
      [](const Error&) {}));
  Json items = Json::array();
  for (const CallPlaceRecord& one : holders) items.push_back(TRY(call_holder_item(view, one)));
  return items;
}

/// Adds "key" and "keySealed"?: lists of the API do not show and find the key, or it is shown with
/// masks.
void add_key_of_call(const CallLimitParts& parts, const Call& call, const std::string& key,
                     bool is_sealed, Json& item) {
  const Json value = slot_key_json(key);
  item["key"] = parts.disclosures.of(parts.instance | call.sealed).over(value);
  if (is_sealed || item["key"] != value) item["keySealed"] = true;
}

}  // namespace

Json slot_key_json(const std::string& key) {
  const auto value = LazyJson::of_stored(key);
  return value ? value->value() : Json(excerpt(key, kMostSlotKeyBytes));
}

Result<Json> slot_item(const View& view, DefinitionCache& definitions, const Instance& instance,
                       std::string_view workflow, const Disclosure& disclosure) {
  const Slot& slot = *instance.slot;
  const SlotKey key = slot_key_of(instance.revision.workflow, slot.key);
  const auto read = read_slot_counts(view, key);
  if (!read && !is_damaged_row(read.error())) return tl::unexpected(read.error());
  const SlotCounts counts = read.value_or(SlotCounts());
  Json item{{"queued", slot.is_queued},
            {"priority", slot.priority},
            {"held", counts.held},
            {"waiting", counts.queued},
            {"holders", Json::array()}};
  if (!slot.key.empty()) item["key"] = disclosure.over(slot_key_json(slot.key));
  const NewestRevision newest = TRY(newest_of(view, definitions, instance, workflow));
  if (newest.workflow && newest.workflow->concurrency) {
    item["limit"] = newest.workflow->concurrency->limit;
  }
  if (slot.is_queued) {
    add_end_of_wait(instance, TimerKind::kQueue, item);
    if (newest.is_paused) item["workflowPaused"] = true;
    size_t looks = kMostHoldersLooked;
    if (TRY(are_holders_paused(view, instance.ns, key, looks))) item["holdersPaused"] = true;
  }
  std::vector<SlotPlace> holders;
  TRY(each_slot_place(
      view, QueueRow::kHolder, key,
      [&](const SlotPlace& holder) {
        holders.push_back(holder);
        return holders.size() < kShownHolders;
      },
      [](const Error&) {}));
  for (const SlotPlace& one : holders) {
    item["holders"].push_back(TRY(holder_item(view, instance.ns, one)));
  }
  return item;
}

StartRatePlace rate_place(const View& view, const SlotKey& key) {
  return throttle_rate_place(view.seal().id_key(), key.workflow, key.key);
}

StartRatePlace rate_place(const View& view, const CallSlotKey& key) {
  return call_rate_place(view.seal().id_key(), key.ns, key.key);
}

Result<std::optional<TimePoint>> permitted_at(const View& view, const StartRatePlace& place,
                                              const StartLimit& rate) {
  const auto record = read_start_rate(view, place);
  if (!record && !is_damaged_row(record.error())) return tl::unexpected(record.error());
  if (!record || !*record) return std::optional<TimePoint>();
  // At the beginning of time all starts of the row count, so the result does not depend on now.
  return refused_until(rate, (*record)->use, TimePoint());
}

Status add_next_at(const View& view, const StartRatePlace& place, const StartLimit& rate,
                   Json& item) {
  if (const auto at = TRY(permitted_at(view, place, rate))) item["nextAt"] = format_rfc3339(*at);
  return {};
}

Result<Json> throttled_item(const View& view, DefinitionCache& definitions,
                            const Instance& instance, std::string_view workflow,
                            const Disclosure& disclosure) {
  const Throttled& throttled = *instance.throttled;
  const SlotKey key = throttle_key_of(instance.revision.workflow, throttled.key);
  const auto counts = read_slot_counts(view, key);
  if (!counts && !is_damaged_row(counts.error())) return tl::unexpected(counts.error());
  Json item{{"priority", throttled.priority}, {"waiting", counts ? counts->queued : 0}};
  if (!throttled.key.empty()) item["key"] = disclosure.over(slot_key_json(throttled.key));
  add_end_of_wait(instance, TimerKind::kThrottle, item);
  const NewestRevision newest = TRY(newest_of(view, definitions, instance, workflow));
  if (newest.is_paused) item["workflowPaused"] = true;
  if (!newest.workflow || !newest.workflow->throttle) return item;
  const Throttle& throttle = *newest.workflow->throttle;
  item["limit"] = throttle.rate.limit;
  item["period"] = throttle.rate.period.text;
  if (newest.is_paused) return item;
  TRY(add_next_at(view, rate_place(view, key), throttle.rate, item));
  return item;
}

Json slot_service_json(const SlotService& service) {
  if (service.kind == SlotService::Kind::kContainer) return Json{{"image", service.name}};
  Json item{{"service", service.name}};
  if (service.kind == SlotService::Kind::kGlobalService) item["global"] = true;
  return item;
}

Result<std::optional<StartTask>> running_task(const View& view, const Call& call) {
  if (!call.outside || call.status != Call::Status::kRunning) return std::optional<StartTask>();
  auto task = read_task(view, call.id);
  if (!task && is_damaged_row(task.error())) return std::optional<StartTask>();
  return task;
}

Result<Json> call_place_json(const View& view, const CallPlaceRecord& record) {
  Json item{{"task", to_string(record.task)}, {"since", format_rfc3339(record.since)}};
  const auto task = read_task(view, record.task);
  if (!task && !is_damaged_row(task.error())) return tl::unexpected(task.error());
  if (task && *task) item["instance"] = to_string((*task)->by);
  return item;
}

bool is_paused(const NamespaceSettings& settings, const SlotService& service) {
  return service.kind != SlotService::Kind::kContainer && settings.paused.contains(service.name);
}

Result<Json> call_slot_item(const CallLimitParts& parts, const Call& call) {
  const View& view = parts.view;
  const auto task = TRY(running_task(view, call));
  if (!task || !task->slot) return Json();
  const TaskSlot& slot = *task->slot;
  const auto place = TRY(find_call_place(view, *task));
  const auto read = read_call_counts(view, call_slot_key_of(*task));
  if (!read && !is_damaged_row(read.error())) return tl::unexpected(read.error());
  const CallSlotCounts counts = read && *read ? **read : CallSlotCounts();
  const SlotService service = slot_service_of(*task);
  Json item = slot_service_json(service);
  item.update({{"limit", slot.limit},
               {"priority", slot.priority},
               {"queued", place && place->kind != QueueRow::kCallHolder},
               {"held", counts.held},
               {"waiting", counts.queued}});
  if (place && place->kind == QueueRow::kCallPaused) item["paused"] = true;
  const bool is_held = item["queued"] == true && is_paused(parts.settings, service);
  if (is_held) item["servicePaused"] = true;
  if (place && !is_held) {
    const auto until = read_slot_wait_end(view, *task, *place);
    if (!until && !is_damaged_row(until.error())) return tl::unexpected(until.error());
    if (until && *until) item["until"] = format_rfc3339(**until);
  }
  if (!slot.key.empty()) {
    add_key_of_call(parts, call, slot.key, counts.sealed, item);
  }
  if (item["queued"] == true) item["holders"] = TRY(oldest_holders(view, call_slot_key_of(*task)));
  return item;
}

Result<Json> call_throttle_item(const CallLimitParts& parts, const Call& call) {
  const View& view = parts.view;
  const auto task = TRY(running_task(view, call));
  if (!task || !task->throttle) return Json();
  const auto waits = find_throttled_call(view, *task);
  if (!waits && !is_damaged_row(waits.error())) return tl::unexpected(waits.error());
  if (!waits || !*waits) return Json();
  const CallSlotKey key = call_throttle_key_of(*task);
  const auto read = read_call_counts(view, key);
  if (!read && !is_damaged_row(read.error())) return tl::unexpected(read.error());
  const TaskThrottle& throttle = *task->throttle;
  const PlacedCall& placed = **waits;
  const SlotService service = slot_service_of(*task);
  Json item = slot_service_json(service);
  item.update({{"limit", throttle.rate.limit},
               {"period", throttle.rate.period.text},
               {"priority", throttle.priority},
               {"waiting", read && *read ? (*read)->queued : 0}});
  if (placed.place.kind == QueueRow::kCallThrottlePaused) item["paused"] = true;
  if (!throttle.key.empty()) {
    add_key_of_call(parts, call, throttle.key, read && *read && (*read)->sealed, item);
  }
  if (is_paused(parts.settings, service)) {
    item["servicePaused"] = true;
    return item;
  }
  if (placed.record.until) item["until"] = format_rfc3339(*placed.record.until);
  TRY(add_next_at(view, rate_place(view, key), throttle.rate, item));
  return item;
}

}  // namespace millrace
