#include "orchestrator/batch/step_growth.h"

#include <optional>
#include <variant>

#include "orchestrator/store/rows/head_rows.h"

namespace millrace {
namespace {

/// What a history record, an effect or a call takes besides its JSON, about.
constexpr uint64_t kBytesOfEach = 64;

uint64_t size_of(const std::optional<LazyJson>& json) { return json ? json->weight() : 0; }

/// The number of bytes by which the row of the data grows. Data that is still the input has no row.
uint64_t growth_of_data(const Instance& before, const Instance& after) {
  if (after.data.known_text() == before.data.known_text()) return 0;
  const uint64_t was = before.part_bytes[static_cast<size_t>(Part::kData)];
  const uint64_t is = after.data.weight();
  return is > was ? is - was : 0;
}

/// The bytes of the other parts of the instance that a step can make longer.
uint64_t size_of_parts(const Instance& instance) {
  uint64_t bytes = size_of(instance.found_data) + size_of(instance.failed_data) +
                   kBytesOfEach * instance.calls.size();
  for (const auto& slot : instance.slots) bytes += size_of(slot);
  return bytes + (instance.error ? instance.error->message.size() : 0);
}

}  // namespace

uint64_t growth_of(const Instance& before, const Instance& after, const StepResult& result) {
  uint64_t bytes = result.bytes + growth_of_data(before, after);
  for (const HistoryRecord& record : result.history) bytes += kBytesOfEach + record.detail.weight();
  for (const Effect& effect : result.effects) {
    const bool is_stored =
        !std::holds_alternative<Evaluate>(effect) && !std::holds_alternative<LookBack>(effect);
    if (is_stored) bytes += kBytesOfEach;
  }
  const uint64_t was = size_of_parts(before);
  const uint64_t is = size_of_parts(after);
  return bytes + (is > was ? is - was : 0);
}

bool fits_far_beyond(const Instance& before, const Stimulus& stimulus, const Instance& after,
                     const StepResult& result) {
  const bool is_always_permitted = before.cancelling || std::holds_alternative<Cancel>(stimulus) ||
                                   std::holds_alternative<Pause>(stimulus);
  if (is_always_permitted) return true;
  const uint64_t most = has_ended(after.status) ? kMostAtEnd : 0;
  return growth_of(before, after, result) <= most;
}

}  // namespace millrace
