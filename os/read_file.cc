#include "os/read_file.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

namespace millrace {
namespace {

tl::unexpected<Error> unreadable(const std::filesystem::path& path, std::string_view why) {
  return fail("file.unreadable", fmt::format("{}: {}", path.string(), why));
}

Result<Descriptor> open_to_read(const std::filesystem::path& path) {
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat found {};
  if (!file || ::fstat(file.fd(), &found) != 0) return unreadable(path, std::strerror(errno));
  if (S_ISDIR(found.st_mode)) return unreadable(path, "this is a directory; expected a file");
  return file;
}

}  // namespace

Result<std::string> read_at_most(const Descriptor& file, size_t most_bytes) {
  std::string bytes;
  std::array<char, 65536> buffer;
  while (bytes.size() < most_bytes) {
    const size_t room = std::min(buffer.size(), most_bytes - bytes.size());
    const ssize_t count = ::read(file.fd(), buffer.data(), room);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return fail("file.unreadable", std::strerror(errno));
    if (count == 0) break;
    bytes.append(buffer.data(), static_cast<size_t>(count));
  }
  return bytes;
}

Result<std::string> read_at_most(const std::filesystem::path& path, size_t most_bytes) {
  const Descriptor file = TRY(open_to_read(path));
  Result<std::string> bytes = read_at_most(file, most_bytes);
  if (!bytes) return unreadable(path, bytes.error().message);
  return bytes;
}

Result<std::string> read_file(const std::filesystem::path& path, size_t most_bytes) {
  std::string bytes = TRY(read_at_most(path, most_bytes + 1));
  if (bytes.size() <= most_bytes) return bytes;
  return unreadable(path, fmt::format("expected at most {} bytes", most_bytes));
}

}  // namespace millrace
