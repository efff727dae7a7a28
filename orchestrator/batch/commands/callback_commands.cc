#include "orchestrator/batch/commands/callback_commands.h"

#include "orchestrator/batch/task_inputs.h"

namespace millrace {

Result<Json> run_command(const CommandContext& context, const AnswerTask& command) {
  const NamespaceNumber ns = TRY(find_namespace(context, command.ns));
  const bool is_taken = TRY(context.tasks.answer(context.now, ns, command));
  if (!is_taken) {
    return fail("callback.ended",
                "the attempt has ended: it has an answer already, a timeout has ended it, or its "
                "result is not needed any more; nothing was changed");
  }
  return Json{{"accepted", true}};
}

}  // namespace millrace
