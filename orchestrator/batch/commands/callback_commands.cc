#include "orchestrator/batch/commands/callback_commands.h"

#include "orchestrator/batch/task_inputs.h"

namespace millrace {

Result<Json> run_command(const CommandContext& context, const AnswerTask& command) {
  const NamespaceNumber ns = TRY(find_namespace(context, command.ns));
  const OpenTask* const open = context.batch.tasks.find(command.task);
  if (command.only_accepted && open != nullptr && open->ns == ns && !open->is_accepted) {
    return fail("call.not_accepted",
                "no service has accepted the task of this attempt, so its runner still answers it; "
                "`millrace call list` shows the attempts that can be answered");
  }
  const bool is_taken = TRY(context.tasks.answer(context.now, ns, command));
  if (!is_taken) {
    return fail("callback.ended",
                "the attempt has ended: it has an answer already, a timeout has ended it, or its "
                "result is not needed any more; nothing was changed");
  }
  return Json{{"accepted", true}};
}

}  // namespace millrace
