#include "orchestrator/backup/backup_tar.h"

#include <fmt/format.h>

#include "base/excerpt.h"

namespace millrace {
namespace {

constexpr std::string_view kTheStream = "the tar stream";

/// The error of an entry in a place where the file `expected` must be.
tl::unexpected<Error> wrong_entry(std::string_view name, std::string_view expected) {
  return fail(
      std::string(kBackupDamaged),
      fmt::format("the tar stream has the entry {} where {} is expected; if the archive was "
                  "made from a folder, make it with `tar --sort=name -cf - -C FOLDER .`",
                  excerpt(name), expected));
}

}  // namespace

Result<std::unique_ptr<BackupTarSource>> BackupTarSource::open(std::istream& in) {
  std::unique_ptr<BackupTarSource> source(new BackupTarSource(in));
  const auto entry = TRY(source->tar_.next());
  if (!entry) return tl::unexpected(incomplete_backup(kTheStream));
  if (entry->name != kBackupHeadFile) return wrong_entry(entry->name, kBackupHeadFile);
  source->head_ = TRY(read_head_file(entry->bytes));
  return source;
}

Result<std::optional<std::string>> BackupTarSource::next_chunk() {
  auto entry = TRY(tar_.next());
  if (!entry) return tl::unexpected(incomplete_backup(kTheStream));
  if (entry->name == kBackupManifestFile) {
    TRY(end(entry->bytes));
    return std::nullopt;
  }
  const std::string expected = chunk_file(found_.size() + 1);
  if (entry->name != expected) return wrong_entry(entry->name, expected);
  found_.push_back(entry_of(entry->bytes));
  return std::move(entry->bytes);
}

/// Reads the manifest and compares it with the head and the chunks before it.
Status BackupTarSource::end(std::string_view manifest) {
  manifest_ = TRY(decode_backup_manifest(manifest));
  if (manifest_.head != head_) {
    return fail(std::string(kBackupDamaged),
                fmt::format("the file {} in the tar stream differs from the manifest; use another "
                            "backup",
                            kBackupHeadFile));
  }
  for (size_t i = 0; i < found_.size(); ++i) TRY(check_chunk(manifest_, i + 1, found_[i]));
  if (found_.size() == manifest_.chunks.size()) return {};
  return fail(std::string(kBackupDamaged),
              fmt::format("the tar stream has {} chunks, the manifest lists {}; use another backup",
                          found_.size(), manifest_.chunks.size()));
}

}  // namespace millrace
