// StartRates: whether the `rateLimit` or the `throttle` of a workflow permits a start, or the
// `throttle` of a function a call, and how many of them each of their keys has had. The counts are
// rows (start_rate_rows.h) that are written in the commit of the start or the hand-out, so a
// restart decides equally. Engine thread only.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/lazy_json.h"
#include "base/result.h"
#include "base/time.h"
#include "orchestrator/batch/batch_state.h"
#include "orchestrator/store/rows/call_slot_rows.h"
#include "orchestrator/store/rows/queue_rows.h"
#include "orchestrator/store/rows/start_rate_rows.h"
#include "states/workflow.h"

namespace millrace {

/// The error of a start that the `rateLimit` of its workflow refuses.
inline constexpr std::string_view kRateLimitError = "millrace.rateLimit";

/// The message of a refusal whose own message may have data of a secret, because the input has.
inline constexpr std::string_view kHiddenReason =
    "the start is refused; the reason has data of the input, which is sealed";

/// How many rows one batch looks at that have ended, or whose end has moved: more than the few
/// starts of most batches add.
inline constexpr size_t kStartRatesSweptAtOnce = 256;

/// The error kRateLimitError of a start of a workflow, for that key as JSON text, that is permitted
/// after `wait`. Its `retry_after` is in whole seconds, as an HTTP client waits them.
Error over_rate_error(std::string_view workflow, const StartLimit& limit, const std::string& key,
                      Duration wait);

class StartRates {
 public:
  explicit StartRates(BatchState& batch) : batch_(batch) {}

  /// Counts the start of an instance with that input. The value is the error of a start that is
  /// refused, which is counted in the metrics and not in the rows: kRateLimitError, with the
  /// seconds until the next start of the key is permitted; kStartKeyError (states/start_key.h);
  /// `millrace.quota.startKeys`. Errors of the result: those of the store.
  Result<std::optional<Error>> take(TimePoint now, const WorkflowEntry& entry,
                                    const Workflow& workflow, const LazyJson& input);

  /// As take(), but counts no start, and does not ask for the quota.
  Result<std::optional<Error>> check(TimePoint now, const WorkflowEntry& entry,
                                     const Workflow& workflow, const LazyJson& input);

  /// The first time at which the `rateLimit` permits a start with that input; nullopt: it does now,
  /// or the workflow has none, or the input has no key.
  Result<std::optional<TimePoint>> limited_until(TimePoint now, const WorkflowEntry& entry,
                                                 const Workflow& workflow, const LazyJson& input);

  // Of a `throttle`: of starts of a workflow, or of calls of a service.

  /// The place of one of throttle_key_of().
  StartRatePlace place_of(const SlotKey& key) const;
  /// The place of one of call_throttle_key_of().
  StartRatePlace place_of(const CallSlotKey& key) const;
  /// Why no start or call of the key may wait or begin: `millrace.quota.startKeys`. nullopt: it
  /// may.
  Result<std::optional<Error>> refusal_of_throttle(TimePoint now, NamespaceNumber ns,
                                                   const StartRatePlace& place);
  /// The first time at which the throttle permits a start or a call of the key; nullopt: it does
  /// now.
  Result<std::optional<TimePoint>> throttled_until(TimePoint now, const StartRatePlace& place,
                                                   const StartLimit& rate);
  /// Counts a start that begins now, or a call that is handed out. Does not ask for the quota: one
  /// that has waited begins.
  Status count_throttled(TimePoint now, NamespaceNumber ns, const StartRatePlace& place,
                         const StartLimit& rate);

  /// Erases rows that count no more, a bounded number. To be called when `start_rates_due` of the
  /// batch has come, at the end of a batch that writes something else, too.
  Status sweep(TimePoint now);

 private:
  struct Looked {
    std::optional<Error> refusal;  ///< the others are not set then
    StartRatePlace place;
    std::optional<StartRateRecord> record;
  };

  Result<Looked> look(TimePoint now, const WorkflowEntry& entry, const StartLimit& limit,
                      const LazyJson& input);
  Result<bool> has_room(TimePoint now, NamespaceNumber ns);
  Status count(TimePoint now, NamespaceNumber ns, const StartLimit& limit,
               const StartRatePlace& place, const std::optional<StartRateRecord>& before);

  BatchState& batch_;
};

}  // namespace millrace
