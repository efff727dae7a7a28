#include "orchestrator/batch/commands/instance_commands.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "orchestrator/batch/commands/sweep.h"
#include "orchestrator/batch/ended_instances.h"
#include "orchestrator/batch/ended_selection.h"
#include "orchestrator/store/rows/damage.h"
#include "orchestrator/store/rows/head_rows.h"
#include "orchestrator/store/rows/history_rows.h"
#include "orchestrator/store/rows/idempotency_rows.h"
#include "orchestrator/store/rows/instance_rows.h"
#include "orchestrator/store/rows/variable_rows.h"
#include "states/state.h"

namespace millrace {
namespace {

/// Whether an instance that ended with that status may be retried.
bool may_be_retried(InstanceStatus status) {
  return status == InstanceStatus::kFailed || status == InstanceStatus::kTimedOut;
}

/// Steps a live instance. The answer is {"id", `done`}, where `done` is whether the stimulus
/// changed the instance.
Result<Json> step_one(const CommandContext& context, std::string_view ns, const InstanceId& id,
                      const Stimulus& stimulus, const char* done) {
  LoadedInstance* const loaded =
      TRY(context.instances.load_undamaged(context.now, TRY(find_namespace(context, ns)), id));
  if (loaded == nullptr || has_ended(loaded->instance.status)) {
    const InstanceStatus status =
        loaded != nullptr ? loaded->instance.status : TRY(find_instance(context, ns, id)).status;
    return fail(
        "instance.ended",
        fmt::format("instance {} has ended already, its status is {}: it cannot be {}; {}`restart` "
                    "runs it again from its first state, `delete` removes it",
                    to_string(id), to_string(status), done,
                    may_be_retried(status) ? "`retry` tries the failed state again, " : ""));
  }
  const bool changed = TRY(context.instances.step(context.now, *loaded, stimulus));
  return Json{{"id", to_string(id)}, {done, changed}};
}

/// An ended instance, with the values that a new run needs.
struct EndedInstance {
  Instance instance;
  WorkflowEntry entry;
  std::shared_ptr<const Workflow> workflow;
};

/// Finds an ended instance. Errors `instance.living`, `instance.not_found`, `workflow.not_found`
/// (the workflow was deleted).
Result<EndedInstance> find_ended(const CommandContext& context, std::string_view ns,
                                 const InstanceId& id) {
  BatchState& batch = context.batch;
  const LoadedInstance* const loaded =
      TRY(context.instances.load_undamaged(context.now, TRY(find_namespace(context, ns)), id));
  if (loaded != nullptr) {
    return fail("instance.living",
                fmt::format("instance {} has not ended, its status is {}; cancel it first, or wait "
                            "for its end",
                            to_string(id), to_string(loaded->instance.status)));
  }
  EndedInstance ended{.instance = TRY(find_instance(context, ns, id))};
  const WorkflowEntry* const entry = batch.catalog.find_workflow(ended.instance.revision.workflow);
  if (entry == nullptr) {
    return fail("workflow.not_found",
                fmt::format("the workflow of instance {} was deleted", to_string(id)));
  }
  ended.entry = *entry;
  ended.workflow = TRY(batch.catalog.definition(batch.tx, ended.instance.revision));
  if (ended.instance.state >= ended.workflow->states.size()) {
    return tl::unexpected(damaged_instance(ended.instance.ns, id,
                                           "it is in a state that its workflow does not have"));
  }
  return ended;
}

/// Starts a new run of an ended instance by the stimulus. The answer is {"id","run"}.
Result<Json> revive(const CommandContext& context, EndedInstance ended, const Stimulus& stimulus) {
  const InstanceId id = ended.instance.id;
  LoadedInstance* const loaded =
      TRY(context.instances.revive(context.now, ended.entry, std::move(ended.instance)));
  TRY(context.instances.step(context.now, *loaded, stimulus));
  return Json{{"id", to_string(id)}, {"run", loaded->instance.run}};
}

tl::unexpected<Error> no_data(const InstanceId& id, std::string_view state, std::string_view why) {
  return fail("instance.no_data",
              fmt::format("the history of instance {} does not have the data with which it last "
                          "entered \"{}\": {}",
                          to_string(id), state, why));
}

/// The result of a search in a history so far.
struct FoundData {
  bool is_over = false;  ///< false: the next batch continues the search
  /// The data with which the instance last entered the state; nullopt: the history does not have
  /// it.
  std::optional<LazyJson> data = std::nullopt;
};

/// Searches the history for the data with which the instance last entered the state, in as many
/// rows as one batch should read. Error `instance.no_data`: the history may have had the data and
/// was trimmed.
Result<FoundData> data_at(const CommandContext& context, const Instance& instance,
                          std::string_view state, HistorySearch& search) {
  if (instance.failed_data && instance.failed_state == state) {
    return FoundData{.is_over = true, .data = instance.failed_data};
  }
  if (search.newest != instance.last_history) {
    search = {.newest = instance.last_history, .next = instance.last_history};
  }
  PurgeBudget budget{.unit = context.unit};
  while (search.next != 0) {
    const auto link = TRY(read_history_link(context.batch.tx, search.next));
    if (!link) break;  // a purge may have erased the older rows
    budget.count(link->bytes);
    std::vector<HistoryRecord> records =
        TRY(read_history_row(context.batch.tx, instance, search.next));
    for (auto record = records.rbegin(); record != records.rend(); ++record) {
      if (record->kind != HistoryKind::kEntered || record->state != state) continue;
      // The record has no data if the state neither waited nor acted.
      return FoundData{.is_over = true, .data = std::move(record->data)};
    }
    search.next = link->previous;
    // Each batch reads at least one row: to read the instance may take a whole unit of work.
    if (search.next != 0 && budget.is_spent()) return FoundData{};
  }
  if (instance.history_trimmed == 0) return FoundData{.is_over = true};
  return no_data(instance.id, state,
                 fmt::format("its first {} records were erased, because the settings limit the "
                             "history (retention.history); `restart` runs the instance again from "
                             "its first state",
                             instance.history_trimmed));
}

/// Returns the ended instance that a DeleteInstance removes; nullopt: its rows are damaged or its
/// head is missing, and the command asks to remove such an instance, too.
Result<std::optional<Instance>> removable(const CommandContext& context, NamespaceNumber ns,
                                          const DeleteInstance& command) {
  const auto is_removed = [&](const Error& error) {
    return command.damaged && (is_damaged_row(error) || error.code == "instance.not_found");
  };
  const Result<LoadedInstance*> live =
      context.instances.load_undamaged(context.now, ns, command.instance);
  if (!live) {
    if (is_removed(live.error())) return std::nullopt;
    return tl::unexpected(live.error());
  }
  if (*live != nullptr) {
    return fail("instance.living",
                fmt::format("instance {} has not ended, its status is {}; cancel it first",
                            to_string(command.instance), to_string((*live)->instance.status)));
  }
  Result<Instance> ended = find_instance(context, command.ns, command.instance);
  if (ended) {
    if (const Status owned = context.batch.catalog.check_owner(*ended); !owned) {
      ended = tl::unexpected(owned.error());
    }
  }
  if (ended) return *std::move(ended);
  if (is_removed(ended.error())) return std::nullopt;
  return tl::unexpected(ended.error());
}

/// Why a start of the workflow, which has `batch`, takes no idempotency key.
std::string no_key_in(const Workflow& workflow) {
  return fmt::format(
      "workflow \"{}\" has `batch`: an instance has the inputs of many calls, and keeps none of "
      "their idempotency keys, so a repeated call would add its input again; call without the "
      "`Idempotency-Key`, or start the workflow by an event, whose source and id are remembered",
      workflow.id);
}

}  // namespace

Result<Json> run_command(const CommandContext& context, const StartInstance& command) {
  BatchState& batch = context.batch;
  const WorkflowEntry* const entry = TRY(find_workflow(context, command.ns, command.workflow));
  const std::string& key = command.idempotency_key;
  Fingerprint input{};
  if (!key.empty()) {
    input = fingerprint({command.input.text()});
    if (const auto known = TRY(read_idempotency(batch.tx, entry->number, key))) {
      if (known->input != input) {
        return fail(
            "start.conflict",
            fmt::format("instance {} was started under this idempotency key with another input",
                        to_string(known->instance)));
      }
      return Json{{"id", to_string(known->instance)}, {"created", false}};
    }
  }
  const auto workflow = TRY(batch.catalog.definition(batch.tx, {entry->number, entry->latest}));
  StartSpec spec{.data = command.input,
                 .how = Json{{"by", "call"}, {"revision", entry->latest}},
                 .idempotency_key = key,
                 .origin = {.own_policy = command.own_policy}};
  if (workflow->batch && !key.empty()) return fail("start.key_with_batch", no_key_in(*workflow));
  if (workflow->puts_off_starts()) return defer_start(context, *entry, *workflow, std::move(spec));
  TRY(admit_start(context, *entry, *workflow, spec));
  const InstanceId id =
      TRY(context.instances.start(context.now, *entry, *workflow, std::move(spec)));
  if (!key.empty()) {
    write_idempotency(batch.tx, entry->number, key, {.instance = id, .input = input});
  }
  return Json{{"id", to_string(id)}, {"created", true}};
}

Result<Json> run_command(const CommandContext& context, const CancelInstance& command) {
  const NamespaceNumber ns = TRY(find_namespace(context, command.ns));
  if (command.pending && command.pending->ns == ns &&
      TRY(context.instances.pending().cancel(context.now, *command.pending, command.instance))) {
    return Json{{"id", to_string(command.instance)}, {"cancelled", true}, {"pendingStart", true}};
  }
  return step_one(
      context, command.ns, command.instance,
      Cancel{.error = {"direktiv.cancels.api", "cancelled by a call"}, .at_once = command.now},
      "cancelled");
}

Result<Json> run_command(const CommandContext& context, const PauseInstance& command) {
  return step_one(context, command.ns, command.instance, Pause{}, "paused");
}

Result<Json> run_command(const CommandContext& context, const ResumeInstance& command) {
  return step_one(context, command.ns, command.instance, Resume{}, "resumed");
}

Result<CommandProgress> run_command(const CommandContext& context, const RetryInstance& command) {
  EndedInstance ended = TRY(find_ended(context, command.ns, command.instance));
  const InstanceStatus status = ended.instance.status;
  if (!may_be_retried(status)) {
    return fail("instance.not_failed",
                fmt::format("instance {} is {}: only an instance that has failed or timed out can "
                            "be retried; `restart` runs it again from its first state",
                            to_string(command.instance), to_string(status)));
  }
  const auto deadline = execution_deadline(*ended.workflow, ended.instance);
  if (deadline && *deadline <= context.now && !command.extend) {
    return fail(
        "instance.deadline_passed",
        fmt::format("the execution's deadline was {}; `retry` with ?extend=1 (--extend) restarts "
                    "the timeout, `restart` runs the instance again from its first state",
                    format_rfc3339(*deadline)));
  }
  const StateIndex state = failed_state_of(*ended.workflow, ended.instance);
  RetryInstance rest = command;
  FoundData found = TRY(
      data_at(context, ended.instance, ended.workflow->states[state]->common().id, rest.search));
  if (!found.is_over) return rest;
  const bool paused = ended.entry.paused;
  return TRY(
      revive(context, std::move(ended),
             Retry{.data = std::move(found.data), .extend = command.extend, .paused = paused}));
}

Result<Json> run_command(const CommandContext& context, const RestartInstance& command) {
  EndedInstance ended = TRY(find_ended(context, command.ns, command.instance));
  const bool paused = ended.entry.paused;
  return revive(context, std::move(ended), Restart{.paused = paused});
}

Result<CommandProgress> run_command(const CommandContext& context, const RerunInstance& command) {
  EndedInstance ended = TRY(find_ended(context, command.ns, command.instance));
  const auto& states = ended.workflow->states;
  const auto found = std::find_if(states.begin(), states.end(), [&](const auto& state) {
    return state->common().id == command.state;
  });
  if (found == states.end()) {
    return fail("instance.no_state", fmt::format("workflow \"{}\" has no state \"{}\"",
                                                 ended.workflow->id, command.state));
  }
  RerunInstance rest = command;
  FoundData data = TRY(data_at(context, ended.instance, command.state, rest.search));
  if (!data.is_over) return rest;
  if (!data.data) {
    return no_data(command.instance, command.state,
                   "it has the data only of states that waited or acted");
  }
  const auto index = static_cast<StateIndex>(found - states.begin());
  const bool paused = ended.entry.paused;
  return TRY(revive(context, std::move(ended),
                    Rerun{.state = index, .data = *std::move(data.data), .paused = paused}));
}

Result<Json> run_command(const CommandContext& context, const CompensateInstance& command) {
  EndedInstance ended = TRY(find_ended(context, command.ns, command.instance));
  const std::string id = to_string(command.instance);
  if (ended.instance.compensations == 0) {
    return fail("instance.no_compensation",
                fmt::format("instance {} is {} and has no compensation left: it noted none, or all "
                            "were made or passed over by `past` (--past); its history shows which",
                            id, to_string(ended.instance.status)));
  }
  if (command.past && !ended.instance.compensation_error) {
    return fail(
        "instance.no_compensation",
        fmt::format("no compensation of instance {} has failed, so none can be passed over; "
                    "leave out `past` (--past)",
                    id));
  }
  const Compensate stimulus{.passes_over = command.past, .paused = ended.entry.paused};
  LoadedInstance* const loaded =
      TRY(context.instances.revive(context.now, ended.entry, std::move(ended.instance)));
  TRY(context.instances.step(context.now, *loaded, stimulus));
  return Json{{"id", id}, {"left", loaded->instance.compensations}};
}

Result<CommandProgress> run_command(const CommandContext& context, const DeleteInstance& command) {
  const NamespaceNumber ns = TRY(find_namespace(context, command.ns));
  const InstanceId& id = command.instance;
  const std::optional<Instance> ended = TRY(removable(context, ns, command));
  if (ended) {
    PurgeBudget budget{.unit = context.unit};
    const auto left = [&](uint64_t row) { context.purges.begin_history(ns, row); };
    if (!TRY(delete_ended(context.batch, *ended, DeletionReason::kRequest, budget, left))) {
      return command;
    }
  } else {
    const VariableOwner owner{.scope = VariableScope::kInstance, .ns = ns, .instance = id};
    if (TRY(erase_variables(context.batch.tx, owner, kErasedAtOnce)) == kErasedAtOnce) {
      return command;
    }
    const auto removed = TRY(context.instances.remove_damaged(ns, id));
    // If no row was erased, the instance does not exist, and find_instance() returns the error for
    // that.
    if (removed.rows == 0) TRY(find_instance(context, command.ns, id));
    TRY(erase_history(context, ns, removed.last_history, id));
  }
  return Json{{"id", to_string(id)}, {"deleted", true}};
}

Result<Json> run_command(const CommandContext& context, const DeleteInstances& command) {
  EndedFilter filter{.ns = TRY(find_namespace(context, command.ns)),
                     .statuses = command.statuses,
                     .before = command.before};
  if (!command.workflow.empty()) {
    filter.workflow = TRY(find_workflow(context, command.ns, command.workflow))->number;
  }
  std::sort(filter.statuses.begin(), filter.statuses.end());
  filter.statuses.erase(std::unique(filter.statuses.begin(), filter.statuses.end()),
                        filter.statuses.end());
  if (!TRY(may_select(context.batch, filter))) return Json{{"deleting", false}};
  TRY(context.purges.begin_instances(std::move(filter), command.ns, command.workflow));
  return Json{{"deleting", true}};
}

}  // namespace millrace
