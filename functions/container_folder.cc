#include "functions/container_folder.h"

#include <cerrno>
#include <cstring>
#include <string_view>
#include <system_error>

#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "model/task.h"

namespace millrace {
namespace {

namespace fs = std::filesystem;

void empty_folder(const fs::path& path) {
  std::error_code ignored;
  for (fs::directory_iterator entry(path, ignored), end; !ignored && entry != end;
       entry.increment(ignored)) {
    remove_folder(entry->path());
  }
}

tl::unexpected<Error> no_sealed_folder(const fs::path& path, std::string_view why) {
  return fail(std::string(kFunctionFiles),
              fmt::format("the files of a call that gets a secret must stay in memory, but {} {}; "
                          "name a folder of a tmpfs that only millrace uses with --memory-folder",
                          path.string(), why));
}

/// Whether the folder is on a file system that keeps files in memory only.
bool is_in_memory(const fs::path& folder) {
  struct statfs found {};
  if (::statfs(folder.c_str(), &found) != 0) return false;
  return found.f_type == TMPFS_MAGIC || found.f_type == RAMFS_MAGIC;
}

}  // namespace

bool is_own_folder(const fs::path& path) {
  struct stat found {};
  return ::lstat(path.c_str(), &found) == 0 && S_ISDIR(found.st_mode) &&
         found.st_uid == ::geteuid() && (found.st_mode & 077) == 0;
}

fs::path make_own_folder(const fs::path& folder) {
  std::error_code ignored;
  fs::path path = fs::absolute(folder, ignored);
  // A link is removed and not followed, because the folder to which it leads is not millrace's.
  if (fs::is_symlink(path, ignored)) fs::remove(path, ignored);
  fs::create_directories(path, ignored);
  // The subfolders are open to all users, so this folder limits the access.
  fs::permissions(path, fs::perms::owner_all, ignored);
  return path;
}

fs::path prepare_container_folder(const fs::path& folder) {
  fs::path path = make_own_folder(folder);
  empty_folder(path);
  return path;
}

Result<fs::path> make_sealed_folder(const fs::path& folder) {
  std::error_code ignored;
  fs::path path = fs::absolute(folder, ignored);
  if (!is_in_memory(path.parent_path())) {
    return no_sealed_folder(path.parent_path(), "is not a folder of a tmpfs");
  }
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
    return no_sealed_folder(path, fmt::format("can't be created: {}", std::strerror(errno)));
  }
  // Every user can write to /dev/shm, so another user may have made the folder.
  if (!is_own_folder(path)) {
    return no_sealed_folder(path, "is not a folder to which only the user of millrace has access");
  }
  return path;
}

Result<fs::path> prepare_sealed_folder(const fs::path& folder) {
  fs::path path = TRY(make_sealed_folder(folder));
  empty_folder(path);
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
