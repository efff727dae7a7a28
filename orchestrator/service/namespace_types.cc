#include "orchestrator/service/namespace_types.h"

#include <utility>
#include <vector>

#include "orchestrator/definition/namespace_settings.h"
#include "orchestrator/definition/source_settings.h"
#include "orchestrator/store/rows/catalog_rows.h"
#include "orchestrator/store/rows/damage.h"
#include "orchestrator/store/rows/source_rows.h"
#include "states/state.h"

namespace millrace {
namespace {

void add_types_of(const Workflow& workflow, NamespaceTypes& types) {
  for (const StartEvent& one : workflow.start.events) types.awaited.insert(one.filter.type);
  for (const auto& state : workflow.states) {
    for (std::string& type : state->awaited_types()) types.awaited.insert(std::move(type));
    if (const Template* const made = state->generated_type()) types.made.add(*made);
  }
}

}  // namespace

Result<bool> each_newest_workflow(const View& view, NamespaceNumber ns,
                                  DefinitionCache& definitions,
                                  const std::function<void(const Workflow&)>& see) {
  std::vector<Revision> newest;
  TRY(each_workflow_behind(view, ns, "", [&](std::string_view, const WorkflowRecord& record) {
    newest.push_back({record.number, record.latest});
    return newest.size() <= kMostTypedWorkflows;
  }));
  if (newest.size() > kMostTypedWorkflows) return false;
  size_t bytes = 0;
  for (const Revision& revision : newest) {
    bytes += TRY(definition_bytes(view, revision));
    if (bytes > kMostTypedBytes) return false;
    const auto workflow = definitions.find_or_load(view, revision);
    if (!workflow && is_damaged_row(workflow.error())) continue;
    if (!workflow) return tl::unexpected(workflow.error());
    see(**workflow);
  }
  return true;
}

Result<std::optional<NamespaceTypes>> namespace_types(const View& view, std::string_view ns,
                                                      DefinitionCache& definitions,
                                                      bool needs_mapping) {
  const auto record = TRY(read_namespace(view, ns));
  if (!record) return std::optional<NamespaceTypes>();
  const auto settings = read_settings(record->settings);
  if (!settings) return std::optional<NamespaceTypes>();
  NamespaceTypes types;
  bool has_mapping = false;
  const auto add_mapping = [&](const EventMapping& mapping) {
    types.made.add(mapping.type);
    has_mapping = true;
  };
  for (const auto& [name, webhook] : settings->inbound) add_mapping(webhook.mapping);
  TRY(each_source_of(
      view, record->number,
      [&](const SourcePlace&, const SourceRecord& one) {
        const auto source = read_source_settings(one.settings);
        if (source && source->mapping) add_mapping(*source->mapping);
      },
      [](const Error&) {}));
  if (needs_mapping && !has_mapping) return std::optional<NamespaceTypes>();
  const bool is_complete =
      TRY(each_newest_workflow(view, record->number, definitions,
                               [&](const Workflow& workflow) { add_types_of(workflow, types); }));
  if (!is_complete) return std::optional<NamespaceTypes>();
  return std::optional(std::move(types));
}

}  // namespace millrace
