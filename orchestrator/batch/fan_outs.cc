#include "orchestrator/batch/fan_outs.h"

#include <algorithm>

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

Status FanOuts::go_on(TimePoint now, size_t most) {
  while (!under_way_.empty()) {
    FanOut& one = under_way_.front();
    for (; one.done < one.targets.size() && most > 0; ++one.done, --most) {
      LoadedInstance* const loaded = TRY(instances_.load(now, one.ns, one.targets[one.done]));
      if (loaded != nullptr) TRY(instances_.offer_kept_events(now, *loaded));
    }
    if (one.done < one.targets.size()) return {};
    batch_.kept_events.let_go(one.number);
    erase_fan_out(batch_.tx, one.number);
    under_way_.pop_front();
  }
  return {};
}

size_t FanOuts::left() const {
  size_t sum = 0;
  for (const FanOut& one : under_way_) sum += one.targets.size() - one.done;
  return sum;
}

}  // namespace millrace
