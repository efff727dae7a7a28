// The event types of a namespace: for which ones its workflows listen, and which ones its sources,
// inbound webhooks and workflows make, as far as settings and definitions say. Any thread.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "base/result.h"
#include "orchestrator/definition/made_types.h"
#include "orchestrator/memory/definition_cache.h"
#include "orchestrator/store/transaction.h"
#include "states/workflow.h"

namespace millrace {

struct NamespaceTypes {
  /// Of starts and states, of the newest revisions.
  std::set<std::string, std::less<>> awaited;
  MadeTypes made;
};

/// How many workflows of a namespace are looked at, and how many bytes of their definitions.
inline constexpr size_t kMostTypedWorkflows = 1'000;
inline constexpr size_t kMostTypedBytes = size_t{8} << 20;

/// Visits the newest revision of each workflow of the namespace, except damaged ones. Returns false
/// if the namespace has more workflows than are looked at; then some of them were visited. Errors:
/// those of the store.
Result<bool> each_newest_workflow(const View& view, NamespaceNumber ns,
                                  DefinitionCache& definitions,
                                  const std::function<void(const Workflow&)>& see);

/// nullopt: the namespace does not exist, its settings cannot be read, or it has more workflows
/// than are looked at; with `needs_mapping` also if neither a source nor an inbound webhook of it
/// has a mapping. Errors: those of the store.
Result<std::optional<NamespaceTypes>> namespace_types(const View& view, std::string_view ns,
                                                      DefinitionCache& definitions,
                                                      bool needs_mapping);

}  // namespace millrace
