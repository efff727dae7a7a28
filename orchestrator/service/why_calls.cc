#include "orchestrator/service/why_calls.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "orchestrator/memory/catalog.h"
#include "orchestrator/service/held_calls.h"
#include "orchestrator/service/namespace_record.h"
#include "orchestrator/service/shapes.h"
#include "orchestrator/service/slot_item.h"
#include "orchestrator/service/work_waits.h"
#include "orchestrator/store/rows/call_slot_rows.h"
#include "orchestrator/store/rows/catalog_rows.h"
#include "orchestrator/store/rows/damage.h"

namespace millrace {
namespace {

/// The end of the attempt at the latest. The stored end of a task is not later than a timeout of
/// its call, so of a call whose timeouts are held the other ends of the instance are left.
std::optional<TimePoint> earliest_deadline(const Instance& instance, const Call& call,
                                           const StartTask* task, bool is_held) {
  std::optional<TimePoint> earliest = counting_deadline(instance, call, is_held);
  std::optional<TimePoint> end;
  if (is_held || instance.paused) {
    end = first_deadline(instance);
  } else if (task != nullptr) {
    end = task->deadline;
  }
  if (end) earliest = std::min(earliest.value_or(*end), *end);
  return earliest;
}

}  // namespace

Result<CallWaits> CallWaits::read(const Parts& parts) {
  NamespaceSettings own = TRY(readable_settings(parts.view, parts.ns));
  NamespaceSettings global = TRY(readable_settings(parts.view, kDefaultNamespace));
  return CallWaits(parts, std::move(own), std::move(global));
}

const NamespaceSettings& CallWaits::settings_of(const NamedService& service) const {
  return service.global ? global_ : own_;
}

/// For what a task of the service waits that nothing holds and that has not started.
/// Without a target in the settings, workers take it from a work queue.
std::string_view CallWaits::awaited_from(const NamedService& service) const {
  const NamespaceSettings& settings = settings_of(service);
  const auto found = settings.services.find(service.name);
  if (found == settings.services.end() || !found->second.target) return "worker";
  const TaskTarget& target = *found->second.target;
  if (std::holds_alternative<WorkQueue>(target)) return "worker";
  return std::holds_alternative<HttpService>(target) ? "connection" : "answer";
}

/// Whether the task waits for its slot.
Result<bool> CallWaits::is_queued(const StartTask& task) const {
  if (!task.slot) return false;
  const auto place = TRY(find_call_place(parts_.view, task));
  return place && place->kind != QueueRow::kCallHolder;
}

/// Whether the task waits for the throttle of its service.
Result<bool> CallWaits::is_throttled(const StartTask& task) const {
  return task.throttle && TRY(find_throttled_call(parts_.view, task)).has_value();
}

Result<std::string_view> CallWaits::awaited_by(const Call& call, const StartTask* task) const {
  const bool is_held = parts_.instance.paused;
  if (call.status == Call::Status::kQueued) return is_held ? "resume" : "others";
  if (call.status == Call::Status::kBetween) return is_held ? "resume" : "attempt";
  if (!call.outside) return "subflow";
  if (task != nullptr && task->is_accepted) return "callback";
  if (call.started || parts_.started.contains(call.id) || task == nullptr) return "answer";
  if (is_paused(own_, slot_service_of(*task))) return "service";
  if (TRY(is_queued(*task))) return "slot";
  if (TRY(is_throttled(*task))) return "throttle";
  const auto* const service = std::get_if<NamedService>(&task->runs);
  return service == nullptr ? "answer" : awaited_from(*service);
}

Result<Json> CallWaits::of(size_t index) {
  const Instance& instance = parts_.instance;
  const Call& call = instance.calls[index];
  const std::optional<StartTask> task = TRY(running_task(parts_.view, call));
  const StartTask* const known = task ? &*task : nullptr;
  Json item = call_wait(instance, parts_.workflow, call, index, parts_.started);
  item["for"] = TRY(awaited_by(call, known));
  if (known != nullptr) {
    if (const auto* const service = std::get_if<NamedService>(&known->runs)) {
      item["service"] = service->name;
      if (service->global) item["global"] = true;
    }
  }
  const Function* const function = called_function(instance, parts_.workflow, index);
  const bool is_held = is_held_by_service(own_, instance, function, call);
  if (const auto deadline = earliest_deadline(instance, call, known, is_held)) {
    item["deadline"] = format_rfc3339(*deadline);
  }
  if (const auto& last = call.last_error) {
    item["lastError"] = shown_detail({{"code", last->error.code}, {"message", last->error.message}},
                                     parts_.disclosures.of(instance.sealed | call.sealed));
    item["lastError"]["at"] = format_rfc3339(last->at);
  }
  return item;
}

Status add_waits_of_calls(const CallWaits::Parts& parts, Json& item) {
  if (Json time = time_wait(parts.instance, parts.workflow); !time.is_null()) {
    item["waits"].push_back(std::move(time));
  }
  const OpenCalls open = open_calls(parts.instance);
  if (open.shown.empty()) return {};
  CallWaits waits = TRY(CallWaits::read(parts));
  for (const size_t index : open.shown) item["waits"].push_back(TRY(waits.of(index)));
  if (open.more > 0) item["moreWaits"] = open.more;
  return {};
}

}  // namespace millrace
