#include "orchestrator/backup/rolling_chunks.h"

#include <utility>

#include "orchestrator/store/disk/log_row.h"
#include "orchestrator/store/tables.h"

namespace millrace {
namespace {

/// How many rows more than twice those of the store the chunks may have before one view is kept.
constexpr uint64_t kFurtherRows = 1'000;

/// The position of the store that the view shows; all zero: it has none.
Result<LogPosition> read_position(const View& view) {
  const bool is_joining = view.get(Table::kMeta, kLoadingKey).has_value();
  const auto row = view.get(Table::kMeta, kLogKey);
  TRY(view.status());
  if (is_joining) return tl::unexpected(joining_error());
  if (!row) return LogPosition();
  return decode_log_position(*row);
}

}  // namespace

Result<std::optional<std::string>> RollingChunks::next() {
  if (has_ended_) return std::nullopt;
  if (!view_) view_.emplace(TRY(Snapshot::take(environment_)));
  to_ = TRY(read_position(*view_));
  if (!has_started_) TRY(begin(*view_));
  BackupChunk chunk = TRY(read_chunk(*view_, last_key_, most_bytes_,
                                     [this](std::string_view key) { return choose(key); }));
  has_ended_ = chunk.bytes.empty();
  if (has_ended_ || sum_of(rows_) <= most_rows_) view_.reset();
  if (has_ended_) return std::nullopt;
  last_key_ = TRY(each_row_of_chunk(
      chunk.bytes, last_key_, [this](Table table, auto, auto) { ++rows_[table_name(table)]; }));
  return std::move(chunk.bytes);
}

Status RollingChunks::begin(const View& view) {
  for (const Table table : tables_in_order()) {
    view.scan(table, {}, {}, Direction::kBackward, [&](std::string_view key, auto) {
      ends_.emplace(table, key);
      return false;
    });
  }
  TRY(view.status());
  most_rows_ = 2 * (about_rows_of(view) + TRY(environment_.size()).waiting_rows) + kFurtherRows;
  from_ = to_;
  has_started_ = true;
  return {};
}

RowChoice RollingChunks::choose(std::string_view absolute_key) const {
  const auto end = ends_.find(table_of(absolute_key));
  const bool is_beyond = end == ends_.end() || key_of(absolute_key) > end->second;
  return is_beyond ? RowChoice::kEndTable : RowChoice::kTake;
}

}  // namespace millrace
