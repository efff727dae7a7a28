// ask_index: a question runs once, or never.
#include "orchestrator/service/index_questions.h"

#include <future>

#include <gtest/gtest.h>

#include "orchestrator/memory/damages.h"
#include "orchestrator/memory/dedupe.h"
#include "orchestrator/memory/kept_events.h"
#include "orchestrator/memory/wait_index.h"

namespace millrace {
namespace {

using std::chrono::milliseconds;

class IndexQuestions : public testing::Test {
 protected:
  Intake intake_;
  Damages damages_;
  BatchCount batches_;
  WaitIndex waiting_{batches_};
  Dedupe dedupe_{{}, batches_};
  KeptEvents kept_events_{damages_, batches_};
  const EngineMemory memory_{waiting_, dedupe_, kept_events_};
};

TEST_F(IndexQuestions, RunOnTheThreadThatTakesThem) {
  size_t listeners = 7;
  auto asked = std::async(std::launch::async, [&] {
    return ask_index(intake_, std::chrono::minutes(5),
                     [&](const EngineMemory& memory) { listeners = memory.waiting.listeners(); });
  });
  ASSERT_TRUE(intake_.sleep({.at_most = std::nullopt}));
  intake_.answer_question(memory_);
  EXPECT_TRUE(asked.get());
  EXPECT_EQ(listeners, 0U);
}

TEST_F(IndexQuestions, DoNotRunWhenTheCallerHasGivenUp) {
  bool has_run = false;
  const Status asked =
      ask_index(intake_, milliseconds(0), [&](const EngineMemory&) { has_run = true; });
  ASSERT_FALSE(asked);
  EXPECT_EQ(asked.error().code, "busy");
  intake_.answer_question(memory_);
  EXPECT_FALSE(has_run);
}

TEST_F(IndexQuestions, FailWhenTheIntakeIsClosed) {
  intake_.close();
  const Status asked = ask_index(intake_, std::chrono::minutes(5), [](const EngineMemory&) {});
  ASSERT_FALSE(asked);
  EXPECT_EQ(asked.error().code, "stopping");
}

}  // namespace
}  // namespace millrace
