#include "orchestrator/batch/commands/variable_commands.h"

#include <string_view>

#include "orchestrator/batch/commands/variable_owner.h"
#include "orchestrator/store/rows/variable_rows.h"

namespace millrace {
namespace {

/// The owner as the batch in hand has it: an instance may be one that this batch has made.
Result<VariableOwner> owner_of(const CommandContext& context, const VariablePlace& place) {
  return find_owner(
      place,
      {.find_namespace = [&](std::string_view ns) { return find_namespace(context, ns); },
       .find_workflow = [&](std::string_view ns, std::string_view id) -> Result<WorkflowNumber> {
         return TRY(find_workflow(context, ns, id))->number;
       },
       .check_instance = [&](NamespaceNumber ns, const InstanceId& id) -> Status {
         const Touched* const living = TRY(context.instances.touch(context.now, ns, id));
         if (living == nullptr) TRY(find_instance(context, place.space, id));
         return {};
       }});
}

}  // namespace

Result<Json> run_command(const CommandContext& context, const PutVariable& command) {
  const VariableName name{TRY(owner_of(context, command.place)), command.key};
  write_variable(context.draft.tx, name, command.value);
  return Json{{"key", command.key},
              {"size", command.value.bytes.size()},
              {"contentType", command.value.content_type}};
}

Result<Json> run_command(const CommandContext& context, const DeleteVariable& command) {
  const VariableName name{TRY(owner_of(context, command.place)), command.key};
  if (!TRY(read_variable(context.draft.tx, name))) return tl::unexpected(no_variable(command.key));
  erase_variable(context.draft.tx, name);
  return Json{{"key", command.key}, {"deleted", true}};
}

}  // namespace millrace
