#include "orchestrator/outgoing/lifecycle.h"

#include <algorithm>

#include <fmt/format.h>

#include "cloudevents/subject.h"

namespace millrace {
namespace {

constexpr std::string_view kStepFailed = "millrace.step.failed";
constexpr std::string_view kStepTimedOut = "millrace.step.timedout";

std::string_view type_of_end(InstanceStatus status) {
  switch (status) {
    case InstanceStatus::kComplete:
      return "millrace.instance.completed";
    case InstanceStatus::kCancelled:
      return "millrace.instance.cancelled";
    case InstanceStatus::kTimedOut:
      return "millrace.instance.timedout";
    default:
      return "millrace.instance.failed";
  }
}

/// The event type for a record; empty: the record has no lifecycle event.
std::string_view type_of(const HistoryRecord& record, const Instance& instance) {
  switch (record.kind) {
    case HistoryKind::kStarted:
      return "millrace.instance.started";
    case HistoryKind::kEnded:
      return type_of_end(instance.status);
    case HistoryKind::kPaused:
      return "millrace.instance.paused";
    case HistoryKind::kResumed:
      return "millrace.instance.resumed";
    case HistoryKind::kRevived:
      return "millrace.instance.revived";
    case HistoryKind::kRaised:
      return kStepFailed;
    case HistoryKind::kReturned:
      return record.detail.value().contains("code") ? kStepFailed : std::string_view();
    case HistoryKind::kRetrying:
      return "millrace.retry.scheduled";
    case HistoryKind::kTimedOut:
      return kStepTimedOut;
    default:
      return "";
  }
}

/// Whether the state of the record timed out. Not for a record that repeats the error of a call: if
/// a state of the called subflow timed out, the record has the same code. lifecycle_events() skips
/// such a record.
bool is_state_timeout(const HistoryRecord& record) {
  return record.kind == HistoryKind::kRaised &&
         record.detail.value().value("code", "") == "direktiv.stateTimeout";
}

Json data_of(const LifecycleOf& of, const HistoryRecord& record) {
  Json data{{"namespace", of.ns},
            {"workflow", of.workflow},
            {"revision", of.instance.revision.number},
            {"instance", to_string(of.instance.id)},
            {"status", to_string(of.instance.status)}};
  if (!record.state.empty()) data["state"] = record.state;
  if (of.instance.run > 1) data["run"] = of.instance.run;
  if (!record.detail.is_null()) data["detail"] = record.detail.value();
  if (record.kind == HistoryKind::kEnded && of.instance.error) {
    data["error"] = {{"code", of.instance.error->code}, {"msg", of.instance.error->message}};
  }
  if (of.instance.sealed) {
    for (const char* const part : {"detail", "error"}) {
      if (data.contains(part) && data[part].is_object()) data[part].erase("msg");
    }
  }
  return data;
}

/// The id of the event that caused the record; empty: no event caused it.
std::string cause_in(const HistoryRecord& record) {
  if (record.kind == HistoryKind::kWoken) return record.detail.value().value("id", "");
  if (record.kind != HistoryKind::kStarted) return "";
  const Json& detail = record.detail.value();
  return detail.contains("event") ? detail["event"].value("id", "") : "";
}

}  // namespace

std::span<const std::string_view> lifecycle_types() {
  static constexpr std::string_view kTypes[] = {"millrace.instance.started",
                                                "millrace.instance.completed",
                                                "millrace.instance.failed",
                                                "millrace.instance.cancelled",
                                                "millrace.instance.timedout",
                                                "millrace.instance.paused",
                                                "millrace.instance.resumed",
                                                "millrace.instance.revived",
                                                kStepFailed,
                                                kStepTimedOut,
                                                "millrace.retry.scheduled"};
  return kTypes;
}

std::vector<Event> lifecycle_events(const LifecycleOf& of, std::span<const HistoryRecord> records,
                                    uint64_t first) {
  const Instance& instance = of.instance;
  const std::string id = to_string(instance.id);
  std::vector<Event> events;
  std::string cause;
  bool step_failed = false;  // the error of a call is raised again by its state in the same step
  for (size_t i = 0; i < records.size(); ++i) {
    const HistoryRecord& record = records[i];
    if (std::string own = cause_in(record); !own.empty()) cause = std::move(own);
    const std::string_view type = type_of(record, instance);
    const bool is_again = type == kStepFailed && step_failed;
    if (record.kind == HistoryKind::kEntered) step_failed = false;
    if (type.empty() || is_again) continue;
    step_failed = step_failed || type == kStepFailed;
    Event event{.id = fmt::format("{}-h{}", id, first + i),
                .source = fmt::format("/millrace/{}/{}", of.ns, of.workflow),
                .type = std::string(type),
                .subject = id,
                .time = format_rfc3339(record.time)};
    event.datacontenttype = "application/json";
    event.data = dump_json(data_of(of, record));
    event.extensions["correlationid"] = instance.correlation.empty() ? id : instance.correlation;
    if (!cause.empty()) event.extensions["causationid"] = cause;
    if (!instance.traceparent.empty()) event.extensions["traceparent"] = instance.traceparent;
    if (is_state_timeout(record)) {
      // Makes two events, as for the timeout of a call: one for the timeout, and one for the failed
      // step.
      Event timeout = event;
      timeout.id += "-timedout";
      timeout.type = kStepTimedOut;
      events.push_back(std::move(timeout));
    }
    events.push_back(std::move(event));
  }
  return events;
}

NatsMessage lifecycle_message(const LifecycleOf& of, const Event& event) {
  // `millrace.instance.completed` is `completed`, `millrace.step.failed` is `step-failed`.
  std::string what = event.type.substr(event.type.find('.') + 1);
  constexpr std::string_view kOfInstances = "instance.";
  if (what.starts_with(kOfInstances)) what.erase(0, kOfInstances.size());
  std::replace(what.begin(), what.end(), '.', '-');
  NatsMessage message = encode_nats(event);
  message.subject = fmt::format("millrace.lifecycle.{}.{}.{}", subject_token(of.ns),
                                subject_token(of.workflow), what);
  message.headers.emplace_back("Nats-Msg-Id", event.id);
  return message;
}

}  // namespace millrace
