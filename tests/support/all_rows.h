// All rows of a view, by table and key.
#pragma once

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

}  // namespace millrace
