#include "orchestrator/store/hot_rows.h"

#include <algorithm>
#include <array>
#include <utility>

#include "orchestrator/store/disk/log_row.h"

namespace millrace {
namespace {

constexpr std::array kHotTables{Table::kCounts, Table::kMeta, Table::kUsage};

/// At that many rows no further ones are noted, and the next commit forgets all of them: then the
/// batches use rows of many workflows, and the rows of some of them may not be used again.
constexpr size_t kMostRows = 256;
/// Longer values are not kept.
constexpr size_t kMostBytes = 256;

bool is_hot(Table table) {
  return std::find(kHotTables.begin(), kHotTables.end(), table) != kHotTables.end();
}

/// Calls `see` with the key and the value of each write of a hot table.
template <class Writes, class See>
void each_hot(Writes& writes, const See& see) {
  for (const Table table : kHotTables) {
    const char byte = static_cast<char>(table);
    auto next = writes.lower_bound(std::string_view(&byte, 1));
    for (; next != writes.end() && next->first.front() == byte; ++next) {
      see(next->first, next->second);
    }
  }
}

}  // namespace

const std::optional<std::string>* HotRows::find(Table table, std::string_view absolute_key) const {
  if (!is_hot(table)) return nullptr;
  const auto found = rows_.find(absolute_key);
  return found == rows_.end() ? nullptr : &found->second;
}

void HotRows::note(Table table, std::string_view absolute_key,
                   std::optional<std::string_view> value) {
  if (!is_hot(table) || is_row_of_folder(absolute_key)) return;
  if (rows_.size() >= kMostRows || (value && value->size() > kMostBytes)) return;
  rows_.insert_or_assign(std::string(absolute_key),
                         value ? std::optional<std::string>(*value) : std::nullopt);
}

void HotRows::forget_long(const WriteSet& writes) {
  each_hot(writes, [&](const std::string& key, const std::optional<std::string>& value) {
    if (value && value->size() > kMostBytes) rows_.erase(key);
  });
}

void HotRows::committed(WriteSet& writes) {
  each_hot(writes, [&](const std::string& key, std::optional<std::string>& value) {
    const auto known = rows_.find(key);
    if (known != rows_.end()) known->second = std::move(value);
  });
  if (rows_.size() >= kMostRows) rows_.clear();
}

void HotRows::forget(const WriteSet& writes) {
  for (const auto& [key, value] : writes) rows_.erase(key);
}

}  // namespace millrace
