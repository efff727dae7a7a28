// A millrace that may die: a stage (scenarios/stage.h) a life, all on one store in a folder of its
// own, with an evaluator that answers when the test lets it and ids from a seed. Nothing moves but
// in the calls made here, so the same calls leave the same bytes. One thread.
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
#include "tests/support/folder.h"

namespace millrace {

/// The broker's clock: nobody sets that one.
class BrokersClock final : public Clock {
 public:
  explicit BrokersClock(const VirtualClock& clock) : clock_(clock), start_(clock.now()) {}

  TimePoint now() const override { return start_ + clock_.elapsed(); }

 private:
  const VirtualClock& clock_;
  TimePoint start_;
};

/// Stands for the jq workers: a program is a function of the test's. Answers at once, or, while
/// held, when it is told to.
class TestEvaluator {
 public:
  using Program = std::function<QueryResult(const Json& input)>;

  void define(std::string text, Program program) {
    programs_[std::move(text)] = std::move(program);
  }

  /// From now on answers wait.
  void hold() { held_ = true; }
  /// Answers all that waits, and at once from now on.
  void release();
  /// Answers the one that has waited longest, or the one at that place in the line.
  void answer(size_t which = 0);

  size_t waiting() const { return waiting_.size(); }
  /// How many evaluations were asked for in all.
  size_t asked() const { return asked_; }

  // For the world.
  void submit(Evaluation evaluation, std::function<void(EvaluationResult)> done);
  void forget() { waiting_.clear(); }

 private:
  struct Waiting {
    Evaluation evaluation;
    std::function<void(EvaluationResult)> done;
  };
  EvaluationResult run(const Evaluation& evaluation) const;

  std::map<std::string, Program> programs_;
  std::deque<Waiting> waiting_;
  bool held_ = false;
  size_t asked_ = 0;
};

/// Stands for the receivers of webhooks: what a URL says to an event is a function of the test's.
class TestReceivers final : public WebhookSender {
 public:
  using Answer = std::function<std::optional<WebhookFailure>(const Event& event)>;

  void deliver(const Event& event, const std::string& url, const std::string& token,
               std::function<void(std::optional<WebhookFailure>)> done) override {
    seen.push_back(fmt::format("{} {} {}", url, event.type, token));
    events.push_back(event);
    done(answer ? answer(event) : std::nullopt);
  }

  Answer answer;                  ///< none: all is taken
  std::vector<std::string> seen;  ///< `url type token` of each attempt
  std::vector<Event> events;
};

struct WorldOptions {
  EnvironmentOptions store;  ///< but that nothing is checkpointed at a close
  IntakeLimits intake;
  ProcessorOptions processor;
  uint64_t seed = 1;
  std::string id_key = "the key of the ids";  ///< Lookup::id_key
};

/// What became of a command or a wait: nothing as long as it is not answered.
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

  // In.

  Answered command(Command command);
  Answered wait_for_end(const std::string& instance, Duration at_most);
  /// Commands that must succeed, with what they answer once everything is quiet. The definition is
  /// loaded first, and must be right.
  Json apply(const std::string& yaml, const std::string& space = "default");
  Json start(const std::string& workflow, Json input = Json::object(), std::string key = "");
  Json must(Command command);
  /// Starts the workflow `order` and lets it settle; its id.
  std::string start_order(Json input = Json::object());
  /// The same of a definition that is applied first.
  std::string apply_order(const std::string& yaml, Json input = Json::object());
  /// A command that must be refused, with its error.
  Error refusal(Command command);
  static ApplyWorkflow application(const std::string& yaml, std::string space = "default");

  /// Stores an event in the stream, as somebody else's publishing; nothing is read yet.
  void publish(const Event& event, std::string_view space = "default");
  void publish(std::string type, std::string id, Json data = nullptr,
               std::map<std::string, AttributeValue> extensions = {});

  // Time.

  /// Until nothing moves any more, as long as the clock stands.
  void settle();
  /// The same, and what publishes have yet to run out of time does so.
  void settle_publishes();
  /// Moves the clock to whatever comes due until then, settling each time.
  void run_for(Duration time);
  /// One round: what the broker has due, up to `most` messages, and one turn.
  bool step(size_t most = 64) { return stage_->step(most); }

  // Ends and beginnings.

  /// The process dies: what is not committed is lost, and so is all that would have come of it. The
  /// store that it leaves is checked.
  void crash();
  /// It dies in the turn that follows: what that commits is on disk and nothing of it is done.
  void crash_after_commit();
  /// A new one on the same store, reading the stream from the stored cursor.
  void recover();
  void restart() { crash(), recover(); }
  /// The same where the store may be damaged. Errors: those with which the start is refused.
  Status try_recover();
  bool alive() const { return stage_ != nullptr; }
  /// Whether the store is checked at the end of each life; for tests that damage it.
  bool checks_store = true;
  /// While none is alive: commits what `change` writes into the store.
  void change_store(const std::function<void(Transaction& tx)>& change);
  /// While none is alive: goes on with a copy of the store in that folder, which is made.
  void copy_store_to(const std::filesystem::path& folder);
  /// For the next recover().
  WorldOptions& options() { return options_; }

  // What there is.

  /// Instances of the default namespace with data and input, oldest first.
  std::vector<Json> instances();
  Json instance(const std::string& id);
  std::string status(const std::string& id) { return instance(id)["status"]; }
  /// `kind state` of each record.
  std::vector<std::string> history(const std::string& id);
  Json history_items(const std::string& id);
  /// The reasons of the dead letters that the broker has, in order.
  std::vector<std::string> dead_letters() const;
  /// Events in the stream of that type, in order.
  std::vector<Event> events(std::string_view type) const;
  /// A series of the metrics, such as `millrace_listeners`.
  double metric(std::string_view name) const;
  /// The bytes that the store's rows occupy, once all of them are in LMDB.
  uint64_t stored_bytes();
  /// Every row of the store.
  std::map<std::string, std::string> rows() const;
  /// How many rows a table has.
  size_t rows_of(std::string_view table) const;
  Queries& queries() const { return stage_->queries(); }
  Environment& environment() const { return stage_->environment(); }

 private:
  class Outlet;  ///< the broker's publisher, as one life of the process has it

  WorldOptions options_;
  Folder folder_;
  std::filesystem::path store_ = folder_.path();  ///< another one once it was copied
  std::mt19937_64 random_;
  uint32_t last_id_ = 0;
  std::unique_ptr<Outlet> outlet_;
  std::unique_ptr<Stage> stage_;
};

}  // namespace millrace
