#include "orchestrator/backup/backup_writer.h"

namespace millrace {

Status BackupWriter::begin() {
  return target_.write(kBackupHeadFile, dump_json(encode(manifest_.head)) + "\n");
}

Status BackupWriter::add(std::string_view chunk) {
  last_key_ = TRY(
      each_row_of_chunk(chunk, last_key_, [this](Table table, std::string_view, std::string_view) {
        ++manifest_.rows[table_name(table)];
      }));
  TRY(target_.write(chunk_file(manifest_.chunks.size() + 1), chunk));
  manifest_.chunks.push_back(entry_of(chunk));
  bytes_ += chunk.size();
  return {};
}

Status BackupWriter::finish() {
  TRY(target_.write(kBackupManifestFile, encode(manifest_)));
  return target_.finish();
}

}  // namespace millrace
