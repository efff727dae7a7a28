#include "orchestrator/store/rows/counted_rows.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "base/codec.h"
#include "orchestrator/store/rows/catalog_rows.h"
#include "orchestrator/store/rows/event_rows.h"
#include "orchestrator/store/rows/group_rows.h"
#include "orchestrator/store/rows/meta_rows.h"
#include "orchestrator/store/rows/pending_input_rows.h"
#include "orchestrator/store/rows/pending_start_rows.h"
#include "orchestrator/store/rows/purge.h"
#include "orchestrator/store/rows/row.h"
#include "orchestrator/store/rows/task_rows.h"

namespace millrace {
namespace {

/// Whether no row of the table is replaced: its keys have numbers or ids that are assigned once. So
/// a row that is written did not exist before.
bool is_written_once(Table table) {
  return table == Table::kDefinitions || table == Table::kGroups || table == Table::kInbox ||
         table == Table::kKeptEvents || table == Table::kDelayed;
}

/// Whether a row with that key may be a counted row of its table. Of a group only the events count,
/// and of `meta` the pending starts and their inputs.
bool is_counted_key(Table table, std::string_view key) {
  if (table == Table::kMeta) {
    return key.starts_with(kPendingStartKey) || key.starts_with(kPendingInputKey);
  }
  return table != Table::kGroups || key.front() == static_cast<char>(GroupRow::kEvent);
}

/// The namespace in the plain value of a row.
std::optional<NamespaceNumber> namespace_in(Table table, std::string_view bytes) {
  switch (table) {
    case Table::kTasks:
      return namespace_of_task(bytes);
    case Table::kInbox:
      return namespace_of_inbox(bytes);
    case Table::kWebhooks:
      return namespace_of_webhook(bytes);
    default:
      return namespace_of_delayed(bytes);
  }
}

/// The namespace or workflow in a key, behind the byte of its kind in `groups`, as a namespace.
std::optional<NamespaceNumber> namespace_by_key(const RowOwners& owners, Table table,
                                                std::string_view key) {
  if (table == Table::kMeta) {
    const auto ns = namespace_of_pending_start(key);
    return ns ? ns : namespace_of_pending_input(key);
  }
  Reader reader(key);
  if (table == Table::kGroups) reader.u8();
  const uint32_t number = reader.u32();
  if (!reader.ok()) return std::nullopt;
  const bool is_of_workflow = table == Table::kGroups || table == Table::kDefinitions;
  return is_of_workflow ? owners.home(WorkflowNumber(number))
                        : std::optional(NamespaceNumber(number));
}

std::optional<NamespaceNumber> namespace_by_value(const View& view, Table table,
                                                  std::string_view key, std::string_view value) {
  if (!Seal::is_sealed(value)) return namespace_in(table, value);
  const auto opened = view.seal().open(value, rows::seal_context(table, key));
  return opened ? namespace_in(table, *opened) : std::nullopt;
}

/// Counts the writes of one batch.
class WriteCount {
 public:
  WriteCount(const Transaction& tx, const RowOwners& owners) : tx_(tx), owners_(owners) {}

  void add(Table table, std::string_view key, const std::optional<std::string>& after) {
    if (!is_counted_key(table, key)) return;
    const bool by_value = has_namespace_in_value(table);
    std::optional<NamespaceNumber> ns;
    if (!by_value) {
      ns = namespace_by_key(owners_, table, key);
      if (!ns || !owners_.exists(*ns)) return;
    }
    const auto count = [&](std::string_view value, int64_t sign) {
      const auto of = by_value ? namespace_by_value(tx_, table, key, value) : ns;
      if (!of || (by_value && !owners_.exists(*of))) return;
      changes_[*of] += sign * static_cast<int64_t>(counted_bytes(key, value));
    };
    if (after) count(*after, 1);
    if (after && is_new(table, key)) return;
    if (const auto before = tx_.committed().get(table, key)) count(*before, -1);
  }

  /// By how many bytes the batch changes each namespace, in a fixed order.
  const std::map<NamespaceNumber, int64_t>& changes() const { return changes_; }

 private:
  /// Whether a row that is written cannot have existed before. The row of a webhook's event is
  /// written again for each further attempt; its number says whether this batch assigned it.
  bool is_new(Table table, std::string_view key) {
    if (table != Table::kWebhooks) return is_written_once(table);
    if (!last_webhook_) {
      last_webhook_ = read_counter(tx_.committed(), Counter::kWebhook).value_or(kMostNumber);
    }
    return rows::number_of(key) > *last_webhook_;
  }

  const Transaction& tx_;
  const RowOwners& owners_;
  std::map<NamespaceNumber, int64_t> changes_;
  std::optional<uint64_t> last_webhook_;  ///< the last number before this batch
};

}  // namespace

bool is_counted_table(Table table) {
  return std::find(kCountedTables.begin(), kCountedTables.end(), table) != kCountedTables.end();
}

bool has_namespace_in_value(Table table) {
  return table == Table::kTasks || table == Table::kInbox || table == Table::kWebhooks ||
         table == Table::kDelayed;
}

Result<RowOwners> read_owners(const View& view) {
  struct Known {
    std::set<NamespaceNumber> namespaces;
    std::map<WorkflowNumber, NamespaceNumber> homes;
  };
  const auto known = std::make_shared<Known>();
  const OnDamage pass_over = [](const Error&) {};
  TRY(rows::walk(
      view, Table::kNamespaces, {}, {},
      [&](std::string_view key, std::string_view value) -> Result<bool> {
        const NamespaceRecord record =
            TRY(rows::decode(view, Table::kNamespaces, key, value, decode_namespace));
        known->namespaces.insert(record.number);
        return true;
      },
      pass_over));
  TRY(rows::walk(
      view, Table::kWorkflows, {}, {},
      [&](std::string_view key, std::string_view value) -> Result<bool> {
        const WorkflowRecord record =
            TRY(rows::decode(view, Table::kWorkflows, key, value, decode_workflow));
        known->homes.emplace(record.number, NamespaceNumber(Reader(key).u32()));
        return true;
      },
      pass_over));
  TRY(each_retired(
      view,
      [&](WorkflowNumber workflow, NamespaceNumber ns) { known->homes.emplace(workflow, ns); },
      pass_over));
  return RowOwners{.exists = [known](NamespaceNumber ns) { return known->namespaces.contains(ns); },
                   .home = [known](WorkflowNumber workflow) -> std::optional<NamespaceNumber> {
                     const auto found = known->homes.find(workflow);
                     return found == known->homes.end() ? std::nullopt
                                                        : std::optional(found->second);
                   }};
}

std::optional<NamespaceNumber> counted_for(const View& view, const RowOwners& owners, Table table,
                                           std::string_view key, std::string_view value) {
  if (!is_counted_table(table) || !is_counted_key(table, key)) return std::nullopt;
  const auto ns = has_namespace_in_value(table) ? namespace_by_value(view, table, key, value)
                                                : namespace_by_key(owners, table, key);
  return ns && owners.exists(*ns) ? ns : std::nullopt;
}

uint64_t counted_bytes(std::string_view key, std::string_view value) {
  return key.size() + Seal::plain_size(value);
}

Status count_writes(const Transaction& tx, const RowOwners& owners, IndexChanges& index) {
  WriteCount count(tx, owners);
  const WriteSet& writes = tx.write_set();
  for (const Table table : kCountedTables) {
    const std::string first(1, static_cast<char>(table));
    for (auto row = writes.lower_bound(first); row != writes.end() && table_of(row->first) == table;
         ++row) {
      count.add(table, millrace::key_of(row->first), row->second);
    }
  }
  for (const auto& [ns, by] : count.changes()) index.add_bytes(ns, by);
  return tx.status();
}

}  // namespace millrace
