// tree_of(): everything below a folder, to compare its content before and after a test.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "tests/support/file_bytes.h"

namespace millrace {

/// Path below `folder` → `/` for a folder, `->` and the target for a link, else the bytes.
inline std::map<std::string, std::string> tree_of(const std::filesystem::path& folder) {
  std::map<std::string, std::string> tree;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    std::string& what = tree[std::filesystem::relative(entry.path(), folder).string()];
    if (entry.is_symlink()) {
      what = "->" + std::filesystem::read_symlink(entry.path()).string();
    } else if (entry.is_directory()) {
      what = "/";
    } else {
      what = file_bytes(entry.path());
    }
  }
  return tree;
}

}  // namespace millrace
