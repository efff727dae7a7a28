#include "orchestrator/batch/commands/callback_commands.h"

#include <string>
#include <variant>

#include "base/bytes.h"
#include "orchestrator/batch/task_inputs.h"
#include "orchestrator/store/rows/answer_rows.h"

namespace millrace {
namespace {

/// What an answer says, as text that shows nothing of it: the rows of answers are not sealed.
Fingerprint outcome_of(const Transaction& tx, const TaskEnded& ended) {
  constexpr std::string_view kPurpose = "answer of a task";
  const std::string key = tx.seal().id_key();
  if (ended.result) return keyed_fingerprint(key, {kPurpose, "complete", *ended.result});
  const Error& error = ended.result.error();
  return keyed_fingerprint(key, {kPurpose, "fail", error.code, error.message});
}

/// The answer to a request about an attempt that has ended: that of the first request if this one
/// repeats it.
Result<Json> answer_again(const CommandContext& context, NamespaceNumber ns,
                          const AnswerTask& command) {
  BatchState& batch = context.batch;
  std::optional<Fingerprint> given;
  const auto* const ended = std::get_if<TaskEnded>(&command.what);
  if (ended != nullptr) {
    given = TRY(batch.damages.pass_over(read_answer(batch.tx, ns, command.task)));
  }
  if (!given) {
    return fail("callback.ended",
                "the attempt has ended: it has an answer already, a timeout has ended it, or its "
                "result is not needed any more; nothing was changed");
  }
  if (*given != outcome_of(batch.tx, *ended)) {
    return fail("callback.ended",
                "the attempt has ended: a callback has answered it already, and said something "
                "else; nothing was changed");
  }
  return Json{{"accepted", true}};
}

}  // namespace

Result<Json> run_command(const CommandContext& context, const AnswerTask& command) {
  const NamespaceNumber ns = TRY(find_namespace(context, command.ns));
  BatchState& batch = context.batch;
  const OpenTask* const open = batch.tasks.find(command.task);
  const bool is_of_operator = command.by == AnsweredBy::kOperator;
  if (is_of_operator && open != nullptr && open->ns == ns && !open->is_accepted) {
    return fail("call.not_accepted",
                "no service has accepted the task of this attempt, so its runner still answers it; "
                "`millrace call list` shows the attempts that can be answered");
  }
  const bool ends = std::holds_alternative<TaskEnded>(command.what);
  if (ends && open != nullptr && open->ns == ns && open->has_files && !command.has_files &&
      !is_of_operator) {
    return fail("callback.ended",
                "this delivery of the task has ended: its files are gone, because millrace has "
                "restarted, and it sends the task again under the same action id with another URL "
                "and key; nothing was changed");
  }
  const bool is_taken = TRY(context.tasks.answer(context.now, ns, command));
  if (!is_taken) return answer_again(context, ns, command);
  if (const auto* const ended = std::get_if<TaskEnded>(&command.what)) {
    TRY(add_answer(batch.tx, ns, {.task = command.task, .outcome = outcome_of(batch.tx, *ended)}));
  }
  return Json{{"accepted", true}};
}

}  // namespace millrace
