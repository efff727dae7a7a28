#include "functions/files.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/json.h"
#include "functions/archive.h"
#include "model/variable.h"
#include "os/descriptor.h"
#include "os/read_file.h"
#include "os/write_file.h"

namespace millrace {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxComponent = 255;
constexpr std::string_view kOut = "out";
constexpr std::array kScopes = {VariableScope::kInstance, VariableScope::kWorkflow,
                                VariableScope::kNamespace};
/// Open to all users, whatever the umask is; the folder above decides who gets access.
constexpr mode_t kFolderMode = 0777;
constexpr mode_t kFileMode = 0666;
constexpr mode_t kExecutable = 0111;

tl::unexpected<Error> bad(std::string message) {
  return fail(std::string(kFunctionFiles), std::move(message));
}

std::string reason() { return std::strerror(errno); }

/// A name for messages: bytes that are not printable ASCII would not get through JSON.
std::string shown(std::string_view name) {
  std::string text;
  for (const char byte : name.substr(0, 100)) {
    if (byte >= ' ' && byte <= '~') {
      text += byte;
    } else {
      text += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
    }
  }
  if (name.size() > 100) text += "...";
  return '"' + text + '"';
}

std::vector<std::string_view> components_of(std::string_view name) {
  std::vector<std::string_view> parts;
  while (true) {
    const size_t end = name.find('/');
    parts.push_back(name.substr(0, end));
    if (end == std::string_view::npos) return parts;
    name.remove_prefix(end + 1);
  }
}

/// The bytes and entries that may still be written or collected.
class Allowance {
 public:
  uint64_t bytes() const { return bytes_; }

  Status take_bytes(uint64_t count) {
    if (count > bytes_)
      return bad(
          fmt::format("the files of the task have more than {} MiB in all", kMaxFilesBytes >> 20));
    bytes_ -= count;
    return {};
  }
  Status take_entry() {
    if (entries_ == 0)
      return bad(
          fmt::format("the task has more than {} files and folders in all", kMaxFilesEntries));
    --entries_;
    return {};
  }

 private:
  uint64_t bytes_ = kMaxFilesBytes;
  size_t entries_ = kMaxFilesEntries;
};

// Writing files for a task.

/// Opens the folder `name` in `parent`, and creates it if it is missing. A file or a link is an
/// error.
Result<Descriptor> open_folder(int parent, std::string_view name) {
  const std::string text(name);
  const bool is_new = ::mkdirat(parent, text.c_str(), kFolderMode) == 0;
  if (!is_new && errno != EEXIST)
    return bad(fmt::format("the folder can't be created: {}", reason()));
  Descriptor folder(
      ::openat(parent, text.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!folder)
    return bad(fmt::format("{} is the name of a file and of a folder at once", shown(name)));
  if (is_new) ::fchmod(folder.fd(), kFolderMode);
  return folder;
}

/// Opens or creates nested folders, one for each component; opens `root` itself if there are no
/// components.
Result<Descriptor> open_folders(int root, const std::vector<std::string_view>& names) {
  Descriptor folder(::openat(root, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  for (const std::string_view name : names) folder = TRY(open_folder(folder.fd(), name));
  return folder;
}

Status write_bytes(const Descriptor& file, std::string_view bytes) {
  const int error = write_all(file.fd(), bytes);
  if (error == 0) return {};
  return bad(fmt::format("it can't be written: {}", std::strerror(error)));
}

/// Creates a new file; the folders of its name are created in `root`.
Result<Descriptor> make_file(int root, std::string_view name, bool executable) {
  std::vector<std::string_view> parts = components_of(name);
  const std::string last(parts.back());
  parts.pop_back();
  const Descriptor folder = TRY(open_folders(root, parts));
  Descriptor file(::openat(folder.fd(), last.c_str(),
                           O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, kFileMode));
  if (!file) return bad(errno == EEXIST ? "another file or folder has this name" : reason());
  ::fchmod(file.fd(), executable ? kFileMode | kExecutable : kFileMode);
  return file;
}

Status write_file(int root, std::string_view name, std::string_view bytes, Allowance& left) {
  TRY(left.take_entry());
  TRY(left.take_bytes(bytes.size()));
  const Descriptor file = TRY(make_file(root, name, false));
  return write_bytes(file, bytes);
}

/// The name of an entry without `./` and `/`, which `tar -C folder .` adds; empty: the folder
/// itself.
std::string_view entry_name(std::string_view path, bool is_folder) {
  while (path.starts_with("./")) path.remove_prefix(2);
  if (is_folder && path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  return is_folder && path == "." ? "" : path;
}

Status unpack_entry(ArchiveReader& archive, const ArchiveEntry& entry, int root, Allowance& left) {
  TRY(left.take_entry());
  const std::string_view name = entry_name(entry.path, entry.is_folder);
  if (name.empty() && entry.is_folder) return {};
  TRY(check_file_name(name));
  if (entry.is_folder) {
    TRY(open_folders(root, components_of(name)));
    return {};
  }
  if (entry.size > left.bytes()) TRY(left.take_bytes(entry.size));
  const Descriptor file = TRY(make_file(root, name, entry.executable));
  while (true) {
    const std::string_view bytes = TRY(archive.read());
    if (bytes.empty()) return {};
    TRY(left.take_bytes(bytes.size()));
    TRY(write_bytes(file, bytes));
  }
}

Status unpack(const TaskFile& file, std::string_view bytes, int root, Allowance& left) {
  TRY(left.take_entry());
  const Descriptor folder = TRY(open_folders(root, components_of(file.name)));
  if (bytes.empty()) return {};
  ArchiveReader archive(bytes, file.type == FileType::kTarGz);
  while (true) {
    const std::optional<ArchiveEntry> entry = TRY(archive.next());
    if (!entry) return {};
    const Status done = unpack_entry(archive, *entry, folder.fd(), left);
    if (!done) return fail_in("entry " + shown(entry->path), done.error());
  }
}

/// Decodes Base64. White space is ignored, because tools that create Base64 break lines. Quotes
/// around the text are ignored, because a variable that a setter state stored as a string is JSON.
Result<std::string> decode(std::string_view text) {
  const auto is_space = [](char byte) {
    return std::strchr(" \t\r\n", byte) != nullptr && byte != 0;
  };
  std::string packed;
  std::copy_if(text.begin(), text.end(), std::back_inserter(packed),
               [&](char byte) { return !is_space(byte); });
  std::string_view inner = packed;
  if (inner.size() >= 2 && inner.starts_with('"') && inner.ends_with('"')) {
    inner = inner.substr(1, inner.size() - 2);
  }
  std::optional<std::string> bytes = base64_decode(inner);
  if (!bytes) return bad("the variable is not valid Base64");
  return *std::move(bytes);
}

Status lay_out_file(const TaskFile& file, std::string_view bytes, int root, Allowance& left) {
  switch (file.type) {
    case FileType::kPlain:
      return write_file(root, file.name, bytes, left);
    case FileType::kBase64: {
      const std::string decoded = TRY(decode(bytes));
      return write_file(root, file.name, decoded, left);
    }
    case FileType::kTar:
    case FileType::kTarGz:
      return unpack(file, bytes, root, left);
  }
  return {};
}

Status lay_out_file(const TaskFile& file, int root, Allowance& left) {
  if (!file.read) return lay_out_file(file, file.bytes, root, left);
  const std::string bytes = TRY(file.read());
  return lay_out_file(file, bytes, root, left);
}

/// No name may occur twice, and no file may be inside another one.
Status check_names(const std::vector<TaskFile>& files) {
  std::set<std::string_view> names;
  for (const TaskFile& file : files) {
    const Status is_right = check_file_name(file.name);
    if (!is_right) return fail_in("file " + shown(file.name), is_right.error());
    if (components_of(file.name).front() == kOut) {
      return bad(
          fmt::format("file {}: the name `out` is reserved for variables that the function sets",
                      shown(file.name)));
    }
    if (!names.insert(file.name).second) {
      return bad(fmt::format("file {}: another file has this name", shown(file.name)));
    }
  }
  for (const std::string_view name : names) {
    for (size_t at = name.find('/'); at != std::string_view::npos; at = name.find('/', at + 1)) {
      if (!names.contains(name.substr(0, at))) continue;
      return bad(fmt::format("file {}: it is inside another file", shown(name)));
    }
  }
  return {};
}

Status lay_out(const std::vector<TaskFile>& files, const fs::path& folder) {
  const Descriptor root(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!root) return bad(fmt::format("the folder of the task can't be opened: {}", reason()));
  ::fchmod(root.fd(), kFolderMode);
  Allowance left;
  for (const TaskFile& file : files) {
    const Status done = lay_out_file(file, root.fd(), left);
    if (!done) return fail_in("file " + shown(file.name), done.error());
  }
  for (const VariableScope scope : kScopes) TRY(open_folders(root.fd(), {kOut, to_string(scope)}));
  return {};
}

// Collecting variables. The function may still be running, so every check uses the opened
// descriptor.

struct FolderEntry {
  std::string name;
  Descriptor file;
  struct stat status {};

  bool is_folder() const { return S_ISDIR(status.st_mode); }
};

Result<FolderEntry> open_entry(int folder, std::string name) {
  // NONBLOCK: do not wait for the other end of a fifo. NOFOLLOW: opening a link fails.
  constexpr int kFlags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
  FolderEntry entry{.name = std::move(name)};
  // The kind is checked before the entry is opened, because opening a device may have an effect.
  if (::fstatat(folder, entry.name.c_str(), &entry.status, AT_SYMLINK_NOFOLLOW) != 0) {
    return bad(reason());
  }
  if (!S_ISREG(entry.status.st_mode) && !entry.is_folder()) {
    return bad("it is neither a regular file nor a folder");
  }
  entry.file = Descriptor(::openat(folder, entry.name.c_str(), kFlags));
  if (!entry.file || ::fstat(entry.file.fd(), &entry.status) != 0) return bad(reason());
  if (!S_ISREG(entry.status.st_mode) && !entry.is_folder()) {
    return bad("it is neither a regular file nor a folder");
  }
  return entry;
}

/// The sorted names in a folder. Each name takes one entry from the allowance.
Result<std::vector<std::string>> names_in(const Descriptor& folder, Allowance& left) {
  const int own = ::openat(folder.fd(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* const stream = own < 0 ? nullptr : ::fdopendir(own);
  if (stream == nullptr) {
    const std::string why = reason();
    if (own >= 0) ::close(own);
    return bad(why);
  }
  const std::unique_ptr<DIR, int (*)(DIR*)> closed(stream, ::closedir);
  std::vector<std::string> names;
  while (const dirent* const entry = ::readdir(stream)) {
    std::string name = entry->d_name;
    if (name == "." || name == "..") continue;
    TRY(left.take_entry());
    names.push_back(std::move(name));
  }
  std::sort(names.begin(), names.end());
  return names;
}

tl::unexpected<Error> larger_than_a_variable() {
  return bad("the file is too large for a variable; " + limit_of_variable());
}

/// The first `most` bytes of a file.
Result<std::string> read_head(const FolderEntry& entry, uint64_t most) {
  Result<std::string> bytes = read_at_most(entry.file, most);
  if (!bytes) return bad(std::move(bytes).error().message);
  return bytes;
}

Result<std::string> read_file(const FolderEntry& entry, uint64_t most) {
  std::string bytes = TRY(read_head(entry, most + 1));
  if (bytes.size() > most) return bad(fmt::format("it is larger than {} bytes", most));
  return bytes;
}

Status pack(const FolderEntry& folder, const std::string& prefix, ArchiveWriter& archive,
            Allowance& left) {
  const std::vector<std::string> names = TRY(names_in(folder.file, left));
  for (const std::string& name : names) {
    const std::string path = prefix + name;
    const auto in_path = [&](const Error& error) { return fail_in("entry " + shown(path), error); };
    const Status is_right = check_file_name(path);
    if (!is_right) return in_path(is_right.error());
    Result<FolderEntry> entry = open_entry(folder.file.fd(), name);
    if (!entry) return in_path(entry.error());
    if (entry->is_folder()) {
      TRY(archive.add_folder(path));
      TRY(pack(*entry, path + "/", archive, left));
      continue;
    }
    const Result<std::string> bytes = read_file(*entry, left.bytes());
    if (!bytes) return in_path(bytes.error());
    TRY(left.take_bytes(bytes->size()));
    TRY(archive.add_file(path, *bytes, (entry->status.st_mode & kExecutable) != 0));
  }
  return {};
}

Result<Variable> variable_of(const FolderEntry& entry, Allowance& left) {
  if (entry.is_folder()) {
    ArchiveWriter archive(kMaxVariableBytes);
    TRY(pack(entry, "", archive, left));
    std::string packed = TRY(archive.finish());
    return Variable{.content_type = "application/gzip", .bytes = std::move(packed)};
  }
  std::string bytes = TRY(read_head(entry, kMaxVariableBytes + 1));
  if (bytes.size() > kMaxVariableBytes) return larger_than_a_variable();
  TRY(left.take_bytes(bytes.size()));
  std::string type = content_type_of_file(bytes);
  return Variable{.content_type = std::move(type), .bytes = std::move(bytes)};
}

Result<TaskVariable> collect(const Descriptor& folder, VariableScope scope, const std::string& name,
                             Allowance& left) {
  if (!is_variable_key(name)) {
    return bad(fmt::format("its name is not a valid variable key: {}", kVariableKeyRule));
  }
  const FolderEntry entry = TRY(open_entry(folder.fd(), name));
  Variable value = TRY(variable_of(entry, left));
  return TaskVariable{.scope = scope, .key = name, .value = std::move(value)};
}

/// Opens a folder; nullopt: the function has removed it.
Result<std::optional<Descriptor>> open_if_there(int parent, std::string_view name) {
  Descriptor folder(
      ::openat(parent, std::string(name).c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (folder) return folder;
  if (errno == ENOENT) return std::nullopt;
  return bad(
      fmt::format("{} is not a folder any more: the function replaced that folder", shown(name)));
}

}  // namespace

std::string limit_of_variable() {
  return fmt::format(
      "a variable has at most {} MiB: write several files, each of which becomes a variable; or a "
      "folder, which is packed into one `tar.gz`; or store the file elsewhere, and answer with its "
      "address",
      kMaxVariableBytes >> 20);
}

Status check_file_name(std::string_view name) {
  if (name.empty()) return bad("the name is empty");
  if (name.size() > kMaxFileName) {
    return bad(fmt::format("a name may have {} bytes at most", kMaxFileName));
  }
  if (name.front() == '/') return bad("a name must be relative to the folder of the function");
  if (!is_utf8(name)) return bad("a name must be UTF-8");
  const std::vector<std::string_view> parts = components_of(name);
  if (parts.size() > kMaxFileDepth) {
    return bad(fmt::format("a name may have {} parts at most", kMaxFileDepth));
  }
  for (const std::string_view part : parts) {
    if (part.empty() || part == "." || part == "..") {
      return bad("no part of a name may be empty, `.` or `..`");
    }
    if (part.size() > kMaxComponent) {
      return bad(fmt::format("a part of a name may have {} bytes at most", kMaxComponent));
    }
  }
  for (const char byte : name) {
    const auto code = static_cast<unsigned char>(byte);
    if (code < 0x20 || code == 0x7f) return bad("a name must not contain control characters");
    if (byte == '\\') return bad("a name must not contain backslashes");
  }
  return {};
}

Status lay_out_files(const std::vector<TaskFile>& files, const fs::path& folder) {
  TRY(check_names(files));
  if (::mkdir(folder.c_str(), kFolderMode) != 0) {
    return bad(fmt::format("the folder of the task can't be created: {}", reason()));
  }
  Status done = lay_out(files, folder);
  if (!done) {
    std::error_code ignored;  // a folder that cannot be removed now is removed at the next start
    fs::remove_all(folder, ignored);
  }
  return done;
}

Result<std::vector<TaskVariable>> collect_variables(const fs::path& folder) {
  std::vector<TaskVariable> variables;
  const Descriptor root(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!root) return bad(fmt::format("the folder of the task can't be opened: {}", reason()));
  const std::optional<Descriptor> out = TRY(open_if_there(root.fd(), kOut));
  if (!out) return variables;
  Allowance left;
  for (const VariableScope scope : kScopes) {
    const std::optional<Descriptor> scoped = TRY(open_if_there(out->fd(), to_string(scope)));
    if (!scoped) continue;
    const std::vector<std::string> names = TRY(names_in(*scoped, left));
    if (variables.size() + names.size() > kMaxFileVariables) {
      return bad(fmt::format("more than {} files would become variables", kMaxFileVariables));
    }
    for (const std::string& name : names) {
      Result<TaskVariable> variable = collect(*scoped, scope, name, left);
      if (!variable) {
        return fail_in(fmt::format("out/{}/{}", to_string(scope), shown(name)), variable.error());
      }
      variables.push_back(*std::move(variable));
    }
  }
  return variables;
}

Result<std::optional<std::string>> head_of_file(const fs::path& path, size_t most) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0 && errno == ENOENT) return std::nullopt;
  const Result<FolderEntry> entry = open_entry(AT_FDCWD, path);
  if (!entry) return fail_in(path.filename().string(), entry.error());
  if (entry->is_folder()) return bad(path.filename().string() + ": it is a folder");
  std::string bytes = TRY(read_head(*entry, most));
  return bytes;
}

}  // namespace millrace
