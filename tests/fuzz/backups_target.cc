// The parts of a backup: the first byte chooses a chunk (c), a manifest (m) or a tar stream (t),
// the rest is its bytes.
//
// Covers: orchestrator/backup/chunk.cc orchestrator/backup/manifest.cc
// Covers: orchestrator/backup/tar_stream.cc orchestrator/store/disk/write_set.cc base/codec.cc
#include <sstream>
#include <string>
#include <vector>

#include "orchestrator/backup/chunk.h"
#include "orchestrator/backup/manifest.h"
#include "orchestrator/backup/tar_stream.h"
#include "orchestrator/store/disk/write_set.h"
#include "tests/fuzz/properties.h"
#include "tests/fuzz/target.h"

namespace millrace::fuzz {
namespace {

void check_chunk(std::string_view bytes) {
  std::string written;
  std::string last;
  const Result<std::string> end =
      each_row_of_chunk(bytes, "", [&](Table table, std::string_view key, std::string_view value) {
        const AbsoluteKey absolute(table, key);
        CHECK(absolute.view() > last, "the keys of a chunk do not ascend");
        last = absolute.view();
        append_write(written, last, value);
      });
  CHECK(chunk_hash(bytes).size() == 64, "a hash has {} digits", chunk_hash(bytes).size());
  if (!end) {
    check_shown_error(end.error());
    CHECK(end.error().code == kBackupDamaged, "{}", end.error().code);
    return;
  }
  CHECK(*end == last, "a chunk ends at another key than its last one");
  CHECK(written == bytes, "the rows of a chunk have another encoding");
  if (last.empty()) return;
  const Result<std::string> repeated = each_row_of_chunk(bytes, last, [](auto, auto, auto) {});
  CHECK(!repeated, "a chunk is accepted twice");
}

void check_manifest(std::string_view text) {
  const Result<BackupManifest> manifest = decode_backup_manifest(text);
  if (!manifest) return check_shown_error(manifest.error());
  const Result<BackupManifest> again = decode_backup_manifest(encode(*manifest));
  CHECK(again, "a manifest that was written is refused: {}", again.error().message);
  CHECK(*again == *manifest, "a manifest that was written is another one");
  CHECK(is_utf8(dump_json(summary_of(manifest->head))), "the summary is not UTF-8");
}

void check_tar_stream(std::string_view bytes) {
  std::istringstream in{std::string(bytes)};
  TarStreamReader reader(in);
  std::vector<TarStreamReader::Entry> entries;
  size_t size = 0;
  while (true) {
    Result<std::optional<TarStreamReader::Entry>> entry = reader.next();
    if (!entry) return check_shown_error(entry.error());
    if (!*entry) break;
    size += (*entry)->bytes.size();
    CHECK(size <= bytes.size(), "{} bytes of entries in {} bytes", size, bytes.size());
    entries.push_back(**std::move(entry));
  }
  std::ostringstream out;
  TarStreamWriter writer(out);
  for (const TarStreamReader::Entry& one : entries) {
    if (one.name.empty() || !is_printable_ascii(one.name) || one.name.ends_with('/')) return;
    if (one.name.starts_with("./") || one.name.size() > 99) return;
    CHECK(writer.add(one.name, one.bytes), "an entry cannot be written");
  }
  CHECK(writer.finish(), "an archive cannot be finished");
  std::istringstream written(out.str());
  TarStreamReader again(written);
  for (const TarStreamReader::Entry& one : entries) {
    const auto entry = again.next();
    CHECK(entry && *entry, "an entry that was written is lost: {}", one.name);
    CHECK((*entry)->name == one.name && (*entry)->bytes == one.bytes,
          "an entry that was written is another one: {}", one.name);
  }
}

}  // namespace

FUZZ_TARGET(backups) {
  if (bytes.empty() || bytes.size() > 262'144) return;
  const char kind = bytes.front();
  bytes.remove_prefix(1);
  if (kind == 'c') check_chunk(bytes);
  if (kind == 'm') check_manifest(bytes);
  if (kind == 't') check_tar_stream(bytes);
}

}  // namespace millrace::fuzz
