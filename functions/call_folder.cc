#include "functions/call_folder.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cloudevents/percent.h"
#include "functions/container_folder.h"
#include "functions/files.h"
#include "model/variable.h"
#include "os/descriptor.h"
#include "os/write_file.h"

namespace millrace {
namespace {

namespace fs = std::filesystem;

static_assert(kMostFilesOfCall == kMaxFilesBytes);

constexpr std::string_view kOutFolder = "out";
constexpr std::string_view kPartsFolder = "parts";
/// The bytes of a name that are encoded in a URL, besides those that no URL has.
constexpr std::string_view kEncodedInUrl = "?#[]@!$&'()*+,;=:\"<>\\^`{|}";

tl::unexpected<Error> wrong_name(std::string message) {
  return fail(std::string(kFilesName), std::move(message));
}

tl::unexpected<Error> on_disk(std::string_view what, int error) {
  return fail(std::string(kFilesDisk), fmt::format("{}: {}", what, std::strerror(error)));
}

bool is_scope(std::string_view name) {
  constexpr std::array kAll = {VariableScope::kInstance, VariableScope::kWorkflow,
                               VariableScope::kNamespace};
  return std::any_of(kAll.begin(), kAll.end(),
                     [&](VariableScope scope) { return to_string(scope) == name; });
}

/// Removes the first component of a name, and returns it.
std::string_view take_component(std::string_view& name) {
  const size_t end = name.find('/');
  const std::string_view first = name.substr(0, end);
  name.remove_prefix(end == std::string_view::npos ? name.size() : end + 1);
  return first;
}

/// Whether a file with this name becomes a variable, or a part of one.
Status check_out_name(std::string_view name) {
  if (const Status is_right = check_file_name(name); !is_right) {
    return wrong_name(is_right.error().message);
  }
  if (take_component(name) != kOutFolder || !is_scope(take_component(name))) {
    return wrong_name(
        "a file that becomes a variable begins with out/instance/, out/workflow/ or "
        "out/namespace/");
  }
  if (is_variable_key(take_component(name))) return {};
  return wrong_name(
      fmt::format("behind the scope comes the key of the variable: {}", kVariableKeyRule));
}

/// Whether the name is that of a file that the call was given, and not of one below `out/`.
bool is_given_name(std::string_view name) {
  return check_file_name(name) && take_component(name) != kOutFolder;
}

class CallFileSource final : public FileSource {
 public:
  CallFileSource(Descriptor file, uint64_t size) : file_(std::move(file)), size_(size) {}

  uint64_t size() const override { return size_; }

  Result<std::string> next(size_t most) override {
    std::string bytes(std::min<uint64_t>(most, size_ - read_), '\0');
    size_t got = 0;
    while (got < bytes.size()) {
      const ssize_t part = ::read(file_.fd(), bytes.data() + got, bytes.size() - got);
      if (part < 0 && errno == EINTR) continue;
      if (part <= 0) return on_disk("the file can't be read", part < 0 ? errno : EIO);
      got += static_cast<size_t>(part);
    }
    read_ += got;
    return bytes;
  }

 private:
  const Descriptor file_;
  const uint64_t size_;
  uint64_t read_ = 0;
};

}  // namespace

/// Writes a file beside the files of the call until it is complete.
class CallFileSink final : public FileSink {
 public:
  CallFileSink(std::shared_ptr<CallFolder> folder, std::string name, fs::path part, Descriptor file)
      : folder_(std::move(folder)),
        name_(std::move(name)),
        part_(std::move(part)),
        file_(std::move(file)) {}
  CallFileSink(const CallFileSink&) = delete;
  CallFileSink& operator=(const CallFileSink&) = delete;

  ~CallFileSink() override {
    if (is_complete_) return;
    ::unlink(part_.c_str());
    folder_->give_back(size_, 1);
  }

  Status write(std::string_view bytes) override {
    TRY(folder_->take_bytes(bytes.size()));
    size_ += bytes.size();
    const int error = write_all(file_.fd(), bytes);
    if (error != 0) return on_disk("the file can't be written", error);
    return {};
  }

  Status finish() override {
    file_.reset();
    TRY(folder_->place(part_, name_));
    is_complete_ = true;
    return {};
  }

 private:
  const std::shared_ptr<CallFolder> folder_;
  const std::string name_;
  const fs::path part_;
  Descriptor file_;
  uint64_t size_ = 0;
  bool is_complete_ = false;
};

Error no_call_files() {
  return {std::string(kFilesRefused),
          "the key opens no files: the attempt has ended, or the key is that of another attempt"};
}

Result<std::shared_ptr<CallFolder>> CallFolder::make(const std::vector<TaskFile>& files,
                                                     fs::path folder) {
  std::shared_ptr<CallFolder> made(new CallFolder(std::move(folder)));
  if (::mkdir(made->folder_.c_str(), 0700) != 0 ||
      ::mkdir((made->folder_ / kPartsFolder).c_str(), 0700) != 0) {
    return fail(std::string(kFunctionFiles),
                fmt::format("the folder of the call can't be made: {}", std::strerror(errno)));
  }
  if (const Status done = lay_out_files(files, made->files()); !done) {
    remove_folder(made->folder_);
    return tl::unexpected(done.error());
  }
  return made;
}

Status CallFolder::check_open() const {
  if (is_closed_) return tl::unexpected(no_call_files());
  return {};
}

Result<Json> CallFolder::list(std::string_view url) const {
  TRY(check_open());
  Json items = Json::array();
  std::error_code error;
  const fs::path root = files();
  for (fs::recursive_directory_iterator entry(root, error), end; !error && entry != end;
       entry.increment(error)) {
    if (entry.depth() == 0 && entry->path().filename() == kOutFolder) {
      entry.disable_recursion_pending();
      continue;
    }
    struct stat found {};
    if (::lstat(entry->path().c_str(), &found) != 0 || !S_ISREG(found.st_mode)) continue;
    const std::string name = entry->path().lexically_relative(root).generic_string();
    items.push_back({{"name", name},
                     {"size", found.st_size},
                     {"executable", (found.st_mode & S_IXUSR) != 0},
                     {"url", fmt::format("{}/{}", url, percent_encode(name, kEncodedInUrl))}});
  }
  TRY(check_open());  // otherwise some files may have been removed meanwhile
  if (error) return on_disk("the files can't be listed", error.value());
  std::sort(items.begin(), items.end(),
            [](const Json& a, const Json& b) { return a.at("name") < b.at("name"); });
  return Json{{"items", std::move(items)}};
}

Result<std::shared_ptr<FileSource>> CallFolder::read(std::string_view name) const {
  TRY(check_open());
  const auto none = [] {
    return fail(std::string(kFilesNotFound),
                "the call was given no file with this name; GET its `Millrace-Files` for the list");
  };
  if (!is_given_name(name)) return none();
  constexpr int kFlags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
  Descriptor file(::open((files() / name).c_str(), kFlags));
  struct stat found {};
  if (!file || ::fstat(file.fd(), &found) != 0 || !S_ISREG(found.st_mode)) return none();
  return std::make_shared<CallFileSource>(std::move(file), static_cast<uint64_t>(found.st_size));
}

Result<std::shared_ptr<FileSink>> CallFolder::write(std::string_view name, bool is_executable) {
  TRY(check_out_name(name));
  const std::lock_guard lock(lock_);
  TRY(check_open());
  TRY(take_entry());
  fs::path part = folder_ / kPartsFolder / std::to_string(++last_part_);
  Descriptor file(::open(part.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                         is_executable ? 0700 : 0600));
  if (!file) {
    --entries_;
    return on_disk("the file can't be created", errno);
  }
  return std::make_shared<CallFileSink>(shared_from_this(), std::string(name), std::move(part),
                                        std::move(file));
}

Result<std::vector<TaskVariable>> CallFolder::collect() const {
  wait_for_changes();
  return collect_variables(files());
}

void CallFolder::remove() const {
  wait_for_changes();
  remove_folder(folder_);
}

/// Returns when nothing changes in the folder any more. Precondition: closed.
void CallFolder::wait_for_changes() const { const std::lock_guard lock(lock_); }

/// The caller holds the lock.
Status CallFolder::take_entry() {
  if (entries_ >= kMaxFilesEntries) {
    return fail(std::string(kFilesTooLarge),
                fmt::format("the call has written more than {} files and folders in all",
                            kMaxFilesEntries));
  }
  ++entries_;
  return {};
}

Status CallFolder::take_bytes(uint64_t bytes) {
  const std::lock_guard lock(lock_);
  TRY(check_open());
  if (bytes > kMaxFilesBytes - bytes_) {
    return fail(std::string(kFilesTooLarge),
                fmt::format("the call has written more than {} MiB in all", kMaxFilesBytes >> 20));
  }
  bytes_ += bytes;
  return {};
}

void CallFolder::give_back(uint64_t bytes, size_t entries) {
  const std::lock_guard lock(lock_);
  bytes_ -= bytes;
  entries_ -= entries;
}

Status CallFolder::place(const fs::path& part, const std::string& name) {
  const std::lock_guard lock(lock_);
  TRY(check_open());
  TRY(make_folders(name));
  const fs::path target = files() / name;
  struct stat found {};
  const bool is_there = ::lstat(target.c_str(), &found) == 0;
  if (is_there && S_ISDIR(found.st_mode)) {
    return wrong_name("the name is that of a folder, in which other files of the call are");
  }
  if (::rename(part.c_str(), target.c_str()) != 0) {
    return on_disk("the file can't be put in its place", errno);
  }
  if (is_there) {  // the earlier file is replaced
    bytes_ -= std::min(bytes_, static_cast<uint64_t>(found.st_size));
    --entries_;
  }
  return {};
}

/// Makes the folders of the name. The caller holds the lock.
Status CallFolder::make_folders(const std::string& name) {
  for (size_t at = name.find('/'); at != std::string::npos; at = name.find('/', at + 1)) {
    const fs::path folder = files() / name.substr(0, at);
    struct stat found {};
    if (::lstat(folder.c_str(), &found) == 0) {
      if (S_ISDIR(found.st_mode)) continue;
      return wrong_name("a part of the name is another file of the call");
    }
    TRY(take_entry());
    if (::mkdir(folder.c_str(), 0700) != 0) return on_disk("a folder can't be created", errno);
  }
  return {};
}

}  // namespace millrace
