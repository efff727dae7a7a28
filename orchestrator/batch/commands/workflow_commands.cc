#include "orchestrator/batch/commands/workflow_commands.h"

#include <memory>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "model/revision_conflict.h"
#include "orchestrator/batch/commands/leftovers.h"
#include "orchestrator/batch/commands/sweep.h"
#include "orchestrator/batch/groups.h"
#include "orchestrator/batch/quotas.h"
#include "orchestrator/store/rows/catalog_rows.h"
#include "orchestrator/store/rows/damage.h"
#include "orchestrator/store/rows/purge.h"
#include "orchestrator/store/rows/variable_rows.h"

namespace millrace {
namespace {

/// Removes a workflow that has no live instance.
Status remove_workflow(const CommandContext& context, const WorkflowEntry& entry,
                       const std::string& ns) {
  BatchState& batch = context.batch;
  TRY(batch.waiting.set_start(ns, entry.number, {}));
  TRY(context.purges.begin_groups(entry, ns));
  context.schedules.remove(entry.number);
  write_retired(batch.tx, entry.number, entry.ns);
  batch.catalog.remove_workflow(batch.tx, entry.number);
  return {};
}

/// Error `millrace.quota.workflows`: the namespace may have no further workflow.
Status refuse_workflow(const CommandContext& context, NamespaceNumber ns) {
  BatchState& batch = context.batch;
  const uint64_t most = batch.catalog.settings(ns).quotas.of(Quota::kWorkflows);
  if (most == kUnlimited) return {};
  if (batch.catalog.workflows_of(ns).size() < most) return {};
  return tl::unexpected(refuse_over_quota(batch, ns, Quota::kWorkflows));
}

/// The text of the newest revision; empty: there is none, or its row is damaged. `known` is null
/// for a new workflow.
Result<std::string> newest_text(const CommandContext& context, const WorkflowEntry* known) {
  if (known == nullptr) return std::string();
  auto newest = read_definition(context.batch.tx, {known->number, known->latest});
  if (!newest && !is_damaged_row(newest.error())) return tl::unexpected(newest.error());
  return newest && *newest ? std::move((*newest)->text) : std::string();
}

/// Error `workflow.revision_conflict`. `known` is null for a new workflow.
Status refuse_other_base(const CommandContext& context, const WorkflowEntry* known,
                         const ApplyWorkflow& command) {
  if (!command.base_revision) return {};
  const std::string text = TRY(newest_text(context, known));
  const auto conflict =
      revision_conflict(command.workflow->id, command.text, command.base_revision,
                        {.number = known == nullptr ? 0 : known->latest, .text = text});
  return conflict ? Status(tl::unexpected(*conflict)) : Status();
}

/// Error `millrace.quota.storeBytes`: the namespace may not store the definition, which the
/// workflow `known` does not have as its newest revision. `known` is null for a new workflow.
Status refuse_definition(const CommandContext& context, NamespaceNumber ns,
                         const WorkflowEntry* known, const std::string& text) {
  if (!TRY(context.instances.quotas().is_full(ns))) return {};
  if (known != nullptr && TRY(newest_text(context, known)) == text) return {};
  return tl::unexpected(refuse_over_quota(context.batch, ns, Quota::kStoreBytes));
}

}  // namespace

Result<Json> run_command(const CommandContext& context, const ApplyWorkflow& command) {
  BatchState& batch = context.batch;
  const NamespaceNumber ns = TRY(find_namespace(context, command.ns));
  std::shared_ptr<const Workflow> before;
  const WorkflowEntry* const known = batch.catalog.find_workflow(ns, command.workflow->id);
  if (known != nullptr) {
    const auto newest = batch.catalog.definition(batch.tx, {known->number, known->latest});
    // A damaged newest revision is not an error: the new revision replaces it.
    if (!newest && !is_damaged_row(newest.error())) return tl::unexpected(newest.error());
    if (newest) before = *newest;
  }
  TRY(refuse_other_base(context, known, command));
  if (known == nullptr) TRY(refuse_workflow(context, ns));
  TRY(refuse_definition(context, ns, known, command.text));
  const bool added =
      TRY(batch.catalog.apply(batch.tx, ns, command.text, command.workflow, context.now));
  const WorkflowEntry* const entry = batch.catalog.find_workflow(ns, command.workflow->id);
  if (added) {
    TRY(batch.waiting.set_start(command.ns, entry->number, command.workflow->start.events));
    if (before && before->start.kind == Start::Kind::kEventsAnd &&
        !same_groups(before->start, command.workflow->start)) {
      TRY(context.purges.begin_groups(*entry, command.ns));
      batch.catalog.renew_groups(batch.tx, entry->number);
    }
    // The new revision may have more slots, or permit more starts.
    if (before && (before->concurrency || before->throttle))
      batch.reviewed.push_back(entry->number);
    context.schedules.set(context.now, entry->number, before ? before->start.cron : std::nullopt,
                          command.workflow->start.cron);
  }
  return Json{{"id", entry->id}, {"revision", entry->latest}, {"changed", added}};
}

Result<CommandProgress> run_command(const CommandContext& context, const DeleteWorkflow& command) {
  if (command.leftovers) return finish_deletion(context, command);
  const WorkflowEntry entry = *TRY(find_workflow(context, command.ns, command.id));
  if (!command.cancel) {
    TRY(refuse_live(
        count_live(context, entry.ns, entry.number),
        {"workflow.has_instances", fmt::format("workflow \"{}\" has live instances", entry.id)}));
  }
  DeleteWorkflow rest = command;
  const bool drops = command.drop_compensations;
  if (!TRY(cancel_live(context, entry.ns, entry.number, drops, rest.sweep))) {
    TRY(refuse_compensating(
        context, entry.ns, entry.number, rest.sweep,
        {"workflow.compensating", fmt::format("workflow \"{}\" is not deleted yet", entry.id)}));
    return rest;
  }
  const bool are_dropped = TRY(
      context.instances.pending().drop_some(context.now, {.ns = entry.ns, .workflow = entry.number},
                                            workflow_is_deleted(), rest.pending));
  if (!are_dropped) return rest;
  const VariableOwner owner{
      .scope = VariableScope::kWorkflow, .ns = entry.ns, .workflow = entry.number};
  if (TRY(erase_variables(context.batch.tx, owner, kErasedAtOnce)) == kErasedAtOnce) return rest;
  TRY(remove_workflow(context, entry, command.ns));
  Json answer = deletion_answer(rest.sweep, drops);
  if (rest.pending.dropped > 0) answer["pendingStarts"] = rest.pending.dropped;
  return answer;
}

Result<CommandProgress> run_command(const CommandContext& context,
                                    const DropPendingStarts& command) {
  PendingSelection selected{.ns = TRY(find_namespace(context, command.ns)), .since = command.since};
  if (!command.workflow.empty()) {
    selected.workflow = TRY(find_workflow(context, command.ns, command.workflow))->number;
  }
  DropPendingStarts rest = command;
  const bool is_over = TRY(context.instances.pending().drop_some(
      context.now, selected, cancelled_before_start(), rest.sweep));
  if (!is_over) return rest;
  return Json{{"dropped", rest.sweep.dropped}};
}

Result<CommandProgress> run_command(const CommandContext& context, const PauseWorkflow& command) {
  const WorkflowEntry entry = *TRY(find_workflow(context, command.ns, command.id));
  const bool begins = !command.sweep.last;
  if (begins && entry.paused != command.paused) {
    context.batch.catalog.pause_workflow(context.batch.tx, entry.number, command.paused);
    if (!command.paused) context.batch.reviewed.push_back(entry.number);
  }
  PauseWorkflow rest = command;
  // If a later command has meanwhile set the opposite, the later command counts.
  const bool paused = begins ? command.paused : entry.paused;
  if (paused == command.paused) {
    const auto is_one = [&](const Instance& head) {
      return head.revision.workflow == entry.number && head.paused != paused && !head.cancelling;
    };
    const Stimulus stimulus = paused ? Stimulus(Pause{}) : Stimulus(Resume{});
    if (!TRY(step_live(context, entry.ns, stimulus, is_one, rest.sweep))) return rest;
  }
  return Json{{"id", entry.id}, {"paused", paused}, {"changed", rest.sweep.changed}};
}

Result<Json> run_command(const CommandContext& context, const TriggerSchedule& command) {
  const WorkflowEntry* const entry = TRY(find_workflow(context, command.ns, command.workflow));
  const auto workflow =
      TRY(context.batch.catalog.definition(context.batch.tx, {entry->number, entry->latest}));
  if (workflow->start.kind != Start::Kind::kScheduled) {
    return fail("schedule.not_found",
                fmt::format("workflow \"{}\" has no schedule", command.workflow));
  }
  StartSpec spec{.data = Json::object(),
                 .how = Json{{"by", "schedule"}, {"revision", entry->latest}, {"triggered", true}}};
  if (workflow->puts_off_starts()) return defer_start(context, *entry, *workflow, std::move(spec));
  TRY(admit_start(context, *entry, *workflow, spec));
  const InstanceId id =
      TRY(context.instances.start(context.now, *entry, *workflow, std::move(spec)));
  return Json{{"id", to_string(id)}};
}

}  // namespace millrace
