#include "orchestrator/service/queries.h"

#include <fmt/format.h>

#include "orchestrator/batch/commands/not_found.h"
#include "orchestrator/store/rows/instance_rows.h"

namespace millrace {

Result<NamespaceNumber> Queries::find_namespace(const View& view, std::string_view space) {
  // What is not an identifier names none, and may be too long for a key.
  if (is_identifier(space)) {
    if (const auto record = TRY(read_namespace(view, space))) return record->number;
  }
  return fail("namespace.not_found", fmt::format("there is no namespace \"{}\"", space));
}

Status Queries::check_namespace(const View& view, std::string_view space) {
  TRY(find_namespace(view, space));
  return {};
}

Result<Queries::Workflows> Queries::workflows_of(const View& view, std::string_view space) {
  Workflows found;
  TRY(each_workflow(
      view, TRY(find_namespace(view, space)),
      [&](std::string_view id, const WorkflowRecord& record) { found.emplace(id, record); }));
  return found;
}

Result<WorkflowRecord> Queries::find_workflow(const View& view, std::string_view space,
                                              std::string_view id) {
  const NamespaceNumber number = TRY(find_namespace(view, space));
  if (is_identifier(id)) {
    if (const auto record = TRY(read_workflow(view, number, id))) return *record;
  }
  return tl::unexpected(no_workflow(space, id));
}

Result<Instance> Queries::find_instance(const View& view, std::string_view space,
                                        const InstanceId& id) {
  auto found = TRY(read_instance(view, TRY(find_namespace(view, space)), id));
  if (!found) return tl::unexpected(no_instance(space, id));
  return *std::move(found);
}

}  // namespace millrace
