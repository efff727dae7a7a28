#include "orchestrator/store/tables.h"

#include <algorithm>

namespace millrace {

const std::array<Table, kTables.size()>& tables_in_order() {
  static const std::array<Table, kTables.size()> sorted = [] {
    std::array<Table, kTables.size()> tables{};
    std::transform(kTables.begin(), kTables.end(), tables.begin(),
                   [](const TableName& one) { return one.table; });
    std::sort(tables.begin(), tables.end());
    return tables;
  }();
  return sorted;
}

uint64_t about_rows_of(const View& view) {
  uint64_t rows = 0;
  for (const TableName& one : kTables) rows += view.about_rows(one.table);
  return rows;
}

}  // namespace millrace
