// The command that answers a task which a service has accepted.
#include "orchestrator/batch/commands/callback_commands.h"

#include <string>

#include <gtest/gtest.h>

#include "tests/unit/batch/commands/command_rig.h"

namespace millrace {
namespace {

/// Stores a task of a detached call, and returns the command with which an operator completes it.
AnswerTask answer_of_new_task(CommandRig& rig) {
  InstanceId task;
  task.bytes.back() = 77;
  InstanceId instance;
  instance.bytes.back() = 76;
  rig.batch().tasks.begin(rig.batch().tx, {.ns = NamespaceNumber(1),
                                           .task = task,
                                           .by = instance,
                                           .workflow = WorkflowNumber(1),
                                           .runs = NamedService{.name = "mail"}});
  EXPECT_TRUE(rig.commit());
  return {.ns = "default",
          .task = task,
          .what = TaskEnded{.result = "7", .variables = {}},
          .only_accepted = true};
}

TEST(CallbackCommands, AreForAcceptedTasksOnlyIfAnOperatorSendsThem) {
  CommandRig rig;
  AnswerTask answer = answer_of_new_task(rig);
  EXPECT_EQ(rig.refusal(answer).code, "call.not_accepted");
  ASSERT_TRUE(rig.batch().tasks.accept(rig.batch().tx, answer.task));
  ASSERT_TRUE(rig.commit());
  EXPECT_EQ(rig.must(answer), (Json{{"accepted", true}}));
  EXPECT_EQ(rig.refusal(answer).code, "callback.ended") << "an attempt has one answer";
}

TEST(CallbackCommands, OfAServiceMayComeBeforeItsAcceptance) {
  CommandRig rig;
  AnswerTask answer = answer_of_new_task(rig);
  answer.only_accepted = false;
  EXPECT_EQ(rig.must(answer), (Json{{"accepted", true}}));
}

}  // namespace
}  // namespace millrace
