// eventAnd (Direktiv's EventAndState): waits until each of its events has arrived. One event fills
// at most one entry. After a timeout, none of the received events is put into the data.
#include <map>

#include <fmt/format.h>

#include "states/event_pattern.h"
#include "states/state_fields.h"
#include "states/types.h"
#include "states/visit.h"

namespace millrace {
namespace {

/// The most bytes of the events that one state has received. They are one row, which each of them
/// writes again.
constexpr size_t kMostReceivedBytes = size_t{16} << 20;

std::optional<Raise> refuse_bytes(std::span<const std::optional<LazyJson>> slots) {
  size_t bytes = 0;
  for (const auto& slot : slots) bytes += slot ? slot->text().size() : 0;
  if (bytes <= kMostReceivedBytes) return std::nullopt;
  return Raise{{"millrace.limits.data",
                fmt::format("the events that the state has received have {} bytes together; they "
                            "may have at most {}: send less data, for example references to it, "
                            "or wait for some of them in another state",
                            bytes, kMostReceivedBytes)}};
}

class EventAnd final : public State {
 public:
  EventAnd(StateCommon common, std::vector<EventPattern> patterns)
      : State(std::move(common)), patterns_(std::move(patterns)) {}

  Outcome enter(Visit& visit) const override {
    auto filters = resolve(visit, patterns_);
    if (!filters) return std::move(filters).error();
    if (auto outcome = look_back(visit, patterns_, *filters, true)) return *std::move(outcome);
    visit.slots().assign(patterns_.size(), std::nullopt);
    for (size_t i = 0; i < filters->size(); ++i) visit.listen(i, std::move((*filters)[i]));
    return Wait{};
  }

  Outcome take(Visit& visit, const Event& event, std::span<const size_t> entries) const override {
    // A filled entry no longer listens, so no entry that matches this event has an event yet. The
    // event fills the first of these entries.
    const size_t entry = entries.front();
    auto& slots = visit.slots();
    slots[entry] = captured(event, patterns_[entry].capture);
    visit.stop_listening(entry);
    if (auto raised = refuse_bytes(slots)) return *raised;
    if (std::any_of(slots.begin(), slots.end(), [](const auto& slot) { return !slot; })) {
      return Wait{};
    }

    std::map<std::string, std::vector<LazyJson>> by_type;
    for (size_t i = 0; i < slots.size(); ++i) by_type[patterns_[i].type].push_back(*slots[i]);
    std::map<std::string, LazyJson> members;
    for (const auto& [type, values] : by_type) {
      members[type] = values.size() == 1 ? values.front() : LazyJson::of_elements(values);
    }
    if (auto raised = visit.put_all(std::move(members))) return *raised;
    return Leave{};
  }

  Waits waits() const override { return {.events = patterns_.size(), .keeps_events = true}; }
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

std::unique_ptr<const State> load_event_and(StateFields& fields, StateCommon common) {
  std::vector<EventPattern> patterns;
  fields.required_list("events",
                       [&](StateFields& entry) { patterns.push_back(entry.event_of_entry()); });
  return std::make_unique<EventAnd>(std::move(common), std::move(patterns));
}

}  // namespace

const StateType kEventAndState{.name = "eventAnd", .load = load_event_and};

}  // namespace millrace
