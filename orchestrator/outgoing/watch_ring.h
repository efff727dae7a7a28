// WatchRing: which instances the last commits have changed, for a thread that shows them to
// clients. The engine thread puts changes, one other thread takes them; neither waits. The engine
// thread puts nothing while nothing is watched, which costs it one load. If changes come faster
// than they are taken, the oldest are overwritten, and the taker learns how many.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "model/instance.h"

namespace millrace {

/// An instance as a commit has left it, or as it was before the commit deleted it.
struct WatchedChange {
  InstanceId instance;
  NamespaceNumber ns{};
  WorkflowNumber workflow{};
  uint32_t state = 0;
  InstanceStatus status{};
  bool is_deleted = false;

  bool operator==(const WatchedChange&) const = default;
};

class WatchRing {
 public:
  static constexpr size_t kPlaces = 8'192;

  /// Whether changes are put. Any thread.
  bool is_watched() const { return watched_.load(std::memory_order_relaxed); }
  void watch(bool on) { watched_.store(on, std::memory_order_relaxed); }

  /// Engine thread only.
  void put(const WatchedChange& change) {
    const uint64_t number = put_.load(std::memory_order_relaxed);
    Place& place = places_[number % kPlaces];
    const Words words = pack(change);
    // A reader that sees a word of this change also sees that the place is being written.
    place.number.store(kWriting, std::memory_order_relaxed);
    for (size_t i = 0; i < words.size(); ++i) {
      place.words[i].store(words[i], std::memory_order_release);
    }
    place.number.store(number, std::memory_order_release);
    put_.store(number + 1, std::memory_order_release);
  }

  struct Taken {
    std::vector<WatchedChange> changes;  ///< in the order of the commits
    uint64_t lost = 0;                   ///< changes that were overwritten before
  };
  /// The changes since the last call. One thread at a time.
  Taken take() {
    Taken taken;
    const uint64_t end = put_.load(std::memory_order_acquire);
    if (end - taken_ > kPlaces) {
      taken.lost = end - taken_ - kPlaces;
      taken_ = end - kPlaces;
    }
    taken.changes.reserve(end - taken_);
    for (; taken_ != end; ++taken_) {
      const Place& place = places_[taken_ % kPlaces];
      const bool is_there = place.number.load(std::memory_order_acquire) == taken_;
      Words words{};
      for (size_t i = 0; i < words.size(); ++i) {
        words[i] = place.words[i].load(std::memory_order_acquire);
      }
      if (is_there && place.number.load(std::memory_order_relaxed) == taken_) {
        taken.changes.push_back(unpack(words));
      } else {
        ++taken.lost;
      }
    }
    lost_.fetch_add(taken.lost, std::memory_order_relaxed);
    return taken;
  }

  /// How many changes were overwritten before they were taken, since startup. Any thread.
  uint64_t lost() const { return lost_.load(std::memory_order_relaxed); }

 private:
  using Words = std::array<uint64_t, 4>;
  static constexpr uint64_t kWriting = UINT64_MAX;
  static constexpr uint64_t kDeleted = uint64_t{1} << 8;

  struct Place {
    std::atomic<uint64_t> number = kWriting;  ///< of the change; kWriting: it is being written
    std::array<std::atomic<uint64_t>, 4> words{};
  };

  static Words pack(const WatchedChange& change) {
    Words words{};
    std::memcpy(words.data(), change.instance.bytes.data(), change.instance.bytes.size());
    words[2] =
        uint64_t{static_cast<uint32_t>(change.ns)} << 32 | static_cast<uint32_t>(change.workflow);
    words[3] = uint64_t{change.state} << 32 | (change.is_deleted ? kDeleted : 0) |
               static_cast<uint8_t>(change.status);
    return words;
  }
  static WatchedChange unpack(const Words& words) {
    WatchedChange change;
    std::memcpy(change.instance.bytes.data(), words.data(), change.instance.bytes.size());
    change.ns = static_cast<NamespaceNumber>(words[2] >> 32);
    change.workflow = static_cast<WorkflowNumber>(words[2] & UINT32_MAX);
    change.state = static_cast<uint32_t>(words[3] >> 32);
    change.status = static_cast<InstanceStatus>(words[3] & UINT8_MAX);
    change.is_deleted = (words[3] & kDeleted) != 0;
    return change;
  }

  std::unique_ptr<Place[]> places_ = std::make_unique<Place[]>(kPlaces);
  std::atomic<uint64_t> put_ = 0;  ///< the number of changes that were put
  uint64_t taken_ = 0;             ///< used by the taking thread only
  std::atomic<uint64_t> lost_ = 0;
  std::atomic<bool> watched_ = false;
};

}  // namespace millrace
