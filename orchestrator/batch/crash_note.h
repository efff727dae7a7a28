// InHand: a note beside the store of what the engine has in hand, so that a restart knows after
// what the process died. A file of one line, written before a batch is applied and wiped when it is
// on disk; it outlives the process, not a power cut, and does not have to: that is nobody's fault.
// Engine thread only.
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

/// A second stack for the thread that makes it, on which a signal can be handled that says that the
/// first one is used up. For that thread alone, which also destroys it.
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

class InHand {
 public:
  struct OneInstance {
    NamespaceNumber space{};
    InstanceId id;

    bool operator==(const OneInstance&) const = default;
  };
  /// What the last process had in hand when it died.
  struct Left {
    uint64_t inputs = 0;  ///< of its batch
    /// Where it went carefully: the one input that it died of, how often that was so by now, and
    /// the instance that was being stepped. A sequence of 0: the input was for that instance.
    uint32_t deaths = 0;
    bool crashed = false;  ///< the last of them was a fault of its own (note_crashes)
    uint64_t sequence = 0;
    std::optional<OneInstance> instance;
  };

  InHand() = default;
  ~InHand();
  InHand(const InHand&) = delete;
  InHand& operator=(const InHand&) = delete;

  /// What the last process left, without touching the file; nullopt: nothing, or there is no file.
  /// Errors: `store.io`; `store.corrupt`: it is no note that any process writes.
  static Result<std::optional<Left>> read(const std::filesystem::path& folder);

  /// Reads what the last process left, and takes the file over. Error `store.io`.
  Status open(const std::filesystem::path& folder);

  const std::optional<Left>& left() const { return left_; }

  /// Whether the process has died of the one input, and not just while it was in hand: twice by a
  /// fault of its own, or so often that somebody's kill -9 cannot be what it was (nor a system that
  /// is short of memory once).
  static bool is_poison(const Left& left);

  /// Has a fault of this process (a signal such as SIGSEGV or SIGABRT) written into the note, too.
  /// That of another thread than the caller's whose stack is used up only where it has a
  /// SignalStack.
  static void note_crashes();

  /// A batch of so many inputs is begun.
  void begin(uint64_t inputs);
  /// It is on disk, or given up.
  void end();

  /// From begin() on, one input after the other is noted: an event by its sequence, any other by
  /// its instance; and each instance that is stepped for it.
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
