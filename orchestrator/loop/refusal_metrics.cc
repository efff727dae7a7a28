#include "orchestrator/loop/refusal_metrics.h"

#include <prometheus/counter.h>

namespace millrace {

RefusalMetrics::RefusalMetrics(prometheus::Registry& registry)
    : series_([&family = prometheus::BuildCounter()
                             .Name("millrace_namespace_quota_refusals_total")
                             .Help("What quotas refused, by the namespace and the quota.")
                             .Register(registry)](const std::string& label) {
        NamespaceSeries<kQuotas>::Counters counters{};
        for (size_t i = 0; i < kQuotas; ++i) {
          counters[i] = &family.Add(
              {{"namespace", label}, {"quota", std::string(to_string(static_cast<Quota>(i)))}});
        }
        return counters;
      }) {}

void RefusalMetrics::count(const std::string& ns, Quota quota, uint64_t number) {
  if (number == 0) return;
  series_.of(ns)[static_cast<size_t>(quota)]->Increment(static_cast<double>(number));
}

}  // namespace millrace
