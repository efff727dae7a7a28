// BatchNotes: what a cache has changed with the batch in hand, noted so that it can be taken back
// if the batch is lost. The notes of one batch end when the next batch begins; no call clears them.
// One thread.
#pragma once

#include <cstdint>
#include <utility>

namespace millrace {

/// Counts the batches. While there is none in hand (the store is being read) nothing is noted.
class BatchCount {
 public:
  /// A batch begins; what was noted of the one before is not of this one.
  void begin() { now_ = ++last_; }
  /// None is in hand until begin().
  void end() { now_ = 0; }

  /// 0: none is in hand.
  uint64_t now() const { return now_; }

 private:
  uint64_t now_ = 0;
  uint64_t last_ = 0;
};

/// `Notes` is empty when it is made anew.
template <class Notes>
class BatchNotes {
 public:
  /// `batches` outlives it.
  explicit BatchNotes(const BatchCount& batches) : batches_(batches) {}

  /// Those of the batch in hand; null: there is none.
  Notes* now() {
    if (batches_.now() == 0) return nullptr;
    if (of_ != batches_.now()) notes_ = Notes();
    of_ = batches_.now();
    return &notes_;
  }

  /// Those of the batch in hand, which has none any more.
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
