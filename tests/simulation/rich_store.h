// RichStore: a store with rows of all kinds, which an engine wrote. Tests damage copies of this
// store.
#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <string>

#include "base/ids.h"
#include "tests/simulation/world.h"

namespace millrace {

/// A workflow whose instances wait for a timer.
inline constexpr const char* kNaps = R"(
id: naps
states:
- {id: nap, type: delay, duration: PT10H}
)";

/// A workflow that two events with the same key start together.
inline constexpr const char* kPairs = R"(
id: pairs
start: {type: eventsAnd, correlate: [key], lifespan: PT1H, events: [{type: left}, {type: right}]}
states:
- {id: a, type: noop}
)";

/// A folder with a store that has rows of all kinds. The store is written once in a process.
class RichStore {
 public:
  static RichStore& instance() {
    static RichStore only;
    return only;
  }

  const std::filesystem::path& folder() const { return folder_.path(); }
  /// The first instance of that workflow.
  InstanceId id(const std::string& workflow) const { return ids_.at(workflow); }
  const std::set<std::string>& tables() const { return tables_; }

 private:
  RichStore();
  void start(World& world, const std::string& workflow, std::string key);
  /// Starts three instances with calls that need a slot, and three with calls that have a throttle.
  /// The turn of the first call comes while its instance is paused, so it is left out. The second
  /// call is handed out, and the third waits.
  void start_calls_that_wait(World& world);

  Folder folder_;
  std::map<std::string, InstanceId> ids_;
  std::set<std::string> tables_;
};

}  // namespace millrace
