#include "os/programs.h"

#include <cstdlib>
#include <filesystem>
#include <sstream>

#include <unistd.h>

namespace millrace {
namespace {

/// Whether the path is an executable file. access() alone is also true for a folder that may be
/// searched.
bool is_program(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored) && ::access(path.c_str(), X_OK) == 0;
}

}  // namespace

std::string find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) return is_program(name) ? name : "";
  const char* const variable = std::getenv("PATH");
  const std::string folders = variable == nullptr ? "/usr/bin:/bin" : variable;
  std::istringstream list(folders + ":/usr/sbin:/usr/local/sbin");
  for (std::string folder; std::getline(list, folder, ':');) {
    std::string path = (folder.empty() ? "." : folder) + "/" + name;
    if (is_program(path)) return path;
  }
  return "";
}

}  // namespace millrace
