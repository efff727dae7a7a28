// What the history of an instance shows of its data at a moment at which no record has it: the data
// with which it left a state. Records have the data at the entry of states that wait or act. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "model/history.h"
#include "model/instance.h"
#include "orchestrator/made_scenario/read_definition.h"
#include "states/workflow.h"

namespace millrace {

/// How an instance left a state.
enum class WayOut {
  kNot,        ///< it is in the state
  kExit,       ///< it followed a transition of the state, or ended there
  kTransform,  ///< the transform of the exit failed; the data is that before the transform
  kError,  ///< another error, a cancellation or a timeout ended the state, or this attempt of it
};

/// How it left the state that it entered with the record of the index `entered`.
WayOut how_left(const std::vector<HistoryRecord>& history, size_t entered);

class ObservedData {
 public:
  /// The arguments outlive the object.
  ObservedData(const Workflow& workflow, const ReadDefinition& definition,
               const std::vector<HistoryRecord>& history, const Instance& instance)
      : workflow_(workflow), definition_(definition), history_(history), instance_(instance) {}

  /// A member of the data with which the instance left the state that it entered with the record
  /// `entered`, before the transform of the state: as far as later data shows it
  /// (member_before.h). nullopt: later data does not show it. Precondition: it left by an exit, or
  /// the transform failed.
  std::optional<Json> on_leaving(size_t entered, const std::string& member) const;

 private:
  const State* state_named(const std::string& id) const;

  const Workflow& workflow_;
  const ReadDefinition& definition_;
  const std::vector<HistoryRecord>& history_;
  const Instance& instance_;
};

}  // namespace millrace
