#include "orchestrator/batch/commands/leftovers.h"

#include <charconv>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "orchestrator/store/rows/catalog_rows.h"
#include "orchestrator/store/rows/meta_rows.h"
#include "orchestrator/store/rows/purge.h"

namespace millrace {
namespace {

/// The number that `text` is; error `leftovers.none` where none like it was given.
Result<uint32_t> given_number(const View& view, Counter counter, std::string_view text) {
  const uint64_t last = TRY(read_counter(view, counter));
  uint32_t number = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, number);
  if (read.ec == std::errc() && read.ptr == end && number >= 1 && number <= last) return number;
  return fail("leftovers.none",
              fmt::format("\"{}\" is not a number that was given (1 to {}); `millrace verify` "
                          "shows the numbers of what is left over",
                          text, last));
}

/// Refused unless no row of a workflow names that number and something of it is left to erase.
Status check_unnamed(const CommandContext& context, WorkflowNumber number, std::string_view text) {
  Draft& draft = context.draft;
  std::string known;
  TRY(each_workflow(draft.tx,
                    [&](NamespaceNumber of, std::string_view id, const WorkflowRecord& record) {
                      if (record.number != number) return;
                      known = fmt::format("workflow \"{}\" of namespace \"{}\" has the number {}",
                                          id, draft.catalog.name_of(of), text);
                    }));
  if (!known.empty()) {
    return fail("leftovers.none",
                known + ": it was not deleted; delete it by its id, without --leftovers");
  }
  if (is_retired(draft.tx, number) || TRY(next_defined(draft.tx, number)) != number) {
    return fail("leftovers.none",
                fmt::format("nothing is left to do about workflow number {}", text));
  }
  return {};
}

/// Refused if an instance of the workflow lives, or may live: a deletion leaves none.
Status check_unused(const CommandContext& context, WorkflowNumber number, std::string_view text) {
  const auto lost = [&](std::string_view what) {
    return fail(
        "leftovers.in_use",
        fmt::format("{}, which no deletion leaves: the row of the workflow is lost; restore "
                    "a backup",
                    what));
  };
  if (context.draft.living.any(number)) {
    return lost(fmt::format("workflow number {} has living instances", text));
  }
  for (const NamespaceNumber one : TRY(namespaces_with_instances(context.draft.tx, Table::kLive))) {
    if (context.draft.catalog.has_namespace(one)) continue;
    return lost(
        fmt::format("namespace number {} has no row and living instances, which may be of "
                    "workflow number {}",
                    static_cast<uint32_t>(one), text));
  }
  return {};
}

/// Refused unless `owner`, whose instances ended by the workflow, is the namespace that was named.
Status check_owner(const CommandContext& context, NamespaceNumber owner, NamespaceNumber named,
                   std::string_view text) {
  const Catalog& catalog = context.draft.catalog;
  if (!catalog.has_namespace(owner)) {
    return fail("leftovers.in_use",
                fmt::format("instances of namespace number {0}, which does not exist, ended by "
                            "workflow number {1}; if the namespace was deleted, erase them first: "
                            "millrace namespace delete {0} --leftovers",
                            static_cast<uint32_t>(owner), text));
  }
  if (owner != named) {
    return fail("leftovers.in_use",
                fmt::format("workflow number {} was of namespace \"{}\"; name that one (-n {})",
                            text, catalog.name_of(owner), catalog.name_of(owner)));
  }
  return {};
}

}  // namespace

Result<Json> finish_deletion(const CommandContext& context, const DeleteNamespace& command) {
  Draft& draft = context.draft;
  const auto space =
      NamespaceNumber(TRY(given_number(draft.tx, Counter::kNamespace, command.name)));
  if (draft.catalog.has_namespace(space)) {
    return fail("leftovers.none",
                fmt::format("namespace \"{}\" has the number {}: it was not deleted; delete it by "
                            "its name, without --leftovers",
                            draft.catalog.name_of(space), command.name));
  }
  if (!context.purges.is_erasing(space)) {
    if (const auto sign = TRY(sign_of_use(draft.tx, space))) {
      return fail(
          "leftovers.in_use",
          fmt::format("namespace number {} has {}, which no deletion leaves: the row of the "
                      "namespace is lost; restore a backup",
                      command.name, *sign));
    }
    context.purges.begin(space, "");
  }
  return Json{{"number", static_cast<uint32_t>(space)}, {"erasing", true}};
}

Result<CommandProgress> finish_deletion(const CommandContext& context,
                                        const DeleteWorkflow& command) {
  Draft& draft = context.draft;
  const NamespaceNumber space = TRY(find_namespace(context, command.space));
  const auto number = WorkflowNumber(TRY(given_number(draft.tx, Counter::kWorkflow, command.id)));
  TRY(check_unnamed(context, number, command.id));
  TRY(check_unused(context, number, command.id));
  DeleteWorkflow rest = command;
  PurgeBudget budget;
  if (const auto owner = TRY(find_ended_of(draft.tx, number, rest.at, budget))) {
    TRY(check_owner(context, *owner, space, command.id));
    write_retired(draft.tx, number, space);  // its instances that ended are shown by it
    return Json{{"number", static_cast<uint32_t>(number)}, {"kept", true}};
  }
  if (!rest.at.empty()) return rest;
  if (!TRY(purge_workflow(draft.tx, number, budget))) return rest;
  return Json{{"number", static_cast<uint32_t>(number)}, {"kept", false}};
}

}  // namespace millrace
