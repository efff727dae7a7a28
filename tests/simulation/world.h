// World: an engine that can crash and restart. Each start of the engine makes a new
// Stage (scenarios/stage.h) on the same store, in a folder of the world. The test decides when
// evaluations are answered. Ids come from a seed. Nothing happens outside the calls of the test, so
// the same calls leave the same bytes. For use by one thread.
#pragma once

#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "scenarios/stage.h"
#include "tests/simulation/process_outlet.h"
#include "tests/support/folder.h"

namespace millrace {

/// The clock of the broker. This clock does not jump when the clock of the world does.
class BrokersClock final : public Clock {
 public:
  explicit BrokersClock(const VirtualClock& clock) : clock_(clock), start_(clock.now()) {}

  TimePoint now() const override { return start_ + clock_.elapsed(); }

 private:
  const VirtualClock& clock_;
  TimePoint start_;
};

/// Replaces the jq workers: for each jq program the test defines a function; a program of the fast
/// lane needs none. Answers evaluations at once, or, after hold(), when the test asks for the
/// answer.
class TestEvaluator {
 public:
  using Program = std::function<QueryResult(const Json& input)>;

  void define(std::string text, Program program) {
    programs_[std::move(text)] = std::move(program);
  }

  /// Holds the answers to evaluations from now on.
  void hold() { held_ = true; }
  /// Answers all held evaluations, and answers at once from now on.
  void release();
  /// Answers the held evaluation with that index; 0 is the oldest.
  void answer(size_t which = 0);

  size_t waiting() const { return waiting_.size(); }
  /// The number of held evaluations that the engine has stopped.
  size_t stopped() const;
  /// The number of all evaluations so far.
  size_t asked() const { return asked_; }

  // Called by the world.
  void submit(Evaluation evaluation, std::function<void(EvaluationResult)> done);
  void forget() { waiting_.clear(); }

 private:
  struct Pending {
    Evaluation evaluation;
    std::function<void(EvaluationResult)> done;
  };
  EvaluationResult run(const Evaluation& evaluation) const;

  std::map<std::string, Program> programs_;
  std::deque<Pending> waiting_;
  bool held_ = false;
  size_t asked_ = 0;
};

/// An event that no millrace publishes. `data` may be null.
Event outside_event(std::string type, std::string id, const Json& data,
                    std::map<std::string, AttributeValue> extensions);

/// The events of that type in the event stream, in order.
std::vector<Event> events_in(const MemoryBroker& broker, std::string_view type);

/// Replaces the receivers of webhooks: a function of the test answers each event.
class TestReceivers final : public WebhookSender {
 public:
  using Answer = std::function<std::optional<WebhookFailure>(const Event& event)>;

  void deliver(const std::string&, const Event& event, const std::string& url,
               const std::string& token,
               std::function<void(std::optional<WebhookFailure>)> done) override {
    seen.push_back(fmt::format("{} {} {}", url, event.type, token));
    events.push_back(event);
    done(answer ? answer(event) : std::nullopt);
  }

  Answer answer;  ///< empty: the receivers accept every event
  /// The URL, event type and token of each attempt: `url type token`.
  std::vector<std::string> seen;
  std::vector<Event> events;
};

struct WorldOptions {
  EnvironmentOptions store;  ///< checkpoints_at_close is always false
  CommitLog* log = nullptr;  ///< of the next process; see StageParts
  IntakeLimits intake;
  ProcessorOptions processor;
  bool feeds_searches = true;  ///< as in StageParts
  uint64_t seed = 1;
  std::optional<std::string> id_key;  ///< as in StageParts
};

/// The answer to a command or to a wait for an end; empty until the answer has come.
using Answered = std::shared_ptr<std::optional<Result<Json>>>;

class World {
 public:
  explicit World(WorldOptions options = {});
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  VirtualClock clock;
  BrokersClock brokers_clock{clock};
  MemoryBroker broker{brokers_clock};
  TestEvaluator evaluator;
  ActedFunctions functions{clock};
  TestReceivers receivers;

  Intake& intake() { return stage_->intake(); }
  Processor& processor() { return stage_->processor(); }

  // Inputs.

  Answered command(Command command);
  Answered wait_for_end(const std::string& instance, Duration at_most);
  /// These functions run a command that must succeed, run until idle, and return the answer.
  /// apply() first loads the definition, which must be valid.
  Json apply(const std::string& yaml, const std::string& ns = "default");
  Json start(const std::string& workflow, Json input = Json::object(), std::string key = "");
  Json must(Command command);
  /// Starts the workflow `order` and runs until idle; returns the id of the instance.
  std::string start_order(Json input = Json::object());
  /// Applies the definition of `order`, and starts it as start_order() does.
  std::string apply_order(const std::string& yaml, Json input = Json::object());
  /// Runs a command that must be refused; returns its error.
  Error refusal(Command command);
  static ApplyWorkflow application(const std::string& yaml, std::string ns = "default");

  /// Stores an event in the event stream, as a publisher other than millrace does. The engine reads
  /// it later.
  void publish(const Event& event, std::string_view ns = "default");
  void publish(std::string type, std::string id, const Json& data = nullptr,
               std::map<std::string, AttributeValue> extensions = {});

  // Time.

  /// Runs until nothing more happens unless the clock moves.
  void run_until_idle();
  /// Runs until idle, and moves the clock until each published message is acknowledged or has timed
  /// out.
  void answer_publishes();
  /// Moves the clock from one deadline to the next, and runs until idle at each.
  void run_for(Duration time);
  /// Runs one round: delivers due messages of the broker, at most `most`, and runs one turn of the
  /// engine.
  bool step(size_t most = 64) { return stage_->step(most); }

  // Crashes and restarts.

  /// The process dies, and everything that is not committed is lost. Then the store is checked.
  void crash();
  /// The process dies in its next turn: after the commit, before the actions after the commit.
  void crash_after_commit();
  /// Starts a new process on the same store. The new process reads the event stream from the stored
  /// cursor on.
  void recover();
  void restart() { crash(), recover(); }
  /// Restarts the process; for an odd number only after the commit of a further turn.
  void restart_at(int number) {
    if (number % 2 == 0) return restart();
    crash_after_commit();
    recover();
  }
  /// Starts a new process on a store that may be damaged. Errors: those that refuse the start.
  Status try_recover();
  bool alive() const { return stage_ != nullptr; }
  /// Whether the store is checked at the end of each process. Tests that damage the store set this
  /// to false.
  bool checks_store = true;
  /// EnvironmentOptions::waits_for_checkpoints of each process. Tests that decide when a checkpoint
  /// goes on set this to false.
  bool waits_for_checkpoints = true;
  /// Commits the writes of `change` to the store. No process may be alive.
  void change_store(const std::function<void(Transaction& tx)>& change);
  /// Copies the store to a new folder and continues with the copy. No process may be alive.
  void copy_store_to(const std::filesystem::path& folder);
  /// Continues with the store from which the last copy was made, as it was then, as after the
  /// restore of a backup. No process may be alive.
  void return_to_copied_store();
  /// Continues with the store in a folder that the caller keeps, such as that of a standby. No
  /// process may be alive.
  void continue_with(const std::filesystem::path& folder);
  /// The options with which the next recover() starts a process.
  WorldOptions& options() { return options_; }

  // State.

  /// The instances of the default namespace, with data and input, oldest first.
  std::vector<Json> instances();
  Json instance(const std::string& id);
  std::string status(const std::string& id) { return instance(id)["status"]; }
  /// The kind and the state of each history record of the instance: `kind state`.
  std::vector<std::string> history(const std::string& id);
  Json history_items(const std::string& id);
  /// The reasons of the dead letters that the broker has, in order.
  std::vector<std::string> dead_letters() const;
  /// The events of that type in the event stream, in order.
  std::vector<Event> events(std::string_view type) const { return events_in(broker, type); }
  /// The value of a metric, such as `millrace_listeners`.
  double metric(std::string_view name) const;
  /// The bytes of all rows of the store, after a checkpoint.
  uint64_t stored_bytes();
  /// Every row of the store.
  std::map<std::string, std::string> rows() const;
  /// The number of rows in a table.
  size_t rows_of(std::string_view table) const;
  /// The folder of the store.
  const std::filesystem::path& folder() const { return store_; }
  Queries& queries() const { return stage_->queries(); }
  Environment& environment() const { return stage_->environment(); }

 private:
  WorldOptions options_;
  Folder folder_;
  std::filesystem::path store_ = folder_.path();  ///< another folder after copy_store_to()
  std::filesystem::path copied_;                  ///< the folder that was copied last
  std::mt19937_64 random_;
  uint32_t last_id_ = 0;
  std::unique_ptr<ProcessOutlet> outlet_;
  std::unique_ptr<Stage> stage_;
};

}  // namespace millrace
