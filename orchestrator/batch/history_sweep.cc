#include "orchestrator/batch/history_sweep.h"

#include <utility>

#include "orchestrator/store/rows/head_rows.h"
#include "orchestrator/store/rows/index_rows.h"

namespace millrace {

Result<bool> HistorySweep::go_on(NamespaceNumber ns, HistoryPosition& at, PurgeBudget& budget) {
  HistoryRules rules = batch_.catalog.settings(ns).retention.history_rules();
  if (rules.is_empty()) {
    seen_.erase(ns);
    return true;
  }
  if (!at.is_within) begin(ns, std::move(rules), at);
  if (!at.sees_all) return see_left(ns, at, budget);
  if (!TRY(see_all(ns, at, budget))) return false;
  seen_.insert_or_assign(ns, at.rules);
  return true;
}

void HistorySweep::begin(NamespaceNumber ns, HistoryRules rules, HistoryPosition& at) {
  auto left = instances_.take_long_histories(ns);
  const auto seen = seen_.find(ns);
  const bool is_known = left && seen != seen_.end() && seen->second == rules;
  at = {.is_within = true, .sees_all = !is_known, .rules = std::move(rules)};
  if (is_known) at.left = *std::move(left);
}

/// Looks at all instances, first the live ones, then those that have ended, by their ids.
Result<bool> HistorySweep::see_all(NamespaceNumber ns, HistoryPosition& at, PurgeBudget& budget) {
  while (!budget.is_spent()) {
    const std::optional<Instance> head = TRY(next_long(ns, at, budget));
    if (head) {
      if (!TRY(trim(*head, budget))) return false;
      at.behind = head->id;
    } else if (!budget.is_spent()) {
      if (at.is_ended) return true;
      at.is_ended = true;
      at.behind.reset();
    }
  }
  return false;
}

/// Looks at the instances that a write left.
Result<bool> HistorySweep::see_left(NamespaceNumber ns, HistoryPosition& at, PurgeBudget& budget) {
  while (!at.left.empty()) {
    if (budget.is_spent()) return false;
    const auto head =
        TRY(batch_.damages.pass_over(read_head_anywhere(batch_.tx, ns, at.left.back())));
    budget.count(head ? indexed(*head).row_bytes : 0);
    if (head && !TRY(trim(*head, budget))) return false;
    at.left.pop_back();
  }
  return true;
}

/// The next instance with a history that is too long; nullopt: there is none, or the budget is
/// spent.
Result<std::optional<Instance>> HistorySweep::next_long(NamespaceNumber ns, HistoryPosition& at,
                                                        PurgeBudget& budget) {
  std::optional<Instance> found;
  const auto see = [&](const Instance& head) {
    budget.count(indexed(head).row_bytes);
    if (is_too_long(head, batch_.catalog.history_limits(ns, head.revision.workflow))) {
      found = head;
      return false;
    }
    at.behind = head.id;
    return !budget.is_spent();
  };
  const OnDamage damaged = batch_.damages.noting();
  if (at.is_ended) {
    TRY(each_ended(batch_.tx, ns, at.behind, see, damaged));
  } else {
    TRY(each_live(batch_.tx, ns, at.behind, see, damaged));
  }
  return found;
}

/// Trims the history of the instance if it is too long; returns false if it must be called again in
/// a later batch.
Result<bool> HistorySweep::trim(const Instance& head, PurgeBudget& budget) {
  if (const Status owned = batch_.catalog.check_owner(head); !owned) {
    batch_.damages.note(owned.error());
    return true;
  }
  // Each trim may leave rows to a purge.
  if (purges_.size() + batch_.trimmed_rows.size() >= Purges::kMost) return false;
  return instances_.trim_stored(head, budget);
}

}  // namespace millrace
