// Recovery: builds the engine's memory from the store: all of it at startup, and a single workflow
// or instance after a lost batch that changed it. Engine thread only.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "orchestrator/batch/input.h"
#include "orchestrator/loop/engine_state.h"

namespace millrace {

/// Checks the store, and migrates a store of an older format. Fails if the store has another
/// format, or counters or an engine time that no process writes.
Status check_store(EngineState& engine);

/// How far a starting process is. The engine thread writes it; any thread may read it.
struct StartProgress {
  std::atomic<bool> builds_index = false;
  std::atomic<uint64_t> indexed = 0;  ///< instances that the index has so far
  std::atomic<uint64_t> read = 0;     ///< live instances that were read so far
};
/// The progress in words: "computing the index: 7 instances so far".
std::string describe(const StartProgress& progress);

/// Makes all steps of a build of the index that an older format or damage requires, each with a
/// commit of its own (index_build.h). Errors: those of the store.
Status build_missing_index(EngineState& engine, StartProgress& progress);

/// Reads the store, and creates the default namespace in a new store. Returns the instances that
/// stopped in a transient phase or with an evaluation under way: the caller must continue them.
/// Errors: those of the store.
Result<std::vector<ContinueInput>> load(EngineState& engine, StartProgress& progress);

/// Updates the memory of a workflow or an instance from its rows.
Status restore_workflow(EngineState& engine, WorkflowNumber number);
Status restore_instance(EngineState& engine, NamespaceNumber ns, const InstanceId& id);

}  // namespace millrace
