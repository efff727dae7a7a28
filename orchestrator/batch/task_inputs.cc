#include "orchestrator/batch/task_inputs.h"

#include <variant>

#include "base/bytes.h"
#include "orchestrator/store/rows/variable_rows.h"

namespace millrace {
namespace {

/// The answer of a function: JSON, other bytes as Base64, an empty answer as null.
LazyJson json_of_answer(const std::string& answer) {
  if (answer.empty()) return {};
  Result<Json> json = parse_json(answer);
  return json ? LazyJson(std::move(*json)) : LazyJson(Json(base64_encode(answer)));
}

}  // namespace

Status TaskInputs::take(TimePoint now, const TaskInput& input) {
  const InstanceId& task = input.report.task;
  if (input.stored) draft_.after_commit(StoredReport{input.stored});
  const TaskInHand* const known = draft_.tasks.find(task);
  if (known != nullptr) draft_.in_hand.take_instance({known->space, known->by});
  if (known == nullptr || !draft_.catalog.has_namespace(known->space)) return {};
  if (input.report.space && !is_space(known->space, *input.report.space)) {
    ++draft_.outcome.counts.answers_stray;
    return {};
  }
  const auto& what = input.report.what;
  if (const auto* const ended = std::get_if<TaskEnded>(&what)) {
    return hear(now, task, TaskInHand(*known), *ended);
  }
  if (std::holds_alternative<TaskUnbegun>(what)) {
    draft_.tasks.looked(task);
    return known->caller ? fire_calls(now, *known) : Status();
  }
  if (const auto after = draft_.tasks.heard(task))
    draft_.outcome.counts.begun_after.push_back(*after);
  if (!known->caller) return {};
  if (std::holds_alternative<TaskStarted>(what)) {
    return tell_caller(now, *known, Begun{*known->caller});
  }
  if (const auto* const output = std::get_if<TaskOutput>(&what)) {
    return tell_caller(now, *known, Printed{*known->caller, output->text});
  }
  return {};
}

/// Whether the namespace of that number, if it is still there, has that name.
bool TaskInputs::is_space(NamespaceNumber space, std::string_view name) const {
  return draft_.catalog.has_namespace(space) && draft_.catalog.name_of(space) == name;
}

Status TaskInputs::hear(TimePoint now, const InstanceId& task, const TaskInHand& known,
                        const TaskEnded& told) {
  if (known.caller) {
    // An answer that comes while the runner looks is from a worker that has the task.
    if (known.looked_for && !known.is_unbegun) TRY(tell_caller(now, known, Begun{*known.caller}));
    // What comes past its deadline leaves no variables either.
    TRY(tell_caller(now, known, Overdue{}));
    if (draft_.tasks.find(task) == nullptr) return {};
  }
  draft_.tasks.end(draft_.tx, task);
  draft_.after_commit(EndedTask{task});
  for (const TaskVariable& one : told.variables) {
    Variable value = one.value;
    value.sealed = value.sealed || known.sealed;
    write_variable(draft_.tx, {owner_of(known.space, known.workflow, known.by, one.scope), one.key},
                   value);
  }
  if (!known.caller) return {};
  CallResult result = tl::unexpected(Error());
  if (told.result) {
    result = json_of_answer(*told.result);
  } else {
    result = tl::unexpected(told.result.error());
  }
  return tell_caller(now, known,
                     Returned{.call = *known.caller,
                              .result = result,
                              .sealed = known.sealed,
                              .retry_after = told.retry_after});
}

Status TaskInputs::take(TimePoint now, const SilenceInput& input) {
  const TaskInHand* const known = draft_.tasks.find(input.task);
  if (known == nullptr || !known->caller) return {};
  return tell_caller(now, TaskInHand(*known), Silent{*known->caller});
}

Status TaskInputs::tell_caller(TimePoint now, const TaskInHand& task, const Stimulus& stimulus) {
  Touched* const touched = TRY(instances_.touch(now, task.space, task.caller->instance));
  if (touched == nullptr) return {};
  TRY(instances_.step(now, *touched, stimulus));
  return {};
}

/// Fires the timer of the caller's calls if it is due: it may have waited for an answer.
Status TaskInputs::fire_calls(TimePoint now, const TaskInHand& task) {
  const InstanceId caller = task.caller->instance;
  Touched* const touched = TRY(instances_.touch(now, task.space, caller));
  if (touched == nullptr) return {};
  for (const Timer& timer : touched->instance.timers) {
    if (timer.kind != TimerKind::kCalls || timer.deadline > now) continue;
    return timers_.fire(
        now, timer.deadline,
        TimerInput::OfInstance{.space = task.space, .instance = caller, .kind = timer.kind});
  }
  return {};
}

}  // namespace millrace
