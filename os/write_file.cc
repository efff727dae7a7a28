#include "os/write_file.h"

#include <cerrno>
#include <cstdio>

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

int replace_file(const std::filesystem::path& path, std::string_view bytes) {
  const std::filesystem::path part = path.string() + ".new";
  const Descriptor opened(
      ::open(part.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!opened) return errno;
  if (const int error = write_all(opened.fd(), bytes)) return error;
  if (::fsync(opened.fd()) != 0 || std::rename(part.c_str(), path.c_str()) != 0) return errno;
  return sync_folder(path.parent_path());
}

}  // namespace millrace
