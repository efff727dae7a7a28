// Soonest firings: the query of what will fire, and others about timers. In a namespace with few
// instances they look at their heads. With more they walk through the timers of the wheel, soonest
// first, in portions on the engine thread, and read only the rows of those that they need. Any
// thread except the engine thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "base/time.h"
#include "model/instance.h"
#include "orchestrator/memory/due_timer.h"
#include "orchestrator/ports/clock.h"
#include "orchestrator/service/index_questions.h"
#include "orchestrator/service/next_filter.h"
#include "orchestrator/service/queries.h"
#include "orchestrator/store/disk/environment.h"

namespace millrace {

/// The bounds of a walk through the timers of the wheel.
struct TimerWalkBounds {
  size_t timers = 20'000;  ///< the most steps of the walk
  size_t at_once = 1'000;  ///< the most steps of one question, which take about 200 µs
  /// How many timers more than the filter shows are enough: some will have fired when their rows
  /// are read.
  size_t spare = 100;
  /// Whether the time of the walk is over; empty: no bound.
  std::function<bool()> is_over = nullptr;
};

/// What a walk through the timers of the wheel has found.
struct WalkedTimers {
  /// Those of the instances of the namespace, and of the delayed and grouped events of all
  /// namespaces, as far as the filter wants their kinds; by deadline.
  std::vector<TimerInput> timers;
  std::optional<TimePoint> seen_until;  ///< all earlier ones were seen; nullopt: all were
  size_t looked = 0;                    ///< the steps of the walk
};

/// Walks until the bounds end it, or the walk has passed the end of the filter or as many timers of
/// instances as it shows. Errors: those of `ask`, if it has answered no question.
Result<WalkedTimers> walk_timers(const AskIndex& ask, NamespaceNumber ns, const NextFilter& filter,
                                 const TimerWalkBounds& bounds);

struct FiringParts {
  Environment& environment;
  const Clock& clock;
  Queries& queries;
  AskIndex ask;
  size_t rows = kMostFiringRows;  ///< with more live instances the timers of the wheel are asked
  size_t walked = TimerWalkBounds().timers;  ///< TimerWalkBounds::timers
  size_t spare = TimerWalkBounds().spare;    ///< TimerWalkBounds::spare
  /// How long the walk may take, with the time in which the engine thread applies batches.
  std::chrono::milliseconds walk_time{50};
};

/// A query about timers. Its answer has the member `complete`: whether nothing is missing; and
/// `cutBy` if it is the limit of the filter that leaves something out (next_filter.h).
using TimerQuery = std::function<Result<Json>(const View& view, const NextLooks& looks)>;

/// Asks the query of the heads of a namespace if these are few; otherwise, and if the look of that
/// answer was cut, of the timers of the wheel that the filter wants. If the engine thread does not
/// answer, the query looks at as many heads as it may read.
Result<Json> ask_timers(const FiringParts& parts, std::string_view ns, const NextFilter& filter,
                        const TimerQuery& query);

/// The answer of Service::next_firings().
Result<Json> soonest_firings(const FiringParts& parts, std::string_view ns,
                             const NextFilter& filter);

}  // namespace millrace
