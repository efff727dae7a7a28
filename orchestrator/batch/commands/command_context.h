// CommandContext: the objects that a command reads and changes, and the look-ups that commands of
// several nouns share. The commands themselves are in the files of their nouns. Engine thread only.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>

#include "base/json.h"
#include "base/result.h"
#include "base/time.h"
#include "base/work_budget.h"
#include "orchestrator/batch/batch_state.h"
#include "orchestrator/batch/command.h"
#include "orchestrator/batch/instances.h"
#include "orchestrator/batch/purges.h"
#include "orchestrator/batch/schedules.h"
#include "orchestrator/batch/task_inputs.h"

namespace millrace {

/// The parts of the current batch that commands read and change, and the engine time.
struct CommandContext {
  TimePoint now;
  BatchState& batch;
  Instances& instances;
  Schedules& schedules;
  Purges& purges;
  TaskInputs& tasks;
  const WorkBudget* unit = nullptr;  ///< ends the part of a long command; null: only counts end it
};

/// The result of applying a command: its answer, or the command to apply in the next batch for the
/// remaining work.
using CommandProgress = std::variant<Json, Command>;

/// Finds the namespace with that name; error `namespace.not_found`.
Result<NamespaceNumber> find_namespace(const CommandContext& context, std::string_view name);

/// Finds the workflow with that id; never null; errors `namespace.not_found`, `workflow.not_found`.
/// The pointer is valid until the catalog changes.
Result<const WorkflowEntry*> find_workflow(const CommandContext& context, std::string_view ns,
                                           std::string_view id);

/// Reads an instance from the store, without the changes that this batch has made to it; errors
/// `namespace.not_found`, `instance.not_found`.
Result<Instance> find_instance(const CommandContext& context, std::string_view ns,
                               const InstanceId& id);

/// Asks Instances::admit() whether an instance of the workflow may start now, and gives `spec` its
/// place. Errors: StartGate::refusal.
Status admit_start(const CommandContext& context, const WorkflowEntry& entry,
                   const Workflow& workflow, StartSpec& spec);

/// Puts off a start by a command, see PendingStarts::defer(): {"id","created","startsAt"}.
Result<Json> defer_start(const CommandContext& context, const WorkflowEntry& entry,
                         const Workflow& workflow, StartSpec spec);

/// Erases the history of a removed instance of the namespace, backward from the history row `last`.
/// A purge erases the rows that one batch should not erase.
Status erase_history(const CommandContext& context, NamespaceNumber ns, uint64_t last,
                     const InstanceId& id);

}  // namespace millrace
