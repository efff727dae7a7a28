#include "tests/tables/instance_run.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/bytes.h"
#include "base/check.h"
#include "matchers/naive_matcher.h"
#include "orchestrator/definition/loader.h"
#include "orchestrator/engine/runs.h"
#include "states/state.h"
#include "tests/tables/event_text.h"

namespace millrace {
namespace {

InstanceId run_id() { return {{0, 0, 0, 0, 0, 0, 0x70, 0, 0x80, 0, 0, 0, 0, 0, 0, 1}}; }

std::string shown_error(const Json& detail) {
  return fmt::format("{}: {}", detail["code"].get<std::string>(), detail["msg"].get<std::string>());
}

std::string shown_filter(uint32_t entry, const EventFilter& filter) {
  std::string text = fmt::format("[{}] {}", entry, filter.type);
  std::string_view joint = " where ";
  for (const Predicate& predicate : filter.predicates) {
    text +=
        predicate.kind == Predicate::Kind::kPattern
            ? fmt::format("{}{} ~ /{}/", joint, predicate.attribute, predicate.text)
            : fmt::format("{}{} = {}", joint, predicate.attribute, dump_json(Json(predicate.text)));
    joint = " and ";
  }
  return text;
}

std::string shown_look_back(const LookBack& asked, const Instance& instance) {
  std::vector<std::string> filters;
  for (const EarlyListener& one : asked.listeners) {
    const auto window =
        std::chrono::duration_cast<std::chrono::seconds>(instance.state_from - one.since);
    filters.push_back(
        fmt::format("{} s for {}", window.count(), shown_filter(one.entry, one.filter)));
  }
  return fmt::format("looks back {}{}", asked.fills_each ? "for each: " : "",
                     fmt::join(filters, ", "));
}

std::string shown_publish(const Publish& publish, const Instance& instance, TimePoint now) {
  Event event = publish.event;
  const std::string own = to_string(instance.id);
  if (event.id.starts_with(own)) event.id = "*" + event.id.substr(own.size());
  if (event.time == format_rfc3339(now)) event.time.reset();
  return fmt::format("publishes {}{}",
                     publish.at ? fmt::format("at {}: ", shown_time(*publish.at)) : "",
                     print_event_text(event));
}

std::string shown_evaluate(const Evaluate& evaluate) {
  std::vector<std::string> programs;
  for (const Query& query : evaluate.evaluation.queries) {
    programs.push_back(query.mode == Query::Mode::kSchema
                           ? fmt::format("whether {} matches {}", *query.input, query.program)
                           : query.program);
  }
  return fmt::format("evaluates{} {}", evaluate.evaluation.stop_at_true ? " until true:" : "",
                     fmt::join(programs, " ; "));
}

std::string shown_start(const StartChild& start) {
  const std::string what =
      fmt::format("{} {}{}", start.workflow, start.input.text(), start.sealed ? ", sealed" : "");
  if (!start.caller) return "starts detached " + what;
  const std::string again =
      start.caller->attempt > 1 ? fmt::format(", attempt {}", start.caller->attempt) : "";
  return fmt::format("starts [{}] {}{}", start.caller->index, what, again);
}

std::string shown_variable(const SetVariable& set) {
  const std::string name = fmt::format("{} {}", to_string(set.name.owner.scope), set.name.key);
  if (!set.value) return "deletes " + name;
  const auto& [type, bytes, sealed] = *set.value;
  return fmt::format("sets {} ({}{}) {}", name, type, sealed ? ", sealed" : "",
                     is_utf8(bytes) ? bytes : "base64=" + base64_encode(bytes));
}

/// The records of the history that no other part of the trace shows.
std::optional<std::string> shown_record(const HistoryRecord& record) {
  switch (record.kind) {
    case HistoryKind::kLog:
      return "logs " + dump_json(record.detail.value()["value"]);
    case HistoryKind::kRaised:
      return "raises " + shown_error(record.detail.value());
    case HistoryKind::kCaught:
      return "caught by " + record.detail.value()["error"].get<std::string>();
    case HistoryKind::kFixed:
      return "fixes " + shown_error(record.detail.value());
    case HistoryKind::kCancelled:
      return "cancelled " + shown_error(record.detail.value());
    default:
      return std::nullopt;
  }
}

}  // namespace

TimePoint run_start() { return from_millis(1'704'067'200'000); }

std::string_view name_of(TimerKind kind) {
  switch (kind) {
    case TimerKind::kStateTimeout:
      return "timeout";
    case TimerKind::kDelay:
      return "delay";
    case TimerKind::kRetry:
      return "retry";
    case TimerKind::kInterrupt:
      return "interrupt";
    case TimerKind::kKill:
      return "kill";
    case TimerKind::kRun:
      return "run";
    case TimerKind::kExecution:
      return "execution";
    case TimerKind::kCalls:
      return "calls";
    case TimerKind::kQueue:
      return "queue";
    case TimerKind::kThrottle:
      return "throttle";
  }
  return "unknown";
}

std::string shown_time(TimePoint time) {
  constexpr std::pair<int64_t, std::string_view> kUnits[] = {
      {86'400'000, "d"}, {3'600'000, "h"}, {60'000, "m"}, {1'000, "s"}, {1, "ms"}};
  int64_t rest = (time - run_start()).count();
  std::string text;
  for (const auto& [size, unit] : kUnits) {
    if (rest >= size) text += fmt::format("{}{}", rest / size, unit);
    rest %= size;
  }
  return text.empty() ? "0s" : text;
}

std::shared_ptr<const Workflow> load_right_workflow(std::string_view yaml) {
  const Loaded loaded = load_workflow(yaml, {});
  CHECK(loaded.workflow != nullptr, "{}", render_text(loaded.findings, "workflow"));
  return loaded.workflow;
}

std::string print_trace(const std::vector<TraceRow>& rows) {
  std::string text;
  for (const TraceRow& row : rows) {
    text += fmt::format("{} | {} | {} | {} | {}\n", row.at, row.input, row.state, row.status,
                        fmt::join(row.does, "; "));
  }
  return text;
}

InstanceRun::InstanceRun(std::shared_ptr<const Workflow> workflow, Json input, EngineLimits limits)
    : workflow_(std::move(workflow)), limits_(limits), now_(run_start()) {
  instance_ = make_instance(run_id(), NamespaceNumber(1), {WorkflowNumber(1), 1}, *workflow_,
                            std::move(input), now_, position_);
}

void InstanceRun::set_time(TimePoint time) {
  CHECK(time >= now_, "the clock of a run does not go back to {}", shown_time(time));
  now_ = time;
}

const TraceRow& InstanceRun::proceed(std::string input) {
  return give(std::move(input), Proceed{});
}

const TraceRow& InstanceRun::tick() {
  begin("tick");
  bool fired = false;
  while (true) {
    const auto& timers = instance_.timers;
    const auto first =
        std::min_element(timers.begin(), timers.end(),
                         [](const Timer& a, const Timer& b) { return a.deadline < b.deadline; });
    if (first == timers.end() || first->deadline > now_) break;
    fired = true;
    step_once(Fired{.kind = first->kind, .deadline = first->deadline});
  }
  return finish(fired && !changed_);
}

const TraceRow& InstanceRun::at(Duration since_start) {
  set_time(run_start() + since_start);
  return tick();
}

const TraceRow& InstanceRun::fire(TimerKind kind, TimePoint deadline) {
  return give(fmt::format("fire {} {}", name_of(kind), shown_time(deadline)),
              Fired{.kind = kind, .deadline = deadline});
}

const TraceRow& InstanceRun::event(const Event& event) {
  begin("event " + print_event_text(event));
  ++position_.kept;
  NaiveMatcher matcher;
  for (const Listener& listener : instance_.listeners) {
    const auto added = matcher.add("default", listener.filter, listener.entry);
    CHECK(added.has_value(), "a listener does not compile: {}", added.error().message);
  }
  std::vector<uint64_t> entries;
  matcher.match("default", Attributes(event), entries);
  if (!entries.empty()) {
    step_once(Matched{
        .event = &event, .entries = {entries.begin(), entries.end()}, .position = position_});
  }
  return finish(!changed_);
}

const TraceRow& InstanceRun::evaluated(EvaluationResult result) {
  CHECK(asked_.has_value(), "nothing has been asked");
  std::vector<EvaluationResult> results = asked_->before;
  results.push_back(std::move(result));
  return give(
      "evaluated",
      EvaluationDone{.step = asked_->step, .results = results, .asked_at = asked_->evaluation.now});
}

const TraceRow& InstanceRun::early(const EarlyEvents& found) {
  CHECK(looked_back_.has_value(), "the instance has not looked back");
  return give("early", EvaluationDone{.step = looked_back_->step,
                                      .results = looked_back_->before,
                                      .early = &found,
                                      .asked_at = looked_back_->asked_at});
}

const TraceRow& InstanceRun::returned(uint32_t index, uint32_t attempt, CallResult result) {
  Caller call{.instance = instance_.id, .index = index, .attempt = attempt};
  for (const auto& [child, caller] : children_) {
    if (caller.index == index && (attempt == 0 || caller.attempt == attempt) &&
        caller.entered >= call.entered) {
      call.entered = caller.entered;
      call.attempt = std::max(call.attempt, caller.attempt);
    }
  }
  return give(fmt::format("returned {}", index),
              Returned{.call = call, .result = std::move(result)});
}

const TraceRow& InstanceRun::cancel(const Error& error) { return give("cancel", Cancel{error}); }

const TraceRow& InstanceRun::set_variable(VariableScope scope, const std::string& key,
                                          std::optional<Variable> value) {
  begin("variable");
  lookup_.take({.name = {owner_of(instance_, scope), key}, .value = std::move(value)});
  return finish(false);
}

const TraceRow& InstanceRun::set_secret(std::string name, std::string value) {
  begin("secret");
  lookup_.set_secret(std::move(name), std::move(value));
  return finish(false);
}

const TraceRow& InstanceRun::give(std::string input, const Stimulus& stimulus) {
  begin(std::move(input));
  step_once(stimulus);
  return finish(!changed_);
}

void InstanceRun::begin(std::string input) {
  before_ = instance_;
  if (rows_.empty()) before_.timers.clear();  // the first row also shows the timers of the start
  entered_.clear();
  changed_ = false;
  rows_.push_back({.at = shown_time(now_), .input = std::move(input)});
}

void InstanceRun::step_once(const Stimulus& stimulus) {
  apply(stimulus);
  if (!last_.next_run) return;
  LazyJson input = *last_.next_run;
  rows_.back().does.push_back("continues with " + input.text());
  apply(NextRun{.ended_revision = 1, .input = std::move(input)});
}

void InstanceRun::apply(const Stimulus& stimulus) {
  const Instance before = instance_;
  last_ = step(*workflow_, instance_, stimulus, now_, lookup_, limits_);
  changed_ = changed_ || last_.changed;
  auto& does = rows_.back().does;
  for (const HistoryRecord& record : last_.history) {
    if (record.kind == HistoryKind::kEntered) entered_.push_back(record.state);
    if (auto line = shown_record(record)) does.push_back(std::move(*line));
    history_.push_back(record);
  }
  note_effects();
  if (last_.unfinished) does.emplace_back("unfinished");
  for (const std::string& broken : broken_invariants(before, last_, instance_)) {
    does.push_back("BROKEN: " + broken);
  }
}

void InstanceRun::note_effects() {
  for (const Effect& effect : last_.effects) {
    auto& does = rows_.back().does;
    if (const auto* publish = std::get_if<Publish>(&effect)) {
      does.push_back(shown_publish(*publish, instance_, now_));
    } else if (const auto* variable = std::get_if<SetVariable>(&effect)) {
      lookup_.take(*variable);
      does.push_back(shown_variable(*variable));
    } else if (const auto* evaluate = std::get_if<Evaluate>(&effect)) {
      asked_ = *evaluate;
      does.push_back(shown_evaluate(*evaluate));
    } else if (const auto* asked = std::get_if<LookBack>(&effect)) {
      looked_back_ = *asked;
      does.push_back(shown_look_back(*asked, instance_));
    } else if (const auto* start = std::get_if<StartChild>(&effect)) {
      if (start->caller) children_[start->child] = *start->caller;
      does.push_back(shown_start(*start));
    } else if (const auto* cancel = std::get_if<CancelChild>(&effect)) {
      does.push_back(fmt::format("cancels [{}]", children_.at(cancel->child).index));
    } else {
      does.emplace_back("BROKEN: an effect that no state can have");
    }
    effects_.push_back(effect);
  }
}

void InstanceRun::note_changes(const Instance& before) {
  auto& does = rows_.back().does;
  if (instance_.listeners != before.listeners) {
    for (const Listener& listener : instance_.listeners) {
      does.push_back("listens " + shown_filter(listener.entry, listener.filter));
    }
  }
  if (instance_.timers != before.timers) {
    for (const Timer& timer : instance_.timers) {
      does.push_back(
          fmt::format("timer {} at {}", name_of(timer.kind), shown_time(timer.deadline)));
    }
  }
  // Compared as text, because the integer 1 and the number 1.0 are equal.
  if (instance_.data.text() != before.data.text()) does.push_back("data " + instance_.data.text());
  if (has_ended(instance_.status) && !has_ended(before.status) && instance_.error) {
    does.push_back(
        fmt::format("ends with {}: {}", instance_.error->code, instance_.error->message));
  }
}

const TraceRow& InstanceRun::finish(bool ignored) {
  TraceRow& row = rows_.back();
  note_changes(before_);
  if (row.does.empty()) row.does.emplace_back(ignored ? "ignored" : "-");
  row.state = entered_.empty() ? workflow_->states[instance_.state]->common().id
                               : fmt::format("{}", fmt::join(entered_, " > "));
  row.status = to_string(instance_.status);
  return row;
}

std::vector<std::string> print_history(const std::vector<HistoryRecord>& records) {
  std::vector<std::string> lines;
  for (const HistoryRecord& record : records) {
    std::string line =
        fmt::format("{} {} {}", shown_time(record.time), to_string(record.kind), record.state);
    if (!record.detail.is_null()) line += " " + record.detail.text();
    if (record.data) line += " / " + record.data->text();
    lines.push_back(std::move(line));
  }
  return lines;
}

std::vector<std::string> broken_invariants(const Instance& before, const StepResult& result,
                                           const Instance& after) {
  std::vector<std::string> broken;
  const auto must = [&](bool holds, std::string_view what) {
    if (!holds) broken.emplace_back(what);
  };
  const bool same = after.phase == before.phase && after.state == before.state &&
                    after.status == before.status && after.step == before.step &&
                    after.parked == before.parked && after.listeners == before.listeners &&
                    after.timers == before.timers && after.slots == before.slots &&
                    after.data.text() == before.data.text() && after.error == before.error &&
                    after.calls.size() == before.calls.size() && after.attempt == before.attempt &&
                    after.transitions == before.transitions && after.exit == before.exit &&
                    after.ended_at == before.ended_at && after.listen_from == before.listen_from;
  must(result.changed || same, "it says that nothing changed");
  must(result.changed || (result.effects.empty() && result.history.empty()),
       "a stale stimulus has effects");
  const bool is_revived =
      std::any_of(result.history.begin(), result.history.end(),
                  [](const HistoryRecord& record) { return record.kind == HistoryKind::kRevived; });
  must(before.phase != Phase::kEnded || !result.changed || is_revived, "an ended instance changes");
  must(after.step >= before.step, "the step number goes back");
  must((after.phase == before.phase && after.state == before.state) || after.step > before.step,
       "the phase changes and the step number does not");
  must((after.phase == Phase::kEnded) == has_ended(after.status), "phase and status disagree");
  must(after.paused ||
           (after.phase == Phase::kWaiting) == (after.status == InstanceStatus::kWaiting),
       "phase and status disagree about waiting");
  const bool is_called = std::any_of(after.calls.begin(), after.calls.end(), [](const Call& call) {
    return call.status == Call::Status::kRunning;
  });
  const auto has_timer_of_state = [](const std::vector<Timer>& timers) {
    return std::any_of(timers.begin(), timers.end(),
                       [](const Timer& timer) { return is_of_state(timer.kind); });
  };
  must(after.phase != Phase::kWaiting || is_called || !after.listeners.empty() ||
           has_timer_of_state(after.timers) || has_timer_of_state(after.held_timers),
       "it waits for nothing");
  const bool removes_calls = after.phase == Phase::kLeaving && result.unfinished;
  must(waits_for_calls(after) || after.calls.empty() || removes_calls,
       "it calls and does not wait");
  const bool takes_early = takes_early_events(after) && !after.slots.empty();
  const bool listens = after.phase == Phase::kWaiting || takes_early;
  must(listens || after.listeners.empty(), "it listens and does not wait");
  must(listens || after.slots.empty(), "it keeps slots and does not wait");
  must(after.phase != Phase::kEnded || (after.timers.empty() && after.ended_at.has_value()),
       "an ended instance has timers or no end");
  must(!after.parked || after.phase == Phase::kEntering || after.phase == Phase::kLeaving,
       "it is parked outside the passing phases");
  must(after.parked || after.paused || result.unfinished || result.has_early_left ||
           !result.changed || result.next_run || after.phase == Phase::kWaiting ||
           after.phase == Phase::kEnded,
       "it stops in a passing phase without a reason");
  must(!result.has_early_left || takes_early, "it has early events left and takes none");
  must(after.status != InstanceStatus::kFailed || after.error.has_value(),
       "it fails without error");
  const bool continues = std::any_of(
      result.history.begin(), result.history.end(),
      [](const HistoryRecord& record) { return record.kind == HistoryKind::kContinued; });
  must(continues || after.input == before.input, "the input changes");
  must(!result.next_run || after.phase == Phase::kLeaving, "it continues and does not leave");
  return broken;
}

}  // namespace millrace
