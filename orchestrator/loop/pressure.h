// Pressure: decides on backpressure. New work must wait if too much already waits, or too little
// space is left: then events stay in the stream and calls are refused (docs/ARCHITECTURE.md).
// Instances continue, and commands that cancel or delete are accepted. Engine thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/result.h"
#include "base/time.h"
#include "orchestrator/batch/input.h"
#include "orchestrator/store/disk/environment.h"

namespace millrace {

/// The evaluations, and searches for early events, that were started and whose results the engine
/// has not applied yet. They keep their inputs in memory.
struct EvaluationLoad {
  size_t count = 0;
  uint64_t bytes = 0;  ///< of the inputs

  EvaluationLoad& operator+=(const EvaluationLoad& other) {
    count += other.count;
    bytes += other.bytes;
    return *this;
  }
  EvaluationLoad& operator-=(const EvaluationLoad& other) {
    count -= other.count;
    bytes -= other.bytes;
    return *this;
  }
  friend EvaluationLoad operator+(EvaluationLoad one, const EvaluationLoad& other) {
    return one += other;
  }
  bool operator==(const EvaluationLoad&) const = default;
};

/// The load of the evaluations with these results.
inline EvaluationLoad load_of(std::span<const EvaluatedInput> results) {
  EvaluationLoad load;
  for (const EvaluatedInput& one : results) load += EvaluationLoad{.count = 1, .bytes = one.bytes};
  return load;
}

/// Limits from which new work must wait.
struct Marks {
  uint64_t outbox_bytes = uint64_t{256}
                          << 20;  ///< bytes of messages that the broker has not acknowledged
  size_t evaluations = 10'000;    ///< evaluations whose results were not applied yet
  uint64_t evaluation_bytes = uint64_t{256} << 20;  ///< bytes of the inputs of these evaluations
  uint64_t store_reserve = uint64_t{64} << 20;  ///< bytes that must stay free for work in progress
};

class Pressure {
 public:
  /// How often the store is measured.
  static constexpr Duration kMeasureEvery{250};
  /// Bytes per second: about one unit of work that writes much is applied in each second.
  static constexpr uint64_t kRateWhileMessagesWait = uint64_t{256} << 10;

  Pressure(Environment& environment, Marks marks) : environment_(environment), marks_(marks) {}

  /// Measures again; measures the store only if kMeasureEvery has passed since it was last
  /// measured. Returns the reason why new work must wait, if it must: `busy` or `store.full`.
  /// `elapsed` is Clock::elapsed().
  const std::optional<Error>& measure(Duration elapsed, uint64_t outbox_bytes,
                                      const EvaluationLoad& evaluations);

  bool is_on() const { return cause_.has_value(); }
  bool store_is_full() const { return full_.has_value(); }

  /// The rate in bytes per second at which work that writes much is applied for the present; 0: as
  /// fast as the store takes it. While too many messages wait for the broker, an instance that
  /// publishes in a loop would fill the store with further ones.
  uint64_t heavy_rate() const { return outbox_is_full_ ? kRateWhileMessagesWait : 0; }

  /// When a measurement may give another result although the engine did nothing.
  std::optional<Duration> look_again_at() const;

 private:
  Environment& environment_;
  Marks marks_;
  std::optional<Duration> measured_at_;
  std::optional<Error> full_;    ///< result of the last measurement of the store
  bool outbox_is_full_ = false;  ///< as of the last measure()
  std::optional<Error> cause_;   ///< result of the last measure()
};

}  // namespace millrace
