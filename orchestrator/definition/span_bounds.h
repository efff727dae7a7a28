// The minimum and maximum length of a span: a month has 28 to 31 days. Private to
// orchestrator/definition/. Pure.
#pragma once

#include <chrono>

#include "base/time.h"
#include "policies/duration.h"

namespace millrace {

inline Duration at_least(const Span& span) {
  return span.fixed + std::chrono::hours(24) * 28 * span.months;
}
inline Duration at_most(const Span& span) {
  return span.fixed + std::chrono::hours(24) * 31 * span.months;
}

}  // namespace millrace
