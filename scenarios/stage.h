// Stage: one simulated process of millrace on a virtual clock: the real processor on a real store,
// with MemoryBroker in place of NATS. A stage does nothing outside the calls of its functions.
// `millrace test` plays scenarios on a stage; the simulation destroys a stage and creates another
// one on the same folder. For use by one thread.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "broker/memory_broker.h"
#include "broker/memory_stored_events.h"
#include "orchestrator/loop/intake.h"
#include "orchestrator/loop/metrics.h"
#include "orchestrator/loop/processor.h"
#include "orchestrator/ports/commit_log.h"
#include "orchestrator/service/early_event_feed.h"
#include "orchestrator/service/early_event_search.h"
#include "orchestrator/service/queries.h"
#include "scenarios/acted_functions.h"
#include "scenarios/virtual_clock.h"

namespace millrace {

/// The parts of a stage. All references must outlive the stage.
struct StageParts {
  std::filesystem::path folder;  ///< the folder of the store
  VirtualClock& clock;
  MemoryBroker& broker;
  const Clock& brokers_clock;  ///< the clock of `broker`
  Publisher& publisher;        ///< `broker`, or a wrapper around `broker`
  ActedFunctions& functions;
  WebhookSender& webhooks;
  /// Evaluates jq programs. `evaluate` may deliver the results before it returns, or later, between
  /// two calls of the stage's functions.
  Evaluator evaluate;
  IdMaker make_id;
  /// See Lookup::id_key; nullopt: that of the secret key of the store.
  std::optional<std::string> id_key;
  EnvironmentOptions store;
  CommitLog* log = nullptr;  ///< leads the store (Environment::lead()); null: nothing does
  IntakeLimits intake;
  ProcessorOptions processor;
  /// Whether the reader feeds the searches for early events; false: they read from the broker.
  bool feeds_searches = true;
  std::function<bool()> give_up;  ///< called by run_until_idle() in each round; may be empty
};

class Stage {
 public:
  /// Opens the store and starts to read the event stream. Errors: those of the store.
  static Result<std::unique_ptr<Stage>> open(StageParts parts);
  ~Stage();
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  Intake& intake() { return intake_; }
  Processor& processor() { return *processor_; }
  Environment& environment() { return *environment_; }
  Metrics& metrics() { return metrics_; }
  Queries& queries() { return queries_; }

  /// One round: up to `most` messages of the broker that are due, the due reports of functions, one
  /// portion of the search for early events, and one turn of the processor. Returns whether there
  /// was any work.
  bool step(size_t most = 64);

  /// Runs rounds until no work is left at the current time. Errors: `stage.restless` (work is left
  /// after 100 000 rounds), `stage.given_up` (`give_up` returned true).
  Status run_until_idle();

  /// For an idle stage: the time until the next deadline, never zero; nullopt if there is no
  /// deadline.
  std::optional<Duration> next_due() const;

  /// Applies the command, runs until idle, and returns the command's result.
  Result<Json> command(Command command);

  // The instances of the default namespace, as JSON in the format of Queries.

  /// The instances without their data, oldest first, of one workflow or of all.
  Result<std::vector<Json>> instances(std::string_view workflow = "");
  Result<Json> instance(std::string_view id);
  Result<Json> history(std::string_view id);

 private:
  explicit Stage(StageParts parts);
  Archiver archiver();
  EarlyEventFinder early_event_finder();
  bool search_early_events();

  StageParts parts_;
  MemoryStoredEvents stored_events_{parts_.broker};
  Metrics metrics_;
  StartedTasks started_tasks_;
  DefinitionCache definitions_{load_stored};
  Queries queries_{definitions_, started_tasks_, parts_.clock};
  Intake intake_;
  EarlyEventFeed early_event_feed_{intake_};
  EarlyEventSearch early_events_;
  std::unique_ptr<Environment> environment_;
  std::unique_ptr<Processor> processor_;
};

}  // namespace millrace
