// Purge: what a deletion erases in later batches, some in each batch. A row `purge/` of the table
// `meta`, written with the deletion, records what to erase, so the purge resumes after a restart.
// An interrupted purge may walk its tables again from the start, because it does not find erased
// rows again. Functions that read take any View, functions that write the Transaction. A damaged
// row gives an error that names it (damage.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "base/work_budget.h"
#include "model/instance.h"
#include "orchestrator/store/rows/catalog_rows.h"
#include "orchestrator/store/rows/damage.h"
#include "orchestrator/store/rows/task_rows.h"
#include "orchestrator/store/transaction.h"

namespace millrace {

/// How much of a purge one portion may still do: at most two milliseconds of work. The counts bound
/// it also where no time is measured.
struct PurgeBudget {
  size_t rows = 250;                 ///< rows to erase
  size_t looked_at = 1'000;          ///< rows to read
  size_t bytes = size_t{256} << 10;  ///< bytes to read
  const WorkBudget* unit = nullptr;  ///< the unit of work of the portion; null: not measured

  bool is_spent() const {
    return rows == 0 || looked_at == 0 || bytes == 0 || (unit != nullptr && unit->is_spent());
  }
  /// Counts a row of `size` bytes that was read.
  void count(size_t size);
  /// Counts rows that were erased.
  void erase(size_t count = 1) { rows -= count < rows ? count : rows; }
};

// The rows that record purges.

/// Selects ended instances of a namespace.
struct EndedFilter {
  NamespaceNumber ns{};
  WorkflowNumber workflow{};  ///< 0: all workflows, also deleted ones
  /// The instance has one of these, ascending; not empty, and each is that of an ended instance.
  std::vector<InstanceStatus> statuses;
  std::optional<TimePoint> before = {};  ///< the instance ended before this time

  bool has(InstanceStatus status) const;
};

/// An instance that has dropped its compensations, or was deleted with them.
struct DroppedCompensations {
  NamespaceNumber ns{};
  InstanceId instance;
};

/// Whose answer has pieces of values that no variable has.
struct StagedPieces {
  NamespaceNumber ns{};
  WorkflowNumber workflow{};
  InstanceId instance;
};

/// The value of a row `purge/`.
struct PurgeRecord {
  std::string ns;             ///< the namespace's name
  std::string workflow = {};  ///< the workflow's id, of kGroups, and of kInstances for one workflow
  uint64_t up_to = 0;         ///< kGroups only: the number of the last event to erase
  std::optional<EndedFilter> ended = {};             ///< kInstances only: which instances to delete
  std::optional<DroppedCompensations> dropped = {};  ///< kCompensations only: whose rows to erase
  std::optional<StagedPieces> staged = {};           ///< kPieces only: whose pieces to erase
};
/// Decoding fails with `store.corrupt`.
std::string encode(const PurgeRecord& record);
Result<PurgeRecord> decode_purge(std::string_view bytes);

struct Purge {
  // On disk: never renumber.
  enum class Kind : uint8_t {
    kNamespace = 0,
    kHistory = 1,  ///< erases the history of one instance
    kGroups = 2,   ///< erases the groups of one workflow
    /// Deletes ended instances of a namespace that exists, those that had ended when the purge
    /// began.
    kInstances = 3,
    /// Erases the rows of compensations that one instance no longer has.
    kCompensations = 4,
    /// Erases pieces of values (value_piece_rows.h). The row is written with the first piece, and
    /// erased with the answer that gives them to its variables: then no piece outlives a process
    /// that dies before the answer.
    kPieces = 5,
  };
  static constexpr Kind kLastKind = Kind::kPieces;

  Kind kind{};
  /// By kind: the number of the namespace, of the next history row, or of the workflow. Of
  /// kInstances a number of a history row that is not written: it identifies the purge, and the
  /// instances that ended before the purge began are those whose newest history row has a lower
  /// number. Of kCompensations and kPieces also such a number: it identifies the purge, and of
  /// kPieces the group of the pieces.
  uint64_t number = 0;
  PurgeRecord record;
};
/// The first minor number of a store with rows `purge/` of the kind kCompensations.
inline constexpr uint64_t kMinorOfDroppedCompensations = 12;

/// Whether the record has the fields that the records of this kind have, and no others.
bool is_record_of(Purge::Kind kind, const PurgeRecord& record);
void write_purge(Transaction& tx, const Purge& purge);
void erase_purge(Transaction& tx, const Purge& purge);
Status each_purge(const View& view, const std::function<void(Purge purge)>& see,
                  const OnDamage& damaged = nullptr);
/// The error of a row `purge/` that names data which must not be erased.
Error damaged_purge(const Purge& purge, std::string_view what);
/// The head of the instance that the history row `row` belongs to; nullopt: the history row or the
/// instance does not exist any more.
Result<std::optional<Instance>> owner_of_history(const View& view, uint64_t row);

// Retired workflows: deleted workflows of a namespace that exists. The ended instances of a retired
// workflow still need its definitions.

void write_retired(Transaction& tx, WorkflowNumber workflow, NamespaceNumber ns);
void erase_retired(Transaction& tx, WorkflowNumber workflow);
bool is_retired(const View& view, WorkflowNumber workflow);
/// The namespace of a retired workflow; nullopt: the workflow is not retired, or its row is
/// damaged.
std::optional<NamespaceNumber> find_retired(const View& view, WorkflowNumber workflow);
Status each_retired(const View& view,
                    const std::function<void(WorkflowNumber workflow, NamespaceNumber ns)>& see,
                    const OnDamage& damaged = nullptr);

// Each function of this section erases the rows of a namespace from a table, from the key `at` on,
// until the budget is spent. The function returns true at the end of the table; false: `at` is the
// key from which to continue.

/// Erases the rows of instances from kLive or kEnded. Together with a head, purge_instances()
/// erases the history of the instance. If `is_unknown` returns true for the instance's workflow
/// (neither a row of `workflows` nor a row `retired/` has its number), its definitions and
/// idempotency keys are erased, too. If the history is longer than the budget, `left` receives the
/// number of the history row from which to continue.
Result<bool> purge_instances(
    Transaction& tx, Table table, NamespaceNumber ns, std::string& at, PurgeBudget& budget,
    const std::function<void(uint64_t row)>& left,
    const std::function<Result<bool>(WorkflowNumber workflow)>& is_unknown);
/// Erases the rows of kVariables or kSecrets.
Result<bool> purge_values(Transaction& tx, Table table, NamespaceNumber ns, std::string& at,
                          PurgeBudget& budget);
Result<bool> purge_tasks(Transaction& tx, NamespaceNumber ns, std::string& at, PurgeBudget& budget,
                         const std::function<void(const InstanceId&)>& see);
Result<bool> purge_webhooks(Transaction& tx, NamespaceNumber ns, std::string& at,
                            PurgeBudget& budget,
                            const std::function<void(uint64_t number, const WebhookRecord&)>& see);
Result<bool> purge_delayed(Transaction& tx, NamespaceNumber ns, std::string& at,
                           PurgeBudget& budget, const std::function<void(uint64_t number)>& see);
/// Erases the retired workflows of the namespace, each with the rows that purge_workflow() erases.
Result<bool> purge_retired(Transaction& tx, NamespaceNumber ns, std::string& at,
                           PurgeBudget& budget);
/// Erases nothing: calls `see` for each workflow of the namespace.
Result<bool> see_workflows(Transaction& tx, NamespaceNumber ns, std::string& at,
                           PurgeBudget& budget,
                           const std::function<void(WorkflowNumber workflow)>& see);

/// Erases the definitions, idempotency keys and the schedule of a workflow; false: the budget is
/// spent and some rows are left.
Result<bool> purge_workflow(Transaction& tx, WorkflowNumber workflow, PurgeBudget& budget);

/// Erases history rows of one instance, from `row` backward. Reads the beginning of each row only,
/// unless it is sealed. Stops at a row whose beginning is damaged, and, if `owner` is given, at a
/// row of another instance than `owner`. Returns the number of the row from which to continue; 0:
/// the end was reached.
Result<uint64_t> purge_history(Transaction& tx, uint64_t row, PurgeBudget& budget,
                               const std::optional<InstanceId>& owner = std::nullopt);

/// Erases the rows of compensations of an instance, from the number `from` on, until the budget is
/// spent. Returns whether none of these rows is left.
Result<bool> purge_compensations(Transaction& tx, const DroppedCompensations& dropped,
                                 uint32_t from, PurgeBudget& budget);

/// A workflow with its row.
struct StoredWorkflow {
  NamespaceNumber ns{};
  std::string id;
  WorkflowRecord record;
};
/// The first workflow of the namespace whose id is after `behind`; nullopt: it has none.
Result<std::optional<StoredWorkflow>> next_workflow(const View& view, NamespaceNumber ns,
                                                    std::string_view behind);

/// The first workflow, from the number `from` on, that has definitions; nullopt: there is none.
Result<std::optional<WorkflowNumber>> next_defined(const View& view, WorkflowNumber from);

// Leftovers of earlier releases, which erased no rows when they deleted a namespace or a workflow.

/// The namespaces that have rows of instances in that table, ascending. The cost grows with the
/// number of namespaces, not of instances.
Result<std::vector<NamespaceNumber>> namespaces_with_instances(const View& view, Table table);

/// The name, for messages, of a kind of data that the namespace has, although no release leaves
/// such data when it deletes a namespace; nullopt: the namespace has no such data.
Result<std::optional<std::string>> sign_of_use(const View& view, NamespaceNumber ns);

/// The namespace of an ended instance of the workflow; nullopt: none was found. The search begins
/// at the key `at`. If the budget is spent, `at` is the key from which to continue; else it is
/// empty.
Result<std::optional<NamespaceNumber>> find_ended_of(const View& view, WorkflowNumber workflow,
                                                     std::string& at, PurgeBudget& budget);

}  // namespace millrace
