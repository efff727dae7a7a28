#include "orchestrator/loop/evaluations_under_way.h"

namespace millrace {

std::stop_token EvaluationsUnderWay::add(const InstanceId& instance, uint64_t step) {
  const auto known = instances_.find(instance);
  if (known != instances_.end() && known->second.step != step) stop(instance);
  Asked& asked = instances_[instance];
  asked.step = step;
  ++asked.count;
  return asked.stop.get_token();
}

void EvaluationsUnderWay::remove(const InstanceId& instance, uint64_t step) {
  const auto known = instances_.find(instance);
  if (known == instances_.end() || known->second.step != step) return;
  if (--known->second.count == 0) instances_.erase(known);
}

void EvaluationsUnderWay::stop(const InstanceId& instance) {
  const auto known = instances_.find(instance);
  if (known == instances_.end()) return;
  known->second.stop.request_stop();
  instances_.erase(known);
}

}  // namespace millrace
