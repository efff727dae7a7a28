#include "orchestrator/batch/commands/variable_commands.h"

#include <string_view>

#include "orchestrator/batch/commands/variable_owner.h"
#include "orchestrator/store/rows/variable_rows.h"

namespace millrace {
namespace {

/// Finds the owner of a variable. Looks in the current batch, too, which may have started the
/// instance.
Result<VariableOwner> owner_of(const CommandContext& context, const VariablePlace& place) {
  return find_owner(
      place,
      {.find_namespace = [&](std::string_view ns) { return find_namespace(context, ns); },
       .find_workflow = [&](std::string_view ns, std::string_view id) -> Result<WorkflowNumber> {
         return TRY(find_workflow(context, ns, id))->number;
       },
       .check_instance = [&](NamespaceNumber ns, const InstanceId& id) -> Status {
         const LoadedInstance* const live = TRY(context.instances.load(context.now, ns, id));
         if (live == nullptr) TRY(find_instance(context, place.ns, id));
         return {};
       }});
}

}  // namespace

Result<Json> run_command(const CommandContext& context, const PutVariable& command) {
  const VariableName name{TRY(owner_of(context, command.place)), command.key};
  Quotas& quotas = context.instances.quotas();
  if (const auto over = TRY(quotas.refusal_of_variable(name, command.value.bytes.size()))) {
    return tl::unexpected(*over);
  }
  write_variable(context.batch.tx, name, command.value);
  return Json{{"key", command.key},
              {"size", command.value.bytes.size()},
              {"contentType", command.value.content_type}};
}

Result<Json> run_command(const CommandContext& context, const DeleteVariable& command) {
  const VariableName name{TRY(owner_of(context, command.place)), command.key};
  if (!TRY(read_variable_head(context.batch.tx, name)))
    return tl::unexpected(no_variable(command.key));
  erase_variable(context.batch.tx, name);
  return Json{{"key", command.key}, {"deleted", true}};
}

}  // namespace millrace
