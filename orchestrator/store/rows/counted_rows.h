// Counted rows: the rows of a namespace, besides those of its instances, that count for the quota
// `storeBytes`: variables, secrets with their former values, definitions, kept events, events in
// groups, delayed events, pending starts, tasks, instance messages and events for webhooks. A
// counted row has the bytes of its key and of its plain value. It counts for a namespace that
// exists; the row of `usage` (index_rows.h) has the sum. Other rows belong to all namespaces
// together, or are small and stand for a row or an instance that counts (docs/FORMATS.md lists
// them).
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "model/instance.h"
#include "orchestrator/store/rows/index_rows.h"
#include "orchestrator/store/transaction.h"

namespace millrace {

/// The tables that have counted rows, in the order of their absolute keys.
inline constexpr std::array<Table, 10> kCountedTables = {
    Table::kDefinitions, Table::kGroups,  Table::kInbox,   Table::kMeta,     Table::kTasks,
    Table::kKeptEvents,  Table::kSecrets, Table::kDelayed, Table::kWebhooks, Table::kVariables};
bool is_counted_table(Table table);

/// Whether the namespace of a counted row of that table is in the value of the row: then the
/// namespace of a sealed row is known only to a view with the key of the store.
bool has_namespace_in_value(Table table);

/// Which namespaces exist, and to which of them workflows belong.
struct RowOwners {
  std::function<bool(NamespaceNumber ns)> exists;
  /// The namespace of a workflow, also of a retired one (purge.h); nullopt: no row names it.
  std::function<std::optional<NamespaceNumber>(WorkflowNumber workflow)> home;
};

/// The owners by the rows of a view. Damaged rows are left out. Errors: those of the store.
Result<RowOwners> read_owners(const View& view);

/// The namespace for which the row counts; nullopt: for none, because it is not a counted row, it
/// belongs to no namespace that exists, or it is too damaged to show its namespace. `view` has the
/// key for sealed rows.
std::optional<NamespaceNumber> counted_for(const View& view, const RowOwners& owners, Table table,
                                           std::string_view key, std::string_view value);

/// The bytes that a counted row counts.
uint64_t counted_bytes(std::string_view key, std::string_view value);

/// Adds to `index` by how many bytes the writes of the transaction change the counted rows of each
/// namespace. To be called once for each batch, after all its writes to kCountedTables. Reads the
/// row of before only for keys that are erased or may have been written before. Errors: those of
/// the store.
Status count_writes(const Transaction& tx, const RowOwners& owners, IndexChanges& index);

}  // namespace millrace
