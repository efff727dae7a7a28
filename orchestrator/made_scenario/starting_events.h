// The events that started an instance, as a scenario gives them. Pure.
#pragma once

#include <vector>

#include "base/event.h"
#include "base/json.h"
#include "base/result.h"
#include "model/definition.h"

namespace millrace {

struct StartingEvents {
  std::vector<Json> events;  ///< in the order in which they come
  bool is_made_up = false;   ///< of all but the last one, the attributes are not known
};

/// The event as a member of `given`. It has no target (model/event_target.h).
Json scenario_event(const Event& event);

/// The events of which `last` came last and started an instance with that input. Error
/// `scenario.not_recorded`: another event of a group must have had attributes that the history does
/// not show.
Result<StartingEvents> starting_events(const Start& start, const Json& input, const Event& last);

}  // namespace millrace
