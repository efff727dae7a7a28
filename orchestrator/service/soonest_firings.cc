#include "orchestrator/service/soonest_firings.h"

#include <algorithm>
#include <chrono>
#include <utility>
#include <variant>

#include "orchestrator/memory/wait_index.h"
#include "orchestrator/store/transaction.h"

namespace millrace {
namespace {

/// The kind of a firing that a timer of the wheel causes.
FiringKind kind_of_timer(const TimerInput& timer) {
  if (const auto* const owner = std::get_if<TimerInput::OfInstance>(&timer.owner)) {
    return static_cast<FiringKind>(owner->kind);
  }
  const bool is_delayed = std::holds_alternative<TimerInput::OfDelayedEvent>(timer.owner);
  return is_delayed ? FiringKind::kDelayedEvent : FiringKind::kLifespan;
}

/// Whether the answer of a TimerQuery is the same with a longer look.
bool is_of_whole_look(const Json& answer) {
  return answer.value("complete", false) || answer.value("cutBy", "") == kCutByLimit;
}

}  // namespace

Result<WalkedTimers> walk_timers(const AskIndex& ask, NamespaceNumber ns, const NextFilter& filter,
                                 const TimerWalkBounds& bounds) {
  Wheel::Walk walk;
  WalkedTimers found;
  found.timers.reserve(bounds.timers);  // the engine thread adds to it
  const auto is_enough = [&] {
    if (filter.until && walk.seen_until() > *filter.until) return true;
    const auto shown =
        std::count_if(found.timers.begin(), found.timers.end(), [&](const TimerInput& timer) {
          return std::holds_alternative<TimerInput::OfInstance>(timer.owner) &&
                 timer.deadline < walk.seen_until();
        });
    return static_cast<size_t>(shown) >= filter.limit + bounds.spare;
  };
  bool goes_on = true;
  while (goes_on) {
    const size_t before = found.timers.size();
    const size_t most = std::min(bounds.at_once, bounds.timers - found.looked);
    const Status asked = ask([&](const EngineMemory& memory) {
      found.looked += memory.waiting.walk_timers(ns, walk, most, found.timers);
    });
    if (!asked && found.looked == 0) return tl::unexpected(asked.error());
    const auto is_unwanted = [&](const TimerInput& timer) {
      return !wants(filter, kind_of_timer(timer));
    };
    const auto fresh = found.timers.begin() + static_cast<std::ptrdiff_t>(before);
    found.timers.erase(std::remove_if(fresh, found.timers.end(), is_unwanted), found.timers.end());
    goes_on = asked && !walk.has_ended() && found.looked < bounds.timers && !is_enough() &&
              !(bounds.is_over && bounds.is_over());
  }
  if (!walk.has_ended()) found.seen_until = walk.seen_until();
  std::stable_sort(
      found.timers.begin(), found.timers.end(),
      [](const TimerInput& one, const TimerInput& other) { return one.deadline < other.deadline; });
  return found;
}

Result<Json> ask_timers(const FiringParts& parts, std::string_view ns, const NextFilter& filter,
                        const TimerQuery& query) {
  NextLooks looks{.rows = parts.rows};
  NamespaceNumber number{};
  {
    const Snapshot view = TRY(Snapshot::take(parts.environment));
    const LiveInstances live = TRY(parts.queries.live_instances(view, ns));
    number = live.ns;
    const bool has_few = live.count && *live.count <= parts.rows;
    if (has_few || !wants_timers(filter)) {
      Json answer = TRY(query(view, looks));
      if (is_of_whole_look(answer) || !wants_timers(filter)) return answer;
    }
  }
  const auto end = parts.clock.precise() + parts.walk_time;
  const Result<WalkedTimers> walked =
      walk_timers(parts.ask, number, filter,
                  {.timers = parts.walked, .spare = parts.spare, .is_over = [&parts, end] {
                     return parts.clock.precise() >= end;
                   }});
  if (walked) looks.walked = &*walked;
  const Snapshot view = TRY(Snapshot::take(parts.environment));
  return query(view, looks);
}

Result<Json> soonest_firings(const FiringParts& parts, std::string_view ns,
                             const NextFilter& filter) {
  return ask_timers(parts, ns, filter, [&](const View& view, const NextLooks& looks) {
    return parts.queries.next_firings(view, ns, filter, looks);
  });
}

}  // namespace millrace
