#include "orchestrator/batch/commands/group_commands.h"

#include <optional>

#include <fmt/format.h>

#include "base/excerpt.h"
#include "orchestrator/batch/group_id.h"
#include "orchestrator/batch/groups.h"

namespace millrace {

Result<CommandProgress> run_command(const CommandContext& context, const DropGroup& command) {
  const NamespaceNumber ns = TRY(find_namespace(context, command.ns));
  const auto no_group = [&] {
    return fail("group.not_found",
                fmt::format("no events wait in a group {} of namespace \"{}\"; `millrace group "
                            "list` lists the groups",
                            excerpt(command.id), command.ns));
  };
  BatchState& batch = context.batch;
  const std::optional<GroupId> id = parse_group_id(command.id);
  const WorkflowEntry* const entry = id ? batch.catalog.find_workflow(ns, id->workflow) : nullptr;
  if (entry == nullptr) return no_group();
  const auto workflow = TRY(batch.catalog.definition(batch.tx, {entry->number, entry->latest}));
  if (workflow->start.kind != Start::Kind::kEventsAnd) return no_group();
  DropGroup rest = command;
  if (rest.up_to == 0) rest.up_to = TRY(last_grouped(batch.tx));
  Groups groups(batch, context.instances);
  PurgeBudget budget{.unit = context.unit};
  const Groups::Dropped dropped =
      TRY(groups.drop(*entry, *workflow, id->group, rest.up_to, budget));
  rest.dropped += dropped.events;
  if (!dropped.is_all) return rest;
  if (rest.dropped == 0) return no_group();
  return Json{{"id", command.id}, {"dropped", rest.dropped}};
}

}  // namespace millrace
