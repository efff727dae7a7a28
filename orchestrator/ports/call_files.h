// CallFiles: the port to the files of calls of services that share no folder with millrace. A
// service reads the files of its call, and writes those that become variables with its answer, over
// HTTP under the key of the attempt. Any thread; the functions block on the disk. After a start,
// all of them fail with `busy` for a call that its service has accepted, until its files are found.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/ids.h"
#include "base/json.h"
#include "base/result.h"
#include "model/task.h"

namespace millrace {

/// The bytes of all files that a call is given, and again of all that its service writes.
inline constexpr size_t kMostFilesOfCall = size_t{64} << 20;

/// The attempt has ended, or the key is that of another attempt.
inline constexpr std::string_view kFilesRefused = "files.refused";
/// The files that the service had written are gone, and it has not confirmed that by clear().
inline constexpr std::string_view kFilesGone = "files.gone";
/// The call has no file with this name.
inline constexpr std::string_view kFilesNotFound = "files.not_found";
/// A file with this name cannot become a variable.
inline constexpr std::string_view kFilesName = "files.name";
/// The files that the service has written are too large, or too many.
inline constexpr std::string_view kFilesTooLarge = "files.too_large";

/// The disk of millrace did not take or give the bytes of a file.
inline constexpr std::string_view kFilesDisk = "files.disk";

/// What a service shows to get at the files of its call.
struct CallAccess {
  InstanceId task;  ///< the action id
  std::string key;  ///< of the attempt
};

/// A file that is read piece by piece. One thread at a time.
class FileSource {
 public:
  virtual ~FileSource() = default;
  /// The size of the file, in bytes.
  virtual uint64_t size() const = 0;
  /// The next bytes, at most `most`; empty: the file has no more. Error kFilesDisk.
  virtual Result<std::string> next(size_t most) = 0;
};

/// A file that is written piece by piece. If the object is destroyed before finish(), nothing of
/// the file remains. One thread at a time.
class FileSink {
 public:
  virtual ~FileSink() = default;
  /// Appends bytes. Errors kFilesRefused, kFilesTooLarge, kFilesDisk.
  virtual Status write(std::string_view bytes) = 0;
  /// The file is complete: it is one of the files of the call from now on, in place of an earlier
  /// one of the same name. Errors kFilesRefused, kFilesName, kFilesTooLarge, kFilesDisk.
  virtual Status finish() = 0;
};

/// The answer of a service by a callback, with the files of its call.
struct CollectedAnswer {
  TaskEnded ended;         ///< with the variables, if the files count
  bool has_files = false;  ///< the call has files here; false: it has none, or they are gone
  std::optional<Error> wrong_files = {};  ///< why a file cannot become a variable
  /// To be called once, by any thread: whether the answer has ended the task. If it has not, the
  /// service can go on with the files. Null if `has_files` is false.
  std::function<void(bool has_ended)> settle = nullptr;
};

class CallFiles {
 public:
  virtual ~CallFiles() = default;

  /// Collects the files of the call for an answer by a callback, after which the service can change
  /// nothing. `then` is called once, on any thread. `access` has the key in the URL of the
  /// callback; if it is not that of the delivery that has files here, the answer is passed on
  /// without files. Errors, in `then`: `busy`, another answer is under way, or the files are not
  /// found yet after a start; kFilesGone, for a result; `stopping`.
  virtual void collect(const CallAccess& access, TaskEnded ended,
                       std::function<void(Result<CollectedAnswer>)> then) = 0;

  /// The files of the call: {"items":[{"name","size","executable","url"}]}, sorted by name. Error
  /// kFilesRefused.
  virtual Result<Json> list(const CallAccess& access) = 0;
  /// Opens a file of the call for reading. Errors kFilesRefused, kFilesNotFound.
  virtual Result<std::shared_ptr<FileSource>> read(const CallAccess& access,
                                                   std::string_view name) = 0;
  /// Opens a new file. `name`: `out/<scope>/` and the key of a variable, or a path that begins with
  /// a key: a folder becomes one variable. Errors kFilesRefused, kFilesName, kFilesTooLarge,
  /// kFilesDisk, kFilesGone.
  virtual Result<std::shared_ptr<FileSink>> write(const CallAccess& access, std::string_view name,
                                                  bool executable) = 0;
  /// Removes all files that the service has written, so that it can write them again. Errors
  /// kFilesRefused, kFilesDisk.
  virtual Status clear(const CallAccess& access) = 0;
};

}  // namespace millrace
