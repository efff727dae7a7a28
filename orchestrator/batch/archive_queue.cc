#include "orchestrator/batch/archive_queue.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/check.h"
#include "orchestrator/store/rows/index_rows.h"

namespace millrace {
namespace {

/// How much one page has at most; a single instance may be larger.
constexpr size_t kMostInstances = 1'000;
constexpr uint64_t kMostBytes = uint64_t{8} << 20;

/// How long the archive of a namespace waits after a page that could not be written. This is less
/// than the minute between two passes of the retention, so that each pass makes an attempt if the
/// pages of the others take less than the difference.
constexpr Duration kUntilRetry = std::chrono::seconds(50);

}  // namespace

/// To be called before the current batch changes the state: keeps the old state for undo().
void ArchiveQueue::note_change() {
  auto* const before = before_.now();
  if (before != nullptr && !*before) *before = state_;
}

void ArchiveQueue::undo() {
  if (auto before = before_.take()) state_ = *std::move(before);
}

void ArchiveQueue::add(const Instance& head, DeletionReason reason) {
  note_change();
  state_.stage = Stage::kCollected;
  state_.ns = head.ns;
  state_.items.push_back(
      {.id = head.id, .status = head.status, .last_history = head.last_history, .reason = reason});
  const IndexedInstance one = indexed(head);
  state_.bytes += one.row_bytes + one.history_bytes;
}

bool ArchiveQueue::is_full() const {
  return state_.stage == Stage::kCollected &&
         (state_.items.size() >= kMostInstances || state_.bytes >= kMostBytes);
}

bool ArchiveQueue::is_failing(NamespaceNumber ns) const {
  const auto found = failures_.find(ns);
  return found != failures_.end() && found->second.retry_at;
}

uint64_t ArchiveQueue::failed_page(NamespaceNumber ns) const {
  const auto found = failures_.find(ns);
  return found == failures_.end() ? 0 : found->second.page;
}

void ArchiveQueue::end_waits(TimePoint now) {
  if (!retry_at_ || now < *retry_at_) return;
  retry_at_.reset();
  for (auto& [ns, failure] : failures_) {
    auto& at = failure.retry_at;
    if (at && *at <= now) at.reset();
    if (at) retry_at_ = std::min(retry_at_.value_or(*at), *at);
  }
}

ArchivePage ArchiveQueue::take_page(uint32_t file) {
  note_change();
  state_.stage = Stage::kWriting;
  state_.file = file;
  state_.needs_new_file = false;
  ArchivePage page;
  page.number = ++state_.number;
  page.ns = state_.ns;
  page.entries.reserve(state_.items.size());
  for (const ArchiveItem& item : state_.items) page.entries.push_back({item.id, item.last_history});
  return page;
}

PageEnd ArchiveQueue::apply(const ArchivedPage& result, TimePoint now) {
  if (state_.stage != Stage::kWriting || result.number != state_.number) return PageEnd::kNothing;
  note_change();
  if (!result.lengths && result.lengths.error().code == kArchiveMoved) {
    state_.needs_new_file = true;
    state_.stage = Stage::kCollected;
    return PageEnd::kNothing;
  }
  if (!result.lengths) {
    const TimePoint at = now + kUntilRetry;
    failures_[state_.ns] = {.page = state_.number, .retry_at = at};
    retry_at_ = std::min(retry_at_.value_or(at), at);
    drop();
    return PageEnd::kFailed;
  }
  CHECK(result.lengths->size() == state_.items.size(), "a page has {} results for {} instances",
        result.lengths->size(), state_.items.size());
  for (size_t i = 0; i < state_.items.size(); ++i) state_.items[i].length = (*result.lengths)[i];
  state_.stage = Stage::kWritten;
  return PageEnd::kWritten;
}

const ArchiveItem* ArchiveQueue::next() const {
  return state_.stage == Stage::kWritten ? &state_.items[state_.next] : nullptr;
}

void ArchiveQueue::pop() {
  note_change();
  if (++state_.next == state_.items.size()) drop();
}

void ArchiveQueue::drop() {
  note_change();
  clear();
}

}  // namespace millrace
