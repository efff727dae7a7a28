#include "orchestrator/store/rows/answer_rows.h"

#include <string>

#include <gtest/gtest.h>

#include "orchestrator/store/rows/damage.h"
#include "tests/unit/store/store_fixture.h"

namespace millrace {
namespace {

constexpr NamespaceNumber kAnswered{7};
const std::string kAnsweredRow = std::string("given-answers/\0\0\0\7\5", 19);

/// A task whose action id ends with the byte 5.
InstanceId answered_task(uint8_t number) {
  InstanceId task;
  task.bytes.front() = number;
  task.bytes.back() = 5;
  return task;
}

GivenAnswer answer_to(const InstanceId& task, uint8_t outcome) {
  return {.task = task, .outcome = {outcome}};
}

using AnswerRowsTest = StoreTest;

TEST_F(AnswerRowsTest, KeepTheOutcomeOfEachAnswer) {
  const InstanceId task = answered_task(1);
  EXPECT_EQ(*read_answer(*tx, kAnswered, task), std::nullopt);
  const GivenAnswer answer{.task = task,
                           .outcome = {1, 2},
                           .by = AnsweredBy::kOperator,
                           .at = from_millis(1'700'000'000'123)};
  ASSERT_TRUE(add_answer(*tx, kAnswered, answer));
  EXPECT_EQ(*read_answer(*tx, kAnswered, task), answer);
  EXPECT_EQ(*read_answer(*tx, kAnswered, answered_task(2)), std::nullopt) << "of the same row";
  EXPECT_EQ(*read_answer(*tx, NamespaceNumber(8), task), std::nullopt);
  EXPECT_TRUE(tx->get(Table::kMeta, kAnsweredRow));
}

TEST_F(AnswerRowsTest, HaveTheNewestSixteenAnswers) {
  for (uint8_t number = 0; number <= kMostAnswersOfRow; ++number) {
    ASSERT_TRUE(add_answer(*tx, kAnswered, {.task = answered_task(number), .outcome = {number}}));
  }
  EXPECT_EQ(*read_answer(*tx, kAnswered, answered_task(0)), std::nullopt);
  EXPECT_EQ(*read_answer(*tx, kAnswered, answered_task(1)), answer_to(answered_task(1), 1));
  EXPECT_EQ(*read_answer(*tx, kAnswered, answered_task(16)), answer_to(answered_task(16), 16));
}

TEST_F(AnswerRowsTest, AreErasedWithTheirNamespace) {
  InstanceId another = answered_task(1);
  another.bytes.back() = 6;
  for (const NamespaceNumber ns : {kAnswered, NamespaceNumber(8)}) {
    ASSERT_TRUE(add_answer(*tx, ns, {.task = answered_task(1), .outcome = {1}}));
    ASSERT_TRUE(add_answer(*tx, ns, {.task = another, .outcome = {2}}));
  }
  ASSERT_TRUE(erase_answers(*tx, kAnswered));
  EXPECT_EQ(*read_answer(*tx, kAnswered, answered_task(1)), std::nullopt);
  EXPECT_EQ(*read_answer(*tx, kAnswered, another), std::nullopt);
  EXPECT_EQ(*read_answer(*tx, NamespaceNumber(8), another), answer_to(another, 2));
}

TEST_F(AnswerRowsTest, OfAnOlderReleaseDoNotSayWhichWayAnAnswerCame) {
  const InstanceId task = answered_task(1);
  const std::string outcome = "\4" + std::string(15, '\0');
  std::string row("\1\1", 2);  // the version, and one answer
  row.append(task.bytes.begin(), task.bytes.end()).append(outcome);
  tx->put(Table::kMeta, kAnsweredRow, row);
  EXPECT_EQ(*read_answer(*tx, kAnswered, task), answer_to(task, 4));
  const GivenAnswer newer{.task = answered_task(2),
                          .outcome = {5},
                          .by = AnsweredBy::kNatsCallback,
                          .at = from_millis(7)};
  ASSERT_TRUE(add_answer(*tx, kAnswered, newer));
  EXPECT_EQ(*read_answer(*tx, kAnswered, task), answer_to(task, 4));
  EXPECT_EQ(*read_answer(*tx, kAnswered, newer.task), newer);
}

TEST_F(AnswerRowsTest, NameTheirPlaceByTheKey) {
  EXPECT_EQ(answers_place(kAnsweredRow), (AnswersPlace{.ns = kAnswered, .last = 5}));
  for (const std::string& key :
       {std::string("given-answers/"), kAnsweredRow + "x",
        std::string("given-answers/\0\0\0\0\5", 19), std::string("answers")}) {
    EXPECT_EQ(answers_place(key), std::nullopt) << key;
  }
}

TEST_F(AnswerRowsTest, GiveAnErrorIfTheyAreDamagedAndAreWrittenAgain) {
  const InstanceId task = answered_task(1);
  for (const std::string& row :
       {std::string("rubbish"), encode_answers({}), encode_answers(std::vector<GivenAnswer>(17))}) {
    tx->put(Table::kMeta, kAnsweredRow, row);
    const auto read = read_answer(*tx, kAnswered, task);
    ASSERT_FALSE(read) << row.size();
    EXPECT_TRUE(is_damaged_row(read.error()));
  }
  ASSERT_TRUE(add_answer(*tx, kAnswered, {.task = task, .outcome = {3}}));
  EXPECT_EQ(*read_answer(*tx, kAnswered, task), answer_to(task, 3));
}

}  // namespace
}  // namespace millrace
