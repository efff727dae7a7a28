// Helpers of the tests of the store check: damage to a RichStore, and the codes of the findings.
#pragma once

#include <chrono>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>

#include "orchestrator/check/store_check.h"
#include "orchestrator/store/rows/call_rows.h"
#include "orchestrator/store/rows/catalog_rows.h"
#include "orchestrator/store/rows/head_rows.h"
#include "orchestrator/store/rows/history_rows.h"
#include "orchestrator/store/rows/instance_rows.h"
#include "orchestrator/store/rows/meta_rows.h"
#include "orchestrator/store/rows/outbox_rows.h"
#include "orchestrator/store/rows/purge.h"
#include "orchestrator/store/rows/row.h"
#include "orchestrator/store/rows/task_rows.h"
#include "tests/simulation/rich_store.h"

namespace millrace {

using Codes = std::set<std::string>;

inline Codes codes_of(const StoreReport& report) {
  Codes codes;
  for (const auto& [code, count] : report.codes) codes.insert(code);
  return codes;
}

inline std::string lines_of(const StoreReport& report) {
  std::string lines;
  for (const StoreFinding& finding : report.findings) lines += to_string(finding) + "\n";
  return lines;
}

// Damage.

inline constexpr auto kDefault = NamespaceNumber(1);
inline constexpr auto kShop = NamespaceNumber(2);

inline InstanceId id_of(const std::string& workflow) { return RichStore::instance().id(workflow); }

inline std::string key_of(const InstanceId& id, Part part) {
  return rows::instance_prefix(kDefault, id) + static_cast<char>(part);
}
inline std::string call_key(const InstanceId& id, uint32_t index) {
  Writer key;
  key.raw(key_of(id, Part::kCall));
  key.u32(index);
  return key.take();
}

inline std::string compensation_key(const InstanceId& id, uint32_t number) {
  Writer key;
  key.raw(key_of(id, Part::kCompensation));
  key.u32(number);
  return key.take();
}

/// The first row of a table whose key has that prefix.
inline std::pair<std::string, std::string> first(const View& view, Table table,
                                                 const std::string& prefix = "") {
  std::pair<std::string, std::string> row;
  view.scan(table, prefix, [&](std::string_view key, std::string_view value) {
    row = {std::string(key), std::string(value)};
    return false;
  });
  EXPECT_FALSE(row.first.empty()) << "the store has no row in " << table_name(table);
  return row;
}

/// Decodes the record of a row, changes it and writes it back. A sealed row stays sealed.
template <class T, class Change>
void edit(Transaction& tx, Table table, const std::string& key,
          Result<T> (*decode)(std::string_view), std::string (*encode_it)(const T&),
          const Change& change) {
  const auto value = tx.get(table, key);
  ASSERT_TRUE(value) << table_name(table);
  const bool sealed = Seal::is_sealed(*value);
  auto record = rows::decode(tx, table, key, *value, decode);
  ASSERT_TRUE(record) << record.error().message;
  change(*record);
  rows::put(tx, table, key, encode_it(*record), sealed);
}

/// Writes a sealed row again as a plain row.
inline void unseal(Transaction& tx, Table table, const std::string& key) {
  const auto opened = tx.seal().open(*tx.get(table, key), rows::seal_context(table, key));
  ASSERT_TRUE(opened) << table_name(table);
  tx.put(table, key, *opened);
}

template <class Change>
void edit_head(Transaction& tx, const std::string& workflow, const Change& change) {
  edit(tx, Table::kLive, key_of(id_of(workflow), Part::kHead), decode_head, encode_head, change);
}
template <class Change>
void edit_call(Transaction& tx, const std::string& workflow, const Change& change) {
  edit(tx, Table::kLive, call_key(id_of(workflow), 0), decode_call, encode_call, change);
}

inline void erase_with_history(Transaction& tx, const Instance& instance) {
  erase_instance(tx, instance);
  PurgeBudget budget;
  ASSERT_EQ(purge_history(tx, instance.last_history, budget).value(), 0U);
}

inline uint64_t last_history(const View& view, const std::string& workflow) {
  return read_live(view, kDefault, id_of(workflow)).value()->last_history;
}
template <class Change>
void edit_history(Transaction& tx, const std::string& workflow, const Change& change) {
  edit<HistoryRow>(tx, Table::kHistory, rows::key_of(last_history(tx, workflow)), decode_history,
                   encode, change);
}

inline std::string workflow_key(const std::string& id) {
  return rows::ns_prefix(kDefault).append(id);
}
inline WorkflowNumber number_of(const View& view, const std::string& workflow) {
  return decode_workflow(*view.get(Table::kWorkflows, workflow_key(workflow)))->number;
}
inline std::string definition_key(const View& view, const std::string& workflow,
                                  uint32_t revision) {
  Writer key;
  key.raw(rows::workflow_prefix(number_of(view, workflow)));
  key.u32(revision);
  return key.take();
}

inline void drop_timer(Transaction& tx, const std::string& workflow, TimerKind kind) {
  edit_head(tx, workflow, [&](Instance& head) {
    std::erase_if(head.timers, [&](const Timer& timer) { return timer.kind == kind; });
  });
}

/// Changes the task of the instance's first call.
template <class Change>
void edit_task(Transaction& tx, const std::string& workflow, const Change& change) {
  const auto call = read_live(tx, kDefault, id_of(workflow)).value()->calls.at(0);
  edit<StartTask>(tx, Table::kTasks, rows::key_of(call.id), decode_task, encode, change);
}

/// The first acked message.
inline SentRecord::Message sent_message(const View& view) {
  return decode_sent(first(view, Table::kSent).second)->messages.at(0);
}
template <class Change>
void edit_sent(Transaction& tx, const Change& change) {
  edit<SentRecord>(tx, Table::kSent, first(tx, Table::kSent).first, decode_sent, encode, change);
}

/// Changes a message of the outbox.
template <class Change>
void edit_message(Transaction& tx, uint64_t number, const Change& change) {
  edit<OutboxRecord>(tx, Table::kOutbox, rows::key_of(number), decode_outbox, encode, change);
}
/// Adds a message to the outbox; returns its number.
inline uint64_t add_message(Transaction& tx, const OutboxRecord& record) {
  const uint64_t number = *read_counter(tx, Counter::kOutbox) + 1;
  write_counter(tx, Counter::kOutbox, number);
  write_outbox(tx, number, record);
  return number;
}

/// Moves the store's time by an hour, and returns it. All rows of the RichStore have the same time.
inline TimePoint move_time(Transaction& tx) {
  const TimePoint later = *read_engine_time(tx) + std::chrono::hours(1);
  write_engine_time(tx, later);
  return later;
}
/// Assigns a number of a history row that is not written.
inline uint64_t add_history_number(Transaction& tx) {
  const uint64_t number = *read_counter(tx, Counter::kHistory) + 1;
  write_counter(tx, Counter::kHistory, number);
  return number;
}

/// A damage, and the codes of the findings that it causes.
struct Plant {
  const char* name;
  Codes codes;
  void (*damage)(Transaction& tx);
  bool is_of_index = false;  ///< the damage is in the index, which otherwise follows the damage
};

inline constexpr InstanceId kUnknownId{{9, 9, 9}};

/// Makes each damage alone, and expects that a store check reports exactly the codes of that
/// damage.
void expect_each_found(std::span<const Plant> plants);

// The damages that each test file has.

std::span<const Plant> row_plants();
std::span<const Plant> catalog_plants();
std::span<const Plant> instance_plants();
std::span<const Plant> wait_plants();
std::span<const Plant> message_plants();
std::span<const Plant> index_plants();
std::span<const Plant> story_plants();

}  // namespace millrace
