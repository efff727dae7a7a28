// Judge: compares the final state of a scenario with its expectations, and collects the failed ones
// together with the histories of their instances. For use by one thread.
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
  /// `stage`, `broker` and `functions` must outlive the Judge. `begin` is the time at which the
  /// scenario started.
  Judge(Stage& stage, const MemoryBroker& broker, const ActedFunctions& functions, TimePoint begin)
      : stage_(stage), broker_(broker), functions_(functions), begin_(begin) {}

  /// Compares an expectation with the instance `id`; nullopt: the instance does not exist.
  Status look_at(const Expectation& expectation, const std::optional<std::string>& id);

  /// Adds another mismatch at that place of the file.
  void differs(const Placed& place, std::string message);

  /// If an expectation has failed: notes which functions had tasks that no entry of the scenario's
  /// `functions` answers.
  void explain_unanswered(const Scenario& scenario);

  /// All mismatches, in the order of the file.
  std::vector<Mismatch> mismatches() const;
  /// What explain_unanswered() has noted, as lines of text. It is the likely cause of mismatches.
  const std::vector<std::string>& unanswered() const { return unanswered_; }
  /// The histories of the instances that have a mismatch, as lines of text.
  const std::vector<std::string>& story() const { return story_; }

 private:
  Status look_at(const Expected& expected, const std::string& id);
  void compare_with(const Expected& expected, const Json& got);
  void differs_as_list(const Placed& wanted, const Json& got);
  void compare_member(const Expected& expected, const Json& instance, const char* key);
  Status compare_time(const Expected& expected, const Json& instance);
  Status compare_attempts(const Expected& expected, const std::string& id);
  Result<Json> states_of(const std::string& id, const char* kind);
  Result<std::vector<TimePoint>> attempts_of(const std::string& id);
  Result<Json> published_by(const std::string& id);
  Status compare_limit(const Expected& expected, const Json& instance);
  Result<Json> compensations_of(const std::string& id);
  Result<Json> input_of(const Json& called);
  Status describe(const std::string& workflow, const std::string& id);

  Stage& stage_;
  const MemoryBroker& broker_;
  const ActedFunctions& functions_;
  const TimePoint begin_;
  std::vector<Mismatch> mismatches_;
  std::vector<std::string> unanswered_;
  std::vector<std::string> story_;
};

}  // namespace millrace
