// CommandContext: what a command works on, and the look-ups that the commands of several nouns
// share. It says nothing about a command of its own. Engine thread only.
#pragma once

#include <cstdint>
#include <string_view>
#include <variant>

#include "base/json.h"
#include "base/result.h"
#include "base/time.h"
#include "orchestrator/batch/batch_state.h"
#include "orchestrator/batch/command.h"
#include "orchestrator/batch/instances.h"
#include "orchestrator/batch/purges.h"
#include "orchestrator/batch/schedules.h"

namespace millrace {

/// The parts of the batch in hand that commands read and change, and the time at which they do.
struct CommandContext {
  TimePoint now;
  Draft& draft;
  Instances& instances;
  Schedules& schedules;
  Purges& purges;
};

/// The answer to a command, or the rest of it for the next batch.
using CommandProgress = std::variant<Json, Command>;

/// The namespace of that name; error `namespace.not_found`.
Result<NamespaceNumber> find_namespace(const CommandContext& context, std::string_view name);

/// The workflow of that id, never null; errors `namespace.not_found`, `workflow.not_found`. The
/// pointer is good until the catalog changes.
Result<const WorkflowEntry*> find_workflow(const CommandContext& context, std::string_view ns,
                                           std::string_view id);

/// The instance as the store has it, which is without the changes of this batch; errors
/// `namespace.not_found`, `instance.not_found`.
Result<Instance> find_instance(const CommandContext& context, std::string_view ns,
                               const InstanceId& id);

/// Erases the history of an instance that is gone, backward from its row `last`. What is too much
/// for one batch is left to a purge.
Status erase_history(const CommandContext& context, uint64_t last, const InstanceId& id);

}  // namespace millrace
