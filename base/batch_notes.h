// BatchNotes: notes of what a cache changed during the current batch, so that the cache can undo
// the changes if the batch is lost. The notes of a batch are dropped when the next batch begins; no
// call clears them. For one thread only.
#pragma once

#include <cstdint>
#include <utility>

namespace millrace {

/// Numbers the batches. While there is no current batch (the store is being read), the caches make
/// no notes.
class BatchCount {
 public:
  /// Begins a batch. The notes of the previous batch are no longer valid.
  void begin() { now_ = ++last_; }
  /// Ends the current batch; until the next begin() there is no current batch.
  void end() { now_ = 0; }

  /// The number of the current batch; 0: there is no current batch.
  uint64_t now() const { return now_; }

 private:
  uint64_t now_ = 0;
  uint64_t last_ = 0;
};

/// The notes of one cache. A default-constructed `Notes` must be empty.
template <class Notes>
class BatchNotes {
 public:
  /// `batches` must outlive this object.
  explicit BatchNotes(const BatchCount& batches) : batches_(batches) {}

  /// The notes of the current batch; null if there is no current batch.
  Notes* now() {
    if (batches_.now() == 0) return nullptr;
    if (of_ != batches_.now()) notes_ = Notes();
    of_ = batches_.now();
    return &notes_;
  }

  /// Returns the notes of the current batch; afterwards this object has no notes of the batch.
  Notes take() {
    Notes* const notes = now();
    return notes == nullptr ? Notes() : std::exchange(*notes, Notes());
  }

 private:
  const BatchCount& batches_;
  uint64_t of_ = 0;
  Notes notes_;
};

}  // namespace millrace
