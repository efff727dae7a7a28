#include "orchestrator/batch/fan_outs.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/check.h"

namespace millrace {

FanOuts::FanOut& FanOuts::Lane::add(uint64_t number) {
  return under_way.emplace_back(FanOut{.number = number});
}

/// A target that an earlier fan-out has not reached gets this event with that of the earlier one.
void FanOuts::Lane::add_target(FanOut& one, const InstanceId& target) {
  if (pending.insert(target).second) one.targets.push_back(target);
}

Status FanOuts::load() {
  lanes_.clear();
  std::vector<uint64_t> numbers;
  const OnDamage damaged = batch_.damages.noting();
  TRY(each_fan_out(
      batch_.tx, [&](uint64_t number) { numbers.push_back(number); }, damaged));
  for (const uint64_t number : numbers) {
    const auto ns = batch_.kept_events.hold(number, HeldTypes(std::in_place));
    if (!ns) {
      damaged(ns.error());
      continue;
    }
    const auto read = batch_.kept_events.read(batch_.tx, number);
    if (!read && is_damaged_row(read.error())) {
      batch_.kept_events.let_go(number);
      damaged(read.error());
      continue;
    }
    const HeldEvent held = TRY(read);
    Lane& lane = lanes_[*ns];
    FanOut& one = lane.add(number);
    // The namespace was deleted, so no targets are left.
    if (!batch_.catalog.has_namespace(*ns)) continue;
    const Targets targets =
        batch_.waiting.match(batch_.catalog.name_of(*ns), Attributes(*held.event));
    std::set<Revision> revisions;
    for (const InstanceTarget& target : targets.instances) {
      lane.add_target(one, target.instance);
      revisions.insert(target.revision);
    }
    // The match may be undecided now because other instances have come to wait since.
    for (const InstanceId& instance : targets.undecided_instances) {
      lane.add_target(one, instance);
      revisions.insert(batch_.waiting.revision_of(instance));
    }
    batch_.kept_events.hold_types(*ns, batch_.catalog.known_types(revisions));
  }
  return {};
}

Status FanOuts::begin(const std::vector<InstanceTarget>& targets) {
  const uint64_t number = batch_.kept_events.last();
  const NamespaceNumber ns = targets.front().ns;
  std::set<Revision> revisions;
  for (const InstanceTarget& target : targets) revisions.insert(target.revision);
  TRY(batch_.kept_events.hold(ns, number, batch_.catalog.known_types(revisions)));
  Lane& lane = lanes_[ns];
  FanOut& one = lane.add(number);
  for (const InstanceTarget& target : targets) lane.add_target(one, target.instance);
  write_fan_out(batch_.tx, number);
  return {};
}

std::vector<WorkLane> FanOuts::lanes() const {
  std::vector<WorkLane> lanes;
  for (const auto& [ns, lane] : lanes_) lanes.push_back({ns});
  return lanes;
}

bool FanOuts::may_go_on(const WorkLane& lane) const {
  return may_reach_ > 0 && lane.workflow == WorkflowNumber(0) && lanes_.contains(lane.ns);
}

Status FanOuts::go_on(TimePoint now, const WorkLane& lane) {
  const auto found = lanes_.find(lane.ns);
  CHECK(found != lanes_.end(), "a lane without a fan-out went on");
  std::deque<FanOut>& under_way = found->second.under_way;
  FanOut& one = under_way.front();
  while (one.done < one.targets.size() && may_reach_ > 0) {
    const InstanceId& target = one.targets[one.done++];
    found->second.pending.erase(target);
    --may_reach_;
    batch_.crash_note.take_instance({lane.ns, target});
    LoadedInstance* const loaded = TRY(instances_.load(now, lane.ns, target));
    if (loaded != nullptr) TRY(instances_.offer_kept_events(now, *loaded));
    if (batch_.meter.is_spent()) break;
  }
  if (one.done < one.targets.size()) return {};
  batch_.kept_events.let_go(one.number);
  erase_fan_out(batch_.tx, one.number);
  under_way.pop_front();
  if (under_way.empty()) lanes_.erase(found);
  return {};
}

size_t FanOuts::left() const {
  size_t sum = 0;
  for (const auto& [ns, lane] : lanes_) sum += lane.pending.size();
  return sum;
}

}  // namespace millrace
