// The JSON forms of an instance: as an item of a list, and whole.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "orchestrator/batch/check_instance.h"
#include "orchestrator/service/call_item.h"
#include "orchestrator/service/queries.h"
#include "orchestrator/service/shapes.h"
#include "orchestrator/service/start_wait.h"
#include "orchestrator/service/work_waits.h"
#include "orchestrator/store/rows/compensation_rows.h"
#include "orchestrator/store/rows/damage.h"
#include "orchestrator/store/rows/head_rows.h"
#include "orchestrator/store/rows/meta_rows.h"
#include "states/compensation.h"
#include "states/state.h"

namespace millrace {
namespace {

Json items_of_calls(const Instance& instance, const Workflow& workflow, const StartedTasks& started,
                    Disclosures& disclosures) {
  Json items = Json::array();
  for (size_t i = 0; i < instance.calls.size(); ++i) {
    Json item = call_item(instance.calls[i], instance.sealed, started, disclosures);
    const Function* const function = called_function(instance, workflow, i);
    if (function != nullptr) item["function"] = function->id;
    items.push_back(std::move(item));
  }
  return items;
}

/// The most compensations that whole() shows.
constexpr uint32_t kMostShownCompensations = 100;

/// {"state","function","input"} of the compensation with that number, counted from 0. A damaged row
/// hides neither the others nor the instance: then {"damage"}, which says what is wrong.
Result<Json> compensation_item(const View& view, const Instance& instance, uint32_t number,
                               const Workflow& workflow, const Disclosure& disclosure) {
  const Result<Compensation> one = read_compensation(view, instance, number);
  if (!one && is_damaged_row(one.error())) return Json{{"damage", one.error().message}};
  if (!one) return tl::unexpected(one.error());
  const CompensationState* const state = compensation_of(workflow, one->state);
  if (state == nullptr) {
    return Json{{"damage", fmt::format("it undoes state {} (counted from 0), which has no "
                                       "`compensate`",
                                       one->state)}};
  }
  return Json{{"state", state->common().id},
              {"function", state->function()},
              {"input", shown(one->input, disclosure)}};
}

}  // namespace

Result<Json> Queries::head(const View& view, const Instance& instance, Disclosures& disclosures) {
  const auto workflow = TRY(definitions_.find_or_load(view, instance.revision));
  if (instance.state >= workflow->states.size()) {
    return tl::unexpected(damaged_instance(instance.ns, instance.id,
                                           "it is in a state that its workflow does not have"));
  }
  Json json{{"id", to_string(instance.id)},
            {"workflow", workflow->id},
            {"revision", instance.revision.number},
            {"status", to_string(instance.status)},
            {"state", workflow->states[instance.state]->common().id},
            {"run", instance.run},
            {"startedAt", format_rfc3339(instance.started_at)}};
  if (instance.ended_at) json["endedAt"] = format_rfc3339(*instance.ended_at);
  if (instance.error) {
    json["error"] = shown_detail(to_json(*instance.error), disclosures.of(instance.sealed));
  }
  if (instance.sealed) json["sealed"] = true;
  if (!instance.failed_state.empty()) json["failedState"] = instance.failed_state;
  for (const Timer& timer : instance.timers) {
    if (timer.kind == TimerKind::kRetry) json["nextRetryAt"] = format_rfc3339(timer.deadline);
  }
  if (const auto deadline = first_deadline(instance)) json["deadline"] = format_rfc3339(*deadline);
  if (instance.compensations > 0) {
    json["compensation"] = compensation_json(instance, disclosures.of(instance.sealed));
  }
  if (instance.history_trimmed > 0) json["historyTrimmed"] = instance.history_trimmed;
  if (instance.caller) json["parent"] = to_string(instance.caller->instance);
  return json;
}

Result<Json> Queries::list_item(const View& view, const Instance& instance,
                                Disclosures& disclosures) {
  Json json = TRY(head(view, instance, disclosures));
  if (!instance.listeners.empty()) {
    add_waits(json, instance, disclosures.of(instance.sealed));
    return json;
  }
  if (Json start = wait_to_start(instance, disclosures.of(instance.sealed)); !start.is_null()) {
    json["waits"] = Json::array({std::move(start)});
    return json;
  }
  const auto workflow = TRY(definitions_.find_or_load(view, instance.revision));
  TRY(add_work_waits(view, instance, *workflow, started_, json));
  return json;
}

Result<Json> Queries::compensations_left(const View& view, const Instance& instance,
                                         const Disclosure& disclosure) {
  const auto workflow = TRY(definitions_.find_or_load(view, instance.revision));
  Json items = Json::array();
  uint32_t left = instance.compensations;
  for (; left > 0 && items.size() < kMostShownCompensations; --left) {
    Json item = TRY(compensation_item(view, instance, left - 1, *workflow, disclosure));
    item["number"] = left;
    items.push_back(std::move(item));
  }
  return items;
}

Result<Json> Queries::whole(const View& view, const Instance& found, Disclosures& disclosures) {
  const Disclosure disclosure = disclosures.of(found.sealed);
  Json json = TRY(head(view, found, disclosures));
  json["input"] = shown(found.input, disclosure);
  json["data"] = shown(found.data, disclosure);
  uint32_t attempt = found.attempt;
  if (!found.calls.empty()) {
    const auto workflow = TRY(definitions_.find_or_load(view, found.revision));
    json["calls"] = items_of_calls(found, *workflow, started_, disclosures);
    std::optional<TimePoint> next_retry;
    for (const Call& call : found.calls) {
      attempt = std::max(attempt, call.attempt);
      if (call.retry_at) next_retry = std::min(next_retry.value_or(*call.retry_at), *call.retry_at);
    }
    if (next_retry) json["nextRetryAt"] = format_rfc3339(*next_retry);
  }
  if (found.compensations > 0) {
    json["compensations"] = TRY(compensations_left(view, found, disclosure));
  }
  const bool has_failed = has_ended(found.status) && found.failed_attempt > 0;
  json["attempt"] = has_failed ? found.failed_attempt : attempt;
  if (!has_ended(found.status)) {
    const auto workflow = TRY(definitions_.find_or_load(view, found.revision));
    const TimePoint now = std::max(TRY(read_engine_time(view)), found.started_at);
    const Status fits = check_instance(*workflow, found, now);
    if (!fits) json["damage"] = fits.error().message;
  }
  if (has_ended(found.status)) json["output"] = json["data"];
  return json;
}

}  // namespace millrace
