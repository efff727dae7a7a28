// What a command does to many living instances: as many as one batch should step, then the rest in
// the batches that follow. A Sweep (orchestrator/batch/command.h) says how far it has got; it
// travels with the rest of the command. Engine thread only.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>

#include "base/result.h"
#include "orchestrator/batch/commands/command_context.h"

namespace millrace {

/// How many variables one batch erases of those that go with their owner.
inline constexpr size_t kErasedAtOnce = 1'000;

/// The number of living instances of a workflow, or of the whole namespace without one.
size_t count_living(const CommandContext& context, NamespaceNumber ns,
                    std::optional<WorkflowNumber> workflow);

/// `refusal` with the number of living instances and the option that cancels them; ok if that
/// number is 0.
Status refuse_living(size_t living, const Error& refusal);

/// Cancels as many of the living instances of a workflow, or of the whole namespace, as one batch
/// should. Returns whether none lives any more. Errors: those of the store.
Result<bool> cancel_living(const CommandContext& context, NamespaceNumber ns,
                           std::optional<WorkflowNumber> workflow, Sweep& sweep);

/// Steps as many of the living instances for which `is_one` holds as one batch should, behind those
/// that earlier batches came to. Returns whether these were all. Errors: those of the store; an
/// instance with damaged rows is passed over, or removed if the stimulus is Cancel.
Result<bool> step_living(const CommandContext& context, NamespaceNumber ns,
                         const Stimulus& stimulus,
                         const std::function<bool(const Instance& head)>& is_one, Sweep& sweep);

/// Restarts the timeouts and retry waits that a pause of services held (engine.h, ServicesResumed),
/// for as many instances of the namespace as one batch should step. `services`: those that go on;
/// null: all. Returns whether these were all. Errors: those of the store.
Result<bool> resume_services(const CommandContext& context, NamespaceNumber ns,
                             const ServiceNames* services, Sweep& sweep);

}  // namespace millrace
