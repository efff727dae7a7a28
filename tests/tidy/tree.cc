#include "tests/tidy/tree.h"

#include <algorithm>
#include <fstream>
#include <iterator>

namespace millrace {
namespace {

bool is_foreign(const std::filesystem::path& path) {
  const std::string first = path.lexically_relative(root()).begin()->string();
  return first == "build" || first.starts_with(".");
}

}  // namespace

std::filesystem::path root() { return MILLRACE_SOURCES; }

std::vector<std::filesystem::path> all_files() {
  std::vector<std::filesystem::path> files;
  for (auto at = std::filesystem::recursive_directory_iterator(root());
       at != std::filesystem::recursive_directory_iterator(); ++at) {
    if (is_foreign(at->path())) {
      if (at->is_directory()) at.disable_recursion_pending();
    } else if (at->is_regular_file()) {
      files.push_back(at->path());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace millrace
