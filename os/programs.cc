#include "os/programs.h"

#include <cstdlib>
#include <sstream>

#include <unistd.h>

namespace millrace {

std::string find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) return ::access(name.c_str(), X_OK) == 0 ? name : "";
  const char* const variable = std::getenv("PATH");
  const std::string folders = variable == nullptr ? "/usr/bin:/bin" : variable;
  std::istringstream list(folders + ":/usr/sbin:/usr/local/sbin");
  for (std::string folder; std::getline(list, folder, ':');) {
    const std::string path = (folder.empty() ? "." : folder) + "/" + name;
    if (::access(path.c_str(), X_OK) == 0) return path;
  }
  return "";
}

}  // namespace millrace
