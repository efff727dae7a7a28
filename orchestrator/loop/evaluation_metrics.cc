#include "orchestrator/loop/evaluation_metrics.h"

namespace millrace {
namespace {

constexpr const char* kEvaluationsWaiting = "millrace_namespace_evaluations_waiting";
constexpr const char* kEvaluationsWaitingHelp =
    "Evaluations of the namespace that wait for a jq worker, by the kind of the worker.";
constexpr const char* kEvaluationsRunning = "millrace_namespace_evaluations_running";
constexpr const char* kEvaluationsRunningHelp =
    "Evaluations of the namespace that have a jq worker, by the kind of the worker.";

prometheus::Labels labels_of_worker(const char* worker) { return {{"worker", worker}}; }

}  // namespace

EvaluationMetrics::EvaluationMetrics(prometheus::Registry& registry)
    : fast_waiting_(registry, kEvaluationsWaiting, kEvaluationsWaitingHelp,
                    labels_of_worker("fast")),
      fast_running_(registry, kEvaluationsRunning, kEvaluationsRunningHelp,
                    labels_of_worker("fast")),
      slow_waiting_(registry, kEvaluationsWaiting, kEvaluationsWaitingHelp,
                    labels_of_worker("slow")),
      slow_running_(registry, kEvaluationsRunning, kEvaluationsRunningHelp,
                    labels_of_worker("slow")) {}

void EvaluationMetrics::set(const std::map<std::string, EvaluationLevels>& namespaces) {
  std::map<std::string, size_t> fast_waiting;
  std::map<std::string, size_t> fast_running;
  std::map<std::string, size_t> slow_waiting;
  std::map<std::string, size_t> slow_running;
  for (const auto& [ns, levels] : busiest(namespaces)) {
    fast_waiting[ns] = levels.fast_waiting;
    fast_running[ns] = levels.fast_running;
    slow_waiting[ns] = levels.slow_waiting;
    slow_running[ns] = levels.slow_running;
  }
  fast_waiting_.set(fast_waiting);
  fast_running_.set(fast_running);
  slow_waiting_.set(slow_waiting);
  slow_running_.set(slow_running);
}

}  // namespace millrace
