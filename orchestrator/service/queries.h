// Queries: what is told of the store, in the shapes of docs/http.md. Reads any View; any thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "orchestrator/memory/catalog.h"
#include "orchestrator/outgoing/begun_tasks.h"
#include "orchestrator/service/service.h"
#include "orchestrator/store/rows/tables.h"

namespace millrace {

class Queries {
 public:
  /// `begun` outlives it: what the loop hears of tasks and the store does not have.
  Queries(Catalog::Loader loader, const BegunTasks& begun)
      : loader_(std::move(loader)), begun_(begun) {}

  /// Whether the namespace is there; else `namespace.not_found`.
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
  Result<std::shared_ptr<const Workflow>> definition(const View& view, Revision revision);
  /// null if it is started in another way.
  Result<Json> schedule(const View& view, std::string_view id, const WorkflowRecord& record,
                        size_t upcoming);
  Result<VariableOwner> owner_of(const View& view, const VariablePlace& place);
  Result<Json> head(const View& view, const Instance& instance);

  Catalog::Loader loader_;
  const BegunTasks& begun_;
  std::mutex lock_;
  std::map<Revision, std::shared_ptr<const Workflow>> definitions_;  // under lock_
};

}  // namespace millrace
