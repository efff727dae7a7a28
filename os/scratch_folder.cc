#include "os/scratch_folder.h"

#include <cstdlib>

#include <fmt/format.h>

namespace millrace {

Result<ScratchFolder> ScratchFolder::make(const std::string& name) {
  std::error_code error;
  const std::filesystem::path parent = std::filesystem::temp_directory_path(error);
  if (error) {
    return fail("scratch.folder",
                "there is no folder for temporary files; set TMPDIR to an existing folder");
  }
  return make_in(parent, name);
}

Result<ScratchFolder> ScratchFolder::make_in(const std::filesystem::path& parent,
                                             const std::string& name) {
  std::string path = (parent / (name + "-XXXXXX")).string();
  if (::mkdtemp(path.data()) == nullptr) {
    return fail("scratch.folder",
                fmt::format("cannot create a folder in {}; check that it exists and is "
                            "writable",
                            parent.string()));
  }
  return ScratchFolder(path);
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

}  // namespace millrace
