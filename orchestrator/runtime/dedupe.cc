#include "orchestrator/runtime/dedupe.h"

#include <cstring>

namespace millrace {

Fingerprint fingerprint_of(std::string_view space, const Event& event) {
  return fingerprint({space, event.source, event.id});
}

size_t Dedupe::Hash::operator()(const Fingerprint& event) const {
  size_t hash = 0;
  std::memcpy(&hash, event.data(), sizeof(hash));
  return hash;
}

Status Dedupe::load(const View& view) {
  set_.clear();
  rows_.clear();
  batch_.clear();
  return each_dedupe(
      view, [&](TimePoint time, uint64_t sequence, const std::vector<Fingerprint>& events) {
        set_.insert(events.begin(), events.end());
        rows_.push_back({time, sequence, events});
      });
}

void Dedupe::add(const Fingerprint& event) {
  set_.insert(event);
  batch_.push_back(event);
}

void Dedupe::move_to(Transaction& tx, TimePoint time) {
  while (!rows_.empty() && rows_.front().time + window_.time < time) forget_oldest(tx);
}

void Dedupe::end_batch(Transaction& tx, TimePoint time, uint64_t sequence) {
  if (batch_.empty()) return;
  // What is read again after a broker lost its tail may end with the same event.
  const bool again =
      !rows_.empty() && rows_.back().time == time && rows_.back().sequence == sequence;
  if (!again) rows_.push_back({time, sequence, {}});
  std::vector<Fingerprint>& events = rows_.back().events;
  events.insert(events.end(), batch_.begin(), batch_.end());
  write_dedupe(tx, time, sequence, events);
  batch_.clear();
  while (set_.size() > window_.events) forget_oldest(tx);
}

void Dedupe::forget_oldest(Transaction& tx) {
  for (const Fingerprint& event : rows_.front().events) set_.erase(event);
  erase_dedupe(tx, rows_.front().time, rows_.front().sequence);
  rows_.pop_front();
}

}  // namespace millrace
