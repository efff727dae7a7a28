// Everything that is below a folder, to see that nothing came or went.
#pragma once

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

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
      std::ostringstream text;
      text << std::ifstream(entry.path(), std::ios::binary).rdbuf();
      what = std::move(text).str();
    }
  }
  return tree;
}

}  // namespace millrace
