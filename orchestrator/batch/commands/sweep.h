// Commands that change many live instances, some in each batch. A Sweep
// (orchestrator/batch/command.h) holds the progress; the Sweep is part of the command that the next
// batch applies for the remaining instances. Engine thread only.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>

#include "base/result.h"
#include "orchestrator/batch/commands/command_context.h"

namespace millrace {

/// How many variables of a removed owner one batch erases.
inline constexpr size_t kErasedAtOnce = 250;

/// The number of live instances of the workflow; of the whole namespace if `workflow` is nullopt.
size_t count_live(const CommandContext& context, NamespaceNumber ns,
                  std::optional<WorkflowNumber> workflow);

/// Returns ok if `live` is 0, else the error `refusal` with an addition to its message: the number
/// of live instances, and the option that cancels them.
Status refuse_live(size_t live, const Error& refusal);

/// Cancels as many live instances of the workflow, or of the whole namespace if `workflow` is
/// nullopt, as one batch should, to delete the workflow or namespace. Returns whether none of these
/// instances is live any more. Unless `drops_compensations`, an instance that has compensations to
/// make makes them, and stays live until then; an instance that makes its compensations already is
/// left out, and so are the subflows that these call. An instance with damaged rows is removed.
/// Errors: those of the store.
Result<bool> cancel_live(const CommandContext& context, NamespaceNumber ns,
                         std::optional<WorkflowNumber> workflow, bool drops_compensations,
                         Sweep& sweep);

/// To be called after cancel_live() has returned false. Returns ok if the sweep must continue.
/// After a whole pass in which instances made their compensations: the error `refusal` with their
/// number and what to do; then starts that wait for a slot may have one again.
Status refuse_compensating(const CommandContext& context, NamespaceNumber ns,
                           std::optional<WorkflowNumber> workflow, const Sweep& sweep,
                           const Error& refusal);

/// The answer of a command that has deleted a workflow or a namespace:
/// {"cancelled":n,"droppedCompensations"?:n}, the second one if `drops_compensations`.
Json deletion_answer(const Sweep& sweep, bool drops_compensations);

/// Applies the stimulus to live instances for which `is_one` holds: continues after the instances
/// that earlier batches processed, with as many as one batch should step. Returns whether all are
/// processed. Errors: those of the store. An instance with damaged rows is skipped.
Result<bool> step_live(const CommandContext& context, NamespaceNumber ns, const Stimulus& stimulus,
                       const std::function<bool(const Instance& head)>& is_one, Sweep& sweep);

/// Restarts the timeouts and retry waits that were held while services were paused (stimulus.h,
/// ServicesResumed), for as many instances of the namespace as one batch should step. `services`:
/// the services that are resumed; null: all. Returns whether all instances are processed. Errors:
/// those of the store.
Result<bool> resume_services(const CommandContext& context, NamespaceNumber ns,
                             const ServiceNames* services, Sweep& sweep);

}  // namespace millrace
