// CrashNote: records which inputs the engine is applying, so that after a crash the next process
// knows of which input the previous process died. The note is written before a batch is applied and
// removed when the batch is on disk. Without a cluster it is in a file beside the store, and each
// batch is noted. In a cluster it is in a row, and only inputs that are applied one by one are
// noted: the file of a folder would be about an input that another node has applied since. Engine
// thread only.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>

#include "base/result.h"
#include "orchestrator/batch/crash_note_place.h"

namespace millrace {

class CrashNote {
 public:
  /// Reads the note of the previous process, and keeps the notes of this one in the file of that
  /// folder. Without this call or open_row() nothing is noted. Error `store.io`.
  Status open(const std::filesystem::path& folder);
  /// The same in a cluster: in the row of the store, with commits of their own besides the batches
  /// of `tx`, which outlives the object. Errors: those of the store.
  Status open_row(Transaction& tx);

  /// The note of the process that died; nullopt: no process died while it was noted.
  const std::optional<CrashNoteText>& left() const { return left_; }

  /// Whether processes died of the input in left(), and not by chance while they applied that
  /// input: see CrashNotePlace::deaths_of_poison().
  bool is_poison() const;

  /// Notes that the engine starts to apply a batch of `inputs` inputs.
  void begin(uint64_t inputs);
  /// The batch in `tx` is committed next; then batch_committed() follows if it is on disk.
  void add_removal(Transaction& tx);
  void batch_committed();
  /// Notes that the actions of the batch are performed, or that it was dropped.
  void end();

  /// Starts a batch in which each input is noted before it is applied: an event by its sequence,
  /// any other input by its instance. Each instance that is stepped for the input is noted too.
  void begin_careful(uint64_t inputs);
  void take_event(uint64_t sequence);
  void take_instance(const NotedInstance& instance);
  void stepping(const NotedInstance& instance);

 private:
  void take(NotedInput input, bool again);
  void write(const CrashNoteText& note);

  std::unique_ptr<CrashNotePlace> place_;  ///< null: nothing is noted
  std::optional<CrashNoteText> left_;
  bool careful_ = false;
  CrashNoteText now_;
};

}  // namespace millrace
