// CommandRig: a batch on a store of its own that applies commands one by one, without the engine
// loop. Each read of the store can be made to fail. For one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "orchestrator/batch/commands/commands.h"
#include "orchestrator/definition/loader.h"
#include "tests/support/folder.h"

namespace millrace {

class CommandRig {
 public:
  /// An empty store with the namespace "default".
  CommandRig();

  CommandContext context() { return {now, batch_, instances_, schedules_, purges_, task_inputs_}; }

  /// Runs the command in as many batches as it needs and commits each. It must succeed.
  Json must(Command command);
  /// The error of a command that must be refused.
  Error refusal(Command command);
  /// Runs the command, or its next part, in the current batch.
  Result<CommandProgress> run(const Command& command) { return carry_out(context(), command); }
  /// Commits the current batch.
  Status commit();

  /// Loads a definition, which must be valid, and returns the command that applies it.
  static ApplyWorkflow apply_workflow(const std::string& yaml, std::string ns = "default");
  /// Starts an instance and returns its id.
  InstanceId start(const std::string& workflow, Json input = Json::object());
  /// The stored instance.
  Instance instance(const InstanceId& id, NamespaceNumber ns = NamespaceNumber(1));

  /// Makes the nth read fail, counted from 1; nullopt: no read fails.
  void fail_read(std::optional<uint64_t> nth) { failing_read_ = nth, reads_ = 0; }
  /// Whether the read that must fail was reached.
  bool has_failed() const { return failing_read_ && reads_ >= *failing_read_; }

  TimePoint now = from_millis(1'600'000'000'000);

  BatchState& batch() { return batch_; }

 private:
  /// Ignores all tasks.
  class Runner final : public TaskRunner {
   public:
    void run(Task) override {}
    void stop(const InstanceId&) override {}
  };
  class RigClock final : public Clock {
   public:
    TimePoint now() const override { return from_millis(1'600'000'000'000); }
    Duration elapsed() const override { return Duration(0); }
  };

  std::unique_ptr<Environment> open();
  BatchParts parts();

  std::optional<uint64_t> failing_read_;
  uint64_t reads_ = 0;
  uint64_t ids_ = 0;
  Folder folder_;
  std::unique_ptr<Environment> environment_ = open();
  Transaction tx_{*environment_};
  RigClock clock_;
  UnitMeter meter_{clock_};
  Runner runner_;
  NoWebhooks webhooks_;
  StartedTasks started_;
  Damages damages_;
  DefinitionCache definitions_{load_stored};
  BatchCount batches_;
  Catalog catalog_{definitions_, batches_};
  WaitIndex waiting_{batches_};
  LiveCounts live_{batches_};
  Dedupe dedupe_{{}, batches_};
  KeptEvents kept_events_{damages_, batches_};
  TaskDispatch tasks_{runner_, catalog_, clock_, started_, damages_, batches_};
  WebhookOutbox webhook_outbox_{webhooks_, catalog_, damages_, batches_,
                                [](const WebhookResult&) {}};
  CrashNote crash_note_;
  BatchState batch_{parts()};
  Instances instances_{batch_};
  Groups groups_{batch_, instances_};
  Schedules schedules_{batch_, instances_};
  Purges purges_{batch_, groups_, instances_};
  FanOuts fan_outs_{batch_, instances_};
  TimerInputs timer_inputs_{batch_, instances_, fan_outs_, groups_, schedules_};
  TaskInputs task_inputs_{batch_, instances_, timer_inputs_};
};

/// Runs `command` repeatedly, each time in a new rig that `prepare` sets up. The first read of the
/// store fails, then the second, and so on until the command needs no more reads. A failed read
/// must lose the batch: the command or the commit returns `store.io`.
void expect_every_read_fault_loses_the_batch(
    const std::function<Command(CommandRig& rig)>& prepare);

}  // namespace millrace
