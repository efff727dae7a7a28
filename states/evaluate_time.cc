#include "states/evaluate_time.h"

#include <utility>

namespace millrace {

Evaluated<TimeValue> evaluate_time(Visit& visit, const EvaluatedTime& time) {
  auto value = visit.evaluate(time.value);
  if (!value) return tl::unexpected(std::move(value).error());
  auto result = time_of(time, *value, visit.now());
  if (!result) return tl::unexpected(Outcome(Raise{std::move(result.error())}));
  return std::move(*result);
}

}  // namespace millrace
