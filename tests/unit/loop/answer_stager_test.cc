// AnswerStager: passes the large values of an answer on ahead of it, in pieces.
#include "orchestrator/loop/answer_stager.h"

#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

/// Holds the reports until the test stores them.
class HeldReports final : public TaskSink {
 public:
  void report(TaskReport report, std::function<void()> stored) override {
    held.emplace_back(std::move(report), std::move(stored));
  }
  /// Stores the oldest report, and returns it.
  TaskReport store() {
    auto [report, stored] = std::move(held.front());
    held.pop_front();
    if (stored) stored();
    return report;
  }

  std::deque<std::pair<TaskReport, std::function<void()>>> held;
};

class AnswerStagerTest : public testing::Test {
 protected:
  static TaskVariable variable(std::string key, size_t bytes) {
    return {.key = std::move(key),
            .value = {.content_type = "x", .bytes = std::string(bytes, 'v')}};
  }
  void answer(std::vector<TaskVariable> variables) {
    stager.report(
        {.task = task, .what = TaskEnded{.result = "7", .variables = std::move(variables)}},
        [this] { ++stored; });
  }
  TaskPieces next_pieces() {
    EXPECT_THAT(sink.held, SizeIs(1)) << "one after the other";
    const TaskReport report = sink.store();
    EXPECT_EQ(report.task, task);
    const auto* const pieces = std::get_if<TaskPieces>(&report.what);
    EXPECT_NE(pieces, nullptr);
    return pieces == nullptr ? TaskPieces() : *pieces;
  }

  const InstanceId task{.bytes = {1}};
  HeldReports sink;
  AnswerStager stager{sink};
  int stored = 0;
};

TEST_F(AnswerStagerTest, PassesOtherReportsAndSmallAnswersOnAsTheyAre) {
  stager.report({.task = task, .what = TaskStarted()}, [this] { ++stored; });
  answer({variable("a", kMostBytesWithAnswer - 10), variable("b", 10)});
  ASSERT_THAT(sink.held, SizeIs(2));
  EXPECT_TRUE(std::holds_alternative<TaskStarted>(sink.store().what));
  const TaskReport report = sink.store();
  const auto& ended = std::get<TaskEnded>(report.what);
  ASSERT_THAT(ended.variables, SizeIs(2));
  EXPECT_FALSE(ended.variables[0].staged);
  EXPECT_EQ(ended.variables[0].value.bytes.size(), kMostBytesWithAnswer - 10);
  EXPECT_EQ(stored, 2);
}

TEST_F(AnswerStagerTest, PassesLargeValuesOnInPiecesBeforeTheAnswer) {
  answer({variable("a", kMostBytesInPieces + 3), variable("b", kMostBytesWithAnswer),
          variable("c", kLeastStagedBytes - 1)});
  const TaskPieces first = next_pieces();
  EXPECT_TRUE(first.is_first);
  ASSERT_THAT(first.pieces, SizeIs(1));
  EXPECT_EQ(first.pieces[0].key, "a");
  EXPECT_EQ(first.pieces[0].number, 0U);
  EXPECT_EQ(first.pieces[0].bytes.size(), kMostBytesInPieces);
  const TaskPieces second = next_pieces();
  EXPECT_FALSE(second.is_first);
  EXPECT_EQ(second.staging, first.staging);
  ASSERT_THAT(second.pieces, SizeIs(2)) << "the end of one value, and the beginning of the next";
  EXPECT_EQ(second.pieces[0].number, 1U);
  EXPECT_EQ(second.pieces[0].bytes.size(), 3U);
  EXPECT_EQ(second.pieces[1].key, "b");
  for (uint32_t number = 1; number < 4; ++number) {
    const TaskPieces next = next_pieces();
    ASSERT_THAT(next.pieces, SizeIs(1));
    EXPECT_EQ(next.pieces[0].number, number);
  }
  EXPECT_EQ(stored, 0);
  ASSERT_THAT(sink.held, SizeIs(1));
  const TaskReport report = sink.store();
  const auto& ended = std::get<TaskEnded>(report.what);
  ASSERT_THAT(ended.variables, SizeIs(3));
  EXPECT_EQ(ended.result, "7");
  EXPECT_EQ(ended.variables[0].staged->size, kMostBytesInPieces + 3);
  EXPECT_EQ(ended.variables[0].staged->staging, first.staging);
  EXPECT_EQ(ended.variables[0].value.content_type, "x");
  EXPECT_EQ(ended.variables[0].value.bytes, "");
  EXPECT_EQ(ended.variables[1].staged->size, kMostBytesWithAnswer);
  EXPECT_FALSE(ended.variables[2].staged) << "a small value comes with the answer";
  EXPECT_EQ(ended.variables[2].value.bytes.size(), kLeastStagedBytes - 1);
  EXPECT_EQ(stored, 1);
}

TEST_F(AnswerStagerTest, GivesEachAnswerANumberOfItsOwn) {
  answer({variable("a", 2 * kMostBytesWithAnswer)});
  answer({variable("a", 2 * kMostBytesWithAnswer)});
  ASSERT_THAT(sink.held, SizeIs(2));
  const TaskReport one = sink.store();
  const TaskReport other = sink.store();
  EXPECT_NE(std::get<TaskPieces>(one.what).staging, std::get<TaskPieces>(other.what).staging);
  EXPECT_TRUE(std::get<TaskPieces>(other.what).is_first);
}

TEST_F(AnswerStagerTest, AnswersWhatIsUnderWayAtItsEnd) {
  std::vector<std::string> codes;
  const auto note = [&](const Result<std::vector<TaskVariable>>& staged) {
    codes.push_back(staged ? "" : staged.error().code);
  };
  stager.stage(task, {variable("a", 2 * kMostBytesWithAnswer)}, note);
  stager.stage(task, {variable("a", 10)}, note);
  EXPECT_THAT(codes, ElementsAre(""));
  sink.store();
  stager.end();
  EXPECT_THAT(codes, ElementsAre("", "stopping"));
  sink.store();
  EXPECT_THAT(sink.held, SizeIs(0)) << "no further piece follows";
  stager.stage(task, {variable("a", 2 * kMostBytesWithAnswer)}, note);
  EXPECT_THAT(codes, ElementsAre("", "stopping", "stopping"));
  answer({variable("a", 2 * kMostBytesWithAnswer)});
  EXPECT_THAT(sink.held, SizeIs(0)) << "the next process hands the task out again";
}

}  // namespace
}  // namespace millrace
