#include "scenarios/judge.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "cloudevents/json_format.h"
#include "cloudevents/nats_binding.h"
#include "language/findings.h"
#include "policies/duration.h"

namespace millrace {
namespace {

/// The number of history records that are shown. For a longer history, half of them are its first
/// records and half its last ones.
constexpr size_t kMostRecords = 40;

Match match_of(Aspect aspect) {
  switch (aspect) {
    case Aspect::kOutputContains:
    case Aspect::kError:
    case Aspect::kPublished:
    case Aspect::kCompensations:
    case Aspect::kLeft:
      return Match::kPart;
    default:
      return Match::kWhole;
  }
}

/// The compensations that an instance has left, the next one first, which has the error with which
/// it has failed.
Json compensations_left(const Json& instance) {
  Json left = instance.value("compensations", Json::array());
  const Json about = instance.value("compensation", Json::object());
  if (!left.empty() && about.contains("error")) left[0]["error"] = about["error"];
  return left;
}

}  // namespace

void Judge::differs(const Placed& place, std::string message) {
  mismatches_.push_back({place.value.at, place.path, std::move(message)});
}

void Judge::explain_unanswered(const Scenario& scenario) {
  if (mismatches_.empty()) return;
  std::set<std::string_view> unanswered;
  for (const Task& task : functions_.tasks()) {
    if (!scenario.functions.contains(task.function)) unanswered.insert(task.function);
  }
  for (const std::string_view function : unanswered) {
    unanswered_.push_back(
        fmt::format("the function {} has no entry in `functions`, so its tasks are not answered",
                    in_quotes(function)));
  }
}

std::vector<Mismatch> Judge::mismatches() const {
  std::vector<Mismatch> sorted = mismatches_;
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Mismatch& a, const Mismatch& b) { return a.at < b.at; });
  return sorted;
}

Status Judge::look_at(const Expectation& expectation, const std::optional<std::string>& id) {
  const size_t before = mismatches_.size();
  for (const Expected& one : expectation.all) {
    if (one.aspect == Aspect::kInstances) {
      compare_with(one, Json(TRY(stage_.instances(expectation.workflow)).size()));
    } else if (id) {
      TRY(look_at(one, *id));
    } else {
      const std::string number =
          expectation.number ? fmt::format(" {}", *expectation.number) : std::string();
      differs(one.wanted,
              fmt::format("there is no instance{} of {}", number, expectation.workflow));
    }
  }
  if (id && mismatches_.size() > before) TRY(describe(expectation.workflow, *id));
  return {};
}

Status Judge::look_at(const Expected& expected, const std::string& id) {
  const Json instance = TRY(stage_.instance(id));
  switch (expected.aspect) {
    case Aspect::kStatus:
      compare_with(expected, instance["status"]);
      break;
    case Aspect::kRun:
      compare_with(expected, instance["run"]);
      break;
    case Aspect::kStates:
      compare_with(expected, TRY(states_of(id, "entered")));
      break;
    case Aspect::kCompensated:
      compare_with(expected, TRY(states_of(id, "undone")));
      break;
    case Aspect::kAwaits:
      return compare_limit(expected, instance);
    case Aspect::kCompensations:
      compare_with(expected, TRY(compensations_of(id)));
      break;
    case Aspect::kLeft:
      compare_with(expected, compensations_left(instance));
      break;
    case Aspect::kOutput:
    case Aspect::kOutputContains:
      compare_member(expected, instance, "output");
      break;
    case Aspect::kError:
      compare_member(expected, instance, "error");
      break;
    case Aspect::kPublished:
      compare_with(expected, TRY(published_by(id)));
      break;
    case Aspect::kTook:
      TRY(compare_time(expected, instance));
      break;
    case Aspect::kAttempts:
      TRY(compare_attempts(expected, id));
      break;
    case Aspect::kInstances:
      break;  // the caller compares the number of instances of the workflow
  }
  return {};
}

void Judge::compare_with(const Expected& expected, const Json& got) {
  const auto& [path, wanted] = expected.wanted;
  if (expected.aspect == Aspect::kStates ||
      expected.aspect == Aspect::kCompensated) {  // one message with the complete lists is clearer
    if (to_json(wanted) != got) differs_as_list(expected.wanted, got);
    return;
  }
  auto found = compare(wanted, path, got, match_of(expected.aspect));
  std::move(found.begin(), found.end(), std::back_inserter(mismatches_));
}

void Judge::differs_as_list(const Placed& wanted, const Json& got) {
  differs(wanted,
          fmt::format("expected {}, got {}", in_brief(to_json(wanted.value)), in_brief(got)));
}

void Judge::compare_member(const Expected& expected, const Json& instance, const char* key) {
  if (instance.contains(key)) return compare_with(expected, instance[key]);
  differs(expected.wanted, fmt::format("the instance has no {}; its status is {}", key,
                                       instance["status"].get<std::string>()));
}

Status Judge::compare_time(const Expected& expected, const Json& instance) {
  if (!instance.contains("endedAt")) {
    differs(expected.wanted, fmt::format("the instance has not ended; its status is {}",
                                         instance["status"].get<std::string>()));
    return {};
  }
  const TimePoint start = TRY(parse_rfc3339(instance["startedAt"].get<std::string>()));
  const TimePoint end = TRY(parse_rfc3339(instance["endedAt"].get<std::string>()));
  const Span wanted = TRY(Span::parse(expected.wanted.value.text));
  if (wanted.after(start) != end) {
    differs(expected.wanted, fmt::format("expected {}, got {}", wanted.text, spelled(end - start)));
  }
  return {};
}

Status Judge::compare_attempts(const Expected& expected, const std::string& id) {
  const std::vector<TimePoint> times = TRY(attempts_of(id));
  if (times.empty()) return {};
  Json got = Json::array();
  for (size_t i = 1; i < times.size(); ++i) got.push_back(spelled(times[i] - times[0]));
  const std::vector<Node>& items = expected.wanted.value.items;
  bool is_equal = items.size() == got.size();
  for (size_t i = 0; is_equal && i < items.size(); ++i) {
    is_equal = TRY(Span::parse(items[i].text)).after(times[0]) == times[i + 1];
  }
  if (!is_equal) differs_as_list(expected.wanted, got);
  return {};
}

/// Compares with what the start waits for, or one of the calls of the instance.
Status Judge::compare_limit(const Expected& expected, const Json& instance) {
  std::set<std::string> limits;
  const auto add = [&](const Json& item) {
    if (item.contains("slot") && item["slot"].value("queued", false)) limits.insert("slot");
    if (item.contains("throttled")) limits.insert("throttle");
  };
  add(instance);
  const InstanceId id = TRY(parse_instance_id(instance["id"].get<std::string>()));
  const Snapshot view = TRY(Snapshot::take(stage_.environment()));
  Json page{{"next", ""}};
  while (page["next"].is_string()) {
    constexpr size_t kCallsAtOnce = 100;
    const std::string cursor = page["next"];
    page = TRY(stage_.queries().instance_calls(view, "default", id, kCallsAtOnce, cursor));
    for (const Json& call : page["items"]) add(call);
  }
  if (limits.contains(expected.wanted.value.text)) return {};
  differs(expected.wanted,
          fmt::format("expected \"{}\", but {}; its status is {}", expected.wanted.value.text,
                      limits.empty() ? "the instance waits for no limit"
                                     : fmt::format("it waits for the {}", *limits.begin()),
                      instance["status"].get<std::string>()));
  return {};
}

/// {"state","input"} of each compensation that has succeeded, in order.
Result<Json> Judge::compensations_of(const std::string& id) {
  Json made = Json::array();
  Json input;
  for (const Json& record : TRY(stage_.history(id))) {
    if (record["kind"] == "called") input = TRY(input_of(record["detail"]));
    if (record["kind"] == "undone") made.push_back({{"state", record["state"]}, {"input", input}});
  }
  return made;
}

/// The input of a call that a record `called` has.
Result<Json> Judge::input_of(const Json& called) {
  if (called.contains("instance")) {
    return TRY(stage_.instance(called["instance"].get<std::string>()))["input"];
  }
  const InstanceId id = TRY(parse_instance_id(called["task"].get<std::string>()));
  for (const Task& task : functions_.tasks()) {
    if (task.id == id) return parse_own_json(task.input);
  }
  return Json();
}

/// The states of the records of that kind, in order.
Result<Json> Judge::states_of(const std::string& id, const char* kind) {
  Json states = Json::array();
  for (const Json& record : TRY(stage_.history(id))) {
    if (record["kind"] == kind) states.push_back(record["state"]);
  }
  return states;
}

/// The time of the first record, which is the start of the run, and then that of each call.
Result<std::vector<TimePoint>> Judge::attempts_of(const std::string& id) {
  std::vector<TimePoint> times;
  for (const Json& record : TRY(stage_.history(id))) {
    if (!times.empty() && record["kind"] != "called") continue;
    times.push_back(TRY(parse_rfc3339(record["time"].get<std::string>())));
  }
  return times;
}

/// The events of the instance that are in the event stream, in its order.
Result<Json> Judge::published_by(const std::string& id) {
  std::set<std::string> ids;
  for (const Json& record : TRY(stage_.history(id))) {
    if (record["kind"] == "published") ids.insert(record["detail"]["id"]);
  }
  Json events = Json::array();
  for (const MemoryBroker::Stored& stored : broker_.events()) {
    const Result<Event> event = decode_nats(stored.message);
    if (event && ids.contains(event->id)) events.push_back(event_to_json(*event));
  }
  return events;
}

Status Judge::describe(const std::string& workflow, const std::string& id) {
  const Json history = TRY(stage_.history(id));
  story_.push_back(fmt::format("what happened to {}:", workflow));
  for (size_t i = 0; i < history.size(); ++i) {
    if (history.size() > kMostRecords && i == kMostRecords / 2) {
      story_.push_back("  …");
      i = history.size() - kMostRecords / 2;
    }
    const Json& record = history[i];
    const TimePoint time = TRY(parse_rfc3339(record["time"].get<std::string>()));
    story_.push_back(
        fmt::format("  {:<8} {:<10} {}{}", spelled(time - begin_),
                    record["kind"].get<std::string>(), record.value("state", "-"),
                    record.contains("detail") ? " " + in_brief(record["detail"]) : ""));
  }
  return {};
}

}  // namespace millrace
