#include "orchestrator/service/queries.h"

#include <utility>

#include <fmt/format.h>

#include "orchestrator/batch/commands/not_found.h"
#include "orchestrator/service/missing_instance.h"
#include "orchestrator/store/rows/instance_rows.h"

namespace millrace {

Result<NamespaceRecord> Queries::find_namespace_record(const View& view, std::string_view ns) {
  // A text that is not an identifier names no namespace, and may be too long for a key.
  if (is_identifier(ns)) {
    if (auto record = TRY(read_namespace(view, ns))) return *std::move(record);
  }
  return fail("namespace.not_found", fmt::format("there is no namespace \"{}\"", ns));
}

Result<NamespaceNumber> Queries::find_namespace(const View& view, std::string_view ns) {
  const NamespaceRecord record = TRY(find_namespace_record(view, ns));
  return record.number;
}

Status Queries::check_namespace(const View& view, std::string_view ns) {
  TRY(find_namespace(view, ns));
  return {};
}

Result<Queries::Workflows> Queries::workflows_of(const View& view, std::string_view ns) {
  Workflows found;
  TRY(each_workflow(
      view, TRY(find_namespace(view, ns)),
      [&](std::string_view id, const WorkflowRecord& record) { found.emplace(id, record); }));
  return found;
}

Result<Queries::SomeWorkflows> Queries::some_workflows(const View& view, std::string_view ns,
                                                       const PageRequest& request) {
  const NamespaceNumber number = TRY(find_namespace(view, ns));
  SomeWorkflows found;
  TRY(each_workflow_behind(view, number, request.cursor,
                           [&](std::string_view id, const WorkflowRecord& record) {
                             found.emplace_back(id, record);
                             return found.size() <= request.limit;
                           }));
  return found;
}

Result<WorkflowRecord> Queries::find_workflow(const View& view, std::string_view ns,
                                              std::string_view id) {
  const NamespaceNumber number = TRY(find_namespace(view, ns));
  if (is_identifier(id)) {
    if (const auto record = TRY(read_workflow(view, number, id))) return *record;
  }
  return tl::unexpected(no_workflow(ns, id));
}

Result<Instance> Queries::find_instance(const View& view, std::string_view ns,
                                        const InstanceId& id) {
  const NamespaceNumber number = TRY(find_namespace(view, ns));
  auto found = TRY(read_instance(view, number, id));
  if (!found) return tl::unexpected(missing_instance(view, definitions_, ns, number, id));
  return *std::move(found);
}

}  // namespace millrace
