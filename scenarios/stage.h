// Stage: one life of a millrace on a virtual clock, in one thread: the processor as it is on a real
// store, with the broker's twin. Nothing moves but in the calls made here. `millrace test` plays
// scenarios on it; the simulation kills it and makes another on the same folder. One thread.
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
#include "orchestrator/loop/intake.h"
#include "orchestrator/loop/metrics.h"
#include "orchestrator/loop/processor.h"
#include "orchestrator/service/queries.h"
#include "scenarios/acted_functions.h"
#include "scenarios/virtual_clock.h"

namespace millrace {

/// What a stage must be given; all outlive it.
struct StageParts {
  std::filesystem::path folder;  ///< of the store
  VirtualClock& clock;
  MemoryBroker& broker;
  const Clock& brokers_clock;  ///< that `broker` has
  Publisher& publisher;        ///< `broker`, or what stands before it
  ActedFunctions& functions;
  WebhookSender& webhooks;
  /// May answer within the call, or between two calls made here.
  Evaluator evaluate;
  IdMaker make_id;
  std::string id_key = {};  ///< Lookup::id_key
  EnvironmentOptions store;
  IntakeLimits intake;
  ProcessorOptions processor;
  std::function<bool()> give_up;  ///< asked by settle() in each round; may be empty
};

class Stage {
 public:
  /// Opens the store and begins to read the stream. Errors: those of the store.
  static Result<std::unique_ptr<Stage>> open(StageParts parts);
  ~Stage();
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  Intake& intake() { return intake_; }
  Processor& processor() { return *processor_; }
  Environment& environment() { return *environment_; }
  Metrics& metrics() { return metrics_; }
  Queries& queries() { return queries_; }

  /// One round: what the broker has due, up to `most` messages, what functions tell, and one turn.
  /// Returns whether anything moved.
  bool step(size_t most = 64);

  /// Rounds until nothing moves any more, as long as the clock stands. Errors: `stage.restless`
  /// (that does not come), `stage.given_up`.
  Status settle();

  /// Once it has settled: how long until something is due by itself, never zero; nullopt: nothing
  /// is.
  std::optional<Duration> next_due() const;

  /// Does what the command says and settles.
  Result<Json> command(Command command);

  // What there is in the default namespace, in the shapes of Queries.

  /// Without data, oldest first; of one workflow, or of all.
  Result<std::vector<Json>> instances(std::string_view workflow = "");
  Result<Json> instance(std::string_view id);
  Result<Json> history(std::string_view id);

 private:
  explicit Stage(StageParts parts);

  StageParts parts_;
  Metrics metrics_;
  BegunTasks begun_tasks_;
  DefinitionCache definitions_{load_stored};
  Queries queries_{definitions_, begun_tasks_};
  Intake intake_;
  std::unique_ptr<Environment> environment_;
  std::unique_ptr<Processor> processor_;
};

}  // namespace millrace
