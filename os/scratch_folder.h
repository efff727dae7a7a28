// ScratchFolder: a temporary folder that the destructor removes with all its content. For tests,
// scenarios and `millrace dev`, whose stores are not kept. For one thread only.
#pragma once

#include <filesystem>
#include <string>
#include <utility>

#include "base/result.h"

namespace millrace {

class ScratchFolder {
 public:
  /// Creates a folder whose name begins with `name` in the system's folder for temporary files.
  /// Error: `scratch.folder`.
  static Result<ScratchFolder> make(const std::string& name);
  /// Creates a folder whose name begins with `name` in `parent`. Error: `scratch.folder`.
  static Result<ScratchFolder> make_in(const std::filesystem::path& parent,
                                       const std::string& name);
  ~ScratchFolder();
  ScratchFolder(ScratchFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  ScratchFolder& operator=(ScratchFolder&&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  explicit ScratchFolder(std::filesystem::path path) : path_(std::move(path)) {}

  std::filesystem::path path_;  ///< empty if this object was moved from
};

}  // namespace millrace
