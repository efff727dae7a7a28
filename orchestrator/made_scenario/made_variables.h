// The variables that an instance has read, as the part `variables` of a scenario. Pure.
#pragma once

#include <map>
#include <string>

#include "base/json.h"
#include "base/result.h"
#include "model/history.h"
#include "orchestrator/made_scenario/observed_data.h"

namespace millrace {

/// The variables of the namespace with the values that the instance has read, by key. Errors:
/// `scenario.not_recorded` (the history does not show a value), `scenario.not_expressible` (a
/// variable of the workflow or the instance was set by something else than the instance, or a
/// variable has changed).
Result<std::map<std::string, Json>> made_variables(const ReadDefinition& definition,
                                                   const std::vector<HistoryRecord>& history,
                                                   const ObservedData& data);

}  // namespace millrace
