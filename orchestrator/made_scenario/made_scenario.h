// The scenario of an instance: a scenario file (docs/testing-workflows.md) that plays what the
// instance met and expects what came of it, made from the history of the instance. Pure.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/event.h"
#include "base/ids.h"
#include "base/lazy_json.h"
#include "base/result.h"
#include "model/history.h"
#include "model/instance.h"
#include "states/workflow.h"

namespace millrace {

/// What is known of an instance. The references outlive the call.
struct PlayedInstance {
  const Instance& instance;  ///< complete, with its input, data and calls
  const Workflow& workflow;
  std::string_view definition;                ///< the text of `workflow`
  const std::vector<HistoryRecord>& history;  ///< all records
  std::map<size_t, Event> events;             ///< those of needed_events()
  std::map<InstanceId, Json> outputs;         ///< of instances of subflows that have completed
};

/// The most records of a history from which a scenario is made.
inline constexpr size_t kMostPlayedRecords = 5'000;
/// The most events that a scenario gives.
inline constexpr size_t kMostPlayedEvents = 250;

/// The indexes of the records whose events the scenario has to give: of the events that started and
/// woke the instance, except those that it published itself.
std::vector<size_t> needed_events(const std::vector<HistoryRecord>& history);

/// The ids of the instances of subflows that returned without an error.
std::vector<InstanceId> needed_outputs(const std::vector<HistoryRecord>& history);

/// The text of the scenario file, at most kMaxDocumentSize bytes. It has the definition of the
/// instance, and definitions that stand for its subflows and answer what they answered. Errors:
/// `scenario.running` (the instance is between two steps), `scenario.sealed`, `scenario.lost` (the
/// history was trimmed, or an event is missing), `scenario.not_recorded` (the history does not show
/// an answer or variable), `scenario.not_expressible` (the format cannot say it),
/// `scenario.too_large`.
Result<std::string> make_scenario(const PlayedInstance& played);

}  // namespace millrace
