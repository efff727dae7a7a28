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
/// The file with the mark of a kept folder.
constexpr std::string_view kMarkFile = "kept";
/// The bytes of a name that are encoded in a URL, besides those that no URL has.
constexpr std::string_view kEncodedInUrl = "?#[]@!$&'()*+,;=:\"<>\\^`{|}";

constexpr std::array kOutScopes = {VariableScope::kInstance, VariableScope::kWorkflow,
                                   VariableScope::kNamespace};

tl::unexpected<Error> wrong_name(std::string message) {
  return fail(std::string(kFilesName), std::move(message));
}

tl::unexpected<Error> on_disk(std::string_view what, int error) {
  return fail(std::string(kFilesDisk), fmt::format("{}: {}", what, std::strerror(error)));
}

bool is_scope(std::string_view name) {
  return std::any_of(kOutScopes.begin(), kOutScopes.end(),
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

/// Whether the file becomes a variable of its own, and not a part of one.
bool is_whole_variable(std::string_view name) {
  return std::count(name.begin(), name.end(), '/') == 2;
}

/// Whether the name is that of a file that the call was given, and not of one below `out/`.
bool is_given_name(std::string_view name) {
  return check_file_name(name) && take_component(name) != kOutFolder;
}

Status sync_file(const Descriptor& file) {
  if (file && ::fsync(file.fd()) == 0) return {};
  return on_disk("the file can't be put on disk", errno);
}

/// Puts the folder on disk with all that is in it.
Status sync_tree(const fs::path& folder) {
  std::error_code error;
  for (fs::recursive_directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const Descriptor opened(
        ::open(entry->path().c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    TRY(sync_file(opened));
  }
  if (error) return on_disk("the files can't be listed", error.value());
  const int own = sync_folder(folder);
  if (own != 0) return on_disk("the folder of the call can't be put on disk", own);
  return {};
}

/// What the files in `out/` use of the limits.
struct Usage {
  uint64_t bytes = 0;
  size_t entries = 0;
};
Result<Usage> usage_of(const fs::path& out) {
  Usage usage;
  std::error_code error;
  for (fs::recursive_directory_iterator entry(out, error), end; !error && entry != end;
       entry.increment(error)) {
    if (entry.depth() == 0) continue;  // the folder of a scope
    struct stat found {};
    if (::lstat(entry->path().c_str(), &found) != 0) continue;
    ++usage.entries;
    if (S_ISREG(found.st_mode)) usage.bytes += static_cast<uint64_t>(found.st_size);
  }
  if (error && error.value() != ENOENT) return on_disk("the files can't be listed", error.value());
  return usage;
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
        most_(is_whole_variable(name_) ? kMaxVariableBytes : kMaxFilesBytes),
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
    if (bytes.size() > most_ - size_) {
      return fail(std::string(kFilesTooLarge), fmt::format("the file has more than {} MiB; {}",
                                                           most_ >> 20, limit_of_variable()));
    }
    TRY(folder_->take_bytes(bytes.size()));
    size_ += bytes.size();
    const int error = write_all(file_.fd(), bytes);
    if (error != 0) return on_disk("the file can't be written", error);
    return {};
  }

  Status finish() override {
    const bool is_kept = folder_->is_kept();
    if (is_kept) TRY(sync_file(file_));
    TRY(folder_->place(part_, name_, file_, is_kept));
    file_.reset();
    is_complete_ = true;
    return {};
  }

 private:
  const std::shared_ptr<CallFolder> folder_;
  const std::string name_;
  const uint64_t most_;  ///< the bytes that the file may have
  const fs::path part_;
  Descriptor file_;
  uint64_t size_ = 0;
  bool is_complete_ = false;
};

Error no_call_files() {
  return {std::string(kFilesRefused),
          "the key opens no files: the attempt has ended, or the key is that of another attempt"};
}

Error lost_call_files() {
  return {std::string(kFilesGone),
          "what the service had written for this call is gone, because another machine has taken "
          "the call over, or the machine has lost the folder: send `DELETE` to the URL in "
          "`Millrace-Files` with `/out` behind it, then PUT all files again"};
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

std::optional<FolderMark> CallFolder::mark_of(const fs::path& folder) {
  constexpr size_t kMostBytes = 1'024;
  const Result<std::optional<std::string>> text = head_of_file(folder / kMarkFile, kMostBytes);
  if (!text || !*text) return std::nullopt;
  const Result<Json> mark = parse_json(**text);
  if (!mark || !mark->is_object() || !mark->contains("epoch")) return std::nullopt;
  if (!mark->at("epoch").is_number_unsigned()) return std::nullopt;
  return FolderMark{.epoch = mark->at("epoch").get<uint64_t>(),
                    .is_lost = mark->value("isLost", Json()) == true,
                    .has_any_key = mark->value("hasAnyKey", Json()) == true};
}

Result<std::shared_ptr<CallFolder>> CallFolder::take_over(fs::path folder, uint64_t epoch) {
  std::shared_ptr<CallFolder> taken(new CallFolder(std::move(folder)));
  const std::lock_guard lock(taken->lock_);
  taken->mark_ = mark_of(taken->folder_);
  if (!taken->mark_) return on_disk("the mark of a kept folder can't be read", EIO);
  taken->mark_->epoch = epoch;
  taken->is_lost_ = taken->mark_->is_lost;
  const fs::path parts = taken->folder_ / kPartsFolder;
  remove_folder(parts);
  if (::mkdir(parts.c_str(), 0700) != 0) return on_disk("a folder can't be created", errno);
  const Usage usage = TRY(usage_of(taken->files() / kOutFolder));
  taken->bytes_ = usage.bytes;
  taken->entries_ = usage.entries;
  TRY(taken->write_mark());
  return taken;
}

Status CallFolder::keep(const FolderMark& mark) {
  const std::lock_guard lock(lock_);
  mark_ = mark;
  is_lost_ = mark.is_lost;
  TRY(sync_tree(files()));
  TRY(write_mark());
  // The folder of all calls may be new, too.
  const fs::path all = folder_.parent_path();
  for (const fs::path& above : {all, all.parent_path()}) {
    const int error = sync_folder(above);
    if (error != 0) return on_disk("the folder of the calls can't be put on disk", error);
  }
  return {};
}

/// The caller holds the lock.
Status CallFolder::write_mark() const {
  const Json mark = {
      {"epoch", mark_->epoch}, {"isLost", mark_->is_lost}, {"hasAnyKey", mark_->has_any_key}};
  const int error = replace_file(folder_ / kMarkFile, dump_json(mark));
  if (error != 0) return on_disk("the mark of the folder can't be written", error);
  return {};
}

bool CallFolder::is_kept() const {
  const std::lock_guard lock(lock_);
  return mark_.has_value();
}

bool CallFolder::has_any_key() const {
  const std::lock_guard lock(lock_);
  return mark_ && mark_->has_any_key;
}

Status CallFolder::clear() {
  const std::lock_guard lock(lock_);
  TRY(check_open());
  const fs::path out = files() / kOutFolder;
  const Usage usage = TRY(usage_of(out));
  const fs::path removed = folder_ / kPartsFolder / std::to_string(++last_part_);
  if (::rename(out.c_str(), removed.c_str()) != 0 && errno != ENOENT) {
    return on_disk("the files can't be removed", errno);
  }
  bytes_ -= std::min(bytes_, usage.bytes);
  entries_ -= std::min(entries_, usage.entries);
  if (::mkdir(out.c_str(), 0700) != 0) return on_disk("a folder can't be created", errno);
  for (const VariableScope scope : kOutScopes) {
    if (::mkdir((out / to_string(scope)).c_str(), 0700) != 0) {
      return on_disk("a folder can't be created", errno);
    }
  }
  if (mark_) {
    TRY(sync_tree(out));
    TRY(sync_folders(std::string(kOutFolder)));
    mark_->is_lost = false;
    TRY(write_mark());
    is_lost_ = false;
  }
  remove_folder(removed);
  return {};
}

/// Puts the names of a file and of its folders on disk. The caller holds the lock.
Status CallFolder::sync_folders(const std::string& name) const {
  const fs::path root = files();
  for (fs::path folder = (root / name).parent_path();; folder = folder.parent_path()) {
    const int error = sync_folder(folder);
    if (error != 0) return on_disk("a folder can't be put on disk", error);
    if (folder == root) return {};
  }
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
  if (is_lost_) return tl::unexpected(lost_call_files());
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

Status CallFolder::place(const fs::path& part, const std::string& name, const Descriptor& file,
                         bool is_synced) {
  const std::lock_guard lock(lock_);
  TRY(check_open());
  if (mark_ && !is_synced) TRY(sync_file(file));
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
  return mark_ ? sync_folders(name) : Status();
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
