// ScratchFolder: a new folder, gone with all that is in it when its owner is: for a store that is
// not kept, and for tests. One thread.
#pragma once

#include <filesystem>
#include <string>
#include <utility>

#include "base/result.h"

namespace millrace {

class ScratchFolder {
 public:
  /// A folder among the system's temporary files; `name` begins its name. Error `scratch.folder`.
  static Result<ScratchFolder> make(const std::string& name);
  /// The same in `parent`.
  static Result<ScratchFolder> make_in(const std::filesystem::path& parent,
                                       const std::string& name);
  ~ScratchFolder();
  ScratchFolder(ScratchFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  ScratchFolder& operator=(ScratchFolder&&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  explicit ScratchFolder(std::filesystem::path path) : path_(std::move(path)) {}

  std::filesystem::path path_;  ///< empty: moved away
};

}  // namespace millrace
