// Queries: what the store says, in the shapes that Service lists. Each reads the View that it is
// given; those of a noun are in the file of that noun (instance_queries.cc …). Any thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "orchestrator/memory/definition_cache.h"
#include "orchestrator/outgoing/begun_tasks.h"
#include "orchestrator/service/service.h"
#include "orchestrator/store/rows/catalog_rows.h"

namespace millrace {

class Queries {
 public:
  /// Both outlive it. `begun` is what the loop hears of tasks and the store does not have.
  Queries(DefinitionCache& definitions, const BegunTasks& begun)
      : definitions_(definitions), begun_(begun) {}

  /// Error `namespace.not_found` if there is no namespace of that name.
  Status check_namespace(const View& view, std::string_view space);

  // Errors and shapes: service.h.
  Result<Json> namespaces(const View& view);
  /// [{"namespace","error"}] of namespaces whose stored settings can't be read.
  Result<Json> unreadable_settings(const View& view);
  Result<Json> workflows(const View& view, std::string_view space);
  Result<Json> workflow(const View& view, std::string_view space, std::string_view id);
  Result<Json> revisions(const View& view, std::string_view space, std::string_view id);
  Result<Json> instances(const View& view, std::string_view space, const InstanceFilter& filter);
  Result<Json> instance(const View& view, std::string_view space, const InstanceId& id);
  Result<Json> history(const View& view, std::string_view space, const InstanceId& id);
  Result<Json> schedules(const View& view, std::string_view space);
  Result<Json> schedule(const View& view, std::string_view space, std::string_view workflow);
  Result<Json> listeners(const View& view, std::string_view space, size_t limit,
                         std::string_view cursor);
  Result<Json> groups(const View& view, std::string_view space, size_t limit,
                      std::string_view cursor);
  Result<Json> variables(const View& view, const VariablePlace& place, size_t limit,
                         std::string_view cursor);
  Result<Variable> variable(const View& view, const VariablePlace& place, std::string_view key);
  Result<Json> secrets(const View& view, std::string_view space, size_t limit,
                       std::string_view cursor);

 private:
  using Workflows = std::map<std::string, WorkflowRecord>;

  Result<NamespaceNumber> find_namespace(const View& view, std::string_view space);
  /// All workflows of a namespace, by id.
  Result<Workflows> workflows_of(const View& view, std::string_view space);
  Result<WorkflowRecord> find_workflow(const View& view, std::string_view space,
                                       std::string_view id);
  Result<Instance> find_instance(const View& view, std::string_view space, const InstanceId& id);
  /// The schedule of the workflow, with that many of its next ticks; null if it has none.
  Result<Json> schedule(const View& view, std::string_view id, const WorkflowRecord& record,
                        size_t upcoming);
  Result<VariableOwner> owner_of(const View& view, const VariablePlace& place);
  /// What lists show of an instance.
  Result<Json> head(const View& view, const Instance& instance);

  DefinitionCache& definitions_;
  const BegunTasks& begun_;
};

}  // namespace millrace
