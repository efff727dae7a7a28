#include "orchestrator/service/missing_instance.h"

#include <memory>
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

/// Until when at the latest, or with which number of inputs, the start begins; empty: only its time
/// ends the wait, or the newest revision cannot be read.
std::string earlier_end(const PendingStart& start, const Workflow* newest) {
  if (const auto latest = latest_start(start, newest)) {
    return fmt::format(", which newer requests move until {} at the latest (`debounce.timeout`)",
                       format_rfc3339(*latest));
  }
  if (!start.batch || newest == nullptr || !newest->batch) return "";
  return fmt::format(", or until it has {} inputs (it has {})", newest->batch->max_size,
                     start.batch->inputs);
}

/// What the text says about the pending start; empty: nothing.
Result<std::string> words_on_pending(const View& view, DefinitionCache& definitions,
                                     std::string_view ns, NamespaceNumber number,
                                     const InstanceId& id, const PendingSearchBounds& bounds) {
  const PutOffSearch search = TRY(find_put_off(view, number, id, bounds));
  if (!search.found) {
    if (search.is_complete) return std::string();
    return fmt::format(
        "; the namespace has more starts that `debounce` and `batch` have put off than were looked "
        "at: `millrace -n {} queue list` lists them",
        ns);
  }
  const auto& [place, start] = *search.found;
  const NumberedWorkflow workflow = TRY(workflow_with(view, number, place.workflow));
  if (workflow.id.empty()) {
    return std::string(
        "; its start was put off, and is given up, because its workflow was deleted");
  }
  const auto newest = definitions.find_or_load(view, {place.workflow, workflow.latest});
  return fmt::format(
      " yet: `{}` of workflow \"{}\" has put off its start until {}{}; `millrace -n {} queue list "
      "--workflow {}` shows it, and `millrace -n {} instance cancel {}` drops it",
      put_off_by(start), workflow.id, format_rfc3339(start.at),
      earlier_end(start, newest ? newest->get() : nullptr), ns, workflow.id, ns, to_string(id));
}

}  // namespace

Result<PutOffSearch> find_put_off(const View& view, NamespaceNumber ns, const InstanceId& id,
                                  const PendingSearchBounds& bounds) {
  const PendingSearch search = TRY(find_pending_start(view, ns, id, bounds));
  PutOffSearch result{.found = {}, .is_complete = search.is_complete};
  if (!search.place) return result;
  auto start = read_pending_start(view, *search.place);
  if (!start && !is_damaged_row(start.error())) return tl::unexpected(start.error());
  if (start && *start && !is_batch_over(**start)) {
    result.found = PutOffStart{*search.place, **std::move(start)};
  }
  return result;
}

Result<NumberedWorkflow> workflow_with(const View& view, NamespaceNumber ns,
                                       WorkflowNumber number) {
  NumberedWorkflow found;
  TRY(each_workflow_behind(view, ns, "", [&](std::string_view id, const WorkflowRecord& record) {
    if (record.number == number) found = {.id = std::string(id), .latest = record.latest};
    return found.id.empty();
  }));
  return found;
}

Error missing_instance(const View& view, DefinitionCache& definitions, std::string_view ns,
                       NamespaceNumber number, const InstanceId& id,
                       const PendingSearchBounds& bounds) {
  Error error = no_instance(ns, id);
  const auto words = words_on_pending(view, definitions, ns, number, id, bounds);
  if (!words) return words.error();
  error.message += *words;
  return error;
}

Result<std::optional<PendingStartPlace>> pending_start_of(const View& view, std::string_view ns,
                                                          const InstanceId& id) {
  const NamespaceRecord record = TRY(namespace_record(view, ns));
  if (TRY(has_rows(view, record.number, id))) return std::optional<PendingStartPlace>();
  const PutOffSearch search = TRY(find_put_off(view, record.number, id));
  return search.found ? std::optional(search.found->place) : std::nullopt;
}

}  // namespace millrace
