// CrashNotePlace: where a crash note is kept until the next process reads it: in a file beside the
// store (crash_note_file.h) or, in a cluster, in a row (crash_note_row.h). CrashNote decides what
// is noted. Engine thread only.
#pragma once

#include <cstdint>

#include "orchestrator/store/rows/crash_row.h"
#include "orchestrator/store/transaction.h"

namespace millrace {

/// What a crash note says.
struct CrashNoteText {
  uint64_t inputs = 0;   ///< number of inputs in the batch
  bool crashed = false;  ///< the process ended by a fault of its own
  /// Set only if inputs were applied one by one. `deaths` is 0: no input was taken yet.
  NotedInput input;
};

class CrashNotePlace {
 public:
  CrashNotePlace() = default;
  virtual ~CrashNotePlace() = default;
  CrashNotePlace(const CrashNotePlace&) = delete;
  CrashNotePlace& operator=(const CrashNotePlace&) = delete;

  /// Replaces the note. When the function returns, the next process would read the note. If that
  /// fails, only the note is lost, and the failure is logged.
  virtual void write(const CrashNoteText& note) = 0;

  /// The batch in `tx` is committed next: a place in the store adds the removal of its note.
  virtual void add_removal(Transaction& tx) = 0;
  /// That batch is on disk.
  virtual void batch_committed() = 0;
  /// The actions of the batch are performed, or the batch was dropped: a place beside the store
  /// removes its note.
  virtual void remove() = 0;

  /// So many processes must have died of the input of a note for it to be poison.
  virtual uint32_t deaths_of_poison(const CrashNoteText& left) const = 0;
};

}  // namespace millrace
