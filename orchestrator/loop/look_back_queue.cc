#include "orchestrator/loop/look_back_queue.h"

#include <algorithm>
#include <utility>

namespace millrace {

/// How many searches the namespace may have under way: as many as the others leave free. So one
/// namespace has half of all, two have a third each, and there is always room for another one.
size_t LookBackQueue::share_of(const Space& space) const {
  const size_t own = *space.searching;
  const size_t others = std::max<size_t>(*searching_, own) - own;
  return std::max<size_t>((most_ - std::min(others, most_)) / 2, 1);
}

bool LookBackQueue::ask(LookBack asked, std::function<void(EarlyEvents)> done) {
  Space& space = spaces_[asked.ns];
  const bool was_released = space.released.erase(asked.instance) > 0;
  const bool is_behind = !was_released && space.waits();
  if (is_behind || *space.searching >= share_of(space)) {
    space.added.push_back({.ns = asked.ns, .instance = asked.instance, .workflow = asked.workflow});
    return false;
  }
  ++*space.searching;
  ++*searching_;
  find_(std::move(asked),
        [own = space.searching, all = searching_, done = std::move(done)](EarlyEvents found) {
          --*own;  // before the result, whose batch then releases others
          --*all;
          done(std::move(found));
        });
  return true;
}

void LookBackQueue::release(std::vector<ContinueInput>& continues) {
  for (auto one = spaces_.begin(); one != spaces_.end();) {
    Space& space = one->second;
    const size_t searching = *space.searching;
    // Some that were released never ask, because they have ended.
    if (searching == 0) space.released.clear();
    if (space.waits() && searching + space.released.size() <= share_of(space) / 2) {
      const std::vector<ContinueInput> some = space.queue.next(std::exchange(space.added, {}));
      for (const ContinueInput& input : some) space.released.insert(input.instance);
      continues.insert(continues.end(), some.begin(), some.end());
    }
    one = searching == 0 && space.is_empty() ? spaces_.erase(one) : std::next(one);
  }
}

void LookBackQueue::clear() {
  for (auto& [ns, space] : spaces_) {
    space.added.clear();
    space.queue.clear();
    space.released.clear();
  }
}

}  // namespace millrace
