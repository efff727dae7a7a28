#include "orchestrator/store/rows/meta_rows.h"

#include <algorithm>
#include <limits>
#include <optional>

#include <fmt/format.h>

#include "base/codec.h"
#include "orchestrator/store/disk/log_row.h"
#include "orchestrator/store/rows/catalog_rows.h"
#include "orchestrator/store/rows/event_rows.h"
#include "orchestrator/store/rows/fields.h"
#include "orchestrator/store/rows/group_rows.h"
#include "orchestrator/store/rows/index_build.h"
#include "orchestrator/store/rows/row.h"
#include "orchestrator/store/rows/stream_rows.h"

namespace millrace {

using namespace rows;

namespace {

constexpr std::string_view kCursorKey = "cursor";
constexpr std::string_view kSealKey = "seal";
constexpr std::string_view kTimeKey = "time";
constexpr std::string_view kCounterKey = "counter/";
constexpr std::string_view kMinorKey = "minor";

std::string counter_key(Counter counter) {
  return std::string(kCounterKey) + static_cast<char>(counter);
}

Result<uint64_t> decode_number(std::string_view bytes) {
  Reader reader(bytes);
  const uint64_t number = reader.u64();
  if (!reader.done()) return fail("store.corrupt", "a number is damaged");
  return number;
}

/// Whether a store of that format is migrated when it is opened.
bool is_older(uint64_t format) { return format >= 1 && format < kStoreFormat; }

/// Migrates a new store, or one of an older format. The rows of older formats are read as they are,
/// because each record has its own version; the index is built in steps after that (index_build.h).
Status migrate(Transaction& tx, const std::optional<uint64_t>& format) {
  const bool has_key_row = tx.get(Table::kMeta, kSealKey).has_value();
  TRY(tx.status());
  if (has_key_row) {
    TRY(check_key(tx));
  } else {
    TRY(tx.environment().keep_key());
    rows::put(tx, Table::kMeta, kSealKey, "", true);
  }
  tx.put(Table::kMeta, kFormatKey, key_of(kStoreFormat));
  tx.put(Table::kMeta, kMinorKey, key_of(kStoreMinor));
  if (format) request_index_build(tx);
  // A damaged cursor is reported when the batches read it.
  const auto cursor = read_cursor(tx);
  if (cursor && cursor->stream_created != 0) TRY(number_stream(tx, cursor->stream_created));
  TRY(tx.commit());
  // Brings the row of the format into LMDB before any other row. A release from before the journal
  // reads only LMDB, and must find there that it cannot use this store.
  return tx.environment().checkpoint();
}

/// Writes the minor number of this release if the store has a lower one, so that releases that do
/// not know it refuse the store. In the same commit it requests what the index of the store lacks.
Status raise_minor(Transaction& tx) {
  const uint64_t minor = TRY(read_minor(tx));
  if (minor >= kStoreMinor) return {};
  if (minor < kMinorOfCountedRows) request_count_of_rows(tx);
  tx.put(Table::kMeta, kMinorKey, key_of(kStoreMinor));
  return tx.commit();
}

/// The highest number of a row that the counter numbers.
Result<uint64_t> highest_number(const View& view, Counter counter) {
  uint64_t highest = 0;
  switch (counter) {
    case Counter::kNamespace:
      TRY(each_namespace(view, [&](auto, const NamespaceRecord& record) {
        highest = std::max<uint64_t>(highest, static_cast<uint32_t>(record.number));
      }));
      return highest;
    case Counter::kWorkflow:
      TRY(each_workflow(view, [&](auto, auto, const WorkflowRecord& record) {
        highest = std::max<uint64_t>(highest, static_cast<uint32_t>(record.number));
      }));
      return highest;
    case Counter::kHistory:
      return last_number(view, Table::kHistory);
    case Counter::kOutbox:
      return last_number(view, Table::kOutbox);
    case Counter::kDelayed:
      return last_number(view, Table::kDelayed);
    case Counter::kGrouped:
      return last_grouped(view);
    case Counter::kKeptEvents:
      return last_kept_event(view);
    case Counter::kInbox:
      return last_number(view, Table::kInbox);
    case Counter::kWebhook:
      return last_number(view, Table::kWebhooks);
    case Counter::kEffects:
    case Counter::kSlots:
      return highest;  // the rows are not in the order of their numbers, and a start does not read
                       // them
  }
  return highest;
}

}  // namespace

// The format.

Result<std::optional<uint64_t>> read_format(const View& view) {
  return read(view, Table::kMeta, kFormatKey, decode_number);
}

Result<uint64_t> read_minor(const View& view) {
  return TRY(read(view, Table::kMeta, kMinorKey, decode_number)).value_or(0);
}

Status check_known_numbers(const View& view) {
  const bool is_joining = view.get(Table::kMeta, kLoadingKey).has_value();
  TRY(view.status());
  if (is_joining) return tl::unexpected(joining_error());
  const auto format = TRY(read_format(view));
  if (!format) return {};
  const uint64_t minor = TRY(read_minor(view));
  const bool is_known = is_older(*format) || *format == kStoreFormat;
  if (!is_known || minor > kStoreMinor) {
    return fail("store.version",
                fmt::format("the data folder has format {}.{}, this release reads up to format "
                            "{}.{}; use the release that wrote it, or a newer one",
                            *format, minor, kStoreFormat, kStoreMinor));
  }
  return {};
}

Status check_known_format(const View& view) {
  TRY(check_known_numbers(view));
  const bool is_of_cluster = view.get(Table::kMeta, kLogKey).has_value();
  TRY(view.status());
  if (!is_of_cluster) return {};
  return fail("store.cluster",
              "the data folder belongs to a cluster; start it as that of a node, with `millrace "
              "serve --cluster NAME`, or make it that of a server without a cluster, with "
              "`millrace cluster leave`");
}

Result<std::optional<std::string>> read_key_row(const View& view) {
  const std::optional<std::string_view> row = view.get(Table::kMeta, kSealKey);
  TRY(view.status());
  if (!row) return std::nullopt;
  return std::string(*row);
}

bool opens_key_row(const Seal& seal, std::string_view row) {
  return seal.open(row, seal_context(Table::kMeta, kSealKey)).has_value();
}

// The row `seal` has an empty sealed value, which the key must decrypt.
Status check_key(Transaction& tx) {
  if (read_text(tx, Table::kMeta, kSealKey)) return {};
  TRY(tx.status());
  const Environment& environment = tx.environment();
  return fail("store.key",
              fmt::format("{} {}; the secrets in {} are sealed with the original key: restore that "
                          "file, or use --secret-key-file to name the file that has the key",
                          environment.key_file().string(),
                          environment.key_is_new() ? "is missing" : "holds another key",
                          environment.folder().string()));
}

Status check_format(Transaction& tx) {
  const auto format = TRY(read_format(tx));
  if (!format) {
    bool is_used = false;
    tx.scan(Table::kNamespaces, {}, [&](auto, auto) { return !(is_used = true); });
    if (is_used) {
      return tl::unexpected(
          damaged_row(Table::kMeta, kFormatKey, "it is missing, but the store has namespaces"));
    }
  }
  TRY(tx.environment().is_led() ? check_known_numbers(tx) : check_known_format(tx));
  if (!format || is_older(*format)) return migrate(tx, format);
  TRY(check_key(tx));
  return raise_minor(tx);
}

// The progress of the store.

std::string encode(const Cursor& cursor) {
  Writer writer = begin_record();
  writer.zigzag(cursor.stream_created);
  writer.varint(cursor.sequence);
  put_time(writer, cursor.stamped);
  return writer.take();
}

Result<Cursor> decode_cursor(std::string_view bytes) {
  Reader reader = open_record(bytes);
  Cursor cursor;
  cursor.stream_created = reader.zigzag();
  cursor.sequence = reader.varint();
  cursor.stamped = get_time(reader);
  return end_record(reader, cursor, "cursor");
}

Result<Cursor> read_cursor(const View& view) {
  return TRY(read(view, Table::kMeta, kCursorKey, decode_cursor)).value_or(Cursor{});
}

void write_cursor(Transaction& tx, const Cursor& cursor) {
  tx.put(Table::kMeta, kCursorKey, encode(cursor));
}

Result<TimePoint> read_engine_time(const View& view) {
  const auto millis = TRY(read(view, Table::kMeta, kTimeKey, decode_number)).value_or(0);
  if (millis <= static_cast<uint64_t>(to_millis(kLastTime))) {
    return from_millis(static_cast<int64_t>(millis));
  }
  return tl::unexpected(damaged_row(Table::kMeta, kTimeKey,
                                    fmt::format("{} ms is not before the year 10000", millis)));
}

void write_engine_time(Transaction& tx, TimePoint time) {
  tx.put(Table::kMeta, kTimeKey, key_of(static_cast<uint64_t>(to_millis(time))));
}

Error damaged_engine_time(std::string_view what) {
  return damaged_row(Table::kMeta, kTimeKey, what);
}

// Counters.

Result<uint64_t> read_counter(const View& view, Counter counter) {
  const std::string key = counter_key(counter);
  const uint64_t last = TRY(read(view, Table::kMeta, key, decode_number)).value_or(0);
  if (last <= kMostNumber) return last;
  return tl::unexpected(
      damaged_row(Table::kMeta, key,
                  fmt::format("it is {}, the highest possible number is {}", last, kMostNumber)));
}

void write_counter(Transaction& tx, Counter counter, uint64_t last) {
  tx.put(Table::kMeta, counter_key(counter), key_of(last));
}

Result<uint64_t> next_number(const View& view, Counter counter) {
  const bool is_short = counter == Counter::kNamespace || counter == Counter::kWorkflow;
  const uint64_t most = is_short ? std::numeric_limits<uint32_t>::max() : kMostNumber;
  const uint64_t last = TRY(read_counter(view, counter));
  if (last < most) return last + 1;
  return tl::unexpected(
      damaged_row(Table::kMeta, counter_key(counter),
                  fmt::format("it is {}, and no number above {} can be assigned", last, most)));
}

Status check_counters(const View& view) {
  for (const Counter counter : {Counter::kNamespace, Counter::kWorkflow, Counter::kHistory,
                                Counter::kOutbox, Counter::kDelayed, Counter::kGrouped,
                                Counter::kKeptEvents, Counter::kInbox, Counter::kWebhook}) {
    const uint64_t last = TRY(next_number(view, counter)) - 1;
    const uint64_t highest = TRY(highest_number(view, counter));
    if (highest <= last) continue;
    return tl::unexpected(
        damaged_row(Table::kMeta, counter_key(counter),
                    fmt::format("it is {}, but a row has the number {}", last, highest)));
  }
  return {};
}

}  // namespace millrace
