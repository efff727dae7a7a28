#include "orchestrator/made_scenario/starting_events.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "cloudevents/json_format.h"
#include "model/event_target.h"

namespace millrace {
namespace {

/// What the input has of the event of each entry, in the order of the entries.
std::vector<Json> values_by_entry(const Start& start, const Json& input) {
  std::map<std::string, size_t> counts;
  for (const StartEvent& entry : start.events) ++counts[entry.filter.type];
  std::map<std::string, size_t> next;
  std::vector<Json> values;
  for (const StartEvent& entry : start.events) {
    const std::string& type = entry.filter.type;
    const Json all = input.is_object() ? input.value(type, Json()) : Json();
    const size_t number = next[type]++;
    if (counts[type] == 1) {
      values.push_back(all);
    } else {
      values.push_back(all.is_array() && number < all.size() ? Json(all[number]) : Json());
    }
  }
  return values;
}

/// The entry that the last event has filled.
size_t entry_of(const Start& start, const std::vector<Json>& values, const Event& last) {
  std::optional<size_t> of_type;
  for (size_t i = 0; i < start.events.size(); ++i) {
    if (start.events[i].filter.type != last.type) continue;
    if (!of_type) of_type = i;
    const Json value = start.events[i].capture ? event_to_json(last) : payload(last);
    if (value == values[i]) return i;
  }
  return of_type.value_or(start.events.size());
}

/// An event of the group that has the type, the data, and the attributes that all of them share.
Result<Json> made_up(const Start& start, const StartEvent& entry, const Json& data,
                     const Event& last) {
  Json event = {{"type", entry.filter.type}, {"source", "/scenario"}};
  if (!data.is_null()) event["data"] = data;
  for (const std::string& name : start.correlate) {
    if (const auto shared = attribute(last, name)) event[name] = *shared;
  }
  for (const Predicate& predicate : entry.filter.predicates) {
    const auto& shared = start.correlate;
    if (std::find(shared.begin(), shared.end(), predicate.attribute) != shared.end()) continue;
    return fail("scenario.not_recorded",
                fmt::format("of the event of type \"{}\" that started the instance together with "
                            "others, the history has the data and not the attribute \"{}\"; write "
                            "the scenario by hand",
                            entry.filter.type, predicate.attribute));
  }
  return event;
}

}  // namespace

Json scenario_event(const Event& event) {
  Event given = event;
  given.extensions.erase(std::string(kTargetAttribute));
  Json json = event_to_json(given);
  json.erase("specversion");
  return json;
}

Result<StartingEvents> starting_events(const Start& start, const Json& input, const Event& last) {
  StartingEvents starting;
  if (start.kind == Start::Kind::kEventsAnd && start.events.size() > 1) {
    const std::vector<Json> values = values_by_entry(start, input);
    const size_t filled = entry_of(start, values, last);
    for (size_t i = 0; i < start.events.size(); ++i) {
      if (i == filled) continue;
      if (start.events[i].capture && values[i].is_object()) {
        Json whole = values[i];
        whole.erase("specversion");
        starting.events.push_back(std::move(whole));
      } else {
        starting.events.push_back(TRY(made_up(start, start.events[i], values[i], last)));
        starting.is_made_up = true;
      }
    }
  }
  starting.events.push_back(scenario_event(last));
  return starting;
}

}  // namespace millrace
