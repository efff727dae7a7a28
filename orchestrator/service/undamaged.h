// Rows that a query needs and that may be damaged.
#pragma once

#include <optional>

#include "base/result.h"
#include "orchestrator/store/rows/damage.h"

namespace millrace {

/// The value of a row; nullopt also if the row is damaged.
template <class T>
Result<std::optional<T>> undamaged(Result<std::optional<T>> read) {
  if (read || !is_damaged_row(read.error())) return read;
  return std::optional<T>();
}

}  // namespace millrace
