#include "orchestrator/loop/unit_metrics.h"

#include <chrono>
#include <string>

namespace millrace {
namespace {

double seconds_of(std::chrono::nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

}  // namespace

UnitMetrics::UnitMetrics(prometheus::Registry& registry)
    : histogram_(prometheus::BuildHistogram()
                     .Name("millrace_engine_unit_seconds")
                     .Help("The longest unit of work of each kind in each turn of the engine "
                           "thread, in processor time.")
                     .Register(registry)
                     .Add({}, prometheus::Histogram::BucketBoundaries{0.0005, 0.001, 0.002, 0.003,
                                                                      0.005, 0.01, 0.02, 0.05, 0.1,
                                                                      0.25, 0.5, 1, 2.5, 5, 10})) {
  prometheus::Family<prometheus::Gauge>& family =
      prometheus::BuildGauge()
          .Name("millrace_engine_longest_unit_seconds")
          .Help(
              "The processor time of the longest unit of work on the engine thread in the last "
              "minute, by its kind. All other work of the engine waits while a unit runs.")
          .Register(registry);
  prometheus::Family<prometheus::Gauge>& elapsed =
      prometheus::BuildGauge()
          .Name("millrace_engine_longest_unit_elapsed_seconds")
          .Help(
              "The longest time from the begin of a unit of work on the engine thread until its "
              "end in the last minute, by its kind, with waits for a processor or the disk.")
          .Register(registry);
  for (size_t i = 0; i < gauges_.size(); ++i) {
    const std::string kind(to_string(static_cast<UnitKind>(i)));
    gauges_[i] = &family.Add({{"kind", kind}});
    elapsed_gauges_[i] = &elapsed.Add({{"kind", kind}});
  }
}

void UnitMetrics::add(Duration now, const LongestUnit& unit) {
  if (unit.time <= std::chrono::nanoseconds(0)) return;
  histogram_.Observe(seconds_of(unit.time));
  const std::lock_guard lock(lock_);
  units_.add(now, unit);
}

void UnitMetrics::add_elapsed(Duration now, const LongestUnit& unit) {
  const std::lock_guard lock(lock_);
  elapsed_.add(now, unit);
}

LongestUnit UnitMetrics::longest(Duration now) const {
  const std::lock_guard lock(lock_);
  return units_.longest(now);
}

void UnitMetrics::set_gauges(Duration now) {
  const std::lock_guard lock(lock_);
  for (size_t i = 0; i < gauges_.size(); ++i) {
    const auto kind = static_cast<UnitKind>(i);
    gauges_[i]->Set(seconds_of(units_.of_kind(now, kind)));
    elapsed_gauges_[i]->Set(seconds_of(elapsed_.of_kind(now, kind)));
  }
}

}  // namespace millrace
