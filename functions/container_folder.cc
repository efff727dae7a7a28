#include "functions/container_folder.h"

#include <system_error>

namespace millrace {
namespace {

namespace fs = std::filesystem;

}  // namespace

fs::path prepare_container_folder(const fs::path& folder) {
  std::error_code ignored;
  fs::path path = fs::absolute(folder, ignored);
  fs::create_directories(path, ignored);
  // The subfolders are open to all users, so this folder limits the access.
  fs::permissions(path, fs::perms::owner_all, ignored);
  for (fs::directory_iterator entry(path, ignored), end; !ignored && entry != end;
       entry.increment(ignored)) {
    remove_folder(entry->path());
  }
  return path;
}

bool is_too_full(const fs::path& folder) {
  uint64_t bytes = 0;
  size_t entries = 0;
  // If a file disappears meanwhile, this count ends early, and the next check counts again.
  std::error_code error;
  constexpr auto kOptions = fs::directory_options::skip_permission_denied;
  for (fs::recursive_directory_iterator entry(folder, kOptions, error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code ignored;
    const bool is_file = fs::is_regular_file(entry->symlink_status(ignored));
    const uint64_t size = is_file ? entry->file_size(ignored) : 0;
    if (!ignored) bytes += size;
    if (bytes > kMaxFolderBytes || ++entries > kMaxFolderEntries) return true;
  }
  return false;
}

void remove_folder(const fs::path& folder) {
  std::error_code ignored;
  fs::remove_all(folder, ignored);
}

}  // namespace millrace
