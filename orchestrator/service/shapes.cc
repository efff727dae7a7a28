#include "orchestrator/service/shapes.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/bytes.h"
#include "base/ids.h"
#include "orchestrator/store/rows/damage.h"

namespace millrace {
namespace {

/// Members of a history record's detail whose values come from the engine or the definition, not
/// from the instance's data.
constexpr std::array<std::string_view, 22> kOwnWords = {
    "async",    "at",    "attempt",  "by",   "code",         "deadLetter", "error",  "function",
    "id",       "index", "instance", "left", "nextRevision", "number",     "parent", "past",
    "revision", "run",   "status",   "task", "tick",         "workflow"};

/// The most events that a list shows of what an instance waits for, and the most bytes of their
/// texts: a page of 1 000 instances stays below the bytes of a page.
constexpr size_t kMostShownWaits = 4;
constexpr size_t kMostWaitBytes = 512;

size_t bytes_of_context(const EventFilter& filter) {
  size_t bytes = 0;
  for (const Predicate& one : filter.predicates) bytes += one.attribute.size() + one.text.size();
  return bytes;
}

}  // namespace

Json shown(const LazyJson& json, const Disclosure& disclosure) {
  return disclosure.hides() ? Json(kWithheld) : disclosure.over(json.value());
}

Json shown_detail(Json detail, const Disclosure& disclosure) {
  if (disclosure.shows_all()) return detail;
  if (!detail.is_object()) return disclosure.over(std::move(detail));
  for (const auto& [key, value] : detail.items()) {
    if (std::find(kOwnWords.begin(), kOwnWords.end(), key) == kOwnWords.end()) {
      value = disclosure.over(std::move(value));
    }
  }
  return detail;
}

Json to_json(const Error& error) { return {{"code", error.code}, {"msg", error.message}}; }

Json to_json(const EventFilter& filter, const Disclosure& disclosure) {
  Json context = Json::object();
  for (const Predicate& predicate : filter.predicates) {
    const char* const how = predicate.kind == Predicate::Kind::kEquals ? "equals" : "pattern";
    context[predicate.attribute] = {{how, disclosure.over(predicate.text)}};
  }
  return {{"type", filter.type}, {"context", std::move(context)}};
}

void add_waits(Json& item, const Instance& instance, const Disclosure& disclosure) {
  Json waits = Json::array();
  size_t bytes = 0;
  for (const Listener& listener : instance.listeners) {
    bytes += listener.filter.type.size();
    if (waits.size() == kMostShownWaits || bytes > kMostWaitBytes) break;
    const size_t context = bytes_of_context(listener.filter);
    if (bytes + context > kMostWaitBytes) {
      waits.push_back(Json::object({{"type", listener.filter.type}}));
    } else {
      waits.push_back(to_json(listener.filter, disclosure));
      bytes += context;
    }
  }
  const size_t more = instance.listeners.size() - waits.size();
  if (!waits.empty()) item["waits"] = std::move(waits);
  if (more > 0) item["moreWaits"] = more;
}

Json variable_item(std::string_view key, const VariableHead& variable) {
  Json item{{"key", key}, {"size", variable.size}, {"contentType", variable.content_type}};
  if (variable.sealed) item["sealed"] = true;
  return item;
}

Json whole_variable(std::string_view key, const Variable& variable) {
  Json item = variable_item(key, {.content_type = variable.content_type,
                                  .size = variable.bytes.size(),
                                  .pieces = std::nullopt,
                                  .sealed = variable.sealed});
  if (variable.sealed) {
    item["data"] = kWithheld;
    return item;
  }
  const bool is_text = is_utf8(variable.bytes);
  item["data"] = is_text ? variable.bytes : base64_encode(variable.bytes);
  item["encoding"] = is_text ? "utf-8" : "base64";
  return item;
}

std::string_view to_string(Start::Kind kind) {
  switch (kind) {
    case Start::Kind::kDefault:
      return "default";
    case Start::Kind::kEvent:
      return "event";
    case Start::Kind::kEventsXor:
      return "eventsXor";
    case Start::Kind::kEventsAnd:
      return "eventsAnd";
    case Start::Kind::kScheduled:
      return "scheduled";
  }
  return "unknown";
}

std::optional<TimePoint> first_deadline(const Instance& instance) {
  std::optional<TimePoint> first;
  for (const Timer& timer : instance.timers) {
    if (timer.kind == TimerKind::kCalls || timer.kind == TimerKind::kRetry) continue;
    first = std::min(first.value_or(timer.deadline), timer.deadline);
  }
  return first;
}

Json compensation_json(const Instance& instance, const Disclosure& disclosure) {
  Json json{{"left", instance.compensations}, {"making", instance.compensating.has_value()}};
  if (instance.compensating) json["ends"] = to_string(instance.compensating->status);
  if (instance.compensation_error) {
    json["error"] = shown_detail(to_json(*instance.compensation_error), disclosure);
  }
  return json;
}

Json damaged_item(const InstanceId& id, const Error& error) {
  // The head has the time of the start, and does not decode. The time in the id is near it.
  const TimePoint started_at = std::min(time_of(id), kLastTime);
  return {{"id", to_string(id)},    {"workflow", ""}, {"revision", 0},
          {"status", "damaged"},    {"state", ""},    {"startedAt", format_rfc3339(started_at)},
          {"damage", error.message}};
}

}  // namespace millrace
