#include "orchestrator/batch/crash_note.h"

#include <utility>

#include "orchestrator/batch/crash_note_file.h"
#include "orchestrator/batch/crash_note_row.h"

namespace millrace {

Status CrashNote::open(const std::filesystem::path& folder) {
  place_ = TRY(CrashNoteFile::open(folder, left_));
  return {};
}

Status CrashNote::open_row(Transaction& tx) {
  place_ = TRY(CrashNoteRow::open(tx, left_));
  return {};
}

bool CrashNote::is_poison() const {
  return place_ && left_ && left_->input.deaths >= place_->deaths_of_poison(*left_);
}

void CrashNote::begin(uint64_t inputs) {
  careful_ = false;
  write({.inputs = inputs});
}

void CrashNote::add_removal(Transaction& tx) {
  if (place_) place_->add_removal(tx);
}

void CrashNote::batch_committed() {
  if (place_) place_->batch_committed();
}

void CrashNote::end() {
  careful_ = false;
  if (place_) place_->remove();
}

void CrashNote::begin_careful(uint64_t inputs) {
  careful_ = true;
  write({.inputs = inputs});
}

void CrashNote::take_event(uint64_t sequence) {
  take({.sequence = sequence}, left_ && left_->input.sequence == sequence);
}

void CrashNote::take_instance(const NotedInstance& instance) {
  take({.instance = instance},
       left_ && left_->input.sequence == 0 && left_->input.instance == instance);
}

/// `again`: processes have died of the same input before.
void CrashNote::take(NotedInput input, bool again) {
  if (!careful_) return;
  input.deaths = 1 + (again ? left_->input.deaths : 0);
  write({.inputs = now_.inputs, .input = input});
}

void CrashNote::stepping(const NotedInstance& instance) {
  if (!careful_ || now_.input.sequence == 0 || now_.input.instance == instance) return;
  CrashNoteText note = now_;
  note.input.instance = instance;
  write(note);
}

void CrashNote::write(const CrashNoteText& note) {
  now_ = note;
  if (place_) place_->write(now_);
}

}  // namespace millrace
