#include "orchestrator/batch/commands/workflow_commands.h"

#include <memory>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "orchestrator/batch/commands/leftovers.h"
#include "orchestrator/batch/commands/sweep.h"
#include "orchestrator/batch/groups.h"
#include "orchestrator/store/rows/damage.h"
#include "orchestrator/store/rows/purge.h"
#include "orchestrator/store/rows/variable_rows.h"

namespace millrace {
namespace {

/// Removes a workflow of which no instance lives any more.
Status remove_workflow(const CommandContext& context, const WorkflowEntry& entry,
                       const std::string& ns) {
  Draft& draft = context.draft;
  TRY(draft.waiting.set_start(ns, entry.number, {}));
  TRY(context.purges.begin_groups(entry, ns));
  context.schedules.remove(entry.number);
  write_retired(draft.tx, entry.number, entry.space);
  draft.catalog.remove_workflow(draft.tx, entry.number);
  return {};
}

}  // namespace

Result<Json> run_command(const CommandContext& context, const ApplyWorkflow& command) {
  Draft& draft = context.draft;
  const NamespaceNumber space = TRY(find_namespace(context, command.space));
  std::shared_ptr<const Workflow> before;
  if (const WorkflowEntry* known = draft.catalog.find_workflow(space, command.workflow->id)) {
    const auto newest = draft.catalog.definition(draft.tx, {known->number, known->latest});
    // One that is damaged is replaced by the next.
    if (!newest && !is_damaged_row(newest.error())) return tl::unexpected(newest.error());
    if (newest) before = *newest;
  }
  const bool added =
      TRY(draft.catalog.apply(draft.tx, space, command.text, command.workflow, context.now));
  const WorkflowEntry* const entry = draft.catalog.find_workflow(space, command.workflow->id);
  if (added) {
    TRY(draft.waiting.set_start(command.space, entry->number, command.workflow->start.events));
    if (before && before->start.kind == Start::Kind::kEventsAnd &&
        !same_groups(before->start, command.workflow->start)) {
      TRY(context.purges.begin_groups(*entry, command.space));
      draft.catalog.renew_groups(draft.tx, entry->number);
    }
    context.schedules.set(context.now, entry->number, before ? before->start.cron : std::nullopt,
                          command.workflow->start.cron);
  }
  return Json{{"id", entry->id}, {"revision", entry->latest}, {"changed", added}};
}

Result<CommandProgress> run_command(const CommandContext& context, const DeleteWorkflow& command) {
  if (command.leftovers) return finish_deletion(context, command);
  const WorkflowEntry entry = *TRY(find_workflow(context, command.space, command.id));
  if (!command.cancel) {
    TRY(refuse_living(
        count_living(context, entry.space, entry.number),
        {"workflow.has_instances", fmt::format("workflow \"{}\" has living instances", entry.id)}));
  }
  DeleteWorkflow rest = command;
  if (!TRY(cancel_living(context, entry.space, entry.number, rest.sweep))) return rest;
  const VariableOwner owner{
      .scope = VariableScope::kWorkflow, .space = entry.space, .workflow = entry.number};
  if (TRY(erase_variables(context.draft.tx, owner, kErasedAtOnce)) == kErasedAtOnce) return rest;
  TRY(remove_workflow(context, entry, command.space));
  return Json{{"cancelled", rest.sweep.changed}};
}

Result<CommandProgress> run_command(const CommandContext& context, const PauseWorkflow& command) {
  const WorkflowEntry entry = *TRY(find_workflow(context, command.space, command.id));
  const bool begins = !command.sweep.last;
  if (begins && entry.paused != command.paused) {
    context.draft.catalog.pause_workflow(context.draft.tx, entry.number, command.paused);
  }
  PauseWorkflow rest = command;
  // Where somebody wanted the opposite since it began, the last word counts.
  const bool paused = begins ? command.paused : entry.paused;
  if (paused == command.paused) {
    const auto is_one = [&](const Instance& head) {
      return head.revision.workflow == entry.number && head.paused != paused && !head.cancelling;
    };
    const Stimulus stimulus = paused ? Stimulus(Pause{}) : Stimulus(Resume{});
    if (!TRY(step_living(context, entry.space, stimulus, is_one, rest.sweep))) return rest;
  }
  return Json{{"id", entry.id}, {"paused", paused}, {"changed", rest.sweep.changed}};
}

Result<Json> run_command(const CommandContext& context, const TriggerSchedule& command) {
  const WorkflowEntry* const entry = TRY(find_workflow(context, command.space, command.workflow));
  const auto workflow =
      TRY(context.draft.catalog.definition(context.draft.tx, {entry->number, entry->latest}));
  if (workflow->start.kind != Start::Kind::kScheduled) {
    return fail("schedule.not_found",
                fmt::format("workflow \"{}\" has no schedule", command.workflow));
  }
  TRY(context.instances.refuse_singular(*entry, *workflow));
  const InstanceId id = TRY(context.instances.start(
      context.now, *entry, *workflow,
      {.data = Json::object(),
       .how = Json{{"by", "schedule"}, {"revision", entry->latest}, {"triggered", true}}}));
  return Json{{"id", to_string(id)}};
}

}  // namespace millrace
