#include "orchestrator/memory/dedupe.h"

#include <algorithm>
#include <cstring>

#include "orchestrator/store/rows/event_rows.h"

namespace millrace {
namespace {

/// How many events one batch forgets besides as many as it adds, if there are more than the window
/// holds, because the window was made smaller.
constexpr size_t kForgottenBeside = 64;

/// How many rows one event may remove. One event adds fewer rows than that, so rows that left the
/// window while no events came are removed little by little. To remember an event longer than
/// promised does no harm.
constexpr size_t kForgottenAtOnce = 16;

}  // namespace

Fingerprint fingerprint_of(std::string_view ns, const Event& event) {
  return fingerprint({ns, event.source, event.id});
}

Fingerprint fingerprint_of(std::string_view ns, const Attributes& event) {
  return fingerprint({ns, event.find("source").value_or(""), event.find("id").value_or("")});
}

size_t Dedupe::Hash::operator()(const Fingerprint& event) const {
  size_t hash = 0;
  std::memcpy(&hash, event.data(), sizeof(hash));
  return hash;
}

Status Dedupe::load(const View& view, const OnDamage& damaged) {
  set_.clear();
  rows_.clear();
  batch_.clear();
  undo_.take();
  return each_dedupe(
      view,
      [&](TimePoint time, uint64_t sequence, const std::vector<Fingerprint>& events) {
        for (const Fingerprint& event : events) set_.insert(event);
        rows_.push_back({time, sequence});
      },
      damaged);
}

void Dedupe::add(const Fingerprint& event) {
  const bool is_new = set_.insert(event).second;
  if (Undo* const undo = undo_.now(); undo != nullptr && is_new) undo->added.push_back(event);
  batch_.push_back(event);
}

Status Dedupe::move_to(Transaction& tx, TimePoint time) {
  for (size_t left = kForgottenAtOnce; left > 0 && !rows_.empty(); --left) {
    if (rows_.front().time + window_.time >= time) break;
    TRY(forget_oldest(tx));
  }
  return {};
}

Status Dedupe::end_batch(Transaction& tx, TimePoint time, uint64_t sequence) {
  if (batch_.empty()) return {};
  const Row row{time, sequence};
  std::vector<Fingerprint> events;
  // After the broker has lost its newest messages, a batch of events that are read again may end
  // with the same event as the newest row.
  if (!rows_.empty() && rows_.back() == row) {
    events = TRY(read_dedupe(tx, time, sequence));
  } else {
    rows_.push_back(row);
    if (Undo* const undo = undo_.now()) undo->has_row = true;
  }
  events.insert(events.end(), batch_.begin(), batch_.end());
  write_dedupe(tx, time, sequence, events);
  size_t left = batch_.size() + kForgottenBeside;
  batch_.clear();
  while (set_.size() > window_.events && left > 0) {
    const size_t forgotten = TRY(forget_oldest(tx));
    left -= std::min(left, std::max<size_t>(forgotten, 1));
  }
  return {};
}

/// Forgets the events of the oldest row; returns their number.
Result<size_t> Dedupe::forget_oldest(Transaction& tx) {
  const Row row = rows_.front();
  std::vector<Fingerprint> events = TRY(read_dedupe(tx, row.time, row.sequence));
  for (const Fingerprint& event : events) set_.erase(event);
  erase_dedupe(tx, row.time, row.sequence);
  rows_.pop_front();
  const size_t count = events.size();
  if (Undo* const undo = undo_.now()) undo->forgotten.push_back({row, std::move(events)});
  return count;
}

void Dedupe::undo() {
  batch_.clear();
  Undo undo = undo_.take();
  if (undo.has_row && rows_.empty()) {
    undo.forgotten.pop_back();  // the batch erased the row that it had written
  } else if (undo.has_row) {
    rows_.pop_back();
  }
  for (const Fingerprint& event : undo.added) set_.erase(event);
  for (auto one = undo.forgotten.rbegin(); one != undo.forgotten.rend(); ++one) {
    for (const Fingerprint& event : one->events) set_.insert(event);
    rows_.push_front(one->row);
  }
}

}  // namespace millrace
