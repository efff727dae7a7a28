// CrashNoteRow: the crash note of a cluster, as a row of the store (store/rows/crash_row.h). The
// note on an input is a commit of its own before the input: a row in the commit of the input would
// not be there if that commit never comes. The commit of the input removes the row. Both are in the
// log, so deaths are counted across nodes. Engine thread only.
#pragma once

#include <memory>
#include <optional>

#include "base/result.h"
#include "orchestrator/batch/crash_note_place.h"

namespace millrace {

class CrashNoteRow final : public CrashNotePlace {
 public:
  /// The log does not say how a process has ended, and an active that has lost the log counts as
  /// one that died. Fewer deaths could be chance.
  static constexpr uint32_t kDeathsOfPoison = 3;

  /// Reads the note of the former active into `left`. A damaged row is logged, counts as no note,
  /// and is removed by the next batch. `tx` must outlive the object. Errors: those of the store.
  static Result<std::unique_ptr<CrashNoteRow>> open(Transaction& tx,
                                                    std::optional<CrashNoteText>& left);

  /// A note without an input is not written: the batches that are not careful have no row.
  void write(const CrashNoteText& note) override;
  void add_removal(Transaction& tx) override;
  void batch_committed() override { has_row_ = false; }
  void remove() override {}
  uint32_t deaths_of_poison(const CrashNoteText&) const override { return kDeathsOfPoison; }

 private:
  explicit CrashNoteRow(Transaction& tx) : tx_(tx) {}

  Transaction& tx_;
  bool has_row_ = false;  ///< the store has the row, or may have it
};

}  // namespace millrace
