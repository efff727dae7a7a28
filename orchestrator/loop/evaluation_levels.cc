#include "orchestrator/loop/evaluation_levels.h"

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include "orchestrator/loop/namespace_labels.h"

namespace millrace {

EvaluationLevels& EvaluationLevels::operator+=(const EvaluationLevels& other) {
  fast_waiting += other.fast_waiting;
  fast_running += other.fast_running;
  slow_waiting += other.slow_waiting;
  slow_running += other.slow_running;
  return *this;
}

std::map<std::string, EvaluationLevels> busiest(
    const std::map<std::string, EvaluationLevels>& namespaces) {
  if (namespaces.size() <= kMostNamespaceLabels) return namespaces;
  std::vector<std::pair<std::string, EvaluationLevels>> all(namespaces.begin(), namespaces.end());
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
    return std::tuple(b.second.slow_running, b.second.all(), a.first) <
           std::tuple(a.second.slow_running, a.second.all(), b.first);
  });
  std::map<std::string, EvaluationLevels> shown;
  for (size_t i = 0; i < all.size(); ++i) {
    const auto& [ns, levels] = all[i];
    shown[i < kMostNamespaceLabels ? ns : std::string(kOtherNamespaces)] += levels;
  }
  return shown;
}

}  // namespace millrace
