#include "os/write_file.h"

#include <cerrno>

#include <fcntl.h>
#include <unistd.h>

#include "os/descriptor.h"

namespace millrace {

int write_all(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t some = ::write(file, bytes.data(), bytes.size());
    if (some < 0 && errno == EINTR) continue;
    if (some <= 0) return some < 0 ? errno : EIO;
    bytes.remove_prefix(static_cast<size_t>(some));
  }
  return 0;
}

int sync_folder(const std::filesystem::path& folder) {
  const Descriptor opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return opened && ::fsync(opened.fd()) == 0 ? 0 : errno;
}

}  // namespace millrace
