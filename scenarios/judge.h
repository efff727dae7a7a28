// Judge: what did not come true of what a scenario expects, once all is over, and what happened
// instead. One thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "scenarios/comparison.h"
#include "scenarios/scenario_file.h"
#include "scenarios/stage.h"

namespace millrace {

class Judge {
 public:
  /// Both outlive it; `begin` is when the scenario began.
  Judge(Stage& stage, const MemoryBroker& broker, TimePoint begin)
      : stage_(stage), broker_(broker), begin_(begin) {}

  /// Compares what is expected of an instance with what there is; nullopt: there is none.
  Status look_at(const Expectation& expectation, const std::optional<std::string>& id);

  /// Notes something else that did not go as the file says.
  void differs(const Placed& place, std::string message);

  /// In the order of the file.
  std::vector<Mismatch> mismatches() const;
  /// Line by line what happened to the instances of which something did not come true.
  const std::vector<std::string>& story() const { return story_; }

 private:
  Status look_at(const Expected& expected, const std::string& id);
  void compare_with(const Expected& expected, const Json& got);
  void compare_member(const Expected& expected, const Json& instance, const char* key);
  Status compare_time(const Expected& expected, const Json& instance);
  Result<Json> states_of(const std::string& id);
  Result<Json> attempts_of(const std::string& id);
  Result<Json> published_by(const std::string& id);
  Status tell(const std::string& workflow, const std::string& id);

  Stage& stage_;
  const MemoryBroker& broker_;
  const TimePoint begin_;
  std::vector<Mismatch> mismatches_;
  std::vector<std::string> story_;
};

}  // namespace millrace
