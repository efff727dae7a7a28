#include "orchestrator/batch/ended_instances.h"

#include <algorithm>

#include "orchestrator/store/rows/compensation_rows.h"
#include "orchestrator/store/rows/head_rows.h"
#include "orchestrator/store/rows/instance_rows.h"
#include "orchestrator/store/rows/variable_rows.h"

namespace millrace {

Result<std::optional<Instance>> read_deletable(BatchState& batch, NamespaceNumber ns,
                                               const InstanceId& id, InstanceStatus status,
                                               PurgeBudget& budget) {
  budget.count(sizeof(id.bytes));
  auto head = TRY(batch.damages.pass_over(read_head(batch.tx, Table::kEnded, ns, id)));
  if (!head || head->status != status) return std::optional<Instance>();
  budget.count(head->part_bytes[static_cast<size_t>(Part::kHead)]);
  if (const Status owned = batch.catalog.check_owner(*head); !owned) {
    batch.damages.note(owned.error());
    return std::optional<Instance>();
  }
  return head;
}

Result<bool> delete_ended(BatchState& batch, const Instance& head, DeletionReason reason,
                          PurgeBudget& budget, const std::function<void(uint64_t row)>& left) {
  Transaction& tx = batch.tx;
  const VariableOwner owner{.scope = VariableScope::kInstance, .ns = head.ns, .instance = head.id};
  const size_t variables = TRY(erase_variables(tx, owner, budget.rows));
  budget.erase(variables);
  // Without variables, the instance is deleted even if the unit of work is over: to read the
  // instance may take the whole unit, again and again.
  if (budget.rows == 0 || (variables > 0 && budget.is_spent())) return false;
  const auto most = static_cast<uint32_t>(std::min<size_t>(kErasedCompensations, budget.rows));
  if (erase_instance(tx, head, most)) batch.dropped_compensations.push_back({head.ns, head.id});
  const IndexedInstance removed = indexed(head);
  batch.index.remove(tx, removed);
  const auto parts = std::count_if(head.part_bytes.begin(), head.part_bytes.end(),
                                   [](uint64_t bytes) { return bytes > 0; });
  budget.erase(static_cast<size_t>(parts) + std::min(head.compensations, most) +
               1);  // and the row of the index
  const uint64_t row = TRY(purge_history(tx, head.last_history, budget, head.id));
  if (row != 0) left(row);
  batch.show(head, true);
  ++batch.outcome.counts.deleted[static_cast<size_t>(reason)];
  if (reason == DeletionReason::kRetention) {
    RetentionCounts& counts = batch.outcome.counts.retention[head.ns];
    ++counts.instances;
    counts.bytes += removed.row_bytes + removed.history_bytes;
    counts.records += head.history_count - head.history_trimmed;
  }
  return true;
}

}  // namespace millrace
