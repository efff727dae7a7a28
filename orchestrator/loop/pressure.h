// Pressure: whether so much is waiting already, or so little room is left, that new work has to
// wait: then events stay in the stream and calls are refused for a while (docs/ARCHITECTURE.md).
// Instances go on, and commands that cancel or delete are accepted. Engine thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/result.h"
#include "base/time.h"
#include "orchestrator/store/disk/environment.h"

namespace millrace {

/// From where on new work has to wait.
struct Marks {
  uint64_t outbox_bytes = uint64_t{256} << 20;  ///< of messages that the broker has yet to take
  size_t evaluations = 10'000;                  ///< that the workers have yet to answer
  uint64_t store_reserve = uint64_t{64} << 20;  ///< bytes that must be left for what is under way
};

class Pressure {
 public:
  /// How often the store is measured.
  static constexpr Duration kMeasureEvery{250};

  Pressure(Environment& environment, Marks marks) : environment_(environment), marks_(marks) {}

  /// Looks again; the store only if it is time to. Returns why new work has to wait, if it has:
  /// `busy` or `store.full`. `elapsed` is Clock::elapsed().
  const std::optional<Error>& measure(Duration elapsed, uint64_t outbox_bytes, size_t evaluations);

  bool is_on() const { return cause_.has_value(); }
  bool store_is_full() const { return full_.has_value(); }

  /// When the next look may find otherwise with nothing having happened here.
  std::optional<Duration> look_again_at() const;

 private:
  Environment& environment_;
  Marks marks_;
  std::optional<Duration> measured_at_;
  std::optional<Error> full_;   ///< what the store said then
  std::optional<Error> cause_;  ///< of the last measure()
};

}  // namespace millrace
