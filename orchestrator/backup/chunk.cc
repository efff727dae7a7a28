#include "orchestrator/backup/chunk.h"

#include <algorithm>
#include <array>
#include <optional>

#include <fmt/format.h>
#include <sodium.h>

#include "base/bytes.h"
#include "base/check.h"
#include "orchestrator/store/disk/log_row.h"
#include "orchestrator/store/disk/write_set.h"
#include "orchestrator/store/tables.h"

namespace millrace {
namespace {

bool is_table(char letter) {
  return std::any_of(kTables.begin(), kTables.end(), [letter](const TableName& one) {
    return static_cast<char>(one.table) == letter;
  });
}

/// Why a write cannot be a write of a chunk; empty: it can.
std::string wrong_write(std::string_view key, bool has_value, std::string_view last) {
  if (!is_table(key.front())) {
    return fmt::format("a key begins with byte {}, which is not the letter of a table",
                       static_cast<unsigned char>(key.front()));
  }
  if (key.size() < 2 || key.size() > 1 + kMaxKeySize) {
    return fmt::format("a key has {} bytes, expected 2 to {}", key.size(), 1 + kMaxKeySize);
  }
  if (!has_value) return "a row has no value";
  if (is_row_of_folder(key)) return "a row is one that only the folder of a node has";
  if (key <= last) return "the keys do not ascend";
  return {};
}

tl::unexpected<Error> damaged_chunk(std::string_view what) {
  return fail(std::string(kBackupDamaged),
              fmt::format("a chunk is damaged: {}; use another backup or snapshot", what));
}

}  // namespace

uint64_t sum_of(const RowCounts& rows) {
  uint64_t sum = 0;
  for (const auto& [table, count] : rows) sum += count;
  return sum;
}

Result<BackupChunk> read_chunk(const View& view, std::string_view after, size_t most_bytes,
                               const ChooseRow& choose) {
  BackupChunk chunk{.last_key = std::string(after)};
  bool is_full = false;
  std::string absolute;
  for (const Table table : tables_in_order()) {
    std::string from;
    if (!after.empty()) {
      if (table < table_of(after)) continue;
      if (table == table_of(after)) from = std::string(key_of(after)).append(1, '\0');
    }
    view.scan(table, {}, from, Direction::kForward,
              [&](std::string_view key, std::string_view value) {
                absolute.assign(1, static_cast<char>(table)).append(key);
                if (is_row_of_folder(absolute)) return true;
                if (choose && choose(absolute) == RowChoice::kEndTable) return false;
                const size_t before = chunk.bytes.size();
                append_write(chunk.bytes, absolute, value);
                is_full = before > 0 && chunk.bytes.size() > most_bytes;
                if (is_full) {
                  chunk.bytes.resize(before);
                } else {
                  chunk.last_key = absolute;
                }
                return !is_full;
              });
    TRY(view.status());
    if (is_full) break;
  }
  return chunk;
}

Result<std::string> each_row_of_chunk(
    std::string_view chunk, std::string_view after,
    const std::function<void(Table table, std::string_view key, std::string_view value)>& see) {
  std::string_view last = after;
  std::string wrong;
  const bool is_whole =
      each_write(chunk, [&](std::string_view key, std::optional<std::string_view> value) {
        if (!wrong.empty()) return;
        wrong = wrong_write(key, value.has_value(), last);
        if (!wrong.empty()) return;
        last = key;
        see(table_of(key), key_of(key), *value);
      });
  if (!is_whole) return damaged_chunk("its bytes are not a write-set");
  if (!wrong.empty()) return damaged_chunk(wrong);
  return std::string(last);
}

std::string chunk_hash(std::string_view chunk) {
  std::array<uint8_t, crypto_generichash_BYTES> hash{};
  static_assert(crypto_generichash_BYTES == 32);
  CHECK(crypto_generichash(hash.data(), hash.size(),
                           reinterpret_cast<const unsigned char*>(chunk.data()), chunk.size(),
                           nullptr, 0) == 0);
  return to_hex(hash);
}

}  // namespace millrace
