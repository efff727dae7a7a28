#include "os/file_access.h"

#include <cerrno>
#include <cstring>

#include <fmt/format.h>
#include <sys/stat.h>

namespace millrace {
namespace {

/// What users other than the owner may do; empty: nothing.
std::string_view right_of_others(const FileAccess& access) {
  if (access.others_write) return "changed by every user of this machine";
  if (access.others_read) return "read by every user of this machine";
  if (access.group_writes) return "changed by every user of its group";
  if (access.group_reads) return "read by every user of its group";
  return {};
}

}  // namespace

Result<FileAccess> access_to(const std::filesystem::path& path) {
  struct stat found {};
  if (::stat(path.c_str(), &found) != 0) {
    return fail("file.unreadable", fmt::format("{}: {}", path.string(), std::strerror(errno)));
  }
  const auto has = [&](mode_t right) { return (found.st_mode & right) != 0; };
  return FileAccess{.group_reads = has(S_IRGRP),
                    .group_writes = has(S_IWGRP),
                    .others_read = has(S_IROTH),
                    .others_write = has(S_IWOTH)};
}

std::optional<std::string> exposure_of(const std::filesystem::path& file) {
  const Result<FileAccess> access = access_to(file);
  if (!access) return std::nullopt;
  const std::string_view right = right_of_others(*access);
  if (right.empty()) return std::nullopt;
  return fmt::format("{} can be {}; chmod 600 it", file.string(), right);
}

Status refuse_link(const std::filesystem::path& path, std::string_view remedy) {
  struct stat found {};
  if (::lstat(path.c_str(), &found) != 0 || !S_ISLNK(found.st_mode)) return {};
  return fail("store.link", fmt::format("{} is a symbolic link; expected what millrace has made. "
                                        "{}, because another user could write to the folder",
                                        path.string(), remedy));
}

Status refuse_special_file(const std::filesystem::path& path) {
  struct stat found {};
  if (::lstat(path.c_str(), &found) != 0 || S_ISREG(found.st_mode) || S_ISDIR(found.st_mode) ||
      S_ISLNK(found.st_mode)) {
    return {};
  }
  return fail("store.link", fmt::format("{} is a pipe, a socket or a device; expected a file that "
                                        "millrace has made. Remove it, and look who can write to "
                                        "the folder, because another user could",
                                        path.string()));
}

Status refuse_hard_link(const std::filesystem::path& path) {
  struct stat found {};
  if (::lstat(path.c_str(), &found) != 0 || !S_ISREG(found.st_mode) || found.st_nlink <= 1) {
    return {};
  }
  return fail("store.link",
              fmt::format("{0} is a hard link: the file has {1} names; expected a file with one "
                          "name, which millrace has made. If you have made the link, put a copy in "
                          "its place (`cp -p {0} {0}.copy && mv {0}.copy {0}`); otherwise restore "
                          "a backup, because another user could write to the folder",
                          path.string(), found.st_nlink));
}

}  // namespace millrace
