#include "orchestrator/backup/loader.h"

namespace millrace {

Status BackupLoader::add(std::string_view chunk) {
  last_key_ = TRY(each_row_of_chunk(
      chunk, last_key_, [this](Table table, std::string_view key, std::string_view value) {
        tx_.put(table, key, std::string(value));
        ++rows_[table_name(table)];
      }));
  batch_bytes_ += chunk.size();
  if (batch_bytes_ < kBatchBytes) return {};
  return finish();
}

Status BackupLoader::finish() {
  batch_bytes_ = 0;
  return tx_.commit(limit_);
}

}  // namespace millrace
