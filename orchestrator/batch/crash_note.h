// CrashNote: a file beside the store that records which inputs the engine is applying, so that
// after a crash the next process knows of which input the previous process died. The file has one
// line. The line is written before a batch is applied and reset when the batch is on disk. The note
// survives the end of the process but not a power cut, which no input can cause. A node of a
// cluster has no crash note: after a takeover, the note of this folder would be about an input that
// another node has applied since. Engine thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>

#include "base/ids.h"
#include "base/result.h"
#include "model/instance.h"
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

class CrashNote {
 public:
  struct OneInstance {
    NamespaceNumber ns{};
    InstanceId id;

    bool operator==(const OneInstance&) const = default;
  };
  /// The crash note of the process that died.
  struct Left {
    uint64_t inputs = 0;  ///< number of inputs in the batch of that process
    /// The members from here on are set only if inputs were applied one by one. `deaths`: how many
    /// processes have died of the input so far; `sequence`: the input, an event; `instance`: the
    /// instance that was being stepped. If `sequence` is 0, the input was for that instance and not
    /// an event.
    uint32_t deaths = 0;
    bool crashed = false;  ///< the process ended by a fault of its own, see note_crashes()
    uint64_t sequence = 0;
    std::optional<OneInstance> instance;
  };

  CrashNote() = default;
  ~CrashNote();
  CrashNote(const CrashNote&) = delete;
  CrashNote& operator=(const CrashNote&) = delete;

  /// Reads the note of the previous process without changing the file; nullopt: that process was
  /// not applying a batch, or the file does not exist. Errors: `store.io`; `store.corrupt`: the
  /// file holds text that no process writes.
  static Result<std::optional<Left>> read(const std::filesystem::path& folder);

  /// Reads the note of the previous process and opens the file for writing. Without this call
  /// nothing is noted. Error `store.io`.
  Status open(const std::filesystem::path& folder);

  const std::optional<Left>& left() const { return left_; }

  /// Whether processes died of the input in `left`, and not by chance while they applied that
  /// input: two processes ended by their own fault, or so many ended that kill -9 from outside or a
  /// single shortage of memory cannot be the reason.
  static bool is_poison(const Left& left);

  /// Installs signal handlers that add a fault of this process (a signal such as SIGSEGV or
  /// SIGABRT) to the note. A stack overflow is recorded only for the calling thread and for threads
  /// with a SignalStack.
  static void note_crashes();

  /// Notes that the engine starts to apply a batch of `inputs` inputs.
  void begin(uint64_t inputs);
  /// Notes that the batch is on disk, or was dropped.
  void end();

  /// Starts a batch in which each input is noted before it is applied: an event by its sequence,
  /// any other input by its instance. Each instance that is stepped for the input is noted too.
  void begin_careful(uint64_t inputs);
  void take_event(uint64_t sequence);
  void take_instance(const OneInstance& instance);
  void stepping(const OneInstance& instance);

 private:
  void write(const Left& note);
  void write_line(std::string_view line);

  Descriptor file_;
  std::optional<Left> left_;
  bool careful_ = false;
  Left now_;
};

}  // namespace millrace
