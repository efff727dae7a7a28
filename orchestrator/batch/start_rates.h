// StartRates: whether the `rateLimit` of a workflow permits a start, and how many starts each of
// its keys has had. The counts are rows (start_rate_rows.h) that are written in the commit of the
// start, so a restart decides equally. Engine thread only.
#pragma once

#include <optional>

#include "base/lazy_json.h"
#include "base/result.h"
#include "base/time.h"
#include "orchestrator/batch/batch_state.h"
#include "orchestrator/store/rows/start_rate_rows.h"
#include "states/workflow.h"

namespace millrace {

/// The error of a start that the `rateLimit` of its workflow refuses.
inline constexpr std::string_view kRateLimitError = "millrace.rateLimit";

/// The message of a refusal whose own message may have data of a secret, because the input has.
inline constexpr std::string_view kHiddenReason =
    "the start is refused; the reason has data of the input, which is sealed";

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

  BatchState& batch_;
};

}  // namespace millrace
