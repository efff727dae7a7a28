#include "os/read_file.h"

#include <array>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include "os/descriptor.h"

namespace millrace {
namespace {

tl::unexpected<Error> unreadable(const std::filesystem::path& path, std::string_view why) {
  return fail("file.unreadable", fmt::format("{}: {}", path.string(), why));
}

}  // namespace

Result<std::string> read_file(const std::filesystem::path& path, size_t most_bytes) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return unreadable(path, std::strerror(errno));
  struct stat found {};
  if (::fstat(file.fd(), &found) != 0) return unreadable(path, std::strerror(errno));
  if (S_ISDIR(found.st_mode)) return unreadable(path, "this is a directory; expected a file");
  std::string bytes;
  std::array<char, 65536> buffer;
  while (true) {
    const ssize_t count = ::read(file.fd(), buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return unreadable(path, std::strerror(errno));
    if (count == 0) return bytes;
    bytes.append(buffer.data(), static_cast<size_t>(count));
    if (bytes.size() > most_bytes) {
      return unreadable(path, fmt::format("expected at most {} bytes", most_bytes));
    }
  }
}

}  // namespace millrace
