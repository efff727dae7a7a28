// Histories as text, for the tests of made scenarios.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/event.h"
#include "base/json.h"
#include "base/result.h"
#include "model/history.h"
#include "model/instance.h"

namespace millrace {

/// The id of the instance, and that of the instance of a subflow.
inline constexpr const char* kPlayedId = "0190b5a4-7c1e-7f2a-8000-0123456789ab";
inline constexpr const char* kPlayedChild = "0190b5a4-7c1e-7f2a-8000-0123456789ac";

/// The first record of an instance that a call started.
inline constexpr const char* kCalledRecord = "0 started - {\"by\":\"call\",\"revision\":3}\n";

/// A workflow that waits for one event.
inline constexpr const char* kWaitForPaid = R"(id: order
states:
  - {id: wait, type: consumeEvent, event: {type: paid}}
)";

/// A history, and the scenario that is made of it.
struct PlayedRow {
  const char* name;
  std::string definition;
  std::string history;   ///< see history_of()
  std::string scenario;  ///< the lines below the name
  std::string data = "{}";
  std::string input = "{}";
  InstanceStatus status = InstanceStatus::kComplete;
  std::map<size_t, Event> events = {};
  std::optional<Error> error = std::nullopt;
  std::string output_of_child = {};
};

/// Reads records, one in each line: milliseconds since the start, kind, state (`-`: none), then the
/// detail and, after `=>`, the data.
std::vector<HistoryRecord> history_of(const std::string& lines);

/// The scenario that is made of the history. `change` may change the instance.
Result<std::string> made(const PlayedRow& row,
                         const std::function<void(Instance&)>& change = nullptr);

/// An instance that a call with an input has started, and that has ended at once.
PlayedRow called_row();

}  // namespace millrace
