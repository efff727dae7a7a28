// QueuePlayer: plays random starts, ends, commands, kills, takeovers and time on the engine
// (world.h) and on the reference model (queue_model.h), and compares both after each action. A seed
// determines everything. For use by one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/model/random.h"
#include "tests/simulation/queue_model.h"
#include "tests/simulation/queue_standby.h"
#include "tests/simulation/world.h"
#include "tests/support/folder.h"
#include "tests/support/memory_log.h"

namespace millrace::queue_model {

class QueuePlayer {
 public:
  /// `fault`: of the model.
  explicit QueuePlayer(uint64_t seed, Fault fault = Fault::kNone);

  /// Plays that many random actions, then lets everything end, and checks what is left. Stops at
  /// the first difference. Returns the seed, the definition, the steps and the difference; empty:
  /// there is none.
  std::string play(int actions);
  /// How often each kind of action and outcome was played.
  const std::map<std::string, int>& counts() const { return counts_; }

 private:
  /// An instance as the engine shows it.
  struct Seen {
    std::string workflow;
    std::string order;
    std::string status;
    std::string code;
    TimePoint started;     ///< as it was shown first
    bool is_new = true;    ///< not compared yet
    std::string was = {};  ///< the status at the last comparison
    int most_slots = 0;    ///< the most that a key had since the instance was made
  };
  /// What became of a command: the answer, and whether it was given again after a kill.
  struct Asked {
    std::optional<Result<Json>> answer;
    bool repeated = false;
  };

  // Actions (queue_player.cc).

  void act();
  void act_on_instances();
  Start make_start(By by);
  bool may_start() const;
  bool may_be_bad() const;
  void call();
  void trigger();
  void publish_starts();
  void call_subflow();
  void go();
  void cancel();
  void cancel_caller();
  void pause_or_resume();
  void pause_workflow();
  void resume_workflow();
  void restart_instance();
  void change_limit();
  void change_throttle();
  void change_batch();
  void pass_time();
  void pass(Duration time);
  bool may_sleep() const;
  void sleep();
  std::vector<size_t> instances_that(bool (*fit)(const Instance& one)) const;
  std::optional<size_t> one_of(const std::vector<size_t>& all);
  void publish_order(const char* type, const std::string& order, const Json& data);
  Asked ask(const Command& command, bool may_kill = true);
  void settle(bool with_kills);
  bool chance(int percent) { return random_.chance(percent); }
  void step(const std::string& what);
  static InstanceId id_of(const std::string& text) { return parse_instance_id(text).value(); }

  // Kills and takeovers (queue_takeover.cc).

  void kill();
  void die();
  void take_over();
  std::unique_ptr<CommitLog> next_epoch();
  bool follow(size_t most);

  // The end (queue_drain.cc).

  void drain();
  void release_all();
  void end_orders();
  void cancel_active();
  bool has_waiting() const;

  // Comparisons (queue_checks.cc).

  void see();
  void compare();
  void compare_answer(const Asked& asked, const Start& start, const Answer& expected);
  void compare_refusal(const Error& error, const Answer& expected);
  void compare_accepted(const Json& answer, const Answer& expected);
  void compare_batched_call(const Asked& asked, const Answer& expected);
  void compare_instances();
  void compare_instance(size_t which, const std::string& id);
  void compare_callers();
  void compare_queues();
  void compare_slot_queues(const std::vector<Json>& items);
  void compare_queue(const std::string& key, const std::vector<Json>& items);
  void compare_throttle_queues(const std::vector<Json>& items);
  void compare_throttle_queue(const std::string& key, size_t waiting,
                              const std::vector<Json>& items);
  void compare_dead_letters();
  void check_slots();
  void check_rates();
  void check_throttle();
  std::optional<TimePoint> begin_of(const std::string& id);
  void check_end();
  void differ(const std::string& what);
  bool failed() const { return !difference_.empty(); }

  uint64_t seed_;
  reference::Random random_;
  bool is_clustered_;
  MemoryLog log_;  ///< of a clustered play
  int epochs_ = 0;
  std::unique_ptr<CommitLog> lead_;  ///< null: the play is not clustered
  Folder second_folder_{fast_folder()};
  std::filesystem::path standby_folder_ = second_folder_.path();  ///< of the node that is no active
  World world_;
  std::unique_ptr<QueueStandby> standby_;  ///< null: its process was not started yet
  Model model_;
  std::string yaml_;                          ///< the first revision
  int most_throttle_limit_ = 0;               ///< of all revisions
  std::map<std::string, Seen> seen_;          ///< by the id of the instance
  std::map<size_t, std::string> ids_;         ///< the id of each instance of the model
  std::map<int, std::string> chain_ids_;      ///< the id that the answers of a pending start had
  std::map<std::string, std::string> asked_;  ///< the id that the answer of an order had
  std::vector<std::string> steps_;
  std::map<std::string, int> counts_;
  std::string difference_;
  int orders_ = 0;
  int events_ = 0;
  int kills_ = 0;
};

}  // namespace millrace::queue_model
