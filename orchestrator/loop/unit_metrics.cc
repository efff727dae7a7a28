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
                                                                      0.25, 0.5, 1, 2.5, 5, 10})),
      turn_family_(prometheus::BuildGauge()
                       .Name("millrace_engine_longest_turn_seconds")
                       .Help("The longest turn of the engine thread in the last minute from its "
                             "begin until its end, by its parts: apply, commit, perform, and all "
                             "of them; processor is its processor time.")
                       .Register(registry)),
      turn_all_(turn_family_.Add({{"part", "all"}})),
      turn_apply_(turn_family_.Add({{"part", "apply"}})),
      turn_commit_(turn_family_.Add({{"part", "commit"}})),
      turn_perform_(turn_family_.Add({{"part", "perform"}})),
      turn_processor_(turn_family_.Add({{"part", "processor"}})) {
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

void UnitMetrics::add(Duration now, const TurnTimes& times) {
  for (const UnitTime& unit : times.units) {
    if (unit.processor > WorkTime(0)) histogram_.Observe(seconds_of(unit.processor));
  }
  const std::lock_guard lock(lock_);
  turns_.add(now, times.turn);
  for (size_t i = 0; i < times.units.size(); ++i) {
    const auto kind = static_cast<UnitKind>(i);
    const auto& [processor, elapsed] = times.units[i];
    if (elapsed <= WorkTime(0)) continue;
    units_.add(now, {.time = processor, .kind = kind});
    elapsed_.add(now, {.time = elapsed, .kind = kind});
  }
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
  const TurnTime turn = turns_.longest(now);
  turn_all_.Set(seconds_of(turn.elapsed));
  turn_apply_.Set(seconds_of(turn.apply));
  turn_commit_.Set(seconds_of(turn.commit));
  turn_perform_.Set(seconds_of(turn.perform));
  turn_processor_.Set(seconds_of(turn.processor));
}

}  // namespace millrace
