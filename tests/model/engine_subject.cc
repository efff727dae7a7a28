#include "tests/model/engine_subject.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <gtest/gtest-spi.h>

#include "orchestrator/definition/loader.h"

namespace millrace::reference {
namespace {

/// Defines the jq programs of the cases (case_yaml.cc) by their texts.
void define_programs(TestEvaluator& evaluator, const Definition& definition) {
  const auto member = [](const Json& value, const char* name) {
    return value.is_object() && value.contains(name) ? value[name] : Json();
  };
  for (const State& state : definition.states) {
    const std::string note = fmt::format(R"(. + {{seen: (.seen + ["{}"])}})", state.id);
    const auto add_note = [id = state.id](Json data) -> QueryResult {
      data["seen"].push_back(id);
      return data;
    };
    evaluator.define(note, add_note);
    if (state.check.empty()) continue;
    const bool notes = state.kind == Kind::kNoop;
    // ".return.bad" → "return"
    const std::string from = state.check.substr(1, state.check.find('.', 1) - 1);
    evaluator.define(fmt::format(R"(if {} then error("it is bad") else {} end)", state.check,
                                 notes ? note : "."),
                     [=](const Json& data) -> QueryResult {
                       if (member(member(data, from.c_str()), "bad") == true) {
                         return fail("direktiv.jq.badCommand", "it is bad");
                       }
                       return notes ? add_note(data) : QueryResult(data);
                     });
  }
  evaluator.define(".items",
                   [=](const Json& data) -> QueryResult { return member(data, "items"); });
  for (const char* from : {"return", "go"}) {
    evaluator.define(fmt::format(".{}.again", from), [=](const Json& data) -> QueryResult {
      return member(member(data, from), "again");
    });
  }
}

Command command_of(Verb verb, const InstanceId& instance, const std::string& state) {
  const std::string ns = "default";
  switch (verb) {
    case Verb::kCancel:
      return CancelInstance{ns, instance};
    case Verb::kPause:
      return PauseInstance{ns, instance};
    case Verb::kResume:
      return ResumeInstance{ns, instance};
    case Verb::kPauseWorkflow:
      return PauseWorkflow{.ns = ns, .id = "control"};
    case Verb::kResumeWorkflow:
      return PauseWorkflow{.ns = ns, .id = "control", .paused = false};
    case Verb::kRetry:
      return RetryInstance{ns, instance};
    case Verb::kRetryExtend:
      return RetryInstance{ns, instance, true};
    case Verb::kRestart:
      return RestartInstance{ns, instance};
    case Verb::kCompensate:
      return CompensateInstance{ns, instance};
    case Verb::kCompensatePast:
      return CompensateInstance{ns, instance, true};
    case Verb::kRerun:
      break;
  }
  return RerunInstance{ns, instance, state};
}

/// The Reply that stands for the HTTP status with which the gateway would answer the error.
Reply reply_of(const Result<Json>& answer) {
  if (answer) return Reply::kAccepted;
  const std::string& code = answer.error().code;
  const bool conflict = (code.starts_with("instance.") && code != "instance.not_found") ||
                        code == "callback.ended" || code == "call.not_accepted";
  return conflict ? Reply::kConflict : Reply::kOther;
}

TaskEnded ended_with(const Outcome& outcome) {
  TaskEnded ended;
  if (outcome.ok) {
    ended.result = dump_json(outcome.result);
  } else {
    ended.result = tl::unexpected(millrace::Error{outcome.code, outcome.message});
  }
  return ended;
}

}  // namespace

Ms EngineSubject::ms_of(const Json& time) const {
  return (*parse_rfc3339(time.get<std::string>()) - begin_).count();
}

void EngineSubject::begin(const Definition& definition, const std::string& yaml,
                          const Json& input) {
  define_programs(world_.evaluator, definition);
  if (begin_ != from_millis(kStartOfCases)) {
    broken_ = "the cases write their times for another start";
    return;
  }
  const Loaded loaded = load_workflow(yaml, nullptr);
  if (loaded.workflow == nullptr) {
    broken_ = "the definition is refused: " + render_text(loaded.findings, "case");
    return;
  }
  world_.must(ApplyWorkflow{.ns = "default", .text = yaml, .workflow = loaded.workflow});
  id_ = world_.start("control", input)["id"];
  world_.run_until_idle();
}

void EngineSubject::advance_to(Ms now) {
  if (!broken_.empty()) return;
  const Duration time = moment(now) - world_.clock.now();
  if (!world_.alive()) return world_.clock.advance(time);
  if (!dies_) return world_.run_for(time);
  const Duration last = std::min(time, Duration(1));
  world_.run_for(time - last);
  world_.clock.advance(last);
  finish();
}

std::vector<TaskView> EngineSubject::tasks() {
  const Json shown = world_.instance(id_);
  std::vector<TaskView> open;
  if (!shown.contains("calls")) return open;
  const std::set<std::string> are_accepted = accepted();
  for (size_t i = 0; i < shown["calls"].size(); ++i) {
    const Json& call = shown["calls"][i];
    if (call["status"] != "running" && call["status"] != "scheduled") continue;
    TaskView task{.handle = call["task"],
                  .run = shown.value("run", 1),
                  .state = shown["state"],
                  .index = static_cast<int>(i),
                  .attempt = call["attempt"]};
    task.taken = taken_.contains(task.handle);
    task.accepted = are_accepted.contains(task.handle);
    if (call.contains("progress")) task.progress = call["progress"];
    for (const Task& one : world_.functions.tasks()) {
      if (to_string(one.id) != task.handle) continue;
      task.input = Json::parse(one.input);
      if (!one.progress.empty()) task.last_progress = Json::parse(one.progress);
    }
    open.push_back(std::move(task));
  }
  return open;
}

void EngineSubject::take(const std::string& handle) {
  taken_.insert(handle);
  report(handle, TaskStarted{});
}

void EngineSubject::heartbeat(const std::string& handle) { report(handle, TaskHeartbeat{}); }

void EngineSubject::answer(const std::string& handle, const Outcome& outcome) {
  report(handle, ended_with(outcome));
}

void EngineSubject::accept(const std::string& handle) {
  taken_.insert(handle);
  report(handle, TaskAccepted{});
}

Reply EngineSubject::call_back(const std::string& handle, const Callback& callback) {
  const Result<InstanceId> task = parse_instance_id(handle);
  if (!task || !world_.alive() || !broken_.empty()) return Reply::kOther;
  AnswerTask command{.ns = "default", .task = *task, .what = TaskHeartbeat{}};
  if (callback.by_operator) command.by = AnsweredBy::kOperator;
  if (!callback.is_heartbeat) {
    command.what = ended_with(callback.outcome);
  } else if (callback.progress) {
    command.what = TaskHeartbeat{dump_json(*callback.progress)};
  }
  if (callback.is_heartbeat) taken_.insert(handle);  // it proves the start
  const Answered answer = world_.command(std::move(command));
  finish();
  return answer->has_value() ? reply_of(**answer) : Reply::kOther;
}

/// The tasks of the instance that their services have accepted.
std::set<std::string> EngineSubject::accepted() const {
  const Snapshot view = Snapshot::take(world_.environment()).value();
  const Json page = world_.queries().accepted_tasks(view, "default", {.limit = 1000}).value();
  std::set<std::string> tasks;
  for (const Json& item : page["items"]) tasks.insert(item["task"]);
  return tasks;
}

void EngineSubject::report(const std::string& handle, decltype(TaskReport::what) what) {
  const Result<InstanceId> task = parse_instance_id(handle);
  if (!task || !world_.alive()) return;  // the engine does not have this task of the model
  world_.intake().report({*task, std::move(what)}, nullptr);
  finish();
}

void EngineSubject::send_event(const std::string& type, const Json& payload) {
  if (!world_.alive()) return;
  world_.publish(type, fmt::format("event-{}", ++events_), payload);
  if (dies_) world_.broker.pump();
  finish();
}

Reply EngineSubject::command(Verb verb, const std::string& state) {
  if (!broken_.empty()) return Reply::kOther;
  const Answered answer = world_.command(command_of(verb, *parse_instance_id(id_), state));
  finish();
  return answer->has_value() ? reply_of(**answer) : Reply::kOther;
}

/// Runs until idle, or kills the process after the next commit.
void EngineSubject::finish() {
  if (std::exchange(dies_, false)) {
    world_.crash_after_commit();
  } else {
    world_.run_until_idle();
  }
}

void EngineSubject::kill() {
  dies_ = false;
  if (broken_.empty() && world_.alive()) world_.crash();
}

/// The first turn comes before the connection to the broker, as if the connection were slow. If a
/// task was handed out again but is over after that turn, the engine handed it out for nothing. A
/// task that its service has accepted is not handed out again.
void EngineSubject::start_process() {
  if (!broken_.empty() || world_.alive()) return;
  world_.recover();
  const std::set<std::string> were_accepted = accepted();
  const size_t before = world_.functions.handed_out().size();
  world_.processor().turn();
  world_.run_until_idle();
  std::set<std::string> open;
  for (const TaskView& task : tasks()) open.insert(task.handle);
  const std::vector<InstanceId>& handed_out = world_.functions.handed_out();
  for (size_t i = before; i < handed_out.size(); ++i) {
    const std::string task = to_string(handed_out[i]);
    if (!open.contains(task)) broken_ = "a call is repeated although it is over";
    if (were_accepted.contains(task)) broken_ = "a call is repeated although it is accepted";
  }
}

void EngineSubject::broker_away() {
  world_.broker.disconnect();
  world_.run_until_idle();
}

void EngineSubject::broker_back() {
  world_.broker.reconnect();
  world_.run_until_idle();
}

Observation EngineSubject::observe() {
  Observation seen;
  if (!broken_.empty()) seen.status = broken_;
  if (!broken_.empty() || !world_.alive()) return seen;
  const Json shown = world_.instance(id_);
  const std::string status = shown["status"];
  const bool ended = has_ended(*parse_status(status));
  seen.status = status;
  seen.paused = status == "paused";
  seen.state = shown["state"];
  seen.run = shown.value("run", 1);
  if (shown.contains("calls")) seen.attempt = shown["calls"][0]["attempt"];
  seen.data = shown["data"];
  if (ended) {
    const Json error = shown.value("error", Json::object());
    seen.error_code = error.value("code", "");
    seen.error_message = error.value("msg", "");
    seen.failed_state = shown.value("failedState", "");
  }
  seen.next_retry_at = Interval{};
  if (shown.contains("nextRetryAt")) {
    const Ms at = ms_of(shown["nextRetryAt"]);
    seen.next_retry_at = Interval{at, at};
  }
  seen.tasks = tasks();
  seen.calls = static_cast<int>(world_.functions.tasks().size());
  const Json noted = shown.contains("compensation") ? shown["compensation"] : Json::object();
  seen.notes = noted.value("left", 0);
  if (ended) seen.undo_failed = noted.contains("error");
  return seen;
}

Played play_on_engine(const Case& c) {
  using testing::ScopedFakeTestPartResultReporter;
  Played played;
  testing::TestPartResultArray failures;
  {
    const ScopedFakeTestPartResultReporter reporter(
        ScopedFakeTestPartResultReporter::INTERCEPT_ONLY_CURRENT_THREAD, &failures);
    Model model;
    EngineSubject engine;
    played = play(c, model, engine, {.rendering = EngineSubject::rendering()});
  }
  for (int i = 0; i < failures.size() && !played.differs(); ++i) {
    played.difference = failures.GetTestPartResult(i).message();
  }
  return played;
}

}  // namespace millrace::reference
