#include "orchestrator/batch/fan_outs.h"

#include <algorithm>

namespace millrace {

Status FanOuts::load() {
  under_way_.clear();
  std::vector<uint64_t> numbers;
  const OnDamage damaged = draft_.damages.noting();
  TRY(each_fan_out(
      draft_.tx, [&](uint64_t number) { numbers.push_back(number); }, damaged));
  for (const uint64_t number : numbers) {
    const auto kept = draft_.recent.hold(draft_.tx, number);
    if (!kept && is_damaged_row(kept.error())) {
      damaged(kept.error());
      continue;
    }
    const Recent::Held held = TRY(kept);
    FanOut& one = under_way_.emplace_back(FanOut{.number = number, .space = held.space});
    if (!draft_.catalog.has_namespace(held.space)) continue;  // it was deleted: nobody is left
    const Targets targets =
        draft_.waiting.match(draft_.catalog.name_of(held.space), Attributes(*held.event));
    for (const InstanceTarget& target : targets.instances) one.targets.push_back(target.instance);
  }
  return {};
}

Status FanOuts::begin(const std::vector<InstanceTarget>& targets) {
  const uint64_t number = draft_.recent.last();
  const Recent::Held held = TRY(draft_.recent.hold(draft_.tx, number));
  FanOut& one = under_way_.emplace_back(FanOut{.number = number, .space = held.space});
  one.targets.reserve(targets.size());
  for (const InstanceTarget& target : targets) one.targets.push_back(target.instance);
  write_fan_out(draft_.tx, number);
  return {};
}

Status FanOuts::go_on(TimePoint now, size_t most) {
  while (!under_way_.empty()) {
    FanOut& one = under_way_.front();
    for (; one.done < one.targets.size() && most > 0; ++one.done, --most) {
      Touched* const touched = TRY(instances_.touch(now, one.space, one.targets[one.done]));
      if (touched != nullptr) TRY(instances_.offer_recent(now, *touched));
    }
    if (one.done < one.targets.size()) return {};
    draft_.recent.let_go(one.number);
    erase_fan_out(draft_.tx, one.number);
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
