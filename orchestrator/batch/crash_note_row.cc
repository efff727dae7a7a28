#include "orchestrator/batch/crash_note_row.h"

#include <spdlog/spdlog.h>

#include "orchestrator/store/rows/damage.h"

namespace millrace {

Result<std::unique_ptr<CrashNoteRow>> CrashNoteRow::open(Transaction& tx,
                                                         std::optional<CrashNoteText>& left) {
  std::unique_ptr<CrashNoteRow> row(new CrashNoteRow(tx));
  const auto read = read_crash_row(tx);
  if (!read && !is_damaged_row(read.error())) return tl::unexpected(read.error());
  if (!read) spdlog::warn("the crash note of the cluster is ignored: {}", read.error().message);
  row->has_row_ = !read || read->has_value();
  left.reset();
  if (read && *read) left = CrashNoteText{.inputs = 1, .input = **read};
  return row;
}

void CrashNoteRow::write(const CrashNoteText& note) {
  if (note.input.deaths == 0) return;
  has_row_ = true;
  // After an error of the log, the commit of the batch fails with the same error.
  if (const Status done = tx_.commit_apart(crash_row_writes(note.input)); !done) {
    spdlog::warn("the crash note could not be written: {}", done.error().message);
  }
}

void CrashNoteRow::add_removal(Transaction& tx) {
  if (has_row_) erase_crash_row(tx);
}

}  // namespace millrace
