// ask_index: a question runs once, or never.
#include "orchestrator/service/index_questions.h"

#include <future>

#include <gtest/gtest.h>

namespace millrace {
namespace {

using std::chrono::milliseconds;

TEST(IndexQuestions, RunOnTheThreadThatTakesThem) {
  Intake intake;
  BatchCount batches;
  WaitIndex index(batches);
  size_t listeners = 7;
  auto asked = std::async(std::launch::async, [&] {
    return ask_index(intake, std::chrono::minutes(5),
                     [&](const WaitIndex& one) { listeners = one.listeners(); });
  });
  ASSERT_TRUE(intake.sleep({.at_most = std::nullopt}));
  const auto question = intake.next_question();
  ASSERT_TRUE(question);
  question->answer(index);
  EXPECT_TRUE(asked.get());
  EXPECT_EQ(listeners, 0U);
}

TEST(IndexQuestions, DoNotRunWhenTheCallerHasGivenUp) {
  Intake intake;
  BatchCount batches;
  WaitIndex index(batches);
  bool has_run = false;
  const Status asked =
      ask_index(intake, milliseconds(0), [&](const WaitIndex&) { has_run = true; });
  ASSERT_FALSE(asked);
  EXPECT_EQ(asked.error().code, "busy");
  const auto question = intake.next_question();
  ASSERT_TRUE(question);
  question->answer(index);
  EXPECT_FALSE(has_run);
}

TEST(IndexQuestions, FailWhenTheIntakeIsClosed) {
  Intake intake;
  intake.close();
  const Status asked = ask_index(intake, std::chrono::minutes(5), [](const WaitIndex&) {});
  ASSERT_FALSE(asked);
  EXPECT_EQ(asked.error().code, "stopping");
}

}  // namespace
}  // namespace millrace
