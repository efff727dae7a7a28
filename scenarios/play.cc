#include "scenarios/play.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "orchestrator/outgoing/messages.h"
#include "os/scratch_folder.h"
#include "policies/duration.h"
#include "scenarios/judge.h"
#include "scenarios/stage.h"

namespace millrace {
namespace {

/// Makes ids with ascending numbers, so that they are the same in every run. So are the ids that
/// follow from events (orchestrator/batch/event_start_id.h): a play has no key for ids, and the
/// virtual time of its stream and events is the same in every run.
class CountedIds {
 public:
  InstanceId operator()(TimePoint now) {
    std::array<uint8_t, 10> number{};
    ++last_;
    for (size_t i = 0; i < 4; ++i) number[6 + i] = static_cast<uint8_t>(last_ >> (24 - 8 * i));
    return make_instance_id(now, number);
  }

 private:
  uint32_t last_ = 0;
};

Command command_of(const Control& control, const InstanceId& instance) {
  const std::string ns = "default";
  switch (control.verb) {
    case Control::Verb::kCancel:
      return CancelInstance{ns, instance};
    case Control::Verb::kPause:
      return PauseInstance{ns, instance};
    case Control::Verb::kResume:
      return ResumeInstance{ns, instance};
    case Control::Verb::kRetry:
      return RetryInstance{ns, instance, control.extend};
    case Control::Verb::kRestart:
      return RestartInstance{ns, instance};
    case Control::Verb::kCompensate:
      return CompensateInstance{ns, instance, control.past};
    case Control::Verb::kRerun:
      break;
  }
  return RerunInstance{ns, instance, control.state};
}

/// The text that stands for the id of the instance in the attributes of an event in `given`.
constexpr std::string_view kInstanceId = "jq($instance.id)";

/// Calls `change` with the subject and each extension attribute of the event that has a text.
template <class E, class Change>
void each_text(E& event, const Change& change) {
  if (event.subject) change(*event.subject);
  for (auto& [name, value] : event.extensions) {
    if (auto* const text = std::get_if<std::string>(&value)) change(*text);
  }
}

/// Whether an attribute of the event has the id of the instance in it.
bool has_instance_id(const Event& event) {
  bool is_found = false;
  each_text(event, [&](const std::string& text) {
    is_found = is_found || text.find(kInstanceId) != std::string::npos;
  });
  return is_found;
}

/// The event with `id` in place of the id of the instance.
Event with_instance(Event event, std::string_view id) {
  each_text(event, [&](std::string& text) {
    for (size_t at = text.find(kInstanceId); at != std::string::npos; at = text.find(kInstanceId)) {
      text.replace(at, kInstanceId.size(), id);
    }
  });
  return event;
}

class Play {
 public:
  Play(const Scenario& scenario, Stage& stage, VirtualClock& clock, MemoryBroker& broker,
       Judge& judge, int most_jumps)
      : scenario_(scenario),
        stage_(stage),
        clock_(clock),
        broker_(broker),
        judge_(judge),
        most_jumps_(most_jumps),
        begin_(clock.now()) {}

  Status run(const std::vector<ApplyWorkflow>& workflows) {
    for (const ApplyWorkflow& one : workflows) TRY(stage_.command(one));
    for (const auto& [name, value] : scenario_.secrets) {
      TRY(stage_.command(PutSecret{.ns = "default", .name = name, .value = value}));
    }
    for (const auto& [key, value] : scenario_.variables) {
      TRY(stage_.command(
          PutVariable{.place = {.ns = "default"},
                      .key = key,
                      .value = {.content_type = "application/json", .bytes = dump_json(value)}}));
    }
    about_ = workflows.front().workflow->id;
    if (scenario_.start && !start(*scenario_.start)) return {};
    for (const Given& given : scenario_.given) {
      TRY(run_until(given.at.after(begin_)));
      if (!TRY(give(given))) return {};
    }
    TRY(run_until(scenario_.until ? std::optional(scenario_.until->after(begin_)) : std::nullopt));
    for (const Expectation& one : scenario_.expect) {
      TRY(judge_.look_at(one, TRY(expected_instance(one))));
    }
    return {};
  }

 private:
  bool start(const StartCall& call) {
    about_ = call.workflow;
    const Result<Json> answer = stage_.command(
        StartInstance{.ns = "default", .workflow = call.workflow, .input = call.input});
    if (answer) {
      started_ = (*answer)["id"];
    } else {
      judge_.differs(call.place, answer.error().message);
    }
    return answer.has_value();
  }

  Result<bool> give(const Given& given) {
    const auto* const event = std::get_if<Event>(&given.what);
    if (event != nullptr && !has_instance_id(*event)) {
      broker_.inject(event_message("default", *event));
      return true;
    }
    const std::optional<std::string> id = TRY(instance_of(about_));
    if (!id) {
      judge_.differs(given.place, fmt::format("there is no instance of {} yet", about_));
      return false;
    }
    if (event != nullptr) {
      broker_.inject(event_message("default", with_instance(*event, *id)));
      return true;
    }
    const InstanceId instance = TRY(parse_instance_id(*id));
    const Result<Json> answer = stage_.command(command_of(std::get<Control>(given.what), instance));
    if (!answer) judge_.differs(given.place, answer.error().message);
    return answer.has_value();
  }

  /// Advances the time from one deadline to the next. Everything that is due at `end` itself is
  /// applied, so it precedes the entries of `given` at that time. Without `end`, time advances
  /// until nothing is due any more.
  Status run_until(std::optional<TimePoint> end) {
    while (true) {
      TRY(stage_.run_until_idle());
      std::optional<Duration> step = stage_.next_due();
      if (end) step = std::min(step.value_or(Duration::max()), *end - clock_.now());
      if (!step || *step <= Duration(0)) return {};
      if (jumps_++ == most_jumps_) {
        return fail("scenario.endless", "another deadline is always due");
      }
      clock_.advance(*step);
    }
  }

  /// The instance that the key `start` started, if that is an instance of `workflow`, else the
  /// first instance of `workflow`.
  Result<std::optional<std::string>> instance_of(const std::string& workflow) {
    if (started_ && workflow == about_) return started_;
    const std::vector<Json> all = TRY(stage_.instances(workflow));
    if (all.empty()) return std::optional<std::string>();
    return std::optional(all.front()["id"].get<std::string>());
  }

  Result<std::optional<std::string>> expected_instance(const Expectation& expectation) {
    if (!expectation.number) return instance_of(expectation.workflow);
    const std::vector<Json> all = TRY(stage_.instances(expectation.workflow));
    if (*expectation.number > all.size()) return std::optional<std::string>();
    return std::optional(all[*expectation.number - 1]["id"].get<std::string>());
  }

  const Scenario& scenario_;
  Stage& stage_;
  VirtualClock& clock_;
  MemoryBroker& broker_;
  Judge& judge_;
  const int most_jumps_;
  const TimePoint begin_;

  std::string about_;  ///< the workflow that the scenario is about
  std::optional<std::string> started_;
  int jumps_ = 0;
};

Status play_on_stage(const Scenario& scenario, const std::vector<ApplyWorkflow>& workflows,
                     const Evaluator& evaluate, const PlayLimits& limits, PlayOutcome& outcome) {
  const auto give_up_at = std::chrono::steady_clock::now() + limits.real_time;
  const ScratchFolder folder = TRY(ScratchFolder::make("millrace-test"));
  VirtualClock clock;
  MemoryBroker broker(clock);
  ActedFunctions functions(clock);
  NoWebhooks webhooks;
  for (const auto& [function, parts] : scenario.functions) functions.act(function, parts);
  const auto stage = TRY(Stage::open({.folder = folder.path(),
                                      .clock = clock,
                                      .broker = broker,
                                      .brokers_clock = clock,
                                      .publisher = broker,
                                      .functions = functions,
                                      .webhooks = webhooks,
                                      .evaluate = evaluate,
                                      .make_id = CountedIds(),
                                      .id_key = "",  // the ids are the same in each run
                                      // The disk has no virtual time, so no turn may depend on it.
                                      .store = {.waits_for_checkpoints = true},
                                      .give_up = [&] {
                                        return std::chrono::steady_clock::now() > give_up_at ||
                                               (limits.interrupted && limits.interrupted());
                                      }}));
  const TimePoint begin = clock.now();
  Judge judge(*stage, broker, functions, begin);
  const Status played = Play(scenario, *stage, clock, broker, judge, limits.jumps).run(workflows);
  judge.explain_unanswered(scenario);
  outcome.mismatches = judge.mismatches();
  outcome.unanswered = judge.unanswered();
  outcome.story = judge.story();
  if (played) return {};
  return fail(
      played.error().code,
      fmt::format("abandoned after {} of virtual time: {}; \"until\" ends a scenario earlier",
                  spelled(clock.now() - begin), played.error().message));
}

}  // namespace

PlayOutcome play(const Scenario& scenario, const std::vector<ApplyWorkflow>& workflows,
                 const Evaluator& evaluate, const PlayLimits& limits) {
  const auto begin = std::chrono::steady_clock::now();
  PlayOutcome outcome;
  if (Status played = play_on_stage(scenario, workflows, evaluate, limits, outcome); !played) {
    outcome.mismatches.push_back({scenario.at, "", std::move(played).error().message});
  }
  outcome.real_time =
      std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now() - begin);
  return outcome;
}

}  // namespace millrace
