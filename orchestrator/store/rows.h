// Rows: what the files of tables share: the pieces that keys are made of, and reading rows as
// values. For this folder only.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/instance.h"
#include "orchestrator/store/codec.h"
#include "orchestrator/store/transaction.h"

namespace millrace::rows {

// Keys.

inline std::string key_of(uint64_t number) {
  Writer key;
  key.u64(number);
  return key.take();
}

inline uint64_t number_of(std::string_view key) { return Reader(key).u64(); }

inline std::string space_prefix(NamespaceNumber space) {
  Writer key;
  key.u32(static_cast<uint32_t>(space));
  return key.take();
}

inline std::string workflow_prefix(WorkflowNumber workflow) {
  Writer key;
  key.u32(static_cast<uint32_t>(workflow));
  return key.take();
}

inline std::string instance_prefix(NamespaceNumber space, const InstanceId& id) {
  Writer key;
  key.u32(static_cast<uint32_t>(space));
  key.id(id.bytes);
  return key.take();
}

// Walking.

/// Scans a prefix, decoding each row; ends with the first error of the scan or of a row.
template <class F>
Status walk(const View& view, Table table, std::string_view prefix, std::string_view from, F row) {
  Status status;
  view.scan(table, prefix, from, Direction::kForward,
            [&](std::string_view key, std::string_view value) {
              const auto more = [&]() -> Result<bool> { return row(key, value); }();
              if (!more) status = tl::unexpected(more.error());
              return more.has_value() && *more;
            });
  if (!status) return status;
  return view.status();
}

/// What stands at a key, decoded.
template <class T>
Result<std::optional<T>> read(const View& view, Table table, std::string_view key,
                              Result<T> (*decode)(std::string_view)) {
  const auto bytes = view.get(table, key);
  if (!bytes) {
    TRY(view.status());
    return std::optional<T>();
  }
  return std::optional<T>(TRY(decode(*bytes)));
}

}  // namespace millrace::rows
