#include "orchestrator/batch/commands/leftovers.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "base/whole_number.h"
#include "orchestrator/store/rows/catalog_rows.h"
#include "orchestrator/store/rows/index_build.h"
#include "orchestrator/store/rows/meta_rows.h"
#include "orchestrator/store/rows/purge.h"

namespace millrace {
namespace {

/// Parses `text` as a number that the counter has assigned; error `leftovers.none` if the counter
/// has not assigned such a number.
Result<uint32_t> given_number(const View& view, Counter counter, std::string_view text) {
  const uint64_t last = TRY(read_counter(view, counter));
  const uint64_t most = std::min<uint64_t>(last, UINT32_MAX);
  const uint64_t number = whole_number(text, most).value_or(0);
  if (number > 0) return static_cast<uint32_t>(number);
  return fail("leftovers.none",
              fmt::format("\"{}\" is not a number that was assigned (1 to {}); `millrace verify` "
                          "shows the numbers of leftovers",
                          text, last));
}

/// Error `leftovers.none` if a workflow row has that number, or if the workflow with that number
/// has no rows left to erase.
Status check_unnamed(const CommandContext& context, WorkflowNumber number, std::string_view text) {
  BatchState& batch = context.batch;
  std::string known;
  TRY(each_workflow(batch.tx,
                    [&](NamespaceNumber of, std::string_view id, const WorkflowRecord& record) {
                      if (record.number != number) return;
                      known = fmt::format("workflow \"{}\" of namespace \"{}\" has the number {}",
                                          id, batch.catalog.name_of(of), text);
                    }));
  if (!known.empty()) {
    return fail("leftovers.none",
                known + ": it was not deleted; delete it by its id, without --leftovers");
  }
  if (is_retired(batch.tx, number) || TRY(next_defined(batch.tx, number)) != number) {
    return fail("leftovers.none",
                fmt::format("workflow number {} has no leftovers to erase", text));
  }
  return {};
}

/// Error `leftovers.in_use` if an instance of the workflow is live or may be live: in that case the
/// workflow was not deleted, because a deletion leaves no live instances.
Status check_unused(const CommandContext& context, WorkflowNumber number, std::string_view text) {
  const auto lost = [&](std::string_view what) {
    return fail(
        "leftovers.in_use",
        fmt::format("{}, which no deletion leaves: the row of the workflow is lost; restore "
                    "a backup",
                    what));
  };
  if (context.batch.live.any(number)) {
    return lost(fmt::format("workflow number {} has live instances", text));
  }
  for (const NamespaceNumber one : TRY(namespaces_with_instances(context.batch.tx, Table::kLive))) {
    if (context.batch.catalog.has_namespace(one)) continue;
    return lost(
        fmt::format("namespace number {} has no row, and has live instances that may be of "
                    "workflow number {}",
                    static_cast<uint32_t>(one), text));
  }
  return {};
}

/// Error `leftovers.in_use` unless `owner`, the namespace of instances that used the workflow, is
/// the namespace that the command names.
Status check_owner(const CommandContext& context, NamespaceNumber owner, NamespaceNumber named,
                   std::string_view text) {
  const Catalog& catalog = context.batch.catalog;
  if (!catalog.has_namespace(owner)) {
    return fail("leftovers.in_use",
                fmt::format("ended instances of namespace number {0}, which does not exist, use "
                            "workflow number {1}; if the namespace was deleted, erase them first: "
                            "millrace namespace delete {0} --leftovers",
                            static_cast<uint32_t>(owner), text));
  }
  if (owner != named) {
    return fail(
        "leftovers.in_use",
        fmt::format("workflow number {} belonged to namespace \"{}\"; name that namespace (-n {})",
                    text, catalog.name_of(owner), catalog.name_of(owner)));
  }
  return {};
}

}  // namespace

Result<Json> finish_deletion(const CommandContext& context, const DeleteNamespace& command) {
  BatchState& batch = context.batch;
  const auto ns = NamespaceNumber(TRY(given_number(batch.tx, Counter::kNamespace, command.name)));
  if (batch.catalog.has_namespace(ns)) {
    return fail("leftovers.none",
                fmt::format("namespace \"{}\" has the number {}: it was not deleted; delete it by "
                            "its name, without --leftovers",
                            batch.catalog.name_of(ns), command.name));
  }
  if (!context.purges.is_erasing(ns)) {
    if (const auto sign = TRY(sign_of_use(batch.tx, ns))) {
      return fail(
          "leftovers.in_use",
          fmt::format("namespace number {} has {}, which no deletion leaves: the row of the "
                      "namespace is lost; restore a backup",
                      command.name, *sign));
    }
    context.purges.begin(ns, "");
  }
  return Json{{"number", static_cast<uint32_t>(ns)}, {"erasing", true}};
}

Result<CommandProgress> finish_deletion(const CommandContext& context,
                                        const DeleteWorkflow& command) {
  BatchState& batch = context.batch;
  const NamespaceNumber ns = TRY(find_namespace(context, command.ns));
  const auto number = WorkflowNumber(TRY(given_number(batch.tx, Counter::kWorkflow, command.id)));
  TRY(check_unnamed(context, number, command.id));
  TRY(check_unused(context, number, command.id));
  DeleteWorkflow rest = command;
  PurgeBudget search{.unit = context.unit};
  if (const auto owner = TRY(find_ended_of(batch.tx, number, rest.at, search))) {
    TRY(check_owner(context, *owner, ns, command.id));
    write_retired(batch.tx, number, ns);  // ended instances need the definitions of the workflow
    request_index_build(batch.tx);        // now the rows of the workflow count for the namespace
    return Json{{"number", static_cast<uint32_t>(number)}, {"kept", true}};
  }
  if (!rest.at.empty()) return rest;
  // A budget of its own, because the search may have spent its budget exactly at its end.
  PurgeBudget rows;
  if (!TRY(purge_workflow(batch.tx, number, rows))) return rest;
  return Json{{"number", static_cast<uint32_t>(number)}, {"kept", false}};
}

}  // namespace millrace
