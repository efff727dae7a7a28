// Who may use a file or folder besides its owner, by its mode. Any thread.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace millrace {

/// The rights of users other than the owner. `others` are all users of the machine.
struct FileAccess {
  bool group_reads = false;
  bool group_writes = false;
  bool others_read = false;
  bool others_write = false;
};

/// The rights to the file or folder; a link is followed. Error `file.unreadable`.
Result<FileAccess> access_to(const std::filesystem::path& path);

/// The warning for a file with a key, token or password that users other than its owner may read or
/// change: "FILE can be read by every user of this machine; chmod 600 it". nullopt: there is
/// nothing to warn of, or the file cannot be examined.
std::optional<std::string> exposure_of(const std::filesystem::path& file);

/// Error `store.link`: the path is a symbolic link, where millrace makes a file or folder of its
/// own. `remedy` is what the operator can do, and ends the message. A path that does not exist is
/// no link.
Status refuse_link(const std::filesystem::path& path, std::string_view remedy);

/// Error `store.link`: the path is a named pipe, a socket or a device, where millrace makes a file
/// of its own. To open a pipe would block until another program opens it, too.
Status refuse_special_file(const std::filesystem::path& path);

/// Error `store.link`: the path is a file that has another name, too (a hard link), where millrace
/// makes a file of its own: what millrace writes would change the file of the other name.
Status refuse_hard_link(const std::filesystem::path& path);

}  // namespace millrace
