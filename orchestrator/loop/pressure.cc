#include "orchestrator/loop/pressure.h"

#include <fmt/format.h>

namespace millrace {

const std::optional<Error>& Pressure::measure(Duration elapsed, uint64_t outbox_bytes,
                                              const EvaluationLoad& evaluations) {
  if (!measured_at_ || elapsed >= *measured_at_ + kMeasureEvery) {
    measured_at_ = elapsed;
    const Status room = environment_.check_room(marks_.store_reserve);
    full_ = room ? std::nullopt : std::optional(room.error());
  }
  cause_ = full_;
  outbox_is_full_ = outbox_bytes >= marks_.outbox_bytes;
  if (outbox_is_full_) {
    cause_ =
        Error{"busy", fmt::format("{} bytes of messages wait for the broker's acknowledgement; "
                                  "try again later",
                                  outbox_bytes)};
  } else if (evaluations.count >= marks_.evaluations ||
             evaluations.bytes >= marks_.evaluation_bytes) {
    cause_ =
        Error{"busy", fmt::format("{} evaluations, with inputs of {} bytes, and searches for early "
                                  "events wait for a jq worker or the broker, or their results for "
                                  "the engine; try again later",
                                  evaluations.count, evaluations.bytes)};
  }
  return cause_;
}

std::optional<Duration> Pressure::look_again_at() const {
  if (!full_) return std::nullopt;
  return *measured_at_ + kMeasureEvery;
}

}  // namespace millrace
