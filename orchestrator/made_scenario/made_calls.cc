#include "orchestrator/made_scenario/made_calls.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "orchestrator/made_scenario/record_detail.h"
#include "policies/duration.h"

namespace millrace {
namespace {

/// One attempt of a call.
struct PlayedCall {
  size_t entered = 0;  ///< the record with which its state was entered
  size_t called = 0;   ///< the record of its begin
  std::string id;      ///< of the task, or of the instance of the subflow
  std::string function;
  std::string workflow;  ///< of the subflow; empty: the function is no subflow
  uint64_t index = 0;
  uint64_t attempt = 0;
  bool is_async = false;
  bool undoes = false;          ///< it is the call of a compensation
  std::optional<size_t> ended;  ///< the record of its result, or of its timeout
};

/// All attempts of calls, in the order in which they began.
std::vector<PlayedCall> calls_in(const std::vector<HistoryRecord>& history) {
  std::vector<PlayedCall> calls;
  std::map<std::string, size_t> by_id;
  std::map<uint64_t, size_t> by_index;
  size_t entered = 0;
  bool undoes = false;
  for (size_t i = 0; i < history.size(); ++i) {
    const HistoryKind kind = history[i].kind;
    if (kind == HistoryKind::kEntered) {
      entered = i;
      undoes = false;
      by_index.clear();
    } else if (kind == HistoryKind::kUndoing) {
      undoes = true;
      by_index.clear();
    } else if (kind == HistoryKind::kCalled) {
      const Json detail = history[i].detail.value();
      by_id[call_in(detail)] = calls.size();
      if (detail.contains("index")) by_index[number_in(detail, "index")] = calls.size();
      calls.push_back({.entered = entered,
                       .called = i,
                       .id = call_in(detail),
                       .function = text_in(detail, "function"),
                       .workflow = text_in(detail, "workflow"),
                       .index = number_in(detail, "index"),
                       .attempt = number_in(detail, "attempt"),
                       .is_async = detail.contains("async"),
                       .undoes = undoes});
    } else if (kind == HistoryKind::kReturned) {
      const auto found = by_id.find(call_in(history[i].detail.value()));
      if (found != by_id.end()) calls[found->second].ended = i;
    } else if (kind == HistoryKind::kTimedOut) {
      const auto found = by_index.find(number_in(history[i].detail.value(), "index"));
      if (found != by_index.end()) calls[found->second].ended = i;
    }
  }
  return calls;
}

class CallMaker {
 public:
  CallMaker(const PlayedInstance& played, const ReadDefinition& definition, const PlayTimes& times,
            const ObservedData& data)
      : played_(played),
        definition_(definition),
        times_(times),
        data_(data),
        names_heartbeats_(dump_json(definition.json()).find("eartbeat") != std::string::npos) {}

  Result<MadeCalls> make() {
    bool has_retries = false;
    for (const PlayedCall& call : calls_in(played_.history)) {
      if (call.workflow == played_.workflow.id) {
        return fail("scenario.not_expressible",
                    fmt::format("the workflow \"{}\" calls itself; in a scenario, another "
                                "definition has to stand for each subflow",
                                call.workflow));
      }
      const std::string function =
          call.workflow.empty() ? call.function : function_of(call.workflow);
      made_.functions[function].push_back(TRY(performance(call)));
      made_.attempts.push_back(spelled(times_.at[call.called]));
      has_retries = has_retries || call.attempt > 1;
    }
    if (!has_retries) made_.attempts.clear();
    return std::move(made_);
  }

 private:
  /// The function that answers for the workflow of a subflow.
  std::string function_of(const std::string& workflow) {
    if (const auto known = answering_.find(workflow); known != answering_.end()) {
      return known->second;
    }
    std::string name;
    size_t number = answering_.size();
    do {
      name = fmt::format("subflow-{}", ++number);
    } while (definition_.has_function(name) || made_.functions.contains(name));
    answering_[workflow] = name;
    const Json called = {{"id", name}, {"type", "service"}, {"service", name}};
    const Json state = {{"id", "answer"},
                        {"type", "action"},
                        {"action", {{"function", name}}},
                        {"transform", "jq(.return)"}};
    Json answering = Json::object();
    answering["id"] = workflow;
    answering["functions"] = Json::array({called});
    answering["states"] = Json::array({state});
    made_.subflows.push_back(std::move(answering));
    return name;
  }

  /// What the function did in that attempt.
  Result<Json> performance(const PlayedCall& call) {
    if (call.is_async) return Json{{"never", "begins"}};
    if (!call.ended) return without_end(call);
    const HistoryRecord& end = played_.history[*call.ended];
    const Json detail = end.detail.value();
    const std::string code = text_in(detail, "code");
    if (end.kind == HistoryKind::kTimedOut) {
      const bool never_began = code == "millrace.timeout.scheduleToStart";
      return Json{{"never", never_began ? "begins" : "ends"}};
    }
    Json made = lasting(times_.at[*call.ended] - times_.at[call.called]);
    // A callback, or an operator, has answered a call that its service had accepted.
    if (detail.contains("by")) made["accepts"] = true;
    if (!code.empty()) {
      made["error"] = {{"code", code}, {"msg", text_in(detail, "msg")}};
    } else {
      made["return"] = TRY(answer_to(call));
    }
    return made;
  }

  /// Whether the state of the call has a compensation.
  bool is_undone(const PlayedCall& call) const {
    return definition_.state(played_.history[call.entered].state).contains("compensate");
  }

  /// Whether the instance was cancelled while the task ran: then its result is in no data.
  bool is_after_cancel(const PlayedCall& call) const {
    const auto from = played_.history.begin() + static_cast<std::ptrdiff_t>(call.called);
    const auto end = played_.history.begin() + static_cast<std::ptrdiff_t>(*call.ended);
    return std::any_of(from, end, [](const HistoryRecord& record) {
      return record.kind == HistoryKind::kCancelled;
    });
  }

  Json without_end(const PlayedCall& call) {
    // With `now`, a cancellation stops the tasks; that of a scenario lets them end.
    const auto& history = played_.history;
    const bool has_end = has_ended(played_.instance.status);
    for (size_t i = call.called + 1; has_end && i < history.size(); ++i) {
      const HistoryKind kind = history[i].kind;
      if (kind == HistoryKind::kEntered || kind == HistoryKind::kRaised) break;
      if (kind != HistoryKind::kCancelled || !call.workflow.empty()) continue;
      if (!is_cancel(history[i])) break;
      made_.stops_tasks = true;
      Json made = lasting(times_.at[i] - times_.at[call.called] + Duration(1));
      // With a result, its compensation would be noted.
      if (is_undone(call)) made["error"] = {{"code", "stopped"}, {"msg", "the task was stopped"}};
      return made;
    }
    return Json{{"never", "ends"}};
  }

  /// A mapping of a task that takes so long.
  Json lasting(Duration time) const {
    Json made = Json::object();
    if (time == Duration(0)) return made;
    made["takes"] = spelled(time);
    constexpr Duration kOften(1'000);
    constexpr int kMost = 1'000;  // heartbeats
    if (names_heartbeats_ && time > kOften) {
      made["heartbeat"] = spelled(std::max(kOften, time / kMost));
    }
    return made;
  }

  Result<Json> answer_to(const PlayedCall& call) {
    if (!call.undoes && call.workflow.empty() && is_after_cancel(call)) {
      made_.loses_result |= is_undone(call);
      return Json();
    }
    const WayOut left = how_left(played_.history, call.entered);
    if (left == WayOut::kError && !call.undoes)
      return Json();  // the instance has used no answer of this state
    if (!call.workflow.empty()) {
      const Result<InstanceId> id = parse_instance_id(call.id);
      const auto found = id ? played_.outputs.find(*id) : played_.outputs.end();
      if (found != played_.outputs.end()) return found->second;
    }
    if (call.undoes) return Json();  // its result is not used
    if (left == WayOut::kNot) {
      const std::vector<Call>& calls = played_.instance.calls;
      if (call.index < calls.size()) return Json(calls[call.index].result.value());
      return Json();
    }
    const auto [place, is_new] = returned_.try_emplace(call.entered);
    if (is_new) place->second = data_.on_leaving(call.entered, "return");
    const std::optional<Json>& seen = place->second;
    const std::string& state = played_.history[call.entered].state;
    if (!seen) {
      return fail("scenario.not_recorded",
                  fmt::format("the history does not have what the function \"{}\" answered in "
                              "state \"{}\": the transform of the state has changed it; write the "
                              "scenario by hand",
                              call.function, state));
    }
    if (definition_.state(state).value("type", Json()) == Json("action")) return *seen;
    if (seen->is_array() && call.index < seen->size()) return Json((*seen)[call.index]);
    return Json();
  }

  const PlayedInstance& played_;
  const ReadDefinition& definition_;
  const PlayTimes& times_;
  const ObservedData& data_;
  const bool names_heartbeats_;
  MadeCalls made_;
  std::map<size_t, std::optional<Json>> returned_;  ///< by the record of the entry of the state
  std::map<std::string, std::string> answering_;    ///< functions, by the workflows of subflows
};

}  // namespace

Result<MadeCalls> made_calls(const PlayedInstance& played, const ReadDefinition& definition,
                             const PlayTimes& times, const ObservedData& data) {
  return CallMaker(played, definition, times, data).make();
}

}  // namespace millrace
