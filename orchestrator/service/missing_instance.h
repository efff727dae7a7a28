// The error of a read that names an instance which does not exist: it says if `debounce` or `batch`
// has put off the start of that instance.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/ids.h"
#include "base/result.h"
#include "model/instance.h"
#include "orchestrator/memory/definition_cache.h"
#include "orchestrator/store/rows/pending_start_rows.h"
#include "orchestrator/store/transaction.h"

namespace millrace {

/// A pending start that has not started.
struct PutOffStart {
  PendingStartPlace place;
  PendingStart start;
};
struct PutOffSearch {
  std::optional<PutOffStart> found;
  bool is_complete = true;  ///< false: the namespace has more pending starts than were looked at
};
/// Searches for the pending start from which an instance with that id will start. Errors: those of
/// the store. Any thread except the engine thread.
Result<PutOffSearch> find_put_off(const View& view, NamespaceNumber ns, const InstanceId& id,
                                  const PendingSearchBounds& bounds = {});

/// A workflow of a namespace by its number.
struct NumberedWorkflow {
  std::string id;       ///< empty: it was deleted
  uint32_t latest = 0;  ///< the newest revision
};
Result<NumberedWorkflow> workflow_with(const View& view, NamespaceNumber ns, WorkflowNumber number);

/// `instance.not_found`. If a pending start has the id, the text says what has put it off until
/// when, and how to see it; if the namespace has more pending starts than one search looks at, it
/// says so. An error of the store in its place: the pending starts cannot be read. Precondition: no
/// instance has the id. Any thread except the engine thread.
Error missing_instance(const View& view, DefinitionCache& definitions, std::string_view ns,
                       NamespaceNumber number, const InstanceId& id,
                       const PendingSearchBounds& bounds = {});

/// The pending start from which an instance with that id will start; nullopt: the instance exists,
/// or no pending start that a bounded search looks at has the id. Errors: `namespace.not_found`,
/// and those of the store. Any thread except the engine thread.
Result<std::optional<PendingStartPlace>> pending_start_of(const View& view, std::string_view ns,
                                                          const InstanceId& id);

}  // namespace millrace
