// Purge: erases the rows that a deletion leaves behind, some in each batch. What is to be erased is
// itself a row (`purge/` in the table `meta`), written with the deletion, so a restart goes on. A
// walk that was interrupted may begin anew: it passes over what is gone. Reading takes any
// View, writing the Transaction. A row that is damaged is an error that names it (damage.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/instance.h"
#include "orchestrator/store/rows/catalog_rows.h"
#include "orchestrator/store/rows/damage.h"
#include "orchestrator/store/rows/task_rows.h"
#include "orchestrator/store/transaction.h"

namespace millrace {

/// What one batch may do of a purge: some milliseconds.
struct PurgeBudget {
  size_t rows = 1'000;             ///< erased
  size_t looked_at = 10'000;       ///< rows
  size_t bytes = size_t{4} << 20;  ///< of the rows that are read

  bool is_spent() const { return rows == 0 || looked_at == 0 || bytes == 0; }
  /// One row was looked at, which has so many bytes.
  void look(size_t size);
  /// One was erased.
  void erase() { rows -= rows > 0 ? 1 : 0; }
};

// What is to be purged.

/// What a purge of a deleted namespace, or of what was deleted in one, has to know.
struct PurgeRecord {
  std::string space;          ///< the namespace's name
  std::string workflow = {};  ///< of kGroups: its id,
  uint64_t up_to = 0;         ///< and the number of the last event that is to go
};
/// Decoding fails with `store.corrupt`.
std::string encode(const PurgeRecord& record);
Result<PurgeRecord> decode_purge(std::string_view bytes);

struct Purge {
  // On disk: never renumber.
  enum class Kind : uint8_t {
    kNamespace = 0,
    kHistory = 1,  ///< of one instance
    kGroups = 2,   ///< of one workflow
  };
  Kind kind{};
  uint64_t number = 0;  ///< of the namespace, the history row to go on from, the workflow
  PurgeRecord record;
};
void write_purge(Transaction& tx, const Purge& purge);
void erase_purge(Transaction& tx, const Purge& purge);
Status each_purge(const View& view, const std::function<void(Purge purge)>& see,
                  const OnDamage& damaged = nullptr);
/// The error of a row that would have something erased that is not to be.
Error damaged_purge(const Purge& purge, std::string_view what);
/// The head of the instance whose history that row is of; nullopt: it is not there any more.
Result<std::optional<Instance>> owner_of_history(const View& view, uint64_t row);

// Workflows that were deleted while their namespace exists: what ended of them still needs their
// definitions.

void write_retired(Transaction& tx, WorkflowNumber workflow, NamespaceNumber space);
void erase_retired(Transaction& tx, WorkflowNumber workflow);
bool is_retired(const View& view, WorkflowNumber workflow);
Status each_retired(const View& view,
                    const std::function<void(WorkflowNumber workflow, NamespaceNumber space)>& see,
                    const OnDamage& damaged = nullptr);

// Each of these erases what belongs to a namespace from a table, from the key `at` on until the
// budget is spent, and returns whether it has come to the end; if not, `at` is where to go on.

/// The rows of instances: of the living, or of those that have ended. With the head of one go its
/// history and, where its workflow `is_unknown`, that is in no row by which its definitions are
/// erased or needed, the definitions and idempotency keys of that workflow. Where the history is
/// longer than the budget, `left` gets the number of its row to go on from.
Result<bool> purge_instances(
    Transaction& tx, Table table, NamespaceNumber space, std::string& at, PurgeBudget& budget,
    const std::function<void(uint64_t row)>& left,
    const std::function<Result<bool>(WorkflowNumber workflow)>& is_unknown);
/// kVariables or kSecrets.
Result<bool> purge_values(Transaction& tx, Table table, NamespaceNumber space, std::string& at,
                          PurgeBudget& budget);
Result<bool> purge_tasks(Transaction& tx, NamespaceNumber space, std::string& at,
                         PurgeBudget& budget, const std::function<void(const InstanceId&)>& see);
Result<bool> purge_hooks(Transaction& tx, NamespaceNumber space, std::string& at,
                         PurgeBudget& budget,
                         const std::function<void(uint64_t number, const HookRecord&)>& see);
Result<bool> purge_delayed(Transaction& tx, NamespaceNumber space, std::string& at,
                           PurgeBudget& budget, const std::function<void(uint64_t number)>& see);

/// Erases the definitions, idempotency keys and the schedule of a workflow; false: some are left.
Result<bool> purge_workflow(Transaction& tx, WorkflowNumber workflow, PurgeBudget& budget);

/// Erases history rows of one instance, from that one backward, up to one that is damaged, or is
/// not of `owner` where that is known. Returns the number of the row to go on from; 0: none is
/// left.
Result<uint64_t> purge_history(Transaction& tx, uint64_t row, PurgeBudget& budget,
                               const std::optional<InstanceId>& owner = std::nullopt);

/// A workflow whose row is there.
struct StoredWorkflow {
  NamespaceNumber space{};
  std::string id;
  WorkflowRecord record;
};
/// The first one of the namespace; nullopt: it has none.
Result<std::optional<StoredWorkflow>> first_workflow(const View& view, NamespaceNumber space);

/// The first workflow from that number on of which there are definitions.
Result<std::optional<WorkflowNumber>> next_defined(const View& view, WorkflowNumber from);

// What releases that erased no rows left behind when they deleted a namespace or a workflow.

/// The namespaces that have rows of instances in that table, ascending. Costs as much as there are
/// namespaces, not instances.
Result<std::vector<NamespaceNumber>> namespaces_with_instances(const View& view, Table table);

/// What the namespace has that no release left there when it deleted one, for a message; nullopt:
/// nothing.
Result<std::optional<std::string>> sign_of_use(const View& view, NamespaceNumber space);

/// The namespace of an ended instance of the workflow; nullopt: there is none. Looks from the key
/// `at` on until the budget is spent, which leaves `at` where to go on; at the end it is empty.
Result<std::optional<NamespaceNumber>> find_ended_of(const View& view, WorkflowNumber workflow,
                                                     std::string& at, PurgeBudget& budget);

}  // namespace millrace
