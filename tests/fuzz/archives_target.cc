// Archives of functions: the first byte chooses tar or tar.gz, the rest is the archive. It is read
// in memory, and unpacked into a folder: nothing outside of the folder is written, and a second
// archive of what was written has the same files.
// Covers: functions/archive.cc functions/files.cc
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string>

#include "functions/archive.h"
#include "functions/files.h"
#include "model/task.h"
#include "tests/fuzz/properties.h"
#include "tests/fuzz/target.h"
#include "tests/support/folder.h"

namespace millrace::fuzz {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostArchiveBytes = 65'536;

/// Reads all entries. The archive may be compressed, so its files may have more bytes than it.
void read_archive(std::string_view bytes, bool gzip) {
  ArchiveReader reader(bytes, gzip);
  for (size_t entries = 0; entries <= kMaxFilesEntries; ++entries) {
    const Result<std::optional<ArchiveEntry>> entry = reader.next();
    if (!entry) return check_shown_error(entry.error());
    if (!*entry) return;
    uint64_t size = 0;
    while (true) {
      const Result<std::string_view> some = reader.read();
      if (!some) return check_shown_error(some.error());
      if (some->empty()) break;
      size += some->size();
      CHECK(size <= (*entry)->size, "the entry {} has {} bytes, its header says {}",
            excerpt((*entry)->path), size, (*entry)->size);
    }
  }
}

/// The size of each file below the folder, by its path; folders have none. Anything else than files
/// and folders is a fault.
std::map<std::string, std::optional<uint64_t>> tree_below(const fs::path& folder) {
  std::map<std::string, std::optional<uint64_t>> tree;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    const fs::file_status status = entry.symlink_status();
    CHECK(fs::is_regular_file(status) || fs::is_directory(status),
          "{} is neither a file nor a folder", entry.path().string());
    const bool is_file = fs::is_regular_file(status);
    tree.emplace(fs::relative(entry.path(), folder).string(),
                 is_file ? std::optional<uint64_t>(entry.file_size()) : std::nullopt);
  }
  return tree;
}

void unpack_archive(std::string_view bytes, FileType type) {
  const Folder folder(fast_folder());
  const fs::path task = folder.path() / "task";
  std::ofstream(folder.path() / "guard") << "guard";
  const Status done = lay_out_files({{"in", type, std::string(bytes)}}, task);
  uint64_t total = 0;
  size_t outside = 0;
  for (const auto& [path, size] : tree_below(folder.path())) {
    total += size.value_or(0);
    if (path != "task" && !path.starts_with("task/")) ++outside;
    CHECK(done || !path.starts_with("task"), "{} is left of an archive that was refused", path);
  }
  CHECK(outside == 1 && fs::file_size(folder.path() / "guard") == 5,
        "an archive changed something outside of its folder");
  if (!done) return check_shown_error(done.error());
  CHECK(total <= kMaxFilesBytes + 5, "an archive has {} bytes of files", total);

  // What a function leaves becomes a variable, and that variable becomes the same files.
  std::error_code failed;
  fs::create_directories(task / "out" / "instance", failed);
  fs::rename(task / "in", task / "out" / "instance" / "made", failed);
  if (failed) return;
  const Result<std::vector<TaskVariable>> variables = collect_variables(task);
  if (!variables) return check_shown_error(variables.error());
  CHECK(variables->size() == 1, "a folder became {} variables", variables->size());
  const fs::path again = folder.path() / "again";
  const Status back =
      lay_out_files({{"in", FileType::kTarGz, variables->front().value.bytes}}, again);
  CHECK(back, "the archive of a folder is refused: {}", back.error().message);
  CHECK(tree_below(again / "in") == tree_below(task / "out" / "instance" / "made"),
        "the archive of a folder has other files");
}

}  // namespace

FUZZ_TARGET(archives) {
  if (bytes.empty() || bytes.size() > kMostArchiveBytes) return;
  const bool gzip = bytes.front() == 'z';
  bytes.remove_prefix(1);
  read_archive(bytes, gzip);
  unpack_archive(bytes, gzip ? FileType::kTarGz : FileType::kTar);
}

}  // namespace millrace::fuzz
