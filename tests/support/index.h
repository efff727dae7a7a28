// The index of a store that a test has changed: it is computed again, so that a store check finds
// the change alone; and the sizes of the counted rows are added up, to compare them with it.
#pragma once

#include <gtest/gtest.h>

#include "orchestrator/store/rows/counted_rows.h"
#include "orchestrator/store/rows/index_build.h"

namespace millrace {

inline void build_index(Transaction& tx) {
  request_index_build(tx);
  while (is_index_incomplete(tx)) {
    ASSERT_TRUE(build_index_step(tx, 1'000, [](const Error&) {}));
  }
}

/// The size of the counted rows of the namespace, by the rows themselves.
inline uint64_t counted_size(const Transaction& tx, NamespaceNumber ns) {
  const RowOwners owners = read_owners(tx).value();
  uint64_t sum = 0;
  for (const Table table : kCountedTables) {
    tx.scan(table, {}, [&](std::string_view key, std::string_view value) {
      if (counted_for(tx, owners, table, key, value) == ns) sum += counted_bytes(key, value);
      return true;
    });
  }
  return sum;
}

}  // namespace millrace
