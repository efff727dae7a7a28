// consumeEvent (Direktiv's ConsumeEventState): waits for one event.
#include "states/event_pattern.h"
#include "states/state_fields.h"
#include "states/types.h"
#include "states/visit.h"

namespace millrace {
namespace {

class ConsumeEvent final : public State {
 public:
  ConsumeEvent(StateCommon common, EventPattern pattern)
      : State(std::move(common)), pattern_(std::move(pattern)) {}

  Outcome enter(Visit& visit) const override {
    auto filters = resolve(visit, {&pattern_, 1});
    if (!filters) return std::move(filters).error();
    if (auto outcome = look_back(visit, {&pattern_, 1}, *filters, false))
      return *std::move(outcome);
    visit.listen(0, std::move(filters->front()));
    return Wait{};
  }

  Outcome take(Visit& visit, const Event& event, std::span<const size_t>) const override {
    if (auto raised = visit.put(pattern_.type, captured(event, pattern_.capture))) return *raised;
    return Leave{};
  }

  Waits waits() const override { return {.events = 1}; }
  std::vector<std::string> awaited_types() const override { return types_of({&pattern_, 1}); }
  std::vector<std::optional<EventFilter>> filters_over(const LazyJson& data) const override {
    return known_filters({&pattern_, 1}, data);
  }
  std::vector<std::optional<Duration>> lookbacks() const override {
    return lookbacks_of({&pattern_, 1});
  }

 private:
  EventPattern pattern_;
};

std::unique_ptr<const State> load_consume_event(StateFields& fields, StateCommon common) {
  return std::make_unique<ConsumeEvent>(std::move(common), fields.required_event("event"));
}

}  // namespace

const StateType kConsumeEventState{.name = "consumeEvent", .load = load_consume_event};

}  // namespace millrace
