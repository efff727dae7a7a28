// CallLimitPlayer: plays random starts, answers, commands, kills and time on the engine (world.h)
// and on the model of the limits of calls (call_limit_model.h), and compares both after each
// action. A seed determines everything. For use by one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/model/random.h"
#include "tests/simulation/call_limit_model.h"
#include "tests/simulation/world.h"

namespace millrace::call_limit_model {

class CallLimitPlayer {
 public:
  /// `fault`: of the model.
  explicit CallLimitPlayer(uint64_t seed, Fault fault = Fault::kNone);

  /// Plays that many random actions, then lets everything end, and checks what is left. Stops at
  /// the first difference. Returns the seed, the definitions, the steps and the difference; empty:
  /// there is none.
  std::string play(int actions);
  /// How often each kind of action and outcome was played.
  const std::map<std::string, int>& counts() const { return counts_; }

 private:
  // Actions (call_limit_player.cc).

  void act();
  void start();
  Input random_input(bool may_be_bad);
  void report();
  void report_of(size_t call, const decltype(TaskReport::what)& what);
  void cancel();
  void pause_or_resume();
  void resume(size_t instance);
  void pause_or_resume_service();
  void resume_service(const std::string& service);
  void change();
  void kill();
  void sleep();
  void pass_time();
  void pass(Duration time);
  void run_for(Duration time);
  void drain();
  std::optional<size_t> one_of(const std::vector<size_t>& all);
  std::vector<size_t> instances_that(bool (*fit)(const Instance& one)) const;
  std::vector<size_t> calls_at(Stage stage) const;
  void ask(const Command& command);
  bool settle();
  void die();
  bool chance(int percent) { return random_.chance(percent); }
  void step(const std::string& what);

  // Comparisons (call_limit_checks.cc).

  void see();
  bool has_slot(const Call& call) const;
  void compare();
  void compare_hand_outs();
  void compare_instances();
  void compare_queues();
  void compare_queue(Stage stage, const Key& key, const Json& item);
  void check_end();
  void differ(const std::string& what);
  bool failed() const { return !difference_.empty(); }

  uint64_t seed_;
  reference::Random random_;
  World world_;
  Model model_;
  std::string yaml_;                                            ///< the first revisions
  std::set<std::pair<std::string, int>> handed_out_;            ///< by the engine
  std::map<std::pair<std::string, int>, InstanceId> task_ids_;  ///< of each order and attempt
  std::map<std::string, std::string> ids_;  ///< the instance of each order of a start
  std::vector<std::string> steps_;
  std::map<std::string, int> counts_;
  std::string difference_;
  int orders_ = 0;
  int kills_ = 0;
};

}  // namespace millrace::call_limit_model
