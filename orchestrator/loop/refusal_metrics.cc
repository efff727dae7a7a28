#include "orchestrator/loop/refusal_metrics.h"

#include "orchestrator/loop/namespace_labels.h"

namespace millrace {

RefusalMetrics::RefusalMetrics(prometheus::Registry& registry)
    : family_(prometheus::BuildCounter()
                  .Name("millrace_namespace_quota_refusals_total")
                  .Help("What quotas refused, by the namespace and the quota.")
                  .Register(registry)),
      others_(series_of(kOtherNamespaces)) {}

void RefusalMetrics::count(const std::string& ns, Quota quota, uint64_t number) {
  if (number == 0) return;
  const std::lock_guard lock(lock_);
  auto known = namespaces_.find(ns);
  if (known == namespaces_.end() && ns != kOtherNamespaces &&
      namespaces_.size() < kMostNamespaceLabels) {
    known = namespaces_.emplace(ns, series_of(ns)).first;
  }
  const Counters& counters = known == namespaces_.end() ? others_ : known->second;
  counters[static_cast<size_t>(quota)]->Increment(static_cast<double>(number));
}

RefusalMetrics::Counters RefusalMetrics::series_of(const std::string& label) {
  Counters counters{};
  for (size_t i = 0; i < kQuotas; ++i) {
    counters[i] = &family_.Add(
        {{"namespace", label}, {"quota", std::string(to_string(static_cast<Quota>(i)))}});
  }
  return counters;
}

}  // namespace millrace
