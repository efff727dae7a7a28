// eventXor (Direktiv's EventXorState): waits for any one of several events. The entry that matched
// determines the transform and the transition.
#include "states/event_pattern.h"
#include "states/state_fields.h"
#include "states/types.h"
#include "states/visit.h"

namespace millrace {
namespace {

class EventXor final : public State {
 public:
  /// `common.exits` has one exit for each pattern.
  EventXor(StateCommon common, std::vector<EventPattern> patterns)
      : State(std::move(common)), patterns_(std::move(patterns)) {}

  Outcome enter(Visit& visit) const override {
    auto filters = resolve(visit, patterns_);
    if (!filters) return std::move(filters).error();
    if (auto outcome = look_back(visit, patterns_, *filters, false)) return *std::move(outcome);
    for (size_t i = 0; i < filters->size(); ++i) visit.listen(i, std::move((*filters)[i]));
    return Wait{};
  }

  Outcome take(Visit& visit, const Event& event, std::span<const size_t> entries) const override {
    const size_t entry = entries.front();
    const EventPattern& pattern = patterns_[entry];
    if (auto raised = visit.put(pattern.type, captured(event, pattern.capture))) return *raised;
    return Leave{.exit = entry};
  }

  Waits waits() const override { return {.events = patterns_.size()}; }
  std::vector<std::string> awaited_types() const override { return types_of(patterns_); }
  std::vector<std::optional<EventFilter>> filters_over(const LazyJson& data) const override {
    return known_filters(patterns_, data);
  }
  std::vector<std::optional<Duration>> lookbacks() const override {
    return lookbacks_of(patterns_);
  }

 private:
  std::vector<EventPattern> patterns_;
};

std::unique_ptr<const State> load_event_xor(StateFields& fields, StateCommon common) {
  std::vector<EventPattern> patterns;
  fields.required_list("events", [&](StateFields& entry) {
    patterns.push_back(entry.event_of_entry());
    common.exits.push_back(entry.exit());
  });
  return std::make_unique<EventXor>(std::move(common), std::move(patterns));
}

}  // namespace

const StateType kEventXorState{.name = "eventXor", .load = load_event_xor};

}  // namespace millrace
