// Recovery: the engine's memory, read from the store: all of it at a start, and one workflow or one
// instance again where a batch that touched it was lost. Engine thread only.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "orchestrator/batch/input.h"
#include "orchestrator/loop/engine_state.h"

namespace millrace {

/// Errors where the store is of another format, or has counters or a time that no process of ours
/// writes.
Status check_store(EngineState& engine);

/// Reads all of it, and makes the default namespace where the store is new. Returns the instances
/// that stopped between two states or with an evaluation under way: they are to go on. `read`
/// counts the living instances. Errors: those of the store.
Result<std::vector<ContinueInput>> load(EngineState& engine, std::atomic<uint64_t>& read);

/// Brings the memory of a workflow, or of an instance, in step with its rows.
Status restore_workflow(EngineState& engine, WorkflowNumber number);
Status restore_instance(EngineState& engine, NamespaceNumber space, const InstanceId& id);

}  // namespace millrace
