#include "functions/user_namespace.h"

#include <algorithm>
#include <string>

#include <unistd.h>

#include "os/read_file.h"

namespace millrace {
namespace {

constexpr std::string_view kOwner = "containers:";
constexpr size_t kMaxIdFile = size_t{1} << 20;

bool file_has_container_ids(const char* path) {
  const Result<std::string> lines = read_at_most(path, kMaxIdFile);
  return lines && has_container_ids(*lines);
}

}  // namespace

bool has_container_ids(std::string_view lines) {
  while (!lines.empty()) {
    const size_t end = std::min(lines.find('\n'), lines.size());
    const std::string_view line = lines.substr(0, end);
    if (line.starts_with(kOwner) && line.size() > kOwner.size()) return true;
    lines.remove_prefix(std::min(end + 1, lines.size()));
  }
  return false;
}

bool maps_container_users() {
  return ::geteuid() == 0 && file_has_container_ids("/etc/subuid") &&
         file_has_container_ids("/etc/subgid");
}

}  // namespace millrace
