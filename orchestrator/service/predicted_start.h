// PredictedStart: what the limits of a workflow, and the quotas of its namespace, would do now with
// a start by an event that is only tried; and its JSON form. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/ids.h"
#include "base/json.h"
#include "base/result.h"
#include "base/time.h"
#include "orchestrator/batch/slots.h"
#include "orchestrator/service/disclosure.h"
#include "orchestrator/why/verdict.h"

namespace millrace {

struct PredictedStart {
  enum class Outcome : uint8_t {
    kStarts,     ///< the instance begins at once
    kWaits,      ///< it waits for a slot, or for the throttle
    kReplaces,   ///< another instance is cancelled for it
    kDebounced,  ///< the start is put off
    kBatched,    ///< the input is put into a batch of starts
    kSkipped,    ///< the start is skipped
    kRefused,    ///< the start is refused, and the event becomes a dead letter
  };

  Outcome outcome = Outcome::kStarts;
  std::optional<LimitKind> limit;  ///< that decides; nullopt: none keeps the start
  std::string key;                 ///< of that limit, as JSON text; empty: it has none
  /// What the limit permits: slots of the key, starts in a period, or inputs of a batch.
  std::optional<uint64_t> most;
  std::string period;               ///< of a `rateLimit` or a `throttle`, as the definition has it
  std::optional<uint64_t> held;     ///< of `concurrency`: how many instances hold a slot of the key
  std::optional<uint64_t> waiting;  ///< how many starts of the key wait
  /// Of kWaits: how many of these come before this one; nullopt: more than were counted.
  std::optional<uint64_t> before;
  std::optional<int32_t> priority;     ///< of kWaits
  std::optional<TimePoint> next_at;    ///< when the rate or the throttle permits a start of the key
  std::optional<TimePoint> starts_at;  ///< of kDebounced and kBatched: when the instance starts
  std::optional<uint64_t> size;        ///< of kBatched: how many inputs the batch has then
  /// The instance that would be cancelled; of kDebounced and kBatched: that is to start for the key
  /// by an earlier request.
  std::optional<InstanceId> instance;
  std::optional<Error> error;  ///< of kSkipped and kRefused
};

/// The name of the outcome in the API: "starts", "waits", …
std::string_view to_string(PredictedStart::Outcome outcome);
/// The names of all outcomes, in the order of the enumeration.
std::span<const std::string_view> outcome_names();

/// The verdict that `event why` would have on the start afterwards.
Verdict verdict_of(const PredictedStart& start);

/// What it means for a start of that workflow, and what to do, as sentences.
std::string says(const PredictedStart& start, std::string_view ns, std::string_view workflow);

/// {"outcome","reason"?,"key"?,"limit"?,"period"?,"held"?,"waiting"?,"before"?,"priority"?,
/// "nextAt"?,"startsAt"?,"size"?,"instance"?,"error"?:{"code","msg"}}, with the names that the
/// queues have (Queries::queues()). The key is disclosed.
Json to_json(const PredictedStart& start, const Disclosure& disclosure);

}  // namespace millrace
