// EngineTest: an engine without its thread, on a faulty store (faulty_store.h), with ports that
// record their calls. The fixture for the parts of the engine loop.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "orchestrator/definition/loader.h"
#include "orchestrator/loop/after_commit.h"
#include "orchestrator/loop/recovery.h"
#include "orchestrator/loop/work_applier.h"
#include "orchestrator/store/rows/instance_rows.h"
#include "scenarios/virtual_clock.h"
#include "tests/unit/support/batch_store.h"
#include "tests/unit/support/faulty_store.h"
#include "tests/unit/support/recorders.h"

namespace millrace {

class RecordingPublisher final : public Publisher {
 public:
  void publish(NatsMessage message, Done) override { sent.push_back(std::move(message)); }

  std::vector<NatsMessage> sent;
};

/// An engine and the parts that it needs.
struct ThreadlessEngine {
  ThreadlessEngine(Environment& environment, const Clock& clock, uint8_t& last_id,
                   const EngineOptions& options)
      : engine({.environment = environment,
                .clock = clock,
                .publisher = publisher,
                .functions = runner,
                .webhooks = sender,
                .definitions = definitions,
                .make_id = [&last_id](TimePoint) { return numbered_id(++last_id); },
                .id_key = "key",
                .started_tasks = started},
               options, intake),
        end_waiters(environment, engine.catalog) {}

  /// Loads the store, as a start of the process does.
  Status load() {
    TRY(check_store(engine));
    TRY(engine.outbox.load(engine.tx, engine.damages.noting()));
    unfinished = TRY(millrace::load(engine, progress));
    return {};
  }
  FollowingTurns perform(std::vector<AfterCommit> actions, bool sends = false) {
    return millrace::perform({.outbox = engine.outbox,
                              .tasks = engine.tasks,
                              .evaluate = evaluate,
                              .evaluations = evaluations,
                              .look_backs = look_backs,
                              .archive = archive,
                              .intake = intake,
                              .end_waiters = end_waiters,
                              .sends = sends},
                             std::move(actions));
  }

  struct Asked {
    Evaluation evaluation;
    std::function<void(EvaluationResult)> done;
  };
  std::vector<Asked> asked;  ///< evaluations that were requested
  Evaluator evaluate = [this](Evaluation evaluation, std::function<void(EvaluationResult)> done) {
    asked.push_back({std::move(evaluation), std::move(done)});
  };
  EvaluationsUnderWay evaluations;
  std::vector<std::pair<LookBack, std::function<void(EarlyEvents)>>> looked_back;
  EarlyEventFinder find_early = [this](LookBack one, std::function<void(EarlyEvents)> done) {
    looked_back.emplace_back(std::move(one), std::move(done));
  };
  LookBackQueue look_backs{find_early};
  std::vector<std::pair<ArchivePage, std::function<void(ArchivedPage)>>> pages;
  Archiver archive = [this](ArchivePage page, std::function<void(ArchivedPage)> done) {
    pages.emplace_back(std::move(page), std::move(done));
  };
  RecordingPublisher publisher;
  RecordingRunner runner;
  RecordingSender sender;
  DefinitionCache definitions{load_stored};
  StartedTasks started;
  Intake intake;
  EngineState engine;
  WorkApplier applier{engine, intake};
  EndWaiters end_waiters;
  StartProgress progress;                 ///< of the last load()
  std::vector<ContinueInput> unfinished;  ///< instances to continue, found by the last load()
};

class EngineTest : public FaultyStoreTest {
 protected:
  EngineTest() {
    tx.reset();  // a store has one transaction at a time, and the engine opens its own
    restart();
  }

  /// Restarts the process.
  void restart(const EngineOptions& options = {}) {
    rig_.reset();
    rig_.emplace(*environment, clock, last_id, options);
    const Status loaded = rig_->load();
    ASSERT_TRUE(loaded) << loaded.error().message;
  }
  ThreadlessEngine& rig() { return *rig_; }
  EngineState& engine() { return rig_->engine; }
  NamespaceNumber default_ns() {
    return engine().catalog.find_namespace(kDefaultNamespace).value_or(NamespaceNumber(0));
  }

  // Inputs.

  EventInput event(const std::string& type, std::optional<TimePoint> stamped = std::nullopt) {
    const uint64_t number = ++sequence;
    return {.ns = "default",
            .sequence = number,
            .stamped = stamped.value_or(clock.now()),
            .event = EncodedEvent({.id = std::to_string(number), .source = "/s", .type = type})};
  }
  CommandInput command(Command one) { return {++requests, std::move(one)}; }
  static Command apply_workflow(const std::string& text) {
    const auto workflow = load_stored(text);
    EXPECT_TRUE(workflow) << workflow.error().message;
    return ApplyWorkflow{.ns = "default", .text = text, .workflow = workflow.value_or(nullptr)};
  }
  static Command start_instance(const std::string& workflow, Json input = Json::object()) {
    return StartInstance{.ns = "default", .workflow = workflow, .input = std::move(input)};
  }

  // Batches.

  TurnState turn() const { return {.now = clock.now(), .backlog = backlog}; }
  /// Applies one batch without a commit. `rest` gets the work that is left to the next batch.
  Status apply(Work& work, const TurnState& state) {
    rest = {};
    outcome = TRY(rig().applier.apply(work, rest, state));
    return {};
  }
  /// Commits the batch. Its actions are in `outcome` and are not performed.
  Status commit_batch() {
    TRY(engine().tx.commit());
    engine().batches.begin();
    backlog = outcome.backlog;
    return {};
  }
  Status try_run(Work work, const TurnState& state) {
    TRY(apply(work, state));
    return commit_batch();
  }
  void run(Work work, const std::optional<TurnState>& state = std::nullopt) {
    const Status done = try_run(std::move(work), state.value_or(turn()));
    ASSERT_TRUE(done) << done.error().message;
  }
  void run(Command one) {
    Work work;
    work.commands.push_back(command(std::move(one)));
    run(std::move(work));
    for (const Answer& answer : actions_of<Answer>(outcome)) {
      EXPECT_TRUE(answer.result) << answer.result.error().message;
    }
  }
  void deliver(std::vector<Delivery> deliveries) {
    Work work;
    work.deliveries = std::move(deliveries);
    run(std::move(work));
  }
  /// Starts an instance and hands out its task, if it has one.
  InstanceId start(const std::string& workflow, Json input = Json::object()) {
    run(start_instance(workflow, std::move(input)));
    const InstanceId id = numbered_id(last_id);
    for (const StartTask& task : actions_of<StartTask>(outcome)) engine().tasks.hand_out(task);
    return id;
  }
  /// The stored status of the instance, which is live or has ended.
  std::string status_of(const InstanceId& id) {
    const auto instance = read_instance(engine().tx, default_ns(), id);
    if (!instance || !*instance) return "none";
    return std::string(to_string((*instance)->status));
  }

  VirtualClock clock;
  uint8_t last_id = 0;    ///< the last assigned instance id
  uint64_t sequence = 0;  ///< the sequence of the last event
  uint64_t requests = 0;
  Backlog backlog;       ///< the backlog after the last batch
  BatchOutcome outcome;  ///< the outcome of the last batch
  Work rest;             ///< work that the last batch left

 private:
  std::optional<ThreadlessEngine> rig_;
};

}  // namespace millrace
