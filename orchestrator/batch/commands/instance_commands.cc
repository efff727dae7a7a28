#include "orchestrator/batch/commands/instance_commands.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "orchestrator/batch/commands/sweep.h"
#include "orchestrator/store/rows/damage.h"
#include "orchestrator/store/rows/head_rows.h"
#include "orchestrator/store/rows/history_rows.h"
#include "orchestrator/store/rows/idempotency_rows.h"
#include "orchestrator/store/rows/instance_rows.h"
#include "orchestrator/store/rows/variable_rows.h"
#include "states/state.h"

namespace millrace {
namespace {

/// Steps a living one; the answer is {"id", `done`: whether that changed anything}.
Result<Json> step_one(const CommandContext& context, std::string_view space, const InstanceId& id,
                      const Stimulus& stimulus, const char* done) {
  Touched* const touched =
      TRY(context.instances.touch_sound(context.now, TRY(find_namespace(context, space)), id));
  if (touched == nullptr || has_ended(touched->instance.status)) {
    const InstanceStatus status = touched != nullptr
                                      ? touched->instance.status
                                      : TRY(find_instance(context, space, id)).status;
    return fail("instance.ended",
                fmt::format("instance {} has ended already, its status is {}: it cannot be {}; "
                            "`restart` runs it again, `delete` removes it",
                            to_string(id), to_string(status), done));
  }
  const bool changed = TRY(context.instances.step(context.now, *touched, stimulus));
  return Json{{"id", to_string(id)}, {done, changed}};
}

/// An instance that has ended, with what reviving it takes.
struct EndedInstance {
  Instance instance;
  WorkflowEntry entry;
  std::shared_ptr<const Workflow> workflow;
};

/// Errors `instance.living`, `instance.not_found`, `workflow.not_found` (it was deleted).
Result<EndedInstance> find_ended(const CommandContext& context, std::string_view space,
                                 const InstanceId& id) {
  Draft& draft = context.draft;
  const Touched* const touched =
      TRY(context.instances.touch_sound(context.now, TRY(find_namespace(context, space)), id));
  if (touched != nullptr) {
    return fail("instance.living",
                fmt::format("instance {} has not ended, its status is {}; cancel it first, or wait "
                            "for its end",
                            to_string(id), to_string(touched->instance.status)));
  }
  EndedInstance ended{.instance = TRY(find_instance(context, space, id))};
  const WorkflowEntry* const entry = draft.catalog.find_workflow(ended.instance.revision.workflow);
  if (entry == nullptr) {
    return fail("workflow.not_found",
                fmt::format("the workflow of instance {} was deleted", to_string(id)));
  }
  ended.entry = *entry;
  ended.workflow = TRY(draft.catalog.definition(draft.tx, ended.instance.revision));
  if (ended.instance.state >= ended.workflow->states.size()) {
    return tl::unexpected(
        damaged_instance(ended.instance.space, id, "it is in a state that its workflow lacks"));
  }
  return ended;
}

/// Revives the instance by that stimulus; the answer is {"id","run"}.
Result<Json> revive(const CommandContext& context, EndedInstance ended, const Stimulus& stimulus) {
  const InstanceId id = ended.instance.id;
  Touched* const touched =
      TRY(context.instances.revive(ended.entry, *ended.workflow, std::move(ended.instance)));
  TRY(context.instances.step(context.now, *touched, stimulus));
  return Json{{"id", to_string(id)}, {"run", touched->instance.run}};
}

/// The data with which the instance came into that state last; nullopt: its history has none.
Result<std::optional<LazyJson>> data_at(const CommandContext& context, const Instance& instance,
                                        std::string_view state) {
  if (instance.failed_data && instance.failed_state == state) return instance.failed_data;
  std::optional<LazyJson> data;
  for (HistoryRecord& record : TRY(read_history(context.draft.tx, instance))) {
    const bool is_entry = record.kind == HistoryKind::kEntered && record.state == state;
    if (is_entry) data = std::move(record.data);  // none: the last entry neither waited nor acted
  }
  return data;
}

/// The instance that a DeleteInstance removes, as it ended; nullopt: its rows are damaged, or its
/// head is missing, and the command is for such ones too.
Result<std::optional<Instance>> removable(const CommandContext& context, NamespaceNumber space,
                                          const DeleteInstance& command) {
  const auto is_removed = [&](const Error& error) {
    return command.damaged && (is_damaged_row(error) || error.code == "instance.not_found");
  };
  const Result<Touched*> living =
      context.instances.touch_sound(context.now, space, command.instance);
  if (!living) {
    if (is_removed(living.error())) return std::nullopt;
    return tl::unexpected(living.error());
  }
  if (*living != nullptr) {
    return fail("instance.living",
                fmt::format("instance {} has not ended, its status is {}; cancel it first",
                            to_string(command.instance), to_string((*living)->instance.status)));
  }
  Result<Instance> ended = find_instance(context, command.space, command.instance);
  if (ended) {
    if (const Status owned = context.draft.catalog.check_owner(*ended); !owned) {
      ended = tl::unexpected(owned.error());
    }
  }
  if (ended) return *std::move(ended);
  if (is_removed(ended.error())) return std::nullopt;
  return tl::unexpected(ended.error());
}

}  // namespace

Result<Json> run_command(const CommandContext& context, const StartInstance& command) {
  Draft& draft = context.draft;
  const WorkflowEntry* const entry = TRY(find_workflow(context, command.space, command.workflow));
  const std::string& key = command.idempotency_key;
  const Fingerprint input = fingerprint({dump_json(command.input)});
  if (!key.empty()) {
    if (const auto known = TRY(read_idempotency(draft.tx, entry->number, key))) {
      if (known->input != input) {
        return fail("start.conflict",
                    fmt::format("instance {} was started under this key with another input",
                                to_string(known->instance)));
      }
      return Json{{"id", to_string(known->instance)}, {"created", false}};
    }
  }
  const auto workflow = TRY(draft.catalog.definition(draft.tx, {entry->number, entry->latest}));
  TRY(context.instances.refuse_singular(*entry, *workflow));
  const InstanceId id =
      TRY(context.instances.start(context.now, *entry, *workflow,
                                  {.data = command.input,
                                   .how = Json{{"by", "call"}, {"revision", entry->latest}},
                                   .idempotency_key = key,
                                   .origin = {.own_policy = command.own_policy}}));
  if (!key.empty()) {
    write_idempotency(draft.tx, entry->number, key, {.instance = id, .input = input});
  }
  return Json{{"id", to_string(id)}, {"created", true}};
}

Result<Json> run_command(const CommandContext& context, const CancelInstance& command) {
  return step_one(
      context, command.space, command.instance,
      Cancel{.error = {"direktiv.cancels.api", "cancelled by a call"}, .at_once = command.now},
      "cancelled");
}

Result<Json> run_command(const CommandContext& context, const PauseInstance& command) {
  return step_one(context, command.space, command.instance, Pause{}, "paused");
}

Result<Json> run_command(const CommandContext& context, const ResumeInstance& command) {
  return step_one(context, command.space, command.instance, Resume{}, "resumed");
}

Result<Json> run_command(const CommandContext& context, const RetryInstance& command) {
  EndedInstance ended = TRY(find_ended(context, command.space, command.instance));
  const InstanceStatus status = ended.instance.status;
  if (status != InstanceStatus::kFailed && status != InstanceStatus::kTimedOut) {
    return fail("instance.not_failed",
                fmt::format("instance {} is {}: only one that has failed or timed out can be "
                            "retried; `restart` runs it anew",
                            to_string(command.instance), to_string(status)));
  }
  const auto deadline = execution_deadline(*ended.workflow, ended.instance);
  if (deadline && *deadline <= context.now && !command.extend) {
    return fail("instance.deadline_passed",
                fmt::format("the execution's deadline was {}; `retry` with ?extend=1 (--extend) "
                            "has it count anew, `restart` runs all of it anew",
                            format_rfc3339(*deadline)));
  }
  const StateIndex state = failed_state_of(*ended.workflow, ended.instance);
  auto data = TRY(data_at(context, ended.instance, ended.workflow->states[state]->common().id));
  const bool paused = ended.entry.paused;
  return revive(context, std::move(ended),
                Retry{.data = std::move(data), .extend = command.extend, .paused = paused});
}

Result<Json> run_command(const CommandContext& context, const RestartInstance& command) {
  EndedInstance ended = TRY(find_ended(context, command.space, command.instance));
  const bool paused = ended.entry.paused;
  return revive(context, std::move(ended), Restart{.paused = paused});
}

Result<Json> run_command(const CommandContext& context, const RerunInstance& command) {
  EndedInstance ended = TRY(find_ended(context, command.space, command.instance));
  const auto& states = ended.workflow->states;
  const auto found = std::find_if(states.begin(), states.end(), [&](const auto& state) {
    return state->common().id == command.state;
  });
  if (found == states.end()) {
    return fail("instance.no_state", fmt::format("workflow \"{}\" has no state \"{}\"",
                                                 ended.workflow->id, command.state));
  }
  auto data = TRY(data_at(context, ended.instance, command.state));
  if (!data) {
    return fail("instance.no_data",
                fmt::format("the history of instance {} does not have the data with which it came "
                            "into \"{}\" last: it has that of states that waited or acted",
                            to_string(command.instance), command.state));
  }
  const auto index = static_cast<StateIndex>(found - states.begin());
  const bool paused = ended.entry.paused;
  return revive(context, std::move(ended),
                Rerun{.state = index, .data = std::move(*data), .paused = paused});
}

Result<CommandProgress> run_command(const CommandContext& context, const DeleteInstance& command) {
  const NamespaceNumber space = TRY(find_namespace(context, command.space));
  const InstanceId& id = command.instance;
  const std::optional<Instance> ended = TRY(removable(context, space, command));
  const VariableOwner owner{.scope = VariableScope::kInstance, .space = space, .instance = id};
  if (TRY(erase_variables(context.draft.tx, owner, kErasedAtOnce)) == kErasedAtOnce) return command;
  if (ended) {
    erase_instance(context.draft.tx, *ended);
    TRY(erase_history(context, ended->last_history, id));
  } else {
    const auto removed = TRY(context.instances.remove_damaged(space, id));
    // Nothing was there to remove, so the error is that there is no such instance.
    if (removed.rows == 0) TRY(find_instance(context, command.space, id));
    TRY(erase_history(context, removed.last_history, id));
  }
  return Json{{"id", to_string(id)}, {"deleted", true}};
}

}  // namespace millrace
