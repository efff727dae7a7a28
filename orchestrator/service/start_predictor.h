// StartPredictor: what the limits of a workflow would do now with a start by an event, as of one
// view. It answers the questions of decide_start() from the rows, so it says what the batch would
// do that applies the event. It writes nothing. For one answer, on one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "base/lazy_json.h"
#include "base/result.h"
#include "base/time.h"
#include "model/quota.h"
#include "orchestrator/memory/catalog.h"
#include "orchestrator/service/predicted_start.h"
#include "orchestrator/store/rows/queue_rows.h"
#include "orchestrator/store/transaction.h"
#include "states/workflow.h"

namespace millrace {

class StartPredictor {
 public:
  /// How many starts that wait with a key are counted to find the place of one more.
  static constexpr size_t kMostBefore = 1'000;
  /// At how many rows of counts the predictor looks, to know how many starts of the namespace wait.
  static constexpr size_t kMostCounts = 10'000;

  /// Where the workflows are. `view` outlives the object.
  struct Place {
    const View& view;
    NamespaceNumber ns{};
    std::string name;  ///< of the namespace
  };
  explicit StartPredictor(Place place) : place_(std::move(place)) {}

  /// What becomes at `now` of a start with that input. `is_live`: an instance of the workflow has
  /// not ended; only used of a singular one. The keys are evaluated within the bounds of a start
  /// (start_key(), evaluate_slot()). A damaged row counts as none, and of the quotas nothing is
  /// known while the index of the store is not complete. Errors: those of the view.
  Result<PredictedStart> predict(TimePoint now, const WorkflowEntry& entry,
                                 const Workflow& workflow, const LazyJson& input, bool is_live);

  /// Which quota of the namespace permits no start now, if any: `instances` or `storeBytes`.
  /// Errors: those of the view.
  Result<std::optional<Error>> over_quota();

 private:
  class Questions;  // start_predictor.cc

  /// What the quotas of the namespace say; read once.
  struct Quotas {
    QuotaLimits limits;
    std::optional<Error> over_start;  ///< why they permit no start
    std::optional<Error> over_bytes;  ///< why they permit none that is put off
  };
  Result<const Quotas*> quotas();
  Result<Quotas> read_quotas() const;
  /// How many starts of the namespace wait, or as many as `enough`. Starts that are paused do not
  /// count, and neither do those of keys beyond kMostCounts.
  Result<uint64_t> waiting_starts(uint64_t enough);
  /// Whether the namespace may have one more key of a `rateLimit` or a `throttle`.
  Result<bool> has_key_left(TimePoint now);

  const Place place_;
  std::optional<Quotas> quotas_;
  std::optional<uint64_t> waiting_;
};

}  // namespace millrace
