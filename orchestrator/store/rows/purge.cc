#include "orchestrator/store/rows/purge.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/codec.h"
#include "orchestrator/store/rows/event_rows.h"
#include "orchestrator/store/rows/fields.h"
#include "orchestrator/store/rows/head_rows.h"
#include "orchestrator/store/rows/history_rows.h"
#include "orchestrator/store/rows/queue_rows.h"
#include "orchestrator/store/rows/row.h"

namespace millrace {
namespace {

constexpr std::string_view kPurgeKey = "purge/";
constexpr std::string_view kRetiredKey = "retired/";

/// About how many bytes of a history row are read to find the row before it.
constexpr size_t kLinkBytes = 64;

/// The record of kInstances has version 2, and the filter. That of kCompensations has version 3,
/// and the instance. That of kPieces has version 4.
constexpr uint8_t kVersionOfInstances = 2;
constexpr uint8_t kVersionOfCompensations = 3;
constexpr uint8_t kVersionOfPieces = 4;

std::string key_of(const Purge& purge) {
  Writer key;
  key.raw(kPurgeKey);
  key.u8(static_cast<uint8_t>(purge.kind));
  key.u64(purge.number);
  return key.take();
}

std::string retired_key(WorkflowNumber workflow) {
  return std::string(kRetiredKey).append(rows::workflow_prefix(workflow));
}

NamespaceNumber ns_of(std::string_view key) { return NamespaceNumber(Reader(key).u32()); }

void put_filter(Writer& writer, const EndedFilter& filter) {
  writer.varint(static_cast<uint32_t>(filter.ns));
  writer.varint(static_cast<uint32_t>(filter.workflow));
  writer.varint(filter.statuses.size());
  for (const InstanceStatus status : filter.statuses) rows::put_enum(writer, status);
  rows::put_optional(writer, filter.before, rows::put_time);
}

/// A filter with no status, with the status of a live instance, or with statuses that are not
/// ascending fails the reader.
EndedFilter get_filter(Reader& reader) {
  EndedFilter filter;
  filter.ns = NamespaceNumber(rows::get_u32(reader));
  filter.workflow = WorkflowNumber(rows::get_u32(reader));
  for (size_t left = reader.count(); left > 0; --left) {
    const auto status = rows::get_enum(reader, InstanceStatus::kTimedOut);
    const bool is_ascending = filter.statuses.empty() || filter.statuses.back() < status;
    if (!has_ended(status) || !is_ascending) reader.fail();
    filter.statuses.push_back(status);
  }
  if (filter.statuses.empty()) reader.fail();
  filter.before = rows::get_optional(reader, rows::get_time);
  return filter;
}

void put_dropped(Writer& writer, const DroppedCompensations& dropped) {
  writer.varint(static_cast<uint32_t>(dropped.ns));
  writer.id(dropped.instance.bytes);
}

DroppedCompensations get_dropped(Reader& reader) {
  DroppedCompensations dropped;
  dropped.ns = NamespaceNumber(rows::get_u32(reader));
  dropped.instance.bytes = reader.id();
  return dropped;
}

void put_staged(Writer& writer, const StagedPieces& staged) {
  writer.varint(static_cast<uint32_t>(staged.ns));
  writer.varint(static_cast<uint32_t>(staged.workflow));
  writer.id(staged.instance.bytes);
}

StagedPieces get_staged(Reader& reader) {
  StagedPieces staged;
  staged.ns = NamespaceNumber(rows::get_u32(reader));
  staged.workflow = WorkflowNumber(rows::get_u32(reader));
  staged.instance.bytes = reader.id();
  return staged;
}

enum class Row : uint8_t {
  kKeep,
  kErase,
  kStop,  ///< keep the row, and continue at it with the next budget
};

/// Reads rows from `at` on, and treats each row as `what` returns for that row. Returns true at the
/// end of the table; false: the budget is spent, and `at` is the key from which to continue.
template <class F>
Result<bool> purge_rows(Transaction& tx, Table table, std::string_view prefix, std::string& at,
                        PurgeBudget& budget, F what) {
  bool done = true;
  std::vector<std::string> erased;
  TRY(rows::walk(tx, table, prefix, at,
                 [&](std::string_view key, std::string_view value) -> Result<bool> {
                   if (budget.is_spent()) {
                     done = false;
                     at = key;
                     return false;
                   }
                   budget.count(key.size());
                   // A damaged row does not show to which namespace it belongs, so the row stays.
                   const Result<Row> judged = what(key, value);
                   if (!judged && !is_damaged_row(judged.error())) {
                     return tl::unexpected(judged.error());
                   }
                   const Row row = judged.value_or(Row::kKeep);
                   if (row == Row::kErase) {
                     erased.emplace_back(key);
                     budget.erase();
                   }
                   if (row != Row::kStop) return true;
                   done = false;
                   at = key;
                   return false;
                 }));
  for (const std::string& key : erased) tx.erase(table, key);
  return done;
}

/// Erases the rows of a namespace from a table whose records name their namespace, and calls `see`
/// for each erased row.
template <class T, class F>
Result<bool> purge_records(Transaction& tx, Table table, NamespaceNumber ns, std::string& at,
                           PurgeBudget& budget, Result<T> (*decode)(std::string_view), F see) {
  return purge_rows(tx, table, {}, at, budget,
                    [&](std::string_view key, std::string_view value) -> Result<Row> {
                      budget.count(value.size());
                      const T record = TRY(rows::decode(tx, table, key, value, decode));
                      if (record.ns != ns) return Row::kKeep;
                      see(key, record);
                      return Row::kErase;
                    });
}

Result<bool> erase_some(Transaction& tx, Table table, const std::string& prefix,
                        PurgeBudget& budget) {
  std::string at;
  return purge_rows(tx, table, prefix, at, budget,
                    [](auto, auto) -> Result<Row> { return Row::kErase; });
}

}  // namespace

bool EndedFilter::has(InstanceStatus status) const {
  return std::find(statuses.begin(), statuses.end(), status) != statuses.end();
}

void PurgeBudget::count(size_t size) {
  looked_at -= looked_at > 0 ? 1 : 0;
  bytes -= std::min(bytes, size);
}

std::string encode(const PurgeRecord& record) {
  uint8_t version = rows::kFirstVersion;
  if (record.ended) version = kVersionOfInstances;
  if (record.dropped) version = kVersionOfCompensations;
  if (record.staged) version = kVersionOfPieces;
  Writer writer = rows::begin_record(version);
  writer.bytes(record.ns);
  writer.bytes(record.workflow);
  writer.varint(record.up_to);
  if (record.ended) put_filter(writer, *record.ended);
  if (record.dropped) put_dropped(writer, *record.dropped);
  if (record.staged) put_staged(writer, *record.staged);
  return writer.take();
}

Result<PurgeRecord> decode_purge(std::string_view bytes) {
  Reader reader(bytes);
  const uint8_t version = rows::read_version(reader, kVersionOfPieces);
  PurgeRecord record;
  record.ns = rows::get_string(reader);
  record.workflow = rows::get_string(reader);
  record.up_to = reader.varint();
  if (version == kVersionOfInstances) record.ended = get_filter(reader);
  if (version == kVersionOfCompensations) record.dropped = get_dropped(reader);
  if (version == kVersionOfPieces) record.staged = get_staged(reader);
  return rows::end_record(reader, std::move(record), "purge");
}

bool is_record_of(Purge::Kind kind, const PurgeRecord& record) {
  return record.ended.has_value() == (kind == Purge::Kind::kInstances) &&
         record.dropped.has_value() == (kind == Purge::Kind::kCompensations) &&
         record.staged.has_value() == (kind == Purge::Kind::kPieces);
}

void write_purge(Transaction& tx, const Purge& purge) {
  tx.put(Table::kMeta, key_of(purge), encode(purge.record));
}

void erase_purge(Transaction& tx, const Purge& purge) { tx.erase(Table::kMeta, key_of(purge)); }

Status each_purge(const View& view, const std::function<void(Purge purge)>& see,
                  const OnDamage& damaged) {
  return rows::walk(
      view, Table::kMeta, kPurgeKey, {},
      [&](std::string_view key, std::string_view value) -> Result<bool> {
        Reader reader(key.substr(kPurgeKey.size()));
        const uint8_t kind = reader.u8();
        const uint64_t number = reader.u64();
        if (!reader.done() || kind > static_cast<uint8_t>(Purge::kLastKind)) {
          return tl::unexpected(
              damaged_row(Table::kMeta, key, "its key is not the key of a purge"));
        }
        auto record = TRY(rows::decode(view, Table::kMeta, key, value, decode_purge));
        if (!is_record_of(Purge::Kind(kind), record)) {
          return tl::unexpected(
              damaged_row(Table::kMeta, key, "its record is that of another kind of purge"));
        }
        see({Purge::Kind(kind), number, std::move(record)});
        return true;
      },
      damaged);
}

Error damaged_purge(const Purge& purge, std::string_view what) {
  return damaged_row(Table::kMeta, key_of(purge), what);
}

Result<std::optional<Instance>> owner_of_history(const View& view, uint64_t row) {
  const auto found = TRY(rows::read(view, Table::kHistory, rows::key_of(row), decode_history));
  if (!found) return std::optional<Instance>();
  return read_head_anywhere(view, found->ns, found->instance);
}

void write_retired(Transaction& tx, WorkflowNumber workflow, NamespaceNumber ns) {
  tx.put(Table::kMeta, retired_key(workflow), rows::ns_prefix(ns));
}

void erase_retired(Transaction& tx, WorkflowNumber workflow) {
  tx.erase(Table::kMeta, retired_key(workflow));
}

bool is_retired(const View& view, WorkflowNumber workflow) {
  return view.get(Table::kMeta, retired_key(workflow)).has_value();
}

std::optional<NamespaceNumber> find_retired(const View& view, WorkflowNumber workflow) {
  const auto row = view.get(Table::kMeta, retired_key(workflow));
  if (!row) return std::nullopt;
  Reader reader(*row);
  const auto ns = NamespaceNumber(reader.u32());
  return reader.done() ? std::optional(ns) : std::nullopt;
}

Status each_retired(const View& view,
                    const std::function<void(WorkflowNumber workflow, NamespaceNumber ns)>& see,
                    const OnDamage& damaged) {
  return rows::walk(
      view, Table::kMeta, kRetiredKey, {},
      [&](std::string_view key, std::string_view value) -> Result<bool> {
        Reader workflow(key.substr(kRetiredKey.size()));
        Reader ns(value);
        const auto number = WorkflowNumber(workflow.u32());
        const auto of = NamespaceNumber(ns.u32());
        if (!workflow.done() || !ns.done()) {
          return tl::unexpected(
              damaged_row(Table::kMeta, key, "it is not the row of a deleted workflow"));
        }
        see(number, of);
        return true;
      },
      damaged);
}

Result<bool> purge_instances(
    Transaction& tx, Table table, NamespaceNumber ns, std::string& at, PurgeBudget& budget,
    const std::function<void(uint64_t row)>& left,
    const std::function<Result<bool>(WorkflowNumber workflow)>& is_unknown) {
  return purge_rows(tx, table, rows::ns_prefix(ns), at, budget,
                    [&](std::string_view key, std::string_view value) -> Result<Row> {
                      if (!rows::is_head(key)) return Row::kErase;
                      budget.count(value.size());
                      const Result<Instance> decoded =
                          rows::decode(tx, table, key, value, decode_head);
                      if (!decoded) return Row::kErase;
                      const Instance& head = *decoded;
                      const WorkflowNumber workflow = head.revision.workflow;
                      if (TRY(is_unknown(workflow)) && !TRY(purge_workflow(tx, workflow, budget))) {
                        return Row::kStop;
                      }
                      // The id in a damaged head may differ from the id in its key.
                      const InstanceId id{Reader(key.substr(sizeof(uint32_t))).id()};
                      uint64_t row = TRY(purge_history(tx, head.last_history, budget, id));
                      if (row == 0 && head.id != id && head.ns == ns) {
                        row = TRY(purge_history(tx, head.last_history, budget, head.id));
                      }
                      if (row != 0) left(row);
                      return Row::kErase;
                    });
}

Result<bool> purge_values(Transaction& tx, Table table, NamespaceNumber ns, std::string& at,
                          PurgeBudget& budget) {
  return purge_rows(tx, table, rows::ns_prefix(ns), at, budget,
                    [](auto, auto) -> Result<Row> { return Row::kErase; });
}

Result<bool> purge_tasks(Transaction& tx, NamespaceNumber ns, std::string& at, PurgeBudget& budget,
                         const std::function<void(const InstanceId&)>& see) {
  return purge_records(tx, Table::kTasks, ns, at, budget, decode_task,
                       [&](std::string_view key, const StartTask&) { see({Reader(key).id()}); });
}

Result<bool> purge_webhooks(Transaction& tx, NamespaceNumber ns, std::string& at,
                            PurgeBudget& budget,
                            const std::function<void(uint64_t number, const WebhookRecord&)>& see) {
  return purge_records(tx, Table::kWebhooks, ns, at, budget, decode_webhook,
                       [&](std::string_view key, const WebhookRecord& record) {
                         see(rows::number_of(key), record);
                       });
}

Result<bool> purge_delayed(Transaction& tx, NamespaceNumber ns, std::string& at,
                           PurgeBudget& budget, const std::function<void(uint64_t number)>& see) {
  return purge_records(
      tx, Table::kDelayed, ns, at, budget, decode_delayed,
      [&](std::string_view key, const DelayedRecord&) { see(rows::number_of(key)); });
}

Result<bool> purge_workflow(Transaction& tx, WorkflowNumber workflow, PurgeBudget& budget) {
  const std::string prefix = rows::workflow_prefix(workflow);
  if (!TRY(erase_some(tx, Table::kIdempotency, prefix, budget))) return false;
  if (!TRY(erase_some(tx, Table::kDefinitions, prefix, budget))) return false;
  if (!TRY(purge_queues(tx, workflow, budget))) return false;
  erase_schedule(tx, workflow);
  return true;
}

Result<uint64_t> purge_history(Transaction& tx, uint64_t row, PurgeBudget& budget,
                               const std::optional<InstanceId>& owner) {
  while (row != 0 && !budget.is_spent()) {
    const std::string key = rows::key_of(row);
    const auto bytes = tx.get(Table::kHistory, key);
    if (!bytes) {
      TRY(tx.status());
      return uint64_t{0};
    }
    budget.count(Seal::is_sealed(*bytes) ? bytes->size() : std::min(bytes->size(), kLinkBytes));
    const auto found = read_history_link(tx, row);
    // After a missing or damaged row, the earlier rows of the chain cannot be found. These rows
    // only use disk space.
    if (!found || !*found) {
      TRY(tx.status());
      return uint64_t{0};
    }
    const HistoryLink& link = **found;
    if (owner && link.instance != *owner) return uint64_t{0};
    tx.erase(Table::kHistory, key);
    budget.erase();
    if (link.previous >= row) return uint64_t{0};
    row = link.previous;
  }
  return row;
}

Result<bool> purge_compensations(Transaction& tx, const DroppedCompensations& dropped,
                                 uint32_t from, PurgeBudget& budget) {
  const std::string prefix =
      part_key(rows::instance_prefix(dropped.ns, dropped.instance), Part::kCompensation);
  Writer first;
  first.raw(prefix);
  first.u32(from);
  std::string at = first.take();
  return purge_rows(tx, Table::kEnded, prefix, at, budget,
                    [&](std::string_view, std::string_view value) -> Result<Row> {
                      budget.count(value.size());  // a long row has pages that are freed
                      return Row::kErase;
                    });
}

Result<bool> purge_retired(Transaction& tx, NamespaceNumber ns, std::string& at,
                           PurgeBudget& budget) {
  return purge_rows(tx, Table::kMeta, kRetiredKey, at, budget,
                    [&](std::string_view key, std::string_view value) -> Result<Row> {
                      Reader number(key.substr(kRetiredKey.size()));
                      const auto workflow = WorkflowNumber(number.u32());
                      if (!number.done() || value != rows::ns_prefix(ns)) return Row::kKeep;
                      return TRY(purge_workflow(tx, workflow, budget)) ? Row::kErase : Row::kStop;
                    });
}

Result<bool> see_workflows(Transaction& tx, NamespaceNumber ns, std::string& at,
                           PurgeBudget& budget,
                           const std::function<void(WorkflowNumber workflow)>& see) {
  return purge_rows(
      tx, Table::kWorkflows, rows::ns_prefix(ns), at, budget,
      [&](std::string_view key, std::string_view value) -> Result<Row> {
        budget.count(value.size());
        see(TRY(rows::decode(tx, Table::kWorkflows, key, value, decode_workflow)).number);
        return Row::kKeep;
      });
}

Result<std::optional<StoredWorkflow>> next_workflow(const View& view, NamespaceNumber ns,
                                                    std::string_view behind) {
  std::optional<StoredWorkflow> found;
  // The first key after a key is that key with a zero byte appended.
  std::string from = rows::ns_prefix(ns).append(behind);
  if (!behind.empty()) from.push_back('\0');
  TRY(rows::walk(
      view, Table::kWorkflows, rows::ns_prefix(ns), from,
      [&](std::string_view key, std::string_view value) -> Result<bool> {
        auto record = TRY(rows::decode(view, Table::kWorkflows, key, value, decode_workflow));
        found = StoredWorkflow{ns, std::string(key.substr(sizeof(uint32_t))), std::move(record)};
        return false;
      }));
  return found;
}

Result<std::optional<WorkflowNumber>> next_defined(const View& view, WorkflowNumber from) {
  std::optional<WorkflowNumber> found;
  TRY(rows::walk(view, Table::kDefinitions, {}, rows::workflow_prefix(from),
                 [&](std::string_view key, auto) -> Result<bool> {
                   found = WorkflowNumber(Reader(key).u32());
                   return false;
                 }));
  return found;
}

Result<std::vector<NamespaceNumber>> namespaces_with_instances(const View& view, Table table) {
  std::vector<NamespaceNumber> found;
  std::string from;
  do {
    const size_t before = found.size();
    TRY(rows::walk(view, table, {}, from, [&](std::string_view key, auto) -> Result<bool> {
      found.push_back(ns_of(key));
      return false;
    }));
    if (found.size() == before || static_cast<uint32_t>(found.back()) == UINT32_MAX) break;
    from = rows::ns_prefix(NamespaceNumber(static_cast<uint32_t>(found.back()) + 1));
  } while (true);
  return found;
}

Result<std::optional<std::string>> sign_of_use(const View& view, NamespaceNumber ns) {
  constexpr std::pair<Table, const char*> kSigns[] = {{Table::kWorkflows, "workflows"},
                                                      {Table::kLive, "live instances"},
                                                      {Table::kVariables, "variables"},
                                                      {Table::kSecrets, "secrets"}};
  std::optional<std::string> found;
  for (const auto& [table, what] : kSigns) {
    TRY(rows::walk(view, table, rows::ns_prefix(ns), {},
                   [&, what = what](auto, auto) -> Result<bool> {
                     found = what;
                     return false;
                   }));
    if (found) return found;
  }
  TRY(each_retired(view, [&](WorkflowNumber, NamespaceNumber of) {
    if (of == ns) found = "workflows that were deleted without the namespace";
  }));
  return found;
}

Result<std::optional<NamespaceNumber>> find_ended_of(const View& view, WorkflowNumber workflow,
                                                     std::string& at, PurgeBudget& budget) {
  std::optional<NamespaceNumber> found;
  const std::string from = std::exchange(at, {});
  TRY(rows::walk(view, Table::kEnded, {}, from,
                 [&](std::string_view key, std::string_view value) -> Result<bool> {
                   if (budget.is_spent()) {
                     at = key;
                     return false;
                   }
                   budget.count(key.size());
                   if (!rows::is_head(key)) return true;
                   budget.count(value.size());
                   const auto head = rows::decode(view, Table::kEnded, key, value, decode_head);
                   // The workflow of a damaged head is unknown. The instance can be shown without
                   // its definition.
                   if (!head || head->revision.workflow != workflow) return true;
                   found = head->ns;
                   return false;
                 }));
  return found;
}

}  // namespace millrace
