// A backup that is loaded into an empty store. The input has its chunks, with a line `--` between
// them, to which the target writes a head, a manifest and a tar stream that are right. The first
// line may name a byte of the stream to change, as `POSITION VALUE`.
// Covers: orchestrator/backup/loader.cc orchestrator/backup/backup_tar.cc
// Covers: orchestrator/backup/backup_files.cc orchestrator/backup/tar_stream.cc
// Covers: orchestrator/backup/chunk.cc orchestrator/backup/manifest.cc
#include <algorithm>
#include <charconv>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "orchestrator/backup/backup_tar.h"
#include "orchestrator/backup/loader.h"
#include "orchestrator/store/disk/environment.h"
#include "orchestrator/store/rows/meta_rows.h"
#include "tests/fuzz/properties.h"
#include "tests/fuzz/target.h"
#include "tests/support/folder.h"

namespace millrace::fuzz {
namespace {

constexpr size_t kMostBackupBytes = 65'536;
constexpr size_t kMostBackupChunks = 8;
constexpr std::string_view kBetweenChunks = "\n--\n";

using LoadedRows = std::map<std::string, std::string>;  ///< by absolute key

std::vector<std::string> chunks_of_input(std::string_view bytes) {
  std::vector<std::string> chunks;
  while (!bytes.empty() && chunks.size() < kMostBackupChunks) {
    const size_t end = std::min(bytes.find(kBetweenChunks), bytes.size());
    chunks.emplace_back(bytes.substr(0, end));
    bytes.remove_prefix(std::min(end + kBetweenChunks.size(), bytes.size()));
  }
  return chunks;
}

/// The rows of the chunks; nullopt: millrace does not write such chunks.
std::optional<LoadedRows> rows_of_chunks(const std::vector<std::string>& chunks) {
  LoadedRows rows;
  std::string last;
  for (const std::string& chunk : chunks) {
    Result<std::string> end = each_row_of_chunk(
        chunk, last, [&](Table table, std::string_view key, std::string_view value) {
          rows[std::string(AbsoluteKey(table, key).view())] = value;
        });
    if (!end) return std::nullopt;
    last = *std::move(end);
  }
  return rows;
}

std::string archive_of_chunks(const std::vector<std::string>& chunks, const LoadedRows& rows) {
  BackupManifest manifest{.head = {.format = kStoreFormat,
                                   .minor = kStoreMinor,
                                   .commit = 1,
                                   .time = from_millis(1'630'454'400'000),
                                   .release = "0.1.0"}};
  for (const auto& [key, value] : rows) ++manifest.rows[table_name(table_of(key))];
  std::ostringstream out;
  BackupTarTarget tar(out);
  CHECK(tar.write(kBackupHeadFile, dump_json(encode(manifest.head))));
  for (const std::string& chunk : chunks) {
    manifest.chunks.push_back(entry_of(chunk));
    CHECK(tar.write(chunk_file(manifest.chunks.size()), chunk));
  }
  CHECK(tar.write(kBackupManifestFile, encode(manifest)));
  CHECK(tar.finish());
  return out.str();
}

/// Changes the byte that the line names, and returns whether it has another value then.
bool change_named_byte(std::string& archive, std::string_view line) {
  size_t at = 0;
  unsigned value = 0;
  const char* const last = line.data() + line.size();
  const auto [blank, failed] = std::from_chars(line.data(), last, at);
  if (failed != std::errc() || blank == last) return false;
  if (std::from_chars(blank + 1, last, value).ec != std::errc()) return false;
  char& byte = archive[at % archive.size()];
  return std::exchange(byte, static_cast<char>(value)) != static_cast<char>(value);
}

/// The rows of the store that a restore makes of the archive.
Result<LoadedRows> load_archive(const std::string& archive) {
  std::istringstream in(archive);
  const auto source = TRY(BackupTarSource::open(in));
  const Folder folder(fast_folder());
  const auto environment = TRY(Environment::open(
      folder.path() / "data", {.map_bytes = uint64_t{1} << 30, .reserve_bytes = 0}));
  Transaction tx(*environment);
  BackupLoader loader(tx);
  while (auto chunk = TRY(source->next_chunk())) TRY(loader.add(*chunk));
  TRY(loader.finish());
  if (loader.rows() != source->manifest().rows) {
    return fail(std::string(kBackupDamaged), "the backup has other rows than its manifest lists");
  }
  LoadedRows rows;
  for (const TableName& one : kTables) {
    tx.scan(one.table, "", [&](std::string_view key, std::string_view value) {
      rows.emplace(AbsoluteKey(one.table, key).view(), value);
      return true;
    });
  }
  TRY(tx.status());
  return rows;
}

}  // namespace

FUZZ_TARGET(restored_backups) {
  if (bytes.size() > kMostBackupBytes) return;
  const auto [damage, rest] = first_line_and_rest(bytes);
  const std::vector<std::string> chunks = chunks_of_input(rest);
  const std::optional<LoadedRows> expected = rows_of_chunks(chunks);
  std::string archive = archive_of_chunks(chunks, expected.value_or(LoadedRows()));
  const bool is_damaged = change_named_byte(archive, damage);
  const Result<LoadedRows> loaded = load_archive(archive);
  if (!loaded) {
    check_shown_error(loaded.error());
    CHECK(is_damaged || !expected, "a whole backup is refused: {}", loaded.error().message);
    return;
  }
  // Each chunk has a hash in the manifest, so a backup that is loaded has the original rows.
  CHECK(expected, "a backup with a chunk that millrace does not write is loaded");
  CHECK(*loaded == *expected, "the store has {} rows, other ones than the backup", loaded->size());
}

}  // namespace millrace::fuzz
