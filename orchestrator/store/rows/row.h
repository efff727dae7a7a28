// Rows: helpers that all kinds of rows share: parts of keys, sealed rows, reading rows as values.
// The helpers for the bytes of records are in fields.h. Only for orchestrator/store/rows and
// orchestrator/check.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/codec.h"
#include "base/result.h"
#include "model/instance.h"
#include "model/sealing.h"
#include "orchestrator/store/rows/damage.h"
#include "orchestrator/store/transaction.h"

namespace millrace::rows {

// Keys.

inline std::string key_of(uint64_t number) {
  Writer key;
  key.u64(number);
  return key.take();
}

inline std::string key_of(const InstanceId& id) {
  Writer key;
  key.id(id.bytes);
  return key.take();
}

inline uint64_t number_of(std::string_view key) { return Reader(key).u64(); }

/// The number in a key that may be damaged. Error: a damaged row, if the key is not a number from 1
/// to kMostNumber.
inline Result<uint64_t> numbered(Table table, std::string_view key) {
  Reader reader(key);
  const uint64_t number = reader.u64();
  if (reader.done() && number >= 1 && number <= kMostNumber) return number;
  return tl::unexpected(damaged_row(table, key, "its key is not the number of a row"));
}

inline std::string ns_prefix(NamespaceNumber ns) {
  Writer key;
  key.u32(static_cast<uint32_t>(ns));
  return key.take();
}

inline std::string workflow_prefix(WorkflowNumber workflow) {
  Writer key;
  key.u32(static_cast<uint32_t>(workflow));
  return key.take();
}

inline std::string instance_prefix(NamespaceNumber ns, const InstanceId& id) {
  Writer key;
  key.u32(static_cast<uint32_t>(ns));
  key.id(id.bytes);
  return key.take();
}

/// Whether a key of the tables `live` and `ended` is the key of an instance's head.
inline bool is_head(std::string_view key) {
  constexpr size_t kSize = 4 + 16 + 1;  // namespace, id, part
  return key.size() == kSize && key.back() == 0;
}

// Sealed rows: any row may be sealed. The first byte of a row says whether it is, and whether its
// data is masked or hidden, so the bytes of a record do not contain its member `sealed`.

/// The place that the seal of a row is bound to. The place of an instance's row is the same in
/// `live` and `ended`, because the rows of an instance that ends move between these tables as they
/// are.
inline std::string seal_context(Table table, std::string_view key) {
  const Table home = table == Table::kEnded ? Table::kLive : table;
  return std::string(1, static_cast<char>(home)).append(key);
}

/// How the API shows the data of a row.
inline Sealing sealing_of(std::string_view value) {
  if (!Seal::is_sealed(value)) return Sealing::kNone;
  return Seal::is_masked(value) ? Sealing::kMasked : Sealing::kHidden;
}

/// The bytes of a row, sealed if `sealing` says so.
inline std::string sealed_bytes(const Transaction& tx, Table table, std::string_view key,
                                std::string bytes, Sealing sealing) {
  if (!sealing) return bytes;
  const Seal::Mark mark = sealing.is_masked() ? Seal::Mark::kMasked : Seal::Mark::kHidden;
  return tx.seal().seal(bytes, seal_context(table, key), mark);
}

inline void put(Transaction& tx, Table table, std::string_view key, std::string bytes,
                Sealing sealing) {
  tx.put(table, key, sealed_bytes(tx, table, key, std::move(bytes), sealing));
}

/// Opens a sealed value and decodes it.
template <class T>
Result<T> open_and_decode(const View& view, Table table, std::string_view key,
                          std::string_view value, Result<T> (*decode_bytes)(std::string_view)) {
  const auto opened = view.seal().open(value, seal_context(table, key));
  if (!opened) return tl::unexpected(damaged_row(table, key, "its seal does not open"));
  Result<T> record = decode_bytes(*opened);
  if constexpr (requires(T & one) { one.sealed = true; }) {
    if (record) record->sealed = sealing_of(value);
  }
  return record;
}

/// Decodes a row's value, after opening it if it is sealed. Error: a damaged row.
template <class T>
Result<T> decode(const View& view, Table table, std::string_view key, std::string_view value,
                 Result<T> (*decode_bytes)(std::string_view)) {
  Result<T> record = Seal::is_sealed(value) ? open_and_decode(view, table, key, value, decode_bytes)
                                            : decode_bytes(value);
  if (!record && !is_damaged_row(record.error())) {
    record = tl::unexpected(damaged_row(table, key, record.error().message));
  }
  return record;
}

// Walking.

/// Scans a prefix and calls `row` for each row until `row` returns false. Ends with the first error
/// of the scan or of `row`. If `damaged` is set, it receives the errors of damaged rows instead,
/// and the walk continues.
template <class F>
Status walk(const View& view, Table table, std::string_view prefix, std::string_view from, F row,
            const OnDamage& damaged = nullptr) {
  Status status;
  view.scan(table, prefix, from, Direction::kForward,
            [&](std::string_view key, std::string_view value) {
              const auto more = [&]() -> Result<bool> { return row(key, value); }();
              if (!more && damaged && is_damaged_row(more.error())) {
                damaged(more.error());
                return true;
              }
              if (!more) status = tl::unexpected(more.error());
              return more.has_value() && *more;
            });
  if (!status) return status;
  return view.status();
}

/// The decoded row at a key; nullopt: there is none. Error: a damaged row.
template <class T>
Result<std::optional<T>> read(const View& view, Table table, std::string_view key,
                              Result<T> (*decode_bytes)(std::string_view)) {
  const auto bytes = view.get(table, key);
  if (!bytes) {
    TRY(view.status());
    return std::optional<T>();
  }
  return std::optional<T>(TRY(decode(view, table, key, *bytes, decode_bytes)));
}

/// The bytes of a row that is not a record; nullopt: there is none.
inline Result<std::optional<std::string>> read_text(const View& view, Table table,
                                                    std::string_view key) {
  return read<std::string>(view, table, key, [](std::string_view bytes) {
    return Result<std::string>(std::string(bytes));
  });
}

/// The JSON text of a row; nullopt: there is none. Error: a damaged row, if it is not JSON.
inline Result<std::optional<LazyJson>> read_json(const View& view, Table table,
                                                 std::string_view key) {
  return read<LazyJson>(view, table, key, [](std::string_view bytes) -> Result<LazyJson> {
    if (auto json = LazyJson::of_stored(std::string(bytes))) return *std::move(json);
    return fail("store.corrupt", "it is not JSON");
  });
}

/// The error of a required row that is missing. `why` continues the text "it is missing".
inline tl::unexpected<Error> missing_row(Table table, std::string_view key,
                                         std::string_view why = "") {
  return tl::unexpected(damaged_row(table, key, std::string("it is missing").append(why)));
}

/// The number at the end of the last key with that prefix; 0 if no key has that prefix.
inline Result<uint64_t> last_number(const View& view, Table table, std::string_view prefix = {}) {
  uint64_t last = 0;
  view.scan(table, prefix, {}, Direction::kBackward, [&](std::string_view key, auto) {
    last = number_of(key.substr(prefix.size()));
    return false;
  });
  TRY(view.status());
  return last;
}

/// Erases at most `most` rows with that prefix; returns how many it erased.
inline Result<size_t> erase_some(Transaction& tx, Table table, std::string_view prefix,
                                 size_t most) {
  std::vector<std::string> keys;
  tx.scan(table, prefix, [&](std::string_view key, auto) {
    keys.emplace_back(key);
    return keys.size() < most;
  });
  TRY(tx.status());
  for (const std::string& key : keys) tx.erase(table, key);
  return keys.size();
}

}  // namespace millrace::rows
