// The events that an instance has published, as a scenario expects them: their types, and the parts
// that the definition and the history show. Pure.
#pragma once

#include <optional>
#include <vector>

#include "base/json.h"
#include "base/time.h"
#include "model/history.h"
#include "orchestrator/made_scenario/play_times.h"

namespace millrace {

/// The events that come until `until` (nullopt: all), in the order in which the stream has them.
/// `has_data`: with their data, where it is known.
std::vector<Json> expected_events(const ReadDefinition& definition,
                                  const std::vector<HistoryRecord>& history, const PlayTimes& times,
                                  std::optional<Duration> until, bool has_data);

}  // namespace millrace
