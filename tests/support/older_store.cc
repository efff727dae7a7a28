#include "tests/support/older_store.h"

#include <cstddef>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "orchestrator/store/rows/fields.h"
#include "orchestrator/store/rows/group_rows.h"
#include "orchestrator/store/rows/head_rows.h"
#include "orchestrator/store/rows/history_rows.h"
#include "orchestrator/store/rows/row.h"

namespace millrace {
namespace {

/// The version of a head in the given format.
uint8_t head_version(uint64_t format) {
  constexpr uint8_t kVersions[] = {0, 1, 2, 4, 5, 6};
  return kVersions[format];
}

/// The head as the format had it. Each version of a head only added fields at its end; here each of
/// these fields is one byte, because the instance does not use it.
std::string older_head(Instance head, uint64_t format) {
  constexpr size_t kAdded[] = {0, 0, 1, 5, 7, 3, 1, 10};  // bytes, by the version that added them
  head.part_bytes = {};
  head.history_bytes = 0;
  head.listen_from.event = {};
  head.state_from = head.started_at;
  std::string bytes = encode_head(head);
  for (uint8_t version = 7; version > head_version(format); --version) {
    bytes.resize(bytes.size() - kAdded[version]);
  }
  bytes.front() = static_cast<char>(head_version(format));
  EXPECT_TRUE(decode_head(bytes)) << "format " << format;
  return bytes;
}

/// A history row of version 1, which has no positions.
std::string older_history(const HistoryRow& row) {
  Writer writer = rows::begin_record(1);
  writer.varint(static_cast<uint32_t>(row.ns));
  writer.id(row.instance.bytes);
  writer.varint(row.previous);
  writer.varint(row.records.size());
  for (const HistoryRecord& record : row.records) {
    rows::put_time(writer, record.time);
    rows::put_enum(writer, record.kind);
    writer.bytes(record.state);
    writer.bytes(record.detail.is_null() ? std::string_view() : record.detail.text());
    writer.u8(record.data ? 1 : 0);
    if (record.data) writer.bytes(record.data->text());
  }
  return writer.take();
}

/// Cuts the last bytes off a record and gives it the earlier version.
std::string cut(std::string_view bytes, size_t size, char version) {
  std::string older(bytes.substr(0, bytes.size() - size));
  older.front() = version;
  return older;
}

}  // namespace

void make_older(Transaction& tx, uint64_t format) {
  const auto each = [&](Table table, const auto& change) {
    tx.scan(table, {}, [&](std::string_view key, std::string_view value) {
      change(std::string(key), std::string(value));
      return true;
    });
  };
  for (const Table table : {Table::kLive, Table::kEnded}) {
    each(table, [&](const std::string& key, const std::string& value) {
      if (rows::is_head(key)) tx.put(table, key, older_head(decode_head(value).value(), format));
    });
  }
  each(Table::kHistory, [&](const std::string& key, const std::string& value) {
    HistoryRow row = decode_history(value).value();
    const auto head = read_head_anywhere(tx, row.ns, row.instance).value();
    for (const size_t i : row.with_input) {
      const auto input =
          rows::read_json(tx, has_ended(head->status) ? Table::kEnded : Table::kLive,
                          part_key(rows::instance_prefix(row.ns, row.instance), Part::kInput));
      row.records[i].data = **input;
    }
    tx.put(Table::kHistory, key, older_history(row));
  });
  each(Table::kNamespaces, [&](const std::string& key, const std::string& value) {
    tx.put(Table::kNamespaces, key, cut(value, 1, 2));
  });
  each(Table::kGroups, [&](const std::string& key, const std::string& value) {
    if (key.front() == static_cast<char>(GroupRow::kEvent)) {
      tx.put(Table::kGroups, key, cut(value, 1, 1));
    }
  });
  for (const Table table : {Table::kByStatus, Table::kCounts, Table::kUsage, Table::kEffects}) {
    each(table, [&](const std::string& key, const std::string&) { tx.erase(table, key); });
  }
  each(Table::kMeta, [&](const std::string& key, const std::string&) {
    if (key.starts_with("stream/") || key == "counter/j" || key == "counter/k" || key == "minor") {
      tx.erase(Table::kMeta, key);
    }
  });
  if (format < 3) tx.erase(Table::kMeta, "seal");
  tx.put(Table::kMeta, kFormatKey, rows::key_of(format));
}

}  // namespace millrace
