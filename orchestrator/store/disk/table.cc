#include "orchestrator/store/disk/table.h"

#include "base/check.h"

namespace millrace {

namespace {

const TableName& entry_of(Table table) {
  for (const TableName& entry : kTables) {
    if (entry.table == table) return entry;
  }
  CHECK(false, "there is no table with the letter '{}'; expected a letter of the enum Table",
        static_cast<char>(table));
}

}  // namespace

const char* table_name(Table table) { return entry_of(table).name; }

uint64_t since_format(Table table) { return entry_of(table).since; }

void AbsoluteKey::check_size(Table table, std::string_view key) {
  CHECK(!key.empty() && key.size() <= kMaxKeySize,
        "a key of the table {} has {} bytes, expected 1 to {}", table_name(table), key.size(),
        kMaxKeySize);
}

}  // namespace millrace
