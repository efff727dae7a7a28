// CrashNoteFile: the crash note as a file beside the store. The file has one line. It survives the
// end of the process but not a power cut, which no input can cause. A signal handler adds whether
// the process ended by a fault of its own. Engine thread only.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "orchestrator/batch/crash_note_place.h"
#include "os/descriptor.h"

namespace millrace {

/// A second stack for the calling thread, on which a signal handler can run after the first stack
/// has overflowed. The same thread must destroy the object.
class SignalStack {
 public:
  SignalStack();
  ~SignalStack();
  SignalStack(const SignalStack&) = delete;
  SignalStack& operator=(const SignalStack&) = delete;

 private:
  static constexpr size_t kSize = size_t{64} << 10;

  std::unique_ptr<char[]> bytes_;
};

class CrashNoteFile final : public CrashNotePlace {
 public:
  /// Reads the note of the previous process without changing the file; nullopt: that process was
  /// not applying a batch, or the file does not exist. Errors: `store.io`; `store.corrupt`: the
  /// file holds text that no process writes.
  static Result<std::optional<CrashNoteText>> read(const std::filesystem::path& folder);

  /// Removes the file, if it exists: the note is not about an input that the next process applies.
  /// Precondition: no process uses the folder. Error `store.io`.
  static Status discard(const std::filesystem::path& folder);

  /// Opens the file for writing, and reads the note of the previous process into `left`. A text
  /// that no process writes counts as no note. Error `store.io`.
  static Result<std::unique_ptr<CrashNoteFile>> open(const std::filesystem::path& folder,
                                                     std::optional<CrashNoteText>& left);
  ~CrashNoteFile() override;

  /// Installs signal handlers that add a fault of this process (a signal such as SIGSEGV or
  /// SIGABRT) to the note. A stack overflow is recorded only for the calling thread and for threads
  /// with a SignalStack.
  static void note_crashes();

  void write(const CrashNoteText& note) override;
  void add_removal(Transaction&) override {}
  void batch_committed() override {}
  void remove() override;

  /// Two if the process ended by its own fault; else so many that kill -9 from outside or a single
  /// shortage of memory cannot be the reason.
  uint32_t deaths_of_poison(const CrashNoteText& left) const override;

 private:
  explicit CrashNoteFile(Descriptor file);
  void write_line(std::string_view line);

  Descriptor file_;
};

}  // namespace millrace
