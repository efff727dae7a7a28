// All rows of a view or of a data folder, by table and key.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>

#include "orchestrator/store/transaction.h"

namespace millrace {

using RowsByKey = std::map<std::pair<Table, std::string>, std::string>;

inline RowsByKey all_rows(const View& view) {
  RowsByKey rows;
  for (const TableName& one : kTables) {
    view.scan(one.table, "", [&](std::string_view key, std::string_view value) {
      rows.emplace(std::pair(one.table, key), value);
      return true;
    });
  }
  EXPECT_TRUE(view.status());
  return rows;
}

/// All rows of the store in that folder, which no process may have open. If the store does not
/// open, fails the test and returns no rows.
inline RowsByKey rows_in_folder(const std::filesystem::path& folder) {
  const auto environment = Environment::open(folder, {.read_only = true});
  if (!environment) {
    ADD_FAILURE() << environment.error().message;
    return {};
  }
  const auto view = Snapshot::take(**environment);
  if (view) return all_rows(*view);
  ADD_FAILURE() << view.error().message;
  return {};
}

}  // namespace millrace
