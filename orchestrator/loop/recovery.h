// Recovery: builds the engine's memory from the store: all of it at startup, and a single workflow
// or instance after a lost batch that changed it. Engine thread only.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "orchestrator/batch/input.h"
#include "orchestrator/loop/engine_state.h"

namespace millrace {

/// Checks the store, and migrates a store of an older format. Fails if the store has another
/// format, or counters or an engine time that no process writes.
Status check_store(EngineState& engine);

/// Makes all steps of a build of the index that an older format or damage requires, each with a
/// commit of its own (index_build.h). `read` is the number of instances added so far. Errors: those
/// of the store.
Status build_missing_index(EngineState& engine, std::atomic<uint64_t>& read);

/// Reads the store, and creates the default namespace in a new store. Returns the instances that
/// stopped in a transient phase or with an evaluation under way: the caller must continue them.
/// `read` is the number of live instances read so far. Errors: those of the store.
Result<std::vector<ContinueInput>> load(EngineState& engine, std::atomic<uint64_t>& read);

/// Updates the memory of a workflow or an instance from its rows.
Status restore_workflow(EngineState& engine, WorkflowNumber number);
Status restore_instance(EngineState& engine, NamespaceNumber ns, const InstanceId& id);

}  // namespace millrace
