// CommandRig: a batch on a store of its own, in which commands are carried out one by one without
// the loop around it. Any read of the store can be made to fail. One thread.
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

  CommandContext context() { return {now, draft_, instances_, schedules_, purges_}; }

  /// Carries out the command in as many batches as it takes, each committed. It must succeed.
  Json must(Command command);
  /// The error with which the command is refused. It must be refused.
  Error refusal(Command command);
  /// Carries out the command, or a part of it, in the batch in hand.
  Result<CommandProgress> run(const Command& command) { return carry_out(context(), command); }
  /// Brings the batch in hand to disk.
  Status commit();

  /// The definition is loaded first, and must be right.
  static ApplyWorkflow application(const std::string& yaml, std::string ns = "default");
  /// Starts an instance and returns its id.
  InstanceId start(const std::string& workflow, Json input = Json::object());
  /// The instance as the store has it.
  Instance instance(const InstanceId& id, NamespaceNumber ns = NamespaceNumber(1));

  /// From now on the read of that number fails, counted from 1; nullopt: none does.
  void fail_read(std::optional<uint64_t> nth) { failing_read_ = nth, reads_ = 0; }
  /// Whether that read has come.
  bool has_failed() const { return failing_read_ && reads_ >= *failing_read_; }

  TimePoint now = from_millis(1'600'000'000'000);

  Draft& draft() { return draft_; }

 private:
  /// Takes tasks and does nothing about them.
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
  Runner runner_;
  NoWebhooks webhooks_;
  BegunTasks begun_;
  Damages damages_;
  DefinitionCache definitions_{load_stored};
  BatchCount batches_;
  Catalog catalog_{definitions_, batches_};
  Waiting waiting_{batches_};
  Living living_{batches_};
  Dedupe dedupe_{{}, batches_};
  Recent recent_{damages_, batches_};
  Tasks tasks_{runner_, catalog_, clock_, begun_, damages_, batches_};
  Hooks hooks_{webhooks_, catalog_, damages_, batches_, [](const WebhookResult&) {}};
  InHand in_hand_;
  Draft draft_{parts()};
  Instances instances_{draft_};
  Groups groups_{draft_, instances_};
  Schedules schedules_{draft_, instances_};
  Purges purges_{draft_, groups_};
};

/// Carries out `command` again and again, each time in a new rig that `prepare` has made ready,
/// with the first read of the store failing, then the second, and so on until it needs no more
/// reads. A failed read must lose the batch: the command ends with `store.io`, or the commit does.
void expect_every_read_fault_loses_the_batch(
    const std::function<Command(CommandRig& rig)>& prepare);

}  // namespace millrace
