// The next run of an instance that ends its run by `continueAsNew`: whether it may begin, and what
// of the run before leaves the store. Engine thread only.
#include <utility>

#include <fmt/format.h>

#include "orchestrator/batch/instances.h"
#include "orchestrator/store/rows/damage.h"
#include "orchestrator/store/rows/head_rows.h"
#include "orchestrator/store/rows/instance_rows.h"
#include "orchestrator/store/rows/purge.h"

namespace millrace {
namespace {

/// How many rows of the history of the run before are erased with the begin of the next run; a
/// purge erases the others.
constexpr size_t kErasedWithRun = 64;

}  // namespace

/// Begins the next run of the instance with the newest revision of its workflow, or raises in its
/// state why that cannot be.
Status Instances::begin_next_run(TimePoint now, LoadedInstance& loaded, LazyJson input) {
  Instance& instance = loaded.instance;
  if (auto refusal = TRY(refusal_of_next_run(instance, input))) {
    TRY(step_once(now, loaded, NextRunRefused{*std::move(refusal)}));
    return {};
  }
  const uint32_t ended = std::exchange(
      instance.revision.number, batch_.catalog.find_workflow(instance.revision.workflow)->latest);
  TRY(end_history(loaded));
  TRY(step_once(now, loaded, NextRun{.ended_revision = ended, .input = std::move(input)}));
  if (!loaded.is_new) erase_data(batch_.tx, instance);
  loaded.data = instance.data.shared_text();
  loaded.has_new_input = true;
  ++batch_.outcome.counts.runs_continued;
  return {};
}

/// Why the next run may not begin; nullopt: it may. An instance that continues replaces one input
/// by another, so the quota `storeBytes` permits an input that is not longer than the one before
/// until the namespace has an eighth more.
Result<std::optional<Error>> Instances::refusal_of_next_run(const Instance& instance,
                                                            const LazyJson& input) {
  const WorkflowNumber number = instance.revision.workflow;
  const auto not_there = [](std::string why) {
    return std::optional(Error{"millrace.continueAsNew.notExist", std::move(why)});
  };
  const WorkflowEntry* const entry = batch_.catalog.find_workflow(number);
  if (entry == nullptr) return not_there("the next run cannot begin: its workflow was deleted");
  const auto newest = batch_.catalog.definition(batch_.tx, {number, entry->latest});
  if (!newest && !is_damaged_row(newest.error())) return tl::unexpected(newest.error());
  if (!newest) {
    batch_.damages.note(newest.error());
    return not_there(fmt::format(
        "the next run cannot begin: revision {} of workflow \"{}\" cannot be loaded; apply the "
        "workflow again",
        entry->latest, entry->id));
  }
  const uint64_t before = instance.part_bytes[static_cast<size_t>(Part::kInput)];
  return input.text().size() > before ? quotas_.refusal_of_bytes(instance.ns)
                                      : quotas_.refusal_of_need(instance.ns);
}

/// Removes the history of the run that ends, with its records in this batch, from the instance. A
/// long history is erased by a purge.
Status Instances::end_history(LoadedInstance& loaded) {
  Instance& instance = loaded.instance;
  PurgeBudget budget{.rows = kErasedWithRun, .unit = &batch_.meter};
  const uint64_t left = TRY(purge_history(batch_.tx, instance.last_history, budget, instance.id));
  if (left != 0) batch_.trimmed_rows.emplace_back(instance.ns, left);
  trims_.forget(instance.id);
  instance.history_count += loaded.history.size();
  instance.history_trimmed = instance.history_count;
  instance.history_bytes = 0;
  instance.last_history = 0;
  loaded.history.clear();
  return {};
}

}  // namespace millrace
