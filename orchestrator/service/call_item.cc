#include "orchestrator/service/call_item.h"

#include <string>
#include <utility>

#include "base/json.h"
#include "orchestrator/service/shapes.h"

namespace millrace {

std::string_view call_status(const Call& call, const StartedTasks& started) {
  switch (call.status) {
    case Call::Status::kQueued:
      return "queued";
    case Call::Status::kRunning:
      return call.started || started.contains(call.id) ? "running" : "scheduled";
    case Call::Status::kBetween:
      return "retrying";
    case Call::Status::kDone:
      return "complete";
    case Call::Status::kFailed:
      return "failed";
  }
  return "unknown";
}

void add_progress(Json& item, const Call& call, Sealing instance, Disclosures& disclosures) {
  if (!call.progress) return;
  Json progress = parse_own_json(call.progress->json).value_or(Json());
  item["progress"] = disclosures.of(instance | call.sealed).over(std::move(progress));
  item["progressAt"] = format_rfc3339(call.progress->at);
}

Json call_item(const Call& call, Sealing instance, const StartedTasks& started,
               Disclosures& disclosures) {
  Json json{{"status", call_status(call, started)}, {"attempt", call.attempt}};
  if (call.attempt > 0) json[call.outside ? "task" : "instance"] = to_string(call.id);
  if (call.retry_at) json["nextRetryAt"] = format_rfc3339(*call.retry_at);
  if (const auto& last = call.last_error) {
    const Error& error = last->error;
    json["lastError"] = shown_detail({{"code", error.code}, {"message", error.message}},
                                     disclosures.of(instance | call.sealed));
    json["lastError"]["at"] = format_rfc3339(last->at);
  }
  add_progress(json, call, instance, disclosures);
  for (size_t i = 0; i < kTimeoutKinds; ++i) {
    if (!call.deadlines[i]) continue;
    const std::string_view code = error_code(static_cast<TimeoutKind>(i));
    json["deadlines"][std::string(code.substr(code.rfind('.') + 1))] =
        format_rfc3339(*call.deadlines[i]);
  }
  return json;
}

}  // namespace millrace
