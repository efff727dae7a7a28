// Queries for what one instance waits for, what is due, who started it, its calls and its children.
#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "orchestrator/service/call_item.h"
#include "orchestrator/service/cancelling.h"
#include "orchestrator/service/cursor.h"
#include "orchestrator/service/held_calls.h"
#include "orchestrator/service/missing_instance.h"
#include "orchestrator/service/namespace_record.h"
#include "orchestrator/service/next_filter.h"
#include "orchestrator/service/page.h"
#include "orchestrator/service/passed_compensations.h"
#include "orchestrator/service/queries.h"
#include "orchestrator/service/shapes.h"
#include "orchestrator/service/slot_item.h"
#include "orchestrator/service/timer_item.h"
#include "orchestrator/service/work_waits.h"
#include "orchestrator/store/rows/damage.h"
#include "orchestrator/store/rows/head_rows.h"
#include "orchestrator/store/rows/history_rows.h"
#include "orchestrator/store/rows/instance_rows.h"
#include "states/compensation.h"
#include "states/state.h"

namespace millrace {
namespace {

/// The most rows of a history among which a query looks for the first record.
constexpr size_t kMostStartRows = 64;
/// The most children whose heads are read for their counts.
constexpr size_t kMostCountedChildren = 1'000;

/// The name of the kind in the API, the same as in the list of what comes next.
std::string_view name_of(TimerKind kind) { return kFiringKinds[static_cast<size_t>(kind)]; }

Result<Json> timers_of(const Instance& instance, const Workflow& workflow,
                       const NamespaceSettings& settings, TimerItems consequences) {
  std::vector<std::pair<Timer, bool>> timers;  // with whether it is held
  for (const Timer& timer : instance.timers) {
    const bool is_of_calls = timer.kind == TimerKind::kCalls;
    const CallTimer counts = is_of_calls ? call_timer(settings, instance, workflow, timer.deadline)
                                         : CallTimer{.at = timer.deadline};
    timers.emplace_back(Timer{.kind = timer.kind, .deadline = counts.at}, counts.is_held);
  }
  for (const Timer& timer : instance.held_timers) timers.emplace_back(timer, true);
  std::stable_sort(timers.begin(), timers.end(), [](const auto& one, const auto& other) {
    return one.first.deadline < other.first.deadline;
  });
  const TimedInstance timed(instance);
  Json items = Json::array();
  for (const auto& [timer, is_held] : timers) {
    Json item{{"kind", name_of(timer.kind)}, {"at", format_rfc3339(timer.deadline)}};
    if (is_held) item["held"] = true;
    TRY(consequences.add(after_timer(timer, timed, workflow), instance.ns, instance.caller,
                         timer.deadline, item));
    items.push_back(std::move(item));
  }
  return items;
}

/// The earliest deadline of the instance and of its calls that counts.
std::optional<TimePoint> earliest_deadline(const Instance& instance, const Workflow& workflow,
                                           const NamespaceSettings& settings) {
  std::optional<TimePoint> earliest = first_deadline(instance);
  for (size_t i = 0; i < instance.calls.size(); ++i) {
    const Call& call = instance.calls[i];
    const Function* const function = called_function(instance, workflow, i);
    const bool is_held = is_held_by_service(settings, instance, function, call);
    const auto deadline = counting_deadline(instance, call, is_held);
    if (deadline) earliest = std::min(earliest.value_or(*deadline), *deadline);
  }
  return earliest;
}

Json event_waits(const Instance& instance, const Disclosure& disclosure) {
  Json items = Json::array();
  for (const Listener& listener : instance.listeners) {
    Json item = to_json(listener.filter, disclosure);
    item["since"] = format_rfc3339(instance.state_from);
    items.push_back(std::move(item));
  }
  return items;
}

/// Adds "waits" and "moreWaits", as far as the instance waits for something.
void add_all_waits(const Instance& instance, const Workflow& workflow, const Disclosure& disclosure,
                   const StartedTasks& started, Json& json) {
  Json waits = event_waits(instance, disclosure);
  if (Json time = time_wait(instance, workflow); !time.is_null()) waits.push_back(std::move(time));
  const OpenCalls open = open_calls(instance);
  for (const size_t index : open.shown) {
    waits.push_back(call_wait(instance, workflow, instance.calls[index], index, started));
  }
  if (!waits.empty()) json["waits"] = std::move(waits);
  if (open.more > 0) json["moreWaits"] = open.more;
}

/// The detail of the first record; null: it is not kept, or too many rows come after it.
Result<Json> started_by(const View& view, const Instance& instance, const Disclosure& disclosure) {
  if (instance.history_trimmed > 0) return nullptr;
  std::optional<uint64_t> first;
  size_t looked = 0;
  TRY(each_history_place(view, instance, [&](const HistoryPlace& place) -> Result<bool> {
    if (place.first == 1 && place.records > 0) first = place.row;
    return ++looked < kMostStartRows;
  }));
  if (!first) return nullptr;
  const std::vector<HistoryRecord> records = TRY(read_history_row(view, instance, *first));
  if (records.empty() || records.front().kind != HistoryKind::kStarted ||
      records.front().detail.is_null()) {
    return nullptr;
  }
  return shown_detail(records.front().detail.value(), disclosure);
}

/// {"counts":{status: n},"complete"} of the children that the calls of the state have made; null:
/// there is none.
Result<Json> children_of_calls(const View& view, const Instance& instance) {
  std::map<std::string, size_t, std::less<>> counts;
  size_t looked = 0;
  bool is_complete = true;
  for (const Call& call : instance.calls) {
    if (call.outside || call.attempt == 0) continue;
    is_complete = looked < kMostCountedChildren;
    if (!is_complete) break;
    ++looked;
    const auto child = read_head_anywhere(view, instance.ns, call.id);
    if (!child && !is_damaged_row(child.error())) return tl::unexpected(child.error());
    // A call whose child does not exist yet, or does no more, is not counted.
    if (child && !*child) continue;
    ++counts[std::string(child ? millrace::to_string((*child)->status) : "damaged")];
  }
  if (looked == 0) return nullptr;
  return Json{{"counts", counts}, {"complete", is_complete}};
}

}  // namespace

Result<Json> Queries::instance(const View& view, std::string_view ns, const InstanceId& id) {
  const Instance found = TRY(find_instance(view, ns, id));
  Disclosures disclosures = TRY(Disclosures::read(view, ns, found.ns));
  const Disclosure disclosure = disclosures.of(found.sealed);
  Json json = TRY(whole(view, found, disclosures));
  const auto workflow = TRY(definitions_.find_or_load(view, found.revision));
  const NamespaceSettings settings = TRY(readable_settings(view, ns));
  if (const auto deadline = earliest_deadline(found, *workflow, settings)) {
    json["deadline"] = format_rfc3339(*deadline);
  }
  json["transitions"] = found.transitions;
  if (!found.idempotency_key.empty()) json["key"] = disclosure.over(found.idempotency_key);
  if (!found.correlation.empty()) json["correlation"] = disclosure.over(found.correlation);
  add_all_waits(found, *workflow, disclosure, started_, json);
  if (!found.timers.empty() || !found.held_timers.empty()) {
    json["timers"] = TRY(timers_of(found, *workflow, settings, TimerItems(view, ns, definitions_)));
  }
  if (found.slot) {
    json["slot"] = TRY(slot_item(view, definitions_, found, workflow->id, disclosure));
  }
  if (is_throttled(found)) {
    json["throttled"] = TRY(throttled_item(view, definitions_, found, workflow->id, disclosure));
  }
  Result<Json> origin = started_by(view, found, disclosure);
  if (!origin && !is_damaged_row(origin.error())) return origin;
  if (origin && !origin->is_null()) json["startedBy"] = *std::move(origin);
  TRY(add_passed_compensations(view, found, *workflow, json));
  TRY(add_cancelling(view, found, json));
  if (!found.calls.empty()) {
    std::map<std::string, size_t, std::less<>> counts;
    for (const Call& call : found.calls) ++counts[std::string(call_status(call, started_))];
    json["callCounts"] = counts;
  }
  Json children = TRY(children_of_calls(view, found));
  if (!children.is_null()) json["children"] = std::move(children);
  return json;
}

Result<Json> Queries::instance_calls(const View& view, std::string_view ns, const InstanceId& id,
                                     size_t limit, std::string_view cursor) {
  const size_t first = TRY(parse_number_cursor(cursor)).value_or(0);
  const NamespaceNumber number = TRY(find_namespace(view, ns));
  const auto found = TRY(read_head_anywhere(view, number, id));
  if (!found) return tl::unexpected(missing_instance(view, definitions_, ns, number, id));
  Page page(limit);
  Disclosures disclosures = TRY(Disclosures::read(view, ns, number));
  const std::vector<Call> calls = TRY(read_some_calls(view, *found, first, limit + 1));
  const auto workflow = definitions_.find_or_load(view, found->revision);
  if (!workflow && !is_damaged_row(workflow.error())) return tl::unexpected(workflow.error());
  const NamespaceSettings settings = TRY(readable_settings(view, ns));
  const CallLimitParts parts{
      .view = view, .settings = settings, .instance = found->sealed, .disclosures = disclosures};
  for (size_t i = 0; i < calls.size() && page.has_room(); ++i) {
    Json item = call_item(calls[i], found->sealed, started_, disclosures);
    item["index"] = first + i;
    const Function* const function =
        workflow ? called_function(*found, **workflow, first + i) : nullptr;
    if (function != nullptr) item["function"] = function->id;
    if (item["status"] == "scheduled") {
      Json slot = TRY(call_slot_item(parts, calls[i]));
      if (!slot.is_null()) item["slot"] = std::move(slot);
      Json throttled = TRY(call_throttle_item(parts, calls[i]));
      if (!throttled.is_null()) item["throttled"] = std::move(throttled);
    }
    const auto& last = calls[i].last_error;
    page.add(std::move(item), std::to_string(first + i + 1), last ? last->error.message.size() : 0);
  }
  return std::move(page).json();
}

Result<Json> Queries::instance_children(const View& view, std::string_view ns, const InstanceId& id,
                                        size_t limit, std::string_view cursor) {
  const NamespaceNumber number = TRY(find_namespace(view, ns));
  if (!TRY(has_rows(view, number, id)))
    return tl::unexpected(missing_instance(view, definitions_, ns, number, id));
  return instances(
      view, ns,
      {.parent = id, .oldest_first = true, .limit = limit, .cursor = std::string(cursor)});
}

}  // namespace millrace
