#include "orchestrator/batch/fan_outs.h"

#include <algorithm>

#include "base/check.h"

namespace millrace {

Status FanOuts::load() {
  under_way_.clear();
  std::vector<uint64_t> numbers;
  const OnDamage damaged = batch_.damages.noting();
  TRY(each_fan_out(
      batch_.tx, [&](uint64_t number) { numbers.push_back(number); }, damaged));
  for (const uint64_t number : numbers) {
    const auto kept = batch_.kept_events.hold(batch_.tx, number);
    if (!kept && is_damaged_row(kept.error())) {
      damaged(kept.error());
      continue;
    }
    const KeptEvents::Held held = TRY(kept);
    FanOut& one = under_way_.emplace_back(FanOut{.number = number, .ns = held.ns});
    // The namespace was deleted, so no targets are left.
    if (!batch_.catalog.has_namespace(held.ns)) continue;
    const Targets targets =
        batch_.waiting.match(batch_.catalog.name_of(held.ns), Attributes(*held.event));
    for (const InstanceTarget& target : targets.instances) one.targets.push_back(target.instance);
  }
  return {};
}

Status FanOuts::begin(const std::vector<InstanceTarget>& targets) {
  const uint64_t number = batch_.kept_events.last();
  const KeptEvents::Held held = TRY(batch_.kept_events.hold(batch_.tx, number));
  FanOut& one = under_way_.emplace_back(FanOut{.number = number, .ns = held.ns});
  one.targets.reserve(targets.size());
  for (const InstanceTarget& target : targets) one.targets.push_back(target.instance);
  write_fan_out(batch_.tx, number);
  return {};
}

std::vector<WorkLane> FanOuts::lanes() const {
  std::vector<WorkLane> lanes;
  for (const FanOut& one : under_way_) {
    if (std::find(lanes.begin(), lanes.end(), WorkLane{one.ns}) == lanes.end()) {
      lanes.push_back({one.ns});
    }
  }
  return lanes;
}

bool FanOuts::may_go_on(const WorkLane& lane) const {
  return may_reach_ > 0 && lane.workflow == WorkflowNumber(0) &&
         std::any_of(under_way_.begin(), under_way_.end(),
                     [&](const FanOut& one) { return one.ns == lane.ns; });
}

Status FanOuts::go_on(TimePoint now, const WorkLane& lane) {
  const auto next = std::find_if(under_way_.begin(), under_way_.end(),
                                 [&](const FanOut& one) { return one.ns == lane.ns; });
  CHECK(next != under_way_.end(), "a lane without a fan-out went on");
  FanOut& one = *next;
  while (one.done < one.targets.size() && may_reach_ > 0) {
    const InstanceId& target = one.targets[one.done++];
    --may_reach_;
    LoadedInstance* const loaded = TRY(instances_.load(now, one.ns, target));
    if (loaded != nullptr) TRY(instances_.offer_kept_events(now, *loaded));
    if (batch_.meter.is_spent()) break;
  }
  if (one.done < one.targets.size()) return {};
  batch_.kept_events.let_go(one.number);
  erase_fan_out(batch_.tx, one.number);
  under_way_.erase(next);
  return {};
}

size_t FanOuts::left() const {
  size_t sum = 0;
  for (const FanOut& one : under_way_) sum += one.targets.size() - one.done;
  return sum;
}

}  // namespace millrace
