#include "orchestrator/check/record_shape.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include <fmt/format.h>

#include "base/excerpt.h"
#include "base/json.h"

namespace millrace {
namespace {

struct RecordShape {
  HistoryKind kind;
  std::string_view members;  ///< in the order of their names, as members_of() gives them
};

/// The details that releases write, the earliest ones included. A kind without members has no
/// detail.
constexpr RecordShape kRecordShapes[] = {
    {HistoryKind::kStarted, R"(by: "call", revision: number)"},
    {HistoryKind::kStarted, R"(by: "event", event: id, source and type, revision: number)"},
    {HistoryKind::kStarted, R"(by: "schedule", revision: number, tick: text)"},
    {HistoryKind::kStarted, R"(by: "schedule", revision: number, triggered: true)"},
    {HistoryKind::kStarted, R"(by: "subflow", parent: text, revision: number)"},
    {HistoryKind::kEntered, ""},
    {HistoryKind::kWoken, "id: text, source: text, type: text"},
    {HistoryKind::kElapsed, ""},
    {HistoryKind::kPublished, "id: text, type: text"},
    {HistoryKind::kPublished, "at: text, id: text, type: text"},
    {HistoryKind::kPublished, "deadLetter: text, id: text, type: text"},
    {HistoryKind::kPublished, "at: text, deadLetter: text, id: text, type: text"},
    {HistoryKind::kLog, "value: any"},
    {HistoryKind::kRaised, "code: text, msg: text"},
    {HistoryKind::kCaught, "error: text"},
    {HistoryKind::kFixed, "code: text, msg: text"},
    {HistoryKind::kCancelled, "code: text, msg: text"},
    {HistoryKind::kEnded, "status: text"},
    {HistoryKind::kCalled, "attempt: number, function: text, index: number, task: text"},
    {HistoryKind::kCalled,
     "attempt: number, function: text, index: number, instance: text, workflow: text"},
    {HistoryKind::kCalled, "async: true, function: text, task: text"},
    {HistoryKind::kCalled, "async: true, function: text, instance: text, workflow: text"},
    {HistoryKind::kReturned, "attempt: number, index: number, task: text"},
    {HistoryKind::kReturned, "attempt: number, index: number, instance: text"},
    {HistoryKind::kReturned, R"(attempt: number, by: "httpCallback", index: number, task: text)"},
    {HistoryKind::kReturned, R"(attempt: number, by: "natsCallback", index: number, task: text)"},
    {HistoryKind::kReturned, R"(attempt: number, by: "operator", index: number, task: text)"},
    {HistoryKind::kReturned, "attempt: number, code: text, index: number, msg: text, task: text"},
    {HistoryKind::kReturned,
     R"(attempt: number, by: "httpCallback", code: text, index: number, msg: text, task: text)"},
    {HistoryKind::kReturned,
     R"(attempt: number, by: "natsCallback", code: text, index: number, msg: text, task: text)"},
    {HistoryKind::kReturned,
     R"(attempt: number, by: "operator", code: text, index: number, msg: text, task: text)"},
    {HistoryKind::kReturned,
     "attempt: number, code: text, index: number, instance: text, msg: text"},
    {HistoryKind::kRetrying, "at: text, attempt: number"},
    {HistoryKind::kRetrying, "at: text, attempt: number, index: number"},
    {HistoryKind::kRetrying, "at: text, run: number"},
    {HistoryKind::kTimedOut, "attempt: number, code: text, index: number"},
    {HistoryKind::kSkipped, "function: text, index: number"},
    {HistoryKind::kRun, "run: number"},
    {HistoryKind::kOutput, "index: number, text: text"},
    {HistoryKind::kPaused, ""},
    {HistoryKind::kResumed, ""},
    {HistoryKind::kRevived, R"(how: "retry")"},
    {HistoryKind::kRevived, R"(how: "restart")"},
    {HistoryKind::kRevived, R"(how: "rerun")"},
    {HistoryKind::kContinued, "nextRevision: number, revision: number, run: number"},
    {HistoryKind::kNoted, "function: text, number: number"},
    {HistoryKind::kCompensating, "left: number, status: text"},
    {HistoryKind::kCompensating, "by: text, left: number, status: text"},
    {HistoryKind::kCompensating, "by: text, left: number, past: number, status: text"},
    {HistoryKind::kUndoing, "function: text, number: number"},
    {HistoryKind::kUndone, "number: number"},
    {HistoryKind::kCompensationStopped, "left: number"},
    {HistoryKind::kQueued, "priority: number"},
    {HistoryKind::kQueued, "key: text, priority: number"},
    {HistoryKind::kAdmitted, ""},
    {HistoryKind::kThrottled, "priority: number"},
    {HistoryKind::kThrottled, "key: text, priority: number"},
    {HistoryKind::kReleased, ""},
};

/// Whether the value describes an event: its id, source and type.
bool is_event_detail(const Json& value) {
  const auto has_text = [&](const char* name) {
    const auto found = value.find(name);
    return found != value.end() && found->is_string();
  };
  return value.is_object() && value.size() == 3 && has_text("id") && has_text("source") &&
         has_text("type");
}

/// The type of a member; of `by` and `how` the value, because the other members depend on it.
std::string type_in_shape(HistoryKind kind, const std::string& name, const Json& value) {
  if (kind == HistoryKind::kLog) return "any";
  if (value.is_string()) {
    const bool is_choice = (kind == HistoryKind::kStarted && name == "by") ||
                           (kind == HistoryKind::kReturned && name == "by") ||
                           (kind == HistoryKind::kRevived && name == "how");
    if (!is_choice) return "text";
    return fmt::format("\"{}\"", excerpt(value.get_ref<const std::string&>()));
  }
  const bool may_be_negative = name == "priority" && value.is_number_integer();
  if (value.is_number_unsigned() || may_be_negative) return "number";
  if (value.is_boolean() && value.get<bool>()) return "true";
  return is_event_detail(value) ? "id, source and type" : "another type";
}

/// The names and types of the members of a detail.
std::string members_of(HistoryKind kind, const Json& detail) {
  if (detail.is_null()) return "";
  if (!detail.is_object()) return "a value that is not an object";
  std::string members;
  for (auto member = detail.begin(); member != detail.end(); ++member) {
    if (!members.empty()) members += ", ";
    members += fmt::format("{}: {}", excerpt(member.key()),
                           type_in_shape(kind, member.key(), member.value()));
  }
  return members;
}

}  // namespace

std::optional<std::string> wrong_shape(const HistoryRecord& record) {
  const auto detail = parse_own_json(record.detail.text());
  if (!detail) return std::nullopt;
  const std::string members = members_of(record.kind, *detail);
  const bool is_known = std::any_of(std::begin(kRecordShapes), std::end(kRecordShapes),
                                    [&](const RecordShape& shape) {
                                      return shape.kind == record.kind && shape.members == members;
                                    });
  if (is_known) return std::nullopt;
  std::string expected;
  for (const RecordShape& shape : kRecordShapes) {
    if (shape.kind != record.kind) continue;
    if (!expected.empty()) expected += " or ";
    expected += fmt::format("({})", shape.members);
  }
  return fmt::format("a record `{}` has the members ({}), expected {}", to_string(record.kind),
                     members, expected);
}

}  // namespace millrace
