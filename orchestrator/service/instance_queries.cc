// Queries about one instance, and its form as an item of a list.
#include <algorithm>

#include "orchestrator/batch/check_instance.h"
#include "orchestrator/service/queries.h"
#include "orchestrator/service/shapes.h"
#include "orchestrator/store/rows/head_rows.h"
#include "orchestrator/store/rows/meta_rows.h"
#include "states/state.h"

namespace millrace {
namespace {

/// The word for the status of a call. `started`: millrace knows that a worker has started the
/// attempt.
std::string_view to_string(Call::Status status, bool started) {
  switch (status) {
    case Call::Status::kQueued:
      return "queued";
    case Call::Status::kRunning:
      return started ? "running" : "scheduled";
    case Call::Status::kBetween:
      return "retrying";
    case Call::Status::kDone:
      return "complete";
    case Call::Status::kFailed:
      return "failed";
  }
  return "unknown";
}

Json to_json(const Instance& instance, const StartedTasks& started, Disclosures& disclosures) {
  Json items = Json::array();
  for (const Call& call : instance.calls) {
    const bool has_started = call.started || started.contains(call.id);
    Json json{{"status", to_string(call.status, has_started)}, {"attempt", call.attempt}};
    if (call.attempt > 0) json[call.outside ? "task" : "instance"] = to_string(call.id);
    if (call.retry_at) json["nextRetryAt"] = format_rfc3339(*call.retry_at);
    if (const auto& last = call.last_error) {
      const Error& error = last->error;
      json["lastError"] = shown_detail({{"code", error.code}, {"message", error.message}},
                                       disclosures.of(instance.sealed | call.sealed));
      json["lastError"]["at"] = format_rfc3339(last->at);
    }
    for (size_t i = 0; i < kTimeoutKinds; ++i) {
      if (!call.deadlines[i]) continue;
      const std::string_view code = error_code(static_cast<TimeoutKind>(i));
      json["deadlines"][std::string(code.substr(code.rfind('.') + 1))] =
          format_rfc3339(*call.deadlines[i]);
    }
    items.push_back(std::move(json));
  }
  return items;
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
  if (instance.run > 1) json["run"] = instance.run;
  if (instance.history_trimmed > 0) json["historyTrimmed"] = instance.history_trimmed;
  if (instance.caller) json["parent"] = to_string(instance.caller->instance);
  return json;
}

Result<Json> Queries::instance(const View& view, std::string_view ns, const InstanceId& id) {
  const Instance found = TRY(find_instance(view, ns, id));
  Disclosures disclosures(view, ns, found.ns);
  return whole(view, found, disclosures);
}

Result<Json> Queries::whole(const View& view, const Instance& found, Disclosures& disclosures) {
  const Disclosure disclosure = disclosures.of(found.sealed);
  Json json = TRY(head(view, found, disclosures));
  json["input"] = shown(found.input, disclosure);
  json["data"] = shown(found.data, disclosure);
  uint32_t attempt = found.attempt;
  if (!found.calls.empty()) {
    json["calls"] = to_json(found, started_, disclosures);
    std::optional<TimePoint> next_retry;
    std::optional<TimePoint> deadline = first_deadline(found);
    const auto sooner = [](std::optional<TimePoint>& first, const std::optional<TimePoint>& at) {
      if (at) first = std::min(first.value_or(*at), *at);
    };
    for (const Call& call : found.calls) {
      attempt = std::max(attempt, call.attempt);
      sooner(next_retry, call.retry_at);
      for (const auto& one : call.deadlines) sooner(deadline, one);
    }
    if (next_retry) json["nextRetryAt"] = format_rfc3339(*next_retry);
    if (deadline) json["deadline"] = format_rfc3339(*deadline);
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
