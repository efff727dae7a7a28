// CallFolder: the files of one call of a service that shares no folder with millrace. The folder is
// laid out as that of a container: the files that the call was given, and `out/<scope>/` for those
// that become variables. What the service writes comes over HTTP, file by file; a file is in the
// folder only when it is complete. Any thread; the functions block on the disk.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "model/task.h"
#include "orchestrator/ports/call_files.h"
#include "os/descriptor.h"

namespace millrace {

/// The error kFilesRefused. It does not show whether the attempt exists.
Error no_call_files();
/// The error kFilesGone.
Error lost_call_files();

/// What a kept folder says about itself.
struct FolderMark {
  uint64_t epoch = 0;  ///< of the active of a cluster that had the call last; 0: there was none
  /// What the service had written was lost, and the service has not confirmed it by clear().
  bool is_lost = false;
  /// The keys of all deliveries of the attempt open the folder, because it is not known which of
  /// them its service has accepted.
  bool has_any_key = false;
};

class CallFolder : public std::enable_shared_from_this<CallFolder> {
 public:
  /// Creates `folder`, which must not exist, with the files in it (lay_out_files). Error
  /// kFunctionFiles; `folder` does not exist then.
  static Result<std::shared_ptr<CallFolder>> make(const std::vector<TaskFile>& files,
                                                  std::filesystem::path folder);

  /// What a folder says that an earlier process has kept; nullopt: it was not kept.
  static std::optional<FolderMark> mark_of(const std::filesystem::path& folder);
  /// Opens a folder that an earlier process has kept, for this epoch. Error kFilesDisk.
  static Result<std::shared_ptr<CallFolder>> take_over(std::filesystem::path folder,
                                                       uint64_t epoch);

  CallFolder(const CallFolder&) = delete;
  CallFolder& operator=(const CallFolder&) = delete;
  ~CallFolder() = default;

  // What the service does. Error kFilesRefused once the folder is closed.

  /// The files that the call was given: {"items":[{"name","size","executable","url"}]}, sorted by
  /// name. `url`: TaskFolder::url.
  Result<Json> list(std::string_view url) const;
  /// Opens a file that the call was given. Error kFilesNotFound.
  Result<std::shared_ptr<FileSource>> read(std::string_view name) const;
  /// Opens a new file `out/<scope>/…`; one that becomes a variable of its own has at most
  /// kMaxVariableBytes, and all that are complete or under way kMaxFilesBytes and kMaxFilesEntries.
  /// Errors kFilesName, kFilesTooLarge, kFilesDisk, kFilesGone.
  Result<std::shared_ptr<FileSink>> write(std::string_view name, bool is_executable);
  /// Removes all complete files in `out/`. Error kFilesDisk.
  Status clear();

  // What millrace does when the service has accepted the call.

  /// From now on the files are on disk before the service gets an answer to its request: the next
  /// process can take the folder over. Error kFilesDisk.
  Status keep(const FolderMark& mark);
  /// FolderMark::is_lost. Never blocks.
  bool is_lost() const { return is_lost_; }
  bool has_any_key() const;  ///< FolderMark::has_any_key

  // What millrace does when the call has ended.

  /// From now on the service can neither read nor write. The files under way are not complete,
  /// except one that is being put in its place. Never blocks.
  void close() { is_closed_ = true; }
  /// The service can read and write again: the call has not ended after all.
  void open_again() { is_closed_ = false; }
  /// The complete files in `out/<scope>/` as variables (collect_variables). Precondition: closed.
  Result<std::vector<TaskVariable>> collect() const;
  /// Removes the folder with its content. Precondition: closed.
  void remove() const;

 private:
  friend class CallFileSink;

  explicit CallFolder(std::filesystem::path folder) : folder_(std::move(folder)) {}

  /// The folder as the function would see it.
  std::filesystem::path files() const { return folder_ / "files"; }
  Status check_open() const;
  void wait_for_changes() const;
  Status take_entry();
  Status take_bytes(uint64_t bytes);
  void give_back(uint64_t bytes, size_t entries);
  bool is_kept() const;
  /// Moves a complete file to its name. `is_synced`: its bytes are on disk.
  Status place(const std::filesystem::path& part, const std::string& name, const Descriptor& file,
               bool is_synced);
  Status make_folders(const std::string& name);
  Status sync_folders(const std::string& name) const;
  Status write_mark() const;

  const std::filesystem::path folder_;
  std::atomic<bool> is_closed_ = false;
  std::atomic<bool> is_lost_ = false;  ///< that of the mark
  mutable std::mutex lock_;            ///< held while something in the folder changes
  // Guarded by lock_.
  uint64_t last_part_ = 0;  ///< names the files under way
  uint64_t bytes_ = 0;      ///< of the files that the service has written, also those under way
  size_t entries_ = 0;      ///< these files, and the folders of their names
  std::optional<FolderMark> mark_;  ///< nullopt: the folder is not kept
};

}  // namespace millrace
