// Questions about listeners and known events, which the engine thread answers. Any thread except
// the engine thread.
#pragma once

#include <chrono>
#include <functional>

#include "base/bytes.h"
#include "base/result.h"
#include "orchestrator/loop/intake.h"
#include "orchestrator/loop/work.h"

namespace millrace {

/// Runs the question on the engine thread, and returns when it has run. After an error it has not
/// run and will not run.
using AskIndex =
    std::function<Status(const std::function<void(const EngineMemory& memory)>& question)>;

/// Asks through the intake and waits for `at_most`. Errors: `busy`, also if the engine thread did
/// not answer in that time; `stopping`.
Status ask_index(Intake& intake, std::chrono::milliseconds at_most,
                 const std::function<void(const EngineMemory& memory)>& question);

/// A function that asks so. The intake outlives it.
AskIndex index_asker(Intake& intake, std::chrono::milliseconds at_most);

/// Whether the engine remembers an event with that source and id, because it had an effect or still
/// may have one. On the engine thread.
bool remembers(const EngineMemory& memory, const Fingerprint& known_as);

/// Asks whether the engine remembers it; false also if the engine does not answer.
bool is_remembered(const AskIndex& ask, const Fingerprint& known_as);

}  // namespace millrace
