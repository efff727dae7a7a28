#include "orchestrator/store/disk/store_files.h"

#include <array>
#include <cerrno>
#include <climits>
#include <cstdio>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "orchestrator/store/disk/log_row.h"
#include "orchestrator/store/disk/store_error.h"
#include "os/descriptor.h"
#include "os/read_file.h"
#include "os/write_file.h"

namespace millrace {
namespace {

namespace fs = std::filesystem;

/// The files that belong to the rows of the store.
constexpr std::array kFilesOfRows = {"in-hand",   "restored",  "lock.mdb",
                                     "journal-0", "journal-1", "data.mdb"};

/// The file that is there while the files are removed (it is empty) or moved (it has the name of
/// the folder).
constexpr const char* kClearing = "clearing";

tl::unexpected<Error> failed_call(int error, std::string_view operation, const fs::path& path) {
  return tl::unexpected(store_error(error, operation, path));
}

bool is_there(const fs::path& path) {
  struct stat found {};
  return ::lstat(path.c_str(), &found) == 0;
}

/// Locks the folder as Environment::open() does. A folder without the file `lock` was never open.
Result<Descriptor> lock_folder(const fs::path& folder) {
  Descriptor lock(::open((folder / "lock").c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC));
  if (!lock) {
    if (errno == ENOENT) return lock;
    return failed_call(errno, "opening the lock", folder);
  }
  if (::flock(lock.fd(), LOCK_EX | LOCK_NB) == 0) return lock;
  if (errno != EWOULDBLOCK) return failed_call(errno, "locking", folder);
  return fail("store.locked",
              fmt::format("{} is in use; stop the process that uses it", folder.string()));
}

Status sync_names(const fs::path& folder) {
  if (const int error = sync_folder(folder)) return failed_call(error, "syncing", folder);
  return {};
}

/// Writes the file `clearing`; an empty `aside` means that the files are removed.
Status begin_clearing(const fs::path& folder, const std::string& aside) {
  const int error = replace_file(folder / kClearing, aside);
  if (error != 0) return failed_call(error, "writing", folder / kClearing);
  return {};
}

Status remove_files(const fs::path& folder) {
  for (const char* const name : kFilesOfRows) {
    const fs::path file = folder / name;
    if (::unlink(file.c_str()) != 0 && errno != ENOENT) return failed_call(errno, "removing", file);
  }
  return sync_names(folder);
}

Status move_files(const fs::path& folder, const fs::path& aside) {
  if (::mkdir(aside.c_str(), 0700) != 0 && errno != EEXIST) {
    return failed_call(errno, "creating", aside);
  }
  for (const char* const name : kFilesOfRows) {
    const fs::path file = folder / name;
    if (std::rename(file.c_str(), (aside / name).c_str()) != 0 && errno != ENOENT) {
      return failed_call(errno, "moving", file);
    }
  }
  TRY(sync_names(aside));
  return sync_names(folder);
}

/// Does what the file `clearing` says, then removes it.
Status finish_clearing(const fs::path& folder) {
  const fs::path mark = folder / kClearing;
  const std::string aside = TRY(read_file(mark, NAME_MAX));
  if (fs::path(aside).filename() != aside || aside == "." || aside == "..") {
    return fail("store.io", fmt::format("{} has \"{}\"; expected the name of a folder within this "
                                        "one, or nothing",
                                        mark.string(), aside));
  }
  TRY(aside.empty() ? remove_files(folder) : move_files(folder, folder / aside));
  if (::unlink(mark.c_str()) != 0) return failed_call(errno, "removing", mark);
  return sync_names(folder);
}

}  // namespace

Status clear_store(const fs::path& folder) {
  const Descriptor lock = TRY(lock_folder(folder));
  if (!is_there(folder / kClearing)) TRY(begin_clearing(folder, {}));
  return finish_clearing(folder);
}

Result<fs::path> set_store_aside(const fs::path& folder, const std::string& name) {
  const Descriptor lock = TRY(lock_folder(folder));
  TRY(refuse_half_cleared(folder));
  fs::path aside = folder / name;
  if (is_there(aside)) return failed_call(EEXIST, "creating", aside);
  TRY(begin_clearing(folder, name));
  TRY(finish_clearing(folder));
  return aside;
}

Status refuse_half_cleared(const fs::path& folder) {
  if (!is_there(folder / kClearing)) return {};
  return tl::unexpected(joining_error());
}

}  // namespace millrace
