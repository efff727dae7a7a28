#include "orchestrator/batch/task_inputs.h"

#include <variant>

#include <spdlog/spdlog.h>

#include "orchestrator/batch/call_slots.h"
#include "orchestrator/store/rows/variable_rows.h"

namespace millrace {
namespace {

/// Converts the answer of a function: JSON stays as it is, other bytes become a Base64 string, and
/// an empty answer becomes null.
LazyJson json_of_answer(const std::string& answer) {
  return answer.empty() ? LazyJson() : LazyJson::of_bytes(answer);
}

}  // namespace

Status TaskInputs::apply_input(TimePoint now, const TaskInput& input) {
  const InstanceId& task = input.report.task;
  if (input.stored) batch_.after_commit(StoredReport{input.stored});
  const OpenTask* const known = batch_.tasks.find(task);
  if (known != nullptr) batch_.crash_note.take_instance({known->ns, known->by});
  if (known == nullptr || !batch_.catalog.has_namespace(known->ns)) return {};
  // Any client may have published the report: it counts only if a worker may have the task.
  const bool is_stray = input.report.ns && (!is_space(known->ns, *input.report.ns) ||
                                            batch_.tasks.is_called_directly(task));
  if (is_stray) {
    ++batch_.outcome.counts.answers_stray;
    return {};
  }
  const auto& what = input.report.what;
  if (const auto* const ended = std::get_if<TaskEnded>(&what)) {
    TRY(apply_end(now, task, OpenTask(*known), *ended, AnsweredBy::kRunner));
    return {};
  }
  if (std::holds_alternative<TaskNotStarted>(what)) {
    batch_.tasks.start_checked(task);
    return known->caller ? fire_calls(now, *known) : Status();
  }
  if (const auto after = batch_.tasks.heard(task))
    batch_.outcome.counts.started_after.push_back(*after);
  if (const auto* const pieces = std::get_if<TaskPieces>(&what)) {
    return stage_pieces(batch_, task, *known, *pieces);
  }
  if (std::holds_alternative<TaskAccepted>(what)) {
    return apply_acceptance(now, task, OpenTask(*known));
  }
  if (!known->caller) return {};
  if (std::holds_alternative<TaskStarted>(what)) {
    return step_caller(now, *known, CallStarted{*known->caller});
  }
  if (const auto* const output = std::get_if<TaskOutput>(&what)) {
    return step_caller(now, *known, Printed{*known->caller, output->text, known->sealed});
  }
  return {};
}

/// Stores the acceptance in the batch of its report: from its commit on the task is not handed out
/// again. An acceptance proves the start, of which the report may have been lost in a crash.
Status TaskInputs::apply_acceptance(TimePoint now, const InstanceId& task, const OpenTask& known) {
  if (TRY(batch_.tasks.accept(batch_.tx, task))) batch_.after_commit(AcceptedTask{task});
  return known.caller ? step_caller(now, known, CallStarted{*known.caller}) : Status();
}

Result<bool> TaskInputs::answer(TimePoint now, NamespaceNumber ns, const AnswerTask& answer) {
  const OpenTask* const found = batch_.tasks.find(answer.task);
  if (found == nullptr || found->ns != ns) return false;
  const OpenTask known(*found);
  batch_.crash_note.take_instance({known.ns, known.by});
  if (const auto* const ended = std::get_if<TaskEnded>(&answer.what)) {
    // The runner still waits for the response, which may never come.
    if (!known.is_accepted || (known.has_files && !answer.has_files)) {
      batch_.after_commit(StopTask{answer.task});
    }
    if (!answer.wrong_files || !ended->result) {
      return apply_end(now, answer.task, known, *ended, answer.by);
    }
    return apply_end(now, answer.task, known, {.result = tl::unexpected(*answer.wrong_files)},
                     answer.by);
  }
  if (known.caller) {
    TRY(step_caller(now, known, Overdue{}));
    if (batch_.tasks.find(answer.task) == nullptr) return false;
  }
  if (const auto after = batch_.tasks.heard(answer.task))
    batch_.outcome.counts.started_after.push_back(*after);
  if (!known.caller) return true;
  TRY(step_caller(now, known, CallStarted{*known.caller}));
  const std::string& progress = std::get<TaskHeartbeat>(answer.what).progress;
  if (!progress.empty()) {
    TRY(step_caller(now, known,
                    Progressed{.call = *known.caller, .json = progress, .sealed = known.sealed}));
  }
  return true;
}

/// Whether the namespace with that number exists and has that name.
bool TaskInputs::is_space(NamespaceNumber ns, std::string_view name) const {
  return batch_.catalog.has_namespace(ns) && batch_.catalog.name_of(ns) == name;
}

/// Returns false if a passed deadline has ended the task first.
Result<bool> TaskInputs::apply_end(TimePoint now, const InstanceId& task, const OpenTask& known,
                                   const TaskEnded& ended, AnsweredBy by) {
  if (!ended.result) batch_.tasks.note_failure(known, ended.result.error(), now);
  if (known.caller) {
    // millrace has asked the runner whether a worker has the task. If a result of the task comes
    // before the runner's answer, a worker had the task, so the call has started.
    if (known.looked_for && !known.is_not_started)
      TRY(step_caller(now, known, CallStarted{*known.caller}));
    // A result that comes after a deadline must not set variables, so passed deadlines are fired
    // first.
    TRY(step_caller(now, known, Overdue{}));
    if (batch_.tasks.find(task) == nullptr) return false;
  }
  const std::optional<StagedGroup> staged = batch_.staged.take(task);
  TRY(end_task(batch_, task));
  batch_.after_commit(EndedTask{task});
  const auto over = TRY(set_variables(known, ended, staged));
  if (!known.caller) return true;
  CallResult result = tl::unexpected(Error());
  if (over && ended.result) {
    result = tl::unexpected(*over);
  } else if (ended.result) {
    result = json_of_answer(*ended.result);
  } else {
    result = tl::unexpected(ended.result.error());
  }
  TRY(step_caller(now, known,
                  Returned{.call = *known.caller,
                           .result = result,
                           .sealed = known.sealed,
                           .retry_after = ended.retry_after,
                           .by = by}));
  return true;
}

/// Sets the variables of a task that has ended, all or none of them. Returns the error of the quota
/// that does not permit them, or of pieces that are missing; nullopt: they are set. `staged`: the
/// pieces of their values; without a use for them, they are erased.
Result<std::optional<Error>> TaskInputs::set_variables(const OpenTask& known,
                                                       const TaskEnded& ended,
                                                       const std::optional<StagedGroup>& staged) {
  const auto name_of = [&](const TaskVariable& one) -> VariableName {
    return {owner_of(known.ns, known.workflow, known.by, one.scope), one.key};
  };
  for (const TaskVariable& one : ended.variables) {
    const size_t bytes = one.staged ? one.staged->size : one.value.bytes.size();
    const auto over = TRY(instances_.quotas().refusal_of_variable(name_of(one), bytes));
    if (!over) continue;
    if (!known.caller) {
      spdlog::warn("a detached call of instance {} could not set the variable {}: {}",
                   to_string(known.by), one.key, over->message);
    }
    drop_pieces(batch_, staged);
    return over;
  }
  if (!TRY(has_pieces(batch_, staged, known, ended.variables))) {
    drop_pieces(batch_, staged);
    return std::optional(Error{std::string(kFunctionFiles),
                               "the values of the variables were not stored, because the store "
                               "was read again meanwhile; call the function again"});
  }
  bool has_staged = false;
  for (const TaskVariable& one : ended.variables) {
    const Sealing sealed = one.value.sealed | known.sealed;
    if (one.staged) {
      has_staged = true;
      write_variable_head(batch_.tx, name_of(one),
                          {.content_type = one.value.content_type,
                           .size = one.staged->size,
                           .pieces = staged->number,
                           .sealed = sealed});
    } else {
      write_variable(batch_.tx, name_of(one), {one.value.content_type, one.value.bytes, sealed});
    }
  }
  if (has_staged) keep_pieces(batch_, *staged);
  if (!has_staged) drop_pieces(batch_, staged);
  return std::optional<Error>();
}

Status TaskInputs::apply_input(TimePoint now, const MissedHeartbeatInput& input) {
  const OpenTask* const known = batch_.tasks.find(input.task);
  if (known == nullptr || !known->caller) return {};
  return step_caller(now, OpenTask(*known), HeartbeatMissed{*known->caller});
}

Status TaskInputs::step_caller(TimePoint now, const OpenTask& task, const Stimulus& stimulus) {
  LoadedInstance* const loaded = TRY(instances_.load(now, task.ns, task.caller->instance));
  if (loaded == nullptr) return {};
  TRY(instances_.step(now, *loaded, stimulus));
  return {};
}

/// Fires the timer for the calls of the instance that waits for the task, if that timer is due: the
/// timer may have waited for the runner's answer.
Status TaskInputs::fire_calls(TimePoint now, const OpenTask& task) {
  const InstanceId caller = task.caller->instance;
  LoadedInstance* const loaded = TRY(instances_.load(now, task.ns, caller));
  if (loaded == nullptr) return {};
  for (const Timer& timer : loaded->instance.timers) {
    if (timer.kind != TimerKind::kCalls || timer.deadline > now) continue;
    return timers_.fire(
        now, timer.deadline,
        TimerInput::OfInstance{.ns = task.ns, .instance = caller, .kind = timer.kind});
  }
  return {};
}

}  // namespace millrace
