// Folder: a new folder for one test, which the destructor removes.
#pragma once

#include <filesystem>
#include <utility>

#include "base/check.h"
#include "os/scratch_folder.h"

namespace millrace {

/// A folder in memory, where a sync takes no time, if the system has one. For tests that simulate
/// no power cut.
inline std::filesystem::path fast_folder() {
  const std::filesystem::path shared_memory = "/dev/shm";
  return std::filesystem::is_directory(shared_memory) ? shared_memory
                                                      : std::filesystem::temp_directory_path();
}

/// Makes `to` a copy of the folder `from`; what `to` had is removed.
inline void replace_folder(const std::filesystem::path& to, const std::filesystem::path& from) {
  std::filesystem::remove_all(to);
  std::filesystem::copy(from, to, std::filesystem::copy_options::recursive);
}

class Folder {
 public:
  /// Makes the folder in the system's folder for temporary files.
  Folder() : folder_(checked(ScratchFolder::make("millrace-test"))) {}
  explicit Folder(const std::filesystem::path& parent)
      : folder_(checked(ScratchFolder::make_in(parent, "millrace-test"))) {}

  const std::filesystem::path& path() const { return folder_.path(); }

 private:
  static ScratchFolder checked(Result<ScratchFolder> made) {
    CHECK(made.has_value(), "{}", made.error().message);
    return *std::move(made);
  }

  ScratchFolder folder_;
};

}  // namespace millrace
