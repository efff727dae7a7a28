#include "orchestrator/service/missing_instance.h"

#include <string>
#include <utility>

#include <fmt/format.h>

#include "orchestrator/batch/commands/not_found.h"
#include "orchestrator/service/namespace_record.h"
#include "orchestrator/service/pending_start_item.h"
#include "orchestrator/store/rows/catalog_rows.h"
#include "orchestrator/store/rows/damage.h"
#include "orchestrator/store/rows/head_rows.h"

namespace millrace {
namespace {

/// A pending start that has not started.
struct FoundPending {
  PendingStartPlace place;
  PendingStart start;
};

struct PendingLook {
  std::optional<FoundPending> found;
  bool is_complete = true;
};

Result<PendingLook> look_for_pending(const View& view, NamespaceNumber ns, const InstanceId& id,
                                     const PendingSearchBounds& bounds) {
  const PendingSearch search = TRY(find_pending_start(view, ns, id, bounds));
  PendingLook look{.found = {}, .is_complete = search.is_complete};
  if (!search.place) return look;
  auto start = read_pending_start(view, *search.place);
  if (!start && !is_damaged_row(start.error())) return tl::unexpected(start.error());
  if (start && *start && !is_batch_over(**start)) {
    look.found = FoundPending{*search.place, **std::move(start)};
  }
  return look;
}

/// The id of a workflow of the namespace; empty: it was deleted.
Result<std::string> id_of_workflow(const View& view, NamespaceNumber ns, WorkflowNumber number) {
  std::string found;
  TRY(each_workflow_behind(view, ns, "", [&](std::string_view id, const WorkflowRecord& record) {
    if (record.number == number) found = id;
    return found.empty();
  }));
  return found;
}

/// What the text says about the pending start; empty: nothing.
Result<std::string> words_on_pending(const View& view, std::string_view ns, NamespaceNumber number,
                                     const InstanceId& id, const PendingSearchBounds& bounds) {
  const PendingLook look = TRY(look_for_pending(view, number, id, bounds));
  if (!look.found) {
    if (look.is_complete) return std::string();
    return fmt::format(
        "; the namespace has more starts that `debounce` and `batch` have put off than were looked "
        "at: `millrace -n {} queue list` lists them",
        ns);
  }
  const std::string workflow = TRY(id_of_workflow(view, number, look.found->place.workflow));
  if (workflow.empty()) {
    return std::string(
        "; its start was put off, and is given up, because its workflow was deleted");
  }
  return fmt::format(
      " yet: `{}` of workflow \"{}\" has put off its start until {}; `millrace -n {} queue list "
      "--workflow {}` shows it, and `millrace -n {} instance cancel {}` drops it",
      put_off_by(look.found->start), workflow, format_rfc3339(look.found->start.at), ns, workflow,
      ns, to_string(id));
}

}  // namespace

Error missing_instance(const View& view, std::string_view ns, NamespaceNumber number,
                       const InstanceId& id, const PendingSearchBounds& bounds) {
  Error error = no_instance(ns, id);
  const auto words = words_on_pending(view, ns, number, id, bounds);
  if (!words) return words.error();
  error.message += *words;
  return error;
}

Result<std::optional<PendingStartPlace>> pending_start_of(const View& view, std::string_view ns,
                                                          const InstanceId& id) {
  const NamespaceRecord record = TRY(namespace_record(view, ns));
  if (TRY(has_rows(view, record.number, id))) return std::optional<PendingStartPlace>();
  const PendingLook look = TRY(look_for_pending(view, record.number, id, {}));
  return look.found ? std::optional(look.found->place) : std::nullopt;
}

}  // namespace millrace
