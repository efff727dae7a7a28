// The command that answers a task which a service has accepted.
#include "orchestrator/batch/commands/callback_commands.h"

#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "base/lazy_json.h"
#include "base/time.h"
#include "tests/unit/batch/commands/command_rig.h"

namespace millrace {
namespace {

/// Stores a task of a detached call, and returns the command with which an operator completes it.
AnswerTask answer_of_new_task(CommandRig& rig, std::vector<FunctionFile> files = {}) {
  InstanceId task;
  task.bytes.back() = 77;
  InstanceId instance;
  instance.bytes.back() = 76;
  rig.batch().tasks.begin(rig.batch().tx, {.ns = NamespaceNumber(1),
                                           .task = task,
                                           .by = instance,
                                           .workflow = WorkflowNumber(1),
                                           .runs = NamedService{.name = "mail"},
                                           .files = std::move(files)});
  EXPECT_TRUE(rig.commit());
  return {.ns = "default",
          .task = task,
          .what = TaskEnded{.result = "7", .variables = {}},
          .by = AnsweredBy::kOperator};
}

TEST(CallbackCommands, AreForAcceptedTasksOnlyIfAnOperatorSendsThem) {
  CommandRig rig;
  AnswerTask answer = answer_of_new_task(rig);
  EXPECT_EQ(rig.refusal(answer).code, "call.not_accepted");
  ASSERT_TRUE(rig.batch().tasks.accept(rig.batch().tx, answer.task));
  ASSERT_TRUE(rig.commit());
  EXPECT_EQ(rig.must(answer), (Json{{"accepted", true}}));
  EXPECT_EQ(rig.must(answer), (Json{{"accepted", true}})) << "it repeats the answer";
}

TEST(CallbackCommands, AreAnsweredAgainIfTheyRepeatTheAnswerOfTheAttempt) {
  CommandRig rig;
  AnswerTask answer = answer_of_new_task(rig);
  answer.by = AnsweredBy::kHttpCallback;
  const auto failing = [](const std::string& code, const std::string& message) {
    return TaskEnded{.result = tl::unexpected(Error{code, message}), .variables = {}};
  };
  answer.what = failing("card.declined", "no money");
  EXPECT_EQ(rig.must(answer), (Json{{"accepted", true}}));
  EXPECT_EQ(rig.must(answer), (Json{{"accepted", true}})) << "also after a commit";
  AnswerTask other = answer;
  for (const TaskEnded& what :
       {failing("card.declined", "no card"), failing("card.lost", "no money"),
        TaskEnded{.result = "", .variables = {}},
        TaskEnded{.result = "card.declined", .variables = {}}}) {
    other.what = what;
    const Error refused = rig.refusal(other);
    EXPECT_EQ(refused.code, "callback.ended");
    EXPECT_THAT(refused.message, testing::HasSubstr("a callback over HTTP answered it at "));
    EXPECT_THAT(refused.message, testing::HasSubstr("said something else"));
  }
  other.what = TaskHeartbeat{};
  const Error refused = rig.refusal(other);
  EXPECT_EQ(refused.code, "callback.ended");
  EXPECT_THAT(refused.message, testing::HasSubstr("a callback over HTTP answered it at "));
}

TEST(CallbackCommands, SayWhatHasAnsweredTheAttemptAndWhen) {
  const std::pair<AnsweredBy, const char*> rows[] = {
      {AnsweredBy::kHttpCallback, "a callback over HTTP"},
      {AnsweredBy::kNatsCallback, "a callback over NATS"},
      {AnsweredBy::kOperator, "an operator"},
  };
  for (const auto& [by, who] : rows) {
    CommandRig rig;
    AnswerTask answer = answer_of_new_task(rig);
    ASSERT_TRUE(rig.batch().tasks.accept(rig.batch().tx, answer.task));
    ASSERT_TRUE(rig.commit());
    answer.by = by;
    EXPECT_EQ(rig.must(answer), (Json{{"accepted", true}}));
    answer.what = TaskEnded{.result = "8", .variables = {}};
    EXPECT_EQ(rig.refusal(answer).message,
              fmt::format("the attempt has ended: {} answered it at {}, and said something else; "
                          "nothing was changed",
                          who, format_rfc3339(rig.now)));
  }
}

TEST(CallbackCommands, AreComparedAsJsonValues) {
  CommandRig rig;
  AnswerTask answer = answer_of_new_task(rig);
  answer.by = AnsweredBy::kHttpCallback;
  const auto saying = [&](std::string result) {
    AnswerTask other = answer;
    other.what = TaskEnded{.result = std::move(result), .variables = {}};
    return other;
  };
  EXPECT_EQ(rig.must(saying(R"({"approved": true, "by": "eve"})")), (Json{{"accepted", true}}));
  for (const char* const same :
       {R"({"approved": true, "by": "eve"})", R"({"approved":true,"by":"eve"})",
        "{\n  \"by\": \"\\u0065ve\", \"approved\": true\n}"}) {
    EXPECT_EQ(rig.must(saying(same)), (Json{{"accepted", true}})) << same;
  }
  for (const char* const other :
       {R"({"approved": false, "by": "eve"})", R"({"approved": "true", "by": "eve"})",
        R"({"approved": true})", R"({"approved": true, "by": "eve")", ""}) {
    EXPECT_EQ(rig.refusal(saying(other)).code, "callback.ended") << other;
  }
}

TEST(CallbackCommands, OfManyBytesAreComparedAsTheirText) {
  CommandRig rig;
  AnswerTask answer = answer_of_new_task(rig);
  answer.by = AnsweredBy::kHttpCallback;
  const std::string large = "[\"" + std::string(kLargeJson, 'x') + "\"]";
  answer.what = TaskEnded{.result = large, .variables = {}};
  EXPECT_EQ(rig.must(answer), (Json{{"accepted", true}}));
  EXPECT_EQ(rig.must(answer), (Json{{"accepted", true}}));
  answer.what = TaskEnded{.result = large + " ", .variables = {}};
  EXPECT_EQ(rig.refusal(answer).code, "callback.ended");
}

TEST(CallbackCommands, OfACallWithFilesAreRefusedWithoutThemUnlessAnOperatorSendsThem) {
  for (const bool is_of_operator : {false, true}) {
    CommandRig rig;
    AnswerTask answer = answer_of_new_task(rig, {{.key = "order", .as = "order"}});
    ASSERT_TRUE(rig.batch().tasks.accept(rig.batch().tx, answer.task));
    ASSERT_TRUE(rig.commit());
    answer.by = is_of_operator ? AnsweredBy::kOperator : AnsweredBy::kNatsCallback;
    if (!is_of_operator) {
      const Error refused = rig.refusal(answer);
      EXPECT_EQ(refused.code, "callback.ended");
      EXPECT_THAT(refused.message, testing::HasSubstr("sent the task again"));
      answer.has_files = true;
    }
    EXPECT_EQ(rig.must(answer), (Json{{"accepted", true}}));
    answer.has_files = false;
    EXPECT_EQ(rig.must(answer), (Json{{"accepted", true}})) << "it repeats the answer";
  }
}

TEST(CallbackCommands, OfAnAttemptThatEndedWithoutACallbackAreRefused) {
  CommandRig rig;
  const AnswerTask answer = answer_of_new_task(rig);
  rig.batch().tasks.end(rig.batch().tx, answer.task);
  ASSERT_TRUE(rig.commit());
  EXPECT_THAT(rig.refusal(answer).message, testing::HasSubstr("a timeout has ended it"));
}

TEST(CallbackCommands, OfAServiceMayComeBeforeItsAcceptance) {
  CommandRig rig;
  AnswerTask answer = answer_of_new_task(rig);
  answer.by = AnsweredBy::kHttpCallback;
  EXPECT_EQ(rig.must(answer), (Json{{"accepted", true}}));
}

}  // namespace
}  // namespace millrace
