#include "orchestrator/batch/commands/workflow_commands.h"

#include <gtest/gtest.h>

#include "tests/unit/batch/commands/command_rig.h"
#include "tests/unit/batch/commands/definitions.h"

namespace millrace {
namespace {

TEST(WorkflowCommands, ApplyAddsARevisionOnlyForAChangedText) {
  CommandRig rig;
  const ApplyWorkflow first = CommandRig::apply_workflow(kEnds);
  EXPECT_EQ(rig.must(first), (Json{{"id", "ends"}, {"revision", 1}, {"changed", true}}));
  EXPECT_EQ(rig.must(first), (Json{{"id", "ends"}, {"revision", 1}, {"changed", false}}));
  const ApplyWorkflow second = CommandRig::apply_workflow(std::string(kEnds) + "\n");
  EXPECT_EQ(rig.must(second), (Json{{"id", "ends"}, {"revision", 2}, {"changed", true}}));
}

TEST(WorkflowCommands, ApplyIsRefusedIfThereIsAnotherRevisionThanItsBase) {
  CommandRig rig;
  ApplyWorkflow first = CommandRig::apply_workflow(kEnds);
  first.base_revision = 1;
  EXPECT_EQ(
      rig.refusal(first),
      (Error{"workflow.revision_conflict",
             "workflow \"ends\" has no revision now, and the definition was made from revision "
             "1; read the newest revision, and apply the change to it"}));
  first.base_revision = 0;
  EXPECT_EQ(rig.must(first)["revision"], 1);
  EXPECT_EQ(rig.must(first)["changed"], false) << "the newest revision has the same text";
  ApplyWorkflow second = CommandRig::apply_workflow(std::string(kEnds) + "\n");
  second.base_revision = 1;
  EXPECT_EQ(rig.must(second)["revision"], 2);
  ApplyWorkflow third = CommandRig::apply_workflow(std::string(kEnds) + "\n\n");
  third.base_revision = 1;
  EXPECT_EQ(rig.refusal(third).code, "workflow.revision_conflict");
  third.base_revision = 0;
  EXPECT_EQ(rig.refusal(third).code, "workflow.revision_conflict");
  third.base_revision.reset();
  EXPECT_EQ(rig.must(third)["revision"], 3);
}

TEST(WorkflowCommands, DeleteIsRefusedWhileAnInstanceIsLive) {
  CommandRig rig;
  rig.must(CommandRig::apply_workflow(kWaits));
  rig.start("waits");
  const Error error = rig.refusal(DeleteWorkflow{.ns = "default", .id = "waits"});
  EXPECT_EQ(error.code, "workflow.has_instances");
  EXPECT_EQ(
      error.message,
      "workflow \"waits\" has live instances: 1; to cancel them too, use ?cancel=1 (--cancel)");
}

TEST(WorkflowCommands, DeleteWithTheFlagCancelCancelsTheInstancesAndErasesTheVariables) {
  CommandRig rig;
  rig.must(CommandRig::apply_workflow(kWaits));
  const InstanceId id = rig.start("waits");
  const VariablePlace place{.ns = "default", .workflow = "waits"};
  rig.must(PutVariable{.place = place, .key = "k", .value = {}});
  EXPECT_EQ(rig.must(DeleteWorkflow{.ns = "default", .id = "waits", .cancel = true}),
            (Json{{"cancelled", 1}}));
  EXPECT_EQ(rig.instance(id).status, InstanceStatus::kCancelled);
  EXPECT_EQ(rig.refusal(StartInstance{.ns = "default", .workflow = "waits"}).code,
            "workflow.not_found");
  rig.must(CommandRig::apply_workflow(kWaits));
  EXPECT_EQ(rig.refusal(DeleteVariable{.place = place, .key = "k"}).code, "variable.not_found");
}

TEST(WorkflowCommands, DeleteIsRefusedWhileAnInstanceMakesItsCompensations) {
  CommandRig rig;
  rig.must(CommandRig::apply_workflow(kUndoes));
  const InstanceId id = rig.start("undoes");
  DeleteWorkflow remove{.ns = "default", .id = "undoes", .cancel = true};
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(rig.refusal(remove).code, "workflow.compensating");
    ASSERT_TRUE(rig.commit());
    EXPECT_TRUE(rig.instance(id).compensating);
  }
  remove.drop_compensations = true;
  EXPECT_EQ(rig.must(remove), (Json{{"cancelled", 1}, {"droppedCompensations", 1}}));
  EXPECT_EQ(rig.instance(id).status, InstanceStatus::kCancelled);
}

TEST(WorkflowCommands, PauseAndResumeApplyToTheInstancesOfTheWorkflow) {
  CommandRig rig;
  rig.must(CommandRig::apply_workflow(kWaits));
  const InstanceId id = rig.start("waits");
  PauseWorkflow pause{.ns = "default", .id = "waits"};
  EXPECT_EQ(rig.must(pause), (Json{{"id", "waits"}, {"paused", true}, {"changed", 1}}));
  EXPECT_TRUE(rig.instance(id).paused);
  EXPECT_EQ(rig.must(pause), (Json{{"id", "waits"}, {"paused", true}, {"changed", 0}}));
  pause.paused = false;
  EXPECT_EQ(rig.must(pause), (Json{{"id", "waits"}, {"paused", false}, {"changed", 1}}));
  EXPECT_FALSE(rig.instance(id).paused);
}

TEST(WorkflowCommands, TriggerStartsOnlyAScheduledWorkflow) {
  CommandRig rig;
  rig.must(CommandRig::apply_workflow(kScheduled));
  rig.must(CommandRig::apply_workflow(kEnds));
  EXPECT_TRUE(rig.must(TriggerSchedule{.ns = "default", .workflow = "report"}).contains("id"));
  const Error error = rig.refusal(TriggerSchedule{.ns = "default", .workflow = "ends"});
  EXPECT_EQ(error.code, "schedule.not_found");
  EXPECT_EQ(error.message, "workflow \"ends\" has no schedule");
}

TEST(WorkflowCommands, LoseTheBatchWhenAReadOfTheStoreFails) {
  expect_every_read_fault_loses_the_batch([](CommandRig& rig) -> Command {
    rig.must(CommandRig::apply_workflow(kScheduled));
    return CommandRig::apply_workflow(std::string(kScheduled) + "\n");
  });
  expect_every_read_fault_loses_the_batch([](CommandRig& rig) -> Command {
    rig.must(CommandRig::apply_workflow(kWaits));
    rig.start("waits");
    return DeleteWorkflow{.ns = "default", .id = "waits", .cancel = true};
  });
  expect_every_read_fault_loses_the_batch([](CommandRig& rig) -> Command {
    rig.must(CommandRig::apply_workflow(kUndoes));
    rig.start("undoes");
    return DeleteWorkflow{
        .ns = "default", .id = "undoes", .cancel = true, .drop_compensations = true};
  });
  expect_every_read_fault_loses_the_batch([](CommandRig& rig) -> Command {
    rig.must(CommandRig::apply_workflow(kWaits));
    rig.start("waits");
    return PauseWorkflow{.ns = "default", .id = "waits"};
  });
  expect_every_read_fault_loses_the_batch([](CommandRig& rig) -> Command {
    rig.must(CommandRig::apply_workflow(kScheduled));
    return TriggerSchedule{.ns = "default", .workflow = "report"};
  });
}

}  // namespace
}  // namespace millrace
