#include "orchestrator/made_scenario/made_scenario.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "language/document.h"
#include "language/yaml_writer.h"
#include "model/lookup.h"
#include "orchestrator/made_scenario/expected_events.h"
#include "orchestrator/made_scenario/explained_times.h"
#include "orchestrator/made_scenario/made_calls.h"
#include "orchestrator/made_scenario/made_variables.h"
#include "orchestrator/made_scenario/observed_data.h"
#include "orchestrator/made_scenario/play_times.h"
#include "orchestrator/made_scenario/read_definition.h"
#include "orchestrator/made_scenario/record_detail.h"
#include "orchestrator/made_scenario/starting_events.h"
#include "policies/duration.h"

namespace millrace {
namespace {

/// The text that stands for the id of the instance in the attributes of an event in `given`.
constexpr std::string_view kOwnId = "jq($instance.id)";

/// The ids of the events that the instance has published.
std::set<std::string> published_ids(const std::vector<HistoryRecord>& history) {
  std::set<std::string> ids;
  for (const HistoryRecord& record : history) {
    if (record.kind == HistoryKind::kPublished) ids.insert(text_in(record.detail.value(), "id"));
  }
  return ids;
}

bool is_by_event(const HistoryRecord& started) {
  return text_in(started.detail.value(), "by") == "event";
}

/// Whether the definition has one of the words, in the spelling of any vocabulary.
bool has_one_of(const ReadDefinition& definition, std::initializer_list<std::string_view> words) {
  const std::string text = dump_json(definition.json());
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view word) { return text.find(word) != std::string::npos; });
}

tl::unexpected<Error> not_expressible(std::string_view what) {
  return fail("scenario.not_expressible", fmt::format("{}; a scenario cannot say this", what));
}

/// An item of `given`.
struct MadeGiven {
  Duration at;
  Json what;
};

class ScenarioMaker {
 public:
  ScenarioMaker(const PlayedInstance& played, ReadDefinition definition)
      : played_(played),
        definition_(std::move(definition)),
        times_(play_times(played.workflow, definition_, played.history)),
        data_(played.workflow, definition_, played.history, played.instance) {}

  Result<std::string> make() {
    TRY(check_settings());
    calls_ = TRY(made_calls(played_, definition_, times_, data_));
    variables_ = TRY(made_variables(definition_, played_.history, data_));
    TRY(add_start());
    for (size_t i = 1; i < played_.history.size(); ++i) TRY(add_given(i));
    if (given_.size() > kMostPlayedEvents) {
      return fail("scenario.too_large", fmt::format("the instance met {} events and commands; a "
                                                    "scenario has at most {}",
                                                    given_.size(), kMostPlayedEvents));
    }
    TRY(set_end());
    std::string text = this->text();
    if (text.size() > kMaxDocumentSize) {
      return fail("scenario.too_large",
                  fmt::format("the scenario has {} bytes; a scenario file has at most {}",
                              text.size(), kMaxDocumentSize));
    }
    Findings findings;
    parse_document(text, findings);
    if (findings.has_errors()) return not_expressible("the data cannot be written as YAML");
    return text;
  }

 private:
  const std::vector<HistoryRecord>& history() const { return played_.history; }
  bool is_live() const { return !has_ended(played_.instance.status); }

  /// Retries and timeouts that the definition does not have come from elsewhere.
  Status check_settings() const {
    if (!played_.instance.own_policy.empty()) {
      return not_expressible("the call that started the instance set retries or timeouts");
    }
    if (played_.workflow.batch) {
      return not_expressible("the instance has the inputs of several requests (`batch`)");
    }
    if (is_changed_while_it_waits()) {
      return not_expressible(
          "the start of the instance had to wait, and was ended or paused before its first state");
    }
    if (history().size() > 1 && history()[1].kind == HistoryKind::kPaused) {
      return not_expressible("the instance was paused when it started");
    }
    const auto has = [&](HistoryKind kind) {
      return std::any_of(history().begin(), history().end(),
                         [kind](const HistoryRecord& one) { return one.kind == kind; });
    };
    if (has(HistoryKind::kRetrying) &&
        !has_one_of(definition_, {"retr", "Retr", "ttempt", "ackoff"})) {
      return not_expressible("the retries of the instance come from the settings");
    }
    if (has(HistoryKind::kTimedOut) &&
        !has_one_of(definition_, {"imeout", "eartbeat", "nactivity", "untime", "eadline"})) {
      return not_expressible("the timeouts of calls come from the settings");
    }
    return {};
  }

  /// Whether something happened to the instance while its start waited for a slot or the throttle.
  /// In a scenario it does not wait, because no other instance has the slot.
  bool is_changed_while_it_waits() const {
    bool waits = false;
    for (const HistoryRecord& record : history()) {
      switch (record.kind) {
        case HistoryKind::kQueued:
        case HistoryKind::kThrottled:
          waits = true;
          break;
        case HistoryKind::kEntered:
          return false;
        case HistoryKind::kPaused:
        case HistoryKind::kCancelled:
        case HistoryKind::kRaised:
        case HistoryKind::kEnded:
          if (waits) return true;
          break;
        default:
          break;
      }
    }
    return false;
  }

  Status add_start() {
    if (!is_by_event(history().front())) {
      start_ = {{"input", played_.instance.input.value()}};
      if (text_in(history().front().detail.value(), "by") == "subflow") {
        notes_.emplace_back("A call of another instance started it; here a call of the API does.");
      }
      return {};
    }
    const Event* const last = TRY(event_of(0));
    const StartingEvents starting =
        TRY(starting_events(played_.workflow.start, played_.instance.input.value(), *last));
    if (starting.is_made_up) {
      notes_.emplace_back(
          "Of the events that started it, the history has the last one; of the others, it has the "
          "data only.");
    }
    for (const Json& event : starting.events) given_.push_back({Duration(0), {{"event", event}}});
    return {};
  }

  Result<const Event*> event_of(size_t i) const {
    const auto found = played_.events.find(i);
    if (found != played_.events.end()) return &found->second;
    const Json detail = history()[i].detail.value();
    const std::string id = text_in(i == 0 ? detail["event"] : detail, "id");
    return fail("scenario.lost",
                fmt::format("the event stream no longer has the event \"{}\" that {} the instance",
                            id, i == 0 ? "started" : "woke"));
  }

  Status add_given(size_t i) {
    const HistoryRecord& record = history()[i];
    Json what;
    switch (record.kind) {
      case HistoryKind::kWoken:
        if (own_events_.contains(text_in(record.detail.value(), "id"))) return {};
        what = {{"event", without_own_id(scenario_event(*TRY(event_of(i))))}};
        break;
      case HistoryKind::kCancelled:
        if (!is_cancel(record)) return {};
        note_cancel(record);
        what = {{"cancel", true}};
        break;
      case HistoryKind::kPaused:
        what = {{"pause", true}};
        break;
      case HistoryKind::kResumed:
        what = {{"resume", true}};
        break;
      case HistoryKind::kRevived:
        what = TRY(revival(i));
        break;
      case HistoryKind::kCompensating: {
        const Json detail = record.detail.value();
        if (!detail.contains("by")) return {};
        what = {{"compensate", true}};
        if (detail.contains("past")) what["past"] = true;
        break;
      }
      default:
        return {};
    }
    given_.push_back({begins_ + times_.at[i], std::move(what)});
    return {};
  }

  /// A CloudEvent with `jq($instance.id)` in place of the id of the instance, by which the event
  /// was correlated with it: in a scenario the instance has another id.
  Json without_own_id(Json event) const {
    if (!names_itself_) return event;
    const std::string id = to_string(played_.instance.id);
    for (auto& [name, value] : event.items()) {
      if (name == "id" || name == "source" || name == "type" || !value.is_string()) continue;
      auto& text = value.get_ref<std::string&>();
      const size_t at = text.find(id);
      if (name != "data" && at != std::string::npos) text.replace(at, id.size(), kOwnId);
    }
    return event;
  }

  void note_cancel(const HistoryRecord& record) {
    const std::string code = text_in(record.detail.value(), "code");
    if (code == "direktiv.cancels.api") return;
    notes_.push_back(fmt::format("{}; here an operator does, with another error.",
                                 code == "direktiv.cancels.parent"
                                     ? "Its caller cancelled it"
                                     : "Another start that took its place cancelled it"));
    has_other_error_ = true;
  }

  /// The command that let an ended instance continue.
  Result<Json> revival(size_t i) const {
    const std::string how = text_in(history()[i].detail.value(), "how");
    if (how == "restart") return Json{{"restart", true}};
    if (how == "rerun") {
      for (size_t next = i + 1; next < history().size(); ++next) {
        if (history()[next].kind != HistoryKind::kEntered) continue;
        return Json{{"rerun", history()[next].state}};
      }
      return not_expressible("the instance has not entered the state of its new run");
    }
    Json command = {{"retry", true}};
    const auto& execution = played_.workflow.timeouts.execution;
    if (execution && execution->after(kScenarioStart) <= kScenarioStart + times_.at[i]) {
      command["extend"] = true;
    }
    return command;
  }

  Status set_end() {
    const Start& start = played_.workflow.start;
    if (!is_live() && start.kind != Start::Kind::kScheduled) return {};
    until_ = std::max(times_.at.back(), Duration(0)) + Duration(1);
    if (start.cron && start.cron->next(kScenarioStart) <= kScenarioStart + begins_ + *until_) {
      return not_expressible(
          "the schedule of the workflow would start another instance before the end");
    }
    return {};
  }

  Json functions() const {
    Json all = Json::object();
    for (const auto& [function, attempts] : calls_.functions) {
      const bool is_same =
          std::all_of(attempts.begin(), attempts.end(),
                      [&first = attempts.front()](const Json& one) { return one == first; });
      all[function] = is_same ? attempts.front() : Json(attempts);
    }
    return all;
  }

  std::string text() {
    std::string scenario;
    const auto add = [&scenario](const char* key, const Json& value) {
      scenario += indented(to_yaml(Json{{key, value}}), 4);
    };
    if (!variables_.empty()) add("variables", variables_);
    if (!calls_.functions.empty()) add("functions", functions());
    if (!start_.is_null()) add("start", start_);
    if (!given_.empty()) scenario += "    given:\n";
    for (const MadeGiven& one : given_) {
      scenario += fmt::format("      - at: {}\n", spelled(one.at));
      scenario += indented(to_yaml(one.what), 8);
    }
    const ExplainedTimes explained(scenario);
    if (until_) add("until", spelled(begins_ + *until_));
    scenario += "    expect:\n" + indented(expectations(explained), 6);

    std::string file = fmt::format(
        "# What instance {} of workflow \"{}\" (revision {}) met,\n# and what came of it.\n",
        to_string(played_.instance.id), played_.workflow.id, played_.instance.revision.number);
    if (!calls_.subflows.empty()) {
      notes_.emplace_back(
          "Its subflows are replaced by definitions that answer what they answered.");
    }
    if (calls_.stops_tasks) {
      notes_.emplace_back("It was cancelled with its running tasks; here they end 1 ms later.");
    }
    if (calls_.loses_result) {
      notes_.emplace_back(
          "A task ended after the cancel. Its result is not in the history, and is null here: "
          "write "
          "what its compensation needs.");
    }
    for (const std::string& note : notes_) file += fmt::format("# {}\n", note);
    file += "workflows:\n" + definition_.as_item();
    for (const Json& one : calls_.subflows) file += workflow_item(one);
    file += fmt::format("scenarios:\n  - name: instance {}\n", to_string(played_.instance.id));
    return file + scenario;
  }

  /// The members of `expect`, as YAML.
  std::string expectations(const ExplainedTimes& explained) {
    const Instance& instance = played_.instance;
    std::string expected;
    const auto add = [&expected](const char* key, const Json& value) {
      expected += to_yaml(Json{{key, value}});
    };
    add("status", to_string(instance.status));
    Json states = Json::array();
    for (const HistoryRecord& record : history()) {
      if (record.kind == HistoryKind::kEntered) states.push_back(record.state);
    }
    add("states", states);
    Json compensated = Json::array();
    for (const HistoryRecord& record : history()) {
      if (record.kind == HistoryKind::kUndone) compensated.push_back(record.state);
    }
    if (!compensated.empty()) add("compensated", compensated);
    const bool reads_clock = definition_.has_word("now") || definition_.has_word("localtime");
    if (reads_clock) {
      notes_.emplace_back("The definition reads the clock, so that the data is not expected.");
    } else if (names_itself_) {
      notes_.emplace_back(
          "The definition names the instance, whose id is another one here, so that the data is "
          "not expected.");
    }
    const bool has_other_data = reads_clock || names_itself_;
    if (!times_.exact) {
      notes_.emplace_back(
          "The length of a wait is not known exactly, so that no times are expected.");
    }
    if (times_.exact && !is_live() && !calls_.stops_tasks) add("took", spelled(times_.at.back()));
    if (times_.exact && !calls_.attempts.empty()) add("attempts", calls_.attempts);
    if (!is_live() && !has_other_data) {
      const Json output = instance.data.value();
      const Json rest = explained.part_of(output);
      if (rest == output) {
        add("output", output);
      } else {
        notes_.emplace_back("Members of the output with times of the server are left out.");
        if (rest.is_object()) add("outputContains", rest);
      }
    }
    if (instance.error && !is_live() && !has_other_error_) {
      Json error = {{"code", instance.error->code}};
      const Json message = instance.error->message;
      // In a scenario no other call holds a slot or uses up a throttle.
      const bool names_limit = instance.error->message.find(kWaitedFor) != std::string::npos;
      if (!names_limit && explained.part_of(message) == message) error["msg"] = message;
      add("error", error);
    }
    const std::vector<Json> events =
        expected_events(definition_, history(), times_, until_, !has_other_data);
    if (!events.empty() && events.size() <= kMostPlayedEvents) add("published", events);
    return expected;
  }

  const PlayedInstance& played_;
  const ReadDefinition definition_;
  /// The definition names `$instance`, whose members are others in a scenario.
  const bool names_itself_ = definition_.has_word("$instance");
  const PlayTimes times_;
  const ObservedData data_;
  const std::set<std::string> own_events_ = published_ids(played_.history);
  /// When the instance starts, since the start of the scenario: `debounce` puts off its start.
  const Duration begins_ =
      played_.workflow.debounce
          ? played_.workflow.debounce->period.after(kScenarioStart) - kScenarioStart
          : Duration(0);

  MadeCalls calls_;
  std::map<std::string, Json> variables_;
  Json start_;  ///< null: events start the instance
  std::vector<MadeGiven> given_;
  std::optional<Duration> until_;  ///< since the start of the instance
  bool has_other_error_ = false;
  std::vector<std::string> notes_;  ///< comments at the head of the file
};

}  // namespace

std::vector<size_t> needed_events(const std::vector<HistoryRecord>& history) {
  const std::set<std::string> own = published_ids(history);
  std::vector<size_t> needed;
  for (size_t i = 0; i < history.size(); ++i) {
    const HistoryRecord& record = history[i];
    const bool starts = record.kind == HistoryKind::kStarted && is_by_event(record);
    const bool wakes =
        record.kind == HistoryKind::kWoken && !own.contains(text_in(record.detail.value(), "id"));
    if (starts || wakes) needed.push_back(i);
  }
  return needed;
}

std::vector<InstanceId> needed_outputs(const std::vector<HistoryRecord>& history) {
  std::vector<InstanceId> needed;
  for (const HistoryRecord& record : history) {
    if (record.kind != HistoryKind::kReturned) continue;
    const Json detail = record.detail.value();
    if (!detail.contains("instance") || detail.contains("code")) continue;
    if (const auto id = parse_instance_id(text_in(detail, "instance"))) needed.push_back(*id);
  }
  return needed;
}

Result<std::string> make_scenario(const PlayedInstance& played) {
  const Instance& instance = played.instance;
  const std::string id = to_string(instance.id);
  if (instance.status == InstanceStatus::kPending || instance.status == InstanceStatus::kRunning) {
    return fail("scenario.running",
                fmt::format("instance {} is between two steps; try again when it waits or has "
                            "ended",
                            id));
  }
  if (instance.sealed) {
    return fail(
        "scenario.sealed",
        fmt::format("instance {} may contain data of a secret, which a file must not have", id));
  }
  const bool has_start =
      !played.history.empty() && played.history.front().kind == HistoryKind::kStarted;
  if (instance.history_trimmed > 0 || !has_start) {
    return fail("scenario.lost",
                fmt::format("the history of instance {} was trimmed: its first {} records were "
                            "erased",
                            id, instance.history_trimmed));
  }
  if (played.history.size() > kMostPlayedRecords) {
    return fail("scenario.too_large",
                fmt::format("the history of instance {} has {} records; a scenario is made of {} "
                            "at most",
                            id, played.history.size(), kMostPlayedRecords));
  }
  return ScenarioMaker(played, TRY(ReadDefinition::make(played.definition))).make();
}

}  // namespace millrace
