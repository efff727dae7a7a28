// Warnings about mappings whose events start and wake nothing. Any thread.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "base/json.h"
#include "base/result.h"
#include "orchestrator/batch/command.h"
#include "orchestrator/memory/definition_cache.h"
#include "orchestrator/service/mapping_programs.h"
#include "orchestrator/service/namespace_types.h"
#include "orchestrator/store/transaction.h"

namespace millrace {

/// `[{"path", "message"}]`: the mappings that make events of a type for which no workflow listens.
Json type_warnings(std::span<const PlacedMapping> mappings, const NamespaceTypes& types);

/// The callback of a command with the warnings about the inbound webhooks of a CreateNamespace in
/// its answer: `"warnings"`, behind those that it has. It is `done` itself for other commands, and
/// if the types of the namespace are not known.
std::function<void(Result<Json>)> with_type_warnings(const Command& command,
                                                     Environment& environment,
                                                     DefinitionCache& definitions,
                                                     std::function<void(Result<Json>)> done);

/// Adds warnings to the answer of a command, if there are any.
Result<Json> add_warnings(Result<Json> answer, const Json& warnings);

}  // namespace millrace
