// The evaluations of the namespaces, and which of them the metrics show. Plain values.
#pragma once

#include <cstddef>
#include <map>
#include <string>

namespace millrace {

/// The evaluations of one namespace that wait for a jq worker and that have one, by the kind of the
/// worker. A slow jq worker is the last resort for expressions that take long.
struct EvaluationLevels {
  size_t fast_waiting = 0;
  size_t fast_running = 0;
  size_t slow_waiting = 0;
  size_t slow_running = 0;

  size_t all() const { return fast_waiting + fast_running + slow_waiting + slow_running; }
  EvaluationLevels& operator+=(const EvaluationLevels& other);
  bool operator==(const EvaluationLevels&) const = default;
};

/// The kMostNamespaceLabels busiest namespaces, and the sum of the others as kOtherNamespaces:
/// those with the most evaluations on slow jq workers come first, then those with the most
/// evaluations, then those with the lower names.
std::map<std::string, EvaluationLevels> busiest(
    const std::map<std::string, EvaluationLevels>& namespaces);

}  // namespace millrace
