// CheckpointRate: how many committed bytes a second checkpoints bring into LMDB. Work that writes
// more than that fills the journals, and then every commit has to wait for the checkpoint.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>

namespace millrace {

class CheckpointRate {
 public:
  using Time = std::chrono::nanoseconds;

  /// `checkpoint_bytes`: with how many bytes a checkpoint begins (EnvironmentOptions).
  explicit CheckpointRate(uint64_t checkpoint_bytes);

  /// Adds a finished checkpoint: the bytes of the keys and values that its commits wrote, and how
  /// long the rows were written to LMDB. The time between two checkpoints must not be included. A
  /// checkpoint of few bytes does not count, because its time is that of its syncs. One thread.
  void add(uint64_t bytes, Time time);

  /// Bytes per second, at least 1; nullopt: no checkpoint has counted yet. This is the quotient of
  /// the bytes and the time of the checkpoints, of which a checkpoint has half of its weight after
  /// two further full checkpoints. Any thread.
  std::optional<uint64_t> get() const;

 private:
  const double least_bytes_;
  const double half_bytes_;  ///< the bytes after which a checkpoint has half of its weight
  // Sums over the checkpoints, with their weights.
  double bytes_ = 0;
  double seconds_ = 0;
  std::atomic<uint64_t> rate_ = 0;  ///< 0: none
};

}  // namespace millrace
