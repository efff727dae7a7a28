#include "orchestrator/store/disk/table.h"

#include "base/check.h"

namespace millrace {

const char* table_name(Table table) {
  for (const TableName& entry : kTables) {
    if (entry.table == table) return entry.name;
  }
  CHECK(false, "there is no table with the letter '{}'; expected a letter of the enum Table",
        static_cast<char>(table));
}

void AbsoluteKey::check_size(Table table, std::string_view key) {
  CHECK(!key.empty() && key.size() <= kMaxKeySize,
        "a key of the table {} has {} bytes, expected 1 to {}", table_name(table), key.size(),
        kMaxKeySize);
}

}  // namespace millrace
