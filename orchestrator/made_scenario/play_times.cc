#include "orchestrator/made_scenario/play_times.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "orchestrator/made_scenario/record_detail.h"
#include "states/calling_state.h"
#include "states/compensation.h"

namespace millrace {
namespace {

/// The time in a member of a detail.
std::optional<TimePoint> time_in(const Json& detail, const char* key) {
  const Result<TimePoint> time = parse_rfc3339(text_in(detail, key));
  return time ? std::optional(*time) : std::nullopt;
}

/// When a span that begins at that time of the scenario has passed.
Duration after(const Span& span, Duration from) {
  return span.after(kScenarioStart + from) - kScenarioStart;
}

class Times {
 public:
  Times(const Workflow& workflow, const ReadDefinition& definition)
      : workflow_(workflow), definition_(definition) {}

  PlayTimes of(const std::vector<HistoryRecord>& history) {
    if (history.empty()) return std::move(times_);
    before_ = history.front().time;
    for (const HistoryRecord& record : history) {
      const Json detail = record.detail.value();
      now_ = std::max(now_, next(record, detail));
      note(record, detail);
      before_ = record.time;
      times_.at.push_back(now_);
    }
    return std::move(times_);
  }

 private:
  /// A call that has not ended.
  struct Running {
    Duration at;      ///< when it began
    TimePoint began;  ///< when the history says that it began
  };

  Duration inexact(Duration time) {
    times_.exact = false;
    return time;
  }

  /// The time of the scenario if as much has passed since the record before as in the history.
  Duration as_much_later(const HistoryRecord& record) const {
    return now_ + std::max(record.time - before_, Duration(0));
  }

  Duration timer(const std::optional<Duration>& due, const HistoryRecord& record) {
    return due ? *due : inexact(as_much_later(record));
  }

  /// When the record happens; a time before that of the last record: together with it.
  Duration next(const HistoryRecord& record, const Json& detail) {
    switch (record.kind) {
      case HistoryKind::kWoken: {
        const auto own = published_.find(text_in(detail, "id"));
        if (own != published_.end()) return own->second;
        Duration time = as_much_later(record);
        // The event came in time, although the deadline of the scenario is somewhat earlier.
        if (deadline_) time = std::min(time, *deadline_ - Duration(1));
        return time;
      }
      case HistoryKind::kPaused:
      case HistoryKind::kResumed:
      case HistoryKind::kRevived:
        return as_much_later(record);
      case HistoryKind::kCompensating:  // by an operator, or at once
        return detail.contains("by") ? as_much_later(record) : now_;
      case HistoryKind::kCancelled:
        return is_cancel(record) ? as_much_later(record) : now_;
      case HistoryKind::kElapsed:
        return timer(due_, record);
      case HistoryKind::kRaised:
        return of_raised(record, detail);
      case HistoryKind::kReturned:
        return of_end(call_in(detail), record);
      case HistoryKind::kTimedOut:
        return inexact(of_end(running_[number_in(detail, "index")], record));
      case HistoryKind::kCalled:
        return planned(calls_again_, number_in(detail, "index"));
      case HistoryKind::kEntered:
      case HistoryKind::kRun:
        return again_.value_or(now_);
      default:
        return now_;
    }
  }

  Duration of_raised(const HistoryRecord& record, const Json& detail) {
    const std::string code = text_in(detail, "code");
    const WorkflowTimeouts& timeouts = workflow_.timeouts;
    const auto due = [&](const std::optional<Span>& span, Duration from) {
      return timer(span ? std::optional(after(*span, from)) : std::nullopt, record);
    };
    if (code == "direktiv.stateTimeout") return timer(deadline_, record);
    if (code == "direktiv.cancels.timeout") {
      const bool kills = text_in(detail, "msg").find("timeouts.kill") != std::string::npos;
      return due(kills ? timeouts.kill : timeouts.interrupt, run_from_);
    }
    if (code == "millrace.timeout.run") return due(timeouts.run, run_from_);
    if (code == "millrace.timeout.execution") return due(timeouts.execution, execution_from_);
    return now_;
  }

  Duration of_end(const std::string& call, const HistoryRecord& record) const {
    const auto found = calls_.find(call);
    if (found == calls_.end()) return as_much_later(record);
    return found->second.at + std::max(record.time - found->second.began, Duration(0));
  }

  Duration planned(std::map<uint64_t, Duration>& plans, uint64_t index) const {
    const auto found = plans.find(index);
    if (found == plans.end()) return now_;
    const Duration time = found->second;
    plans.erase(found);
    return time;
  }

  /// Notes what the record lets happen later. `now_` is the time of the record.
  void note(const HistoryRecord& record, const Json& detail) {
    switch (record.kind) {
      case HistoryKind::kEntered:
        again_.reset();
        calls_again_.clear();
        running_.clear();
        arm_state(record.state);
        break;
      case HistoryKind::kResumed:
        arm_deadline(record.state);
        break;
      case HistoryKind::kRetrying:
        note_retry(record, detail);
        break;
      case HistoryKind::kCalled: {
        const std::string id = call_in(detail);
        calls_[id] = {.at = now_, .began = record.time};
        if (detail.contains("index")) running_[number_in(detail, "index")] = id;
        break;
      }
      case HistoryKind::kPublished: {
        const auto at = time_in(detail, "at");
        published_[text_in(detail, "id")] = at ? now_ + (*at - record.time) : now_;
        break;
      }
      case HistoryKind::kRevived:
        if (text_in(detail, "how") != "retry") execution_from_ = now_;
        [[fallthrough]];
      case HistoryKind::kRun:
        run_from_ = now_;
        again_.reset();
        break;
      default:
        break;
    }
  }

  void note_retry(const HistoryRecord& record, const Json& detail) {
    const auto at = time_in(detail, "at");
    if (!at) return;
    const Duration time = now_ + std::max(*at - record.time, Duration(0));
    if (detail.contains("index")) {
      calls_again_[number_in(detail, "index")] = time;
    } else {
      again_ = time;
    }
  }

  void arm_state(const std::string& id) {
    due_.reset();
    const Json& state = definition_.state(id);
    if (state.is_object() && state.value("type", Json()) == Json("delay")) {
      const Json length = state.value("duration", Json());
      const Result<Span> span =
          Span::parse(length.is_string() ? length.get<std::string>() : dump_json(length));
      if (span) due_ = after(*span, now_);
    }
    arm_deadline(id);
  }

  void arm_deadline(const std::string& id) {
    deadline_.reset();
    for (const auto& state : workflow_.states) {
      if (state->common().id != id || !state->common().timeout) continue;
      deadline_ = after(*state->common().timeout, now_);
    }
  }

  const Workflow& workflow_;
  const ReadDefinition& definition_;
  PlayTimes times_;
  Duration now_{0};
  TimePoint before_;                           ///< when the record before was made
  Duration run_from_{0};                       ///< when the run began
  Duration execution_from_{0};                 ///< from when on the execution timeout counts
  std::optional<Duration> due_;                ///< the end of the delay of the state
  std::optional<Duration> deadline_;           ///< the timeout of the state
  std::optional<Duration> again_;              ///< the next attempt of the state or the workflow
  std::map<uint64_t, Duration> calls_again_;   ///< the next attempt of a call, by its index
  std::map<uint64_t, std::string> running_;    ///< the latest attempt of a call, by its index
  std::map<std::string, Running> calls_;       ///< by the id of the task or instance
  std::map<std::string, Duration> published_;  ///< when events of the instance come, by their ids
};

/// The functions with an action or a compensation whose calls have a limit.
std::set<std::string> limited_functions(const Workflow& workflow) {
  std::set<std::string> limited;
  const auto add = [&](std::span<const Action> actions) {
    for (const Action& one : actions) {
      if (one.flow.concurrency || one.flow.throttle) limited.insert(one.function->id);
    }
  };
  for (const auto& state : workflow.states) add(state->actions());
  for (const auto& undo : workflow.compensations) {
    if (undo != nullptr) add(undo->actions());
  }
  return limited;
}

/// Whether one call of the instance may have waited for another one: the history does not say for
/// how long, and in the scenario it waits again.
bool may_wait_for_each_other(const Workflow& workflow, const std::vector<HistoryRecord>& history) {
  const std::set<std::string> limited = limited_functions(workflow);
  const auto calls = std::count_if(history.begin(), history.end(), [&](const HistoryRecord& one) {
    return one.kind == HistoryKind::kCalled &&
           limited.contains(text_in(one.detail.value(), "function"));
  });
  return calls > 1;
}

}  // namespace

PlayTimes play_times(const Workflow& workflow, const ReadDefinition& definition,
                     const std::vector<HistoryRecord>& history) {
  PlayTimes times = Times(workflow, definition).of(history);
  if (may_wait_for_each_other(workflow, history)) times.exact = false;
  const bool retries = std::any_of(history.begin(), history.end(), [](const HistoryRecord& one) {
    return one.kind == HistoryKind::kRetrying;
  });
  // The jitter depends on the id of the instance. Only the policies of Stevora have one.
  const std::string text = retries ? dump_json(definition.json()) : "";
  for (const std::string_view word : {"ackoffMs", "ackoffMultiplier", "stevora"}) {
    if (text.find(word) != std::string::npos) times.exact = false;
  }
  return times;
}

bool is_cancel(const HistoryRecord& record) {
  const std::string code =
      record.kind == HistoryKind::kCancelled ? text_in(record.detail.value(), "code") : "";
  return code == "direktiv.cancels.api" || code == "direktiv.cancels.parent" ||
         code == "millrace.concurrency.replaced";
}

}  // namespace millrace
