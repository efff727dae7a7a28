#include "orchestrator/batch/commands/command_context.h"

#include <optional>
#include <utility>

#include <fmt/format.h>

#include "orchestrator/batch/commands/not_found.h"
#include "orchestrator/store/rows/instance_rows.h"
#include "orchestrator/store/rows/purge.h"

namespace millrace {

Result<NamespaceNumber> find_namespace(const CommandContext& context, std::string_view name) {
  const auto ns = context.batch.catalog.find_namespace(name);
  if (!ns) {
    return fail(
        "namespace.not_found",
        fmt::format("there is no namespace \"{}\"; create it with `millrace namespace create "
                    "{}`",
                    name, name));
  }
  return *ns;
}

Result<const WorkflowEntry*> find_workflow(const CommandContext& context, std::string_view ns,
                                           std::string_view id) {
  const WorkflowEntry* const entry =
      context.batch.catalog.find_workflow(TRY(find_namespace(context, ns)), id);
  if (entry == nullptr) return tl::unexpected(no_workflow(ns, id));
  return entry;
}

Result<Instance> find_instance(const CommandContext& context, std::string_view ns,
                               const InstanceId& id) {
  auto instance = TRY(read_instance(context.batch.tx, TRY(find_namespace(context, ns)), id));
  if (!instance) return tl::unexpected(no_instance(ns, id));
  return *std::move(instance);
}

Status admit_start(const CommandContext& context, const WorkflowEntry& entry,
                   const Workflow& workflow, StartSpec& spec) {
  StartGate gate = TRY(context.instances.admit(context.now, entry, workflow, spec.data));
  if (gate.refusal) {
    context.instances.count_rejected(gate);
    return tl::unexpected(*std::move(gate.refusal));
  }
  spec.place = std::move(gate.place);
  return {};
}

Result<Json> defer_start(const CommandContext& context, const WorkflowEntry& entry,
                         const Workflow& workflow, StartSpec spec) {
  const InstanceId id = context.batch.make_id(context.now);
  auto deferred =
      TRY(context.instances.pending().defer(context.now, entry, workflow, std::move(spec), id));
  if (deferred.refusal) return tl::unexpected(*std::move(deferred.refusal));
  return Json{{"id", to_string(deferred.id)},
              {"created", deferred.is_new},
              {"startsAt", format_rfc3339(deferred.at)}};
}

Status erase_history(const CommandContext& context, NamespaceNumber ns, uint64_t last,
                     const InstanceId& id) {
  PurgeBudget budget{.unit = context.unit};
  const uint64_t left = TRY(purge_history(context.batch.tx, last, budget, id));
  if (left != 0) context.purges.begin_history(ns, left);
  return {};
}

}  // namespace millrace
