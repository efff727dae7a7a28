#include "broker/task_book.h"

#include <gtest/gtest.h>

#include "tests/unit/broker/task_world.h"

namespace millrace {
namespace {

using Words = std::vector<std::string>;

constexpr Duration kAckTimeout{5'000};
constexpr Duration kGrace{2'000};
constexpr Duration kLookTimeout{1'000};

class TaskBookTest : public testing::Test {
 protected:
  void add(uint8_t number, bool queued = true) {
    book_.add(task_id(number), "shop", queued, NatsMessage{.subject = kTaskSubject, .data = "x"});
  }
  /// The numbers of the messages that are to be sent now.
  std::vector<int> sent(bool with_stream = true) {
    mail_ = book_.take_mail(with_stream, 100, now_);
    std::vector<int> numbers;
    for (const TaskMail::Message& message : mail_.messages) {
      numbers.push_back(message.task.bytes.back());
    }
    return numbers;
  }
  void keep(const std::vector<TaskReport>& reports) {
    for (const TaskReport& report : reports) {
      told_.push_back(fmt::format("{} {}", report.task.bytes.back(), word(report)));
    }
  }
  void stored(uint8_t number, uint64_t sequence, bool duplicate = false) {
    keep(book_.stored(task_id(number), {sequence, duplicate}, now_));
  }
  void heard(uint64_t sequence, AckWord ack, std::string_view consumer = "shop+charge") {
    if (const auto report = book_.heard(consumer, sequence, ack, now_)) keep({*report});
  }
  void pass(Duration time) {
    now_ += time;
    keep(book_.elapse(now_));
  }
  std::vector<uint64_t> deletes() { return book_.take_mail(true, 0, now_).deletes; }

  TaskBook::Time now_{};
  TaskBook book_{{.ack_timeout = kAckTimeout,
                  .grace = kGrace,
                  .look_timeout = kLookTimeout,
                  .most_unacknowledged = 3}};
  TaskMail mail_;
  Words told_;
};

TEST_F(TaskBookTest, WhatAWorkerSaysBeforeTheStreamDoesIsNotLost) {
  add(1);
  sent();
  heard(7, AckWord::kAlive);
  heard(7, AckWord::kAlive);
  EXPECT_EQ(told_, Words());
  stored(1, 7);
  EXPECT_EQ(told_, (Words{"1 started"}));
  heard(7, AckWord::kAlive);
  EXPECT_EQ(told_, (Words{"1 started", "1 alive"}));
}

TEST_F(TaskBookTest, AWordCountsOnlyFromTheConsumerOfItsTask) {
  add(1), add(2);
  sent();
  heard(8, AckWord::kTerm, "evil+charge");
  stored(1, 7), stored(2, 8);
  heard(7, AckWord::kTerm, "evil+charge");
  heard(7, AckWord::kAlive, "evil+charge");
  pass(kGrace);
  EXPECT_EQ(told_, Words());
  heard(7, AckWord::kAlive);
  EXPECT_EQ(told_, (Words{"1 started"}));
}

TEST_F(TaskBookTest, AnAnswerForAnotherNamespaceChangesNothing) {
  add(1);
  sent();
  stored(1, 7);
  EXPECT_FALSE(book_.answered(task_id(1), "evil", now_));
  pass(kGrace);
  EXPECT_EQ(deletes(), std::vector<uint64_t>());
  EXPECT_TRUE(book_.answered(task_id(1), "shop", now_));
}

TEST_F(TaskBookTest, WordsOnMessagesOfOthersAreForgotten) {
  add(1);
  sent();
  for (uint64_t foreign = 100; foreign < 120'000; ++foreign) {
    heard(foreign, AckWord::kAlive, "theirs+mail");
    pass(Duration(foreign % 100 == 0));  // so that some time goes by
  }
  EXPECT_LE(book_.overheard(), 16'384u);
  heard(120'000, AckWord::kAlive);
  stored(1, 120'000);
  EXPECT_EQ(told_, (Words{"1 started"})) << "ours are kept all the same";
  add(2);
  sent();
  heard(120'002, AckWord::kAlive, "theirs+mail");
  EXPECT_EQ(book_.overheard(), 1u);
  pass(Duration(10'000));
  EXPECT_EQ(book_.overheard(), 0u);
}

TEST_F(TaskBookTest, WhatWorkersWereGivenHasBegunThoughTheySayNothing) {
  for (const uint8_t number : {1, 2, 3}) add(number);
  sent();
  EXPECT_FALSE(book_.waits_for_workers());
  for (const uint8_t number : {1, 2, 3}) stored(number, 10 + number);
  heard(11, AckWord::kAlive);
  EXPECT_EQ(book_.waiting_subjects(), (std::vector<std::string>{kTaskSubject}));
  keep(book_.given_out(kTaskSubject, 12));
  EXPECT_EQ(told_, (Words{"1 started", "2 started"}));
  keep(book_.given_out("another", 13));
  heard(12, AckWord::kAlive);
  EXPECT_EQ(told_, (Words{"1 started", "2 started", "2 alive"}));
  book_.stop(task_id(3));
  EXPECT_FALSE(book_.waits_for_workers());
}

TEST_F(TaskBookTest, AskingReportsWhetherAWorkerHasATask) {
  for (const uint8_t number : {1, 2, 3}) add(number);
  EXPECT_FALSE(book_.ask(task_id(1), now_)) << "it has not been sent";
  EXPECT_FALSE(book_.ask(task_id(9), now_)) << "there is none";
  sent();
  for (const uint8_t number : {1, 2, 3}) EXPECT_TRUE(book_.ask(task_id(number), now_));
  EXPECT_TRUE(book_.take_asked().empty()) << "the stream has not acknowledged them";
  stored(1, 11);
  stored(2, 12);
  const TaskBook::Asked asked = book_.take_asked();
  EXPECT_EQ(asked, (TaskBook::Asked{{"s", {task_id(1), task_id(2)}}}));
  keep(book_.given_out("s", 11));
  keep(book_.unbegun(asked.at("s")));
  EXPECT_EQ(told_, (Words{"1 started", "2 unbegun"}));
  pass(kLookTimeout);
  EXPECT_EQ(told_.back(), "3 unbegun") << "who does not hear of it in time";
  EXPECT_EQ(told_.size(), 3u);
}

TEST_F(TaskBookTest, AnAnswerThatIsThereBeforeTheStreamsAcknowledgementEndsAllTheSame) {
  add(1);
  sent();
  EXPECT_TRUE(book_.answered(task_id(1), "shop", now_));
  heard(7, AckWord::kDone);
  stored(1, 7);
  EXPECT_EQ(book_.size(), 0u);
  EXPECT_EQ(deletes(), std::vector<uint64_t>());
}

TEST_F(TaskBookTest, TheMessageOfAnAnsweredTaskIsDeletedWhenItsWorkerDoesNotAcknowledge) {
  add(1);
  sent();
  stored(1, 7);
  EXPECT_TRUE(book_.answered(task_id(1), "shop", now_));
  EXPECT_FALSE(book_.answered(task_id(1), "shop", now_)) << "twice";
  pass(kGrace - Duration(1));
  EXPECT_EQ(deletes(), std::vector<uint64_t>());
  pass(Duration(1));
  EXPECT_EQ(deletes(), std::vector<uint64_t>{7});
  EXPECT_EQ(book_.size(), 0u);
}

TEST_F(TaskBookTest, WhatTheStreamDoesNotAcknowledgeInTimeIsSentAgain) {
  add(1);
  EXPECT_EQ(sent(), std::vector<int>{1});
  pass(kAckTimeout - Duration(1));
  EXPECT_EQ(sent(), std::vector<int>());
  pass(Duration(1));
  EXPECT_EQ(sent(), std::vector<int>{1});
  stored(1, 7, true);
  EXPECT_EQ(book_.unsent(), 0u);
  pass(kAckTimeout);
  EXPECT_EQ(sent(), std::vector<int>());
  EXPECT_EQ(book_.size(), 1u);
}

TEST_F(TaskBookTest, OnlySoManyAreSentAheadOfTheStream) {
  for (const uint8_t number : {1, 2, 3, 4, 5}) add(number);
  EXPECT_EQ(sent(), (std::vector<int>{1, 2, 3}));
  EXPECT_FALSE(book_.has_mail(true));
  stored(1, 1);
  EXPECT_EQ(sent(), std::vector<int>{4});
}

TEST_F(TaskBookTest, WithoutTheStreamOnlyServicesAreAsked) {
  add(1);
  add(2, false);
  EXPECT_EQ(sent(false), std::vector<int>{2});
  EXPECT_FALSE(book_.has_mail(false));
  EXPECT_EQ(sent(true), std::vector<int>{1});
}

TEST_F(TaskBookTest, AServiceHasBegunOnceTheBrokerHasTakenItsRequest) {
  add(1, false);
  add(2, false);
  sent();
  EXPECT_TRUE(book_.answered(task_id(2), std::nullopt, now_));
  for (const uint8_t number : {1, 2}) {
    if (const auto report = book_.delivered(task_id(number))) keep({*report});
  }
  EXPECT_EQ(told_, (Words{"1 started"}));
  EXPECT_FALSE(book_.delivered(task_id(1))) << "twice";
}

TEST_F(TaskBookTest, WhatWasNotTakenForCertainIsSentAgainInItsOrder) {
  for (const uint8_t number : {1, 2, 3}) add(number);
  add(4, false);
  add(5, false);
  sent();
  stored(2, 1);
  book_.delivered(task_id(4));
  book_.link_lost();
  EXPECT_EQ(sent(), (std::vector<int>{5, 1, 3}));
}

TEST_F(TaskBookTest, WhatIsStoppedOnItsWayIsDeletedWhenItsPlaceIsKnown) {
  add(1);
  sent();
  book_.stop(task_id(1));
  sent();
  EXPECT_EQ(mail_.stops, std::vector<InstanceId>{task_id(1)});
  stored(1, 7);
  EXPECT_EQ(deletes(), std::vector<uint64_t>{7});
  EXPECT_EQ(book_.size(), 0u);
}

TEST_F(TaskBookTest, WhatIsStoppedBeforeItLeftIsNothingToAnybody) {
  add(1);
  book_.stop(task_id(1));
  EXPECT_EQ(sent(), std::vector<int>());
  EXPECT_TRUE(mail_.empty());
  EXPECT_EQ(book_.unsent(), 0u);
}

TEST_F(TaskBookTest, WhatIsStoppedAndMayNotHaveArrivedIsNotSentAgain) {
  add(1);
  sent();
  book_.stop(task_id(1));
  book_.link_lost();
  EXPECT_EQ(sent(), std::vector<int>());
  EXPECT_EQ(book_.size(), 0u);
}

TEST_F(TaskBookTest, WhatIsGivenBackEndsUnlessItsAnswerComesSoon) {
  for (const uint8_t number : {1, 2}) add(number);
  sent();
  stored(1, 1);
  stored(2, 2);
  heard(1, AckWord::kNak);
  heard(2, AckWord::kTerm);
  EXPECT_TRUE(book_.answered(task_id(2), "shop", now_));
  pass(kGrace);
  EXPECT_EQ(told_, (Words{"1 !millrace.function.unavailable: a worker gave the task back without "
                          "an answer"}));
  EXPECT_EQ(deletes(), std::vector<uint64_t>{1});
  EXPECT_EQ(book_.size(), 0u);
}

TEST_F(TaskBookTest, AStreamThatGoesBackHasLostWhatWasBehind) {
  for (const uint8_t number : {1, 2, 3}) add(number);
  sent();
  stored(1, 5);
  stored(2, 6);
  stored(3, 7);
  book_.stop(task_id(3));
  add(4);
  sent();
  mail_ = TaskMail();
  stored(4, 6);
  EXPECT_EQ(told_, (Words{"2 !millrace.function.unavailable: the broker has lost the task"}));
  EXPECT_EQ(book_.newest(), 6u);
  heard(6, AckWord::kAlive);
  heard(5, AckWord::kAlive);
  EXPECT_EQ(told_.back(), "1 started");
  EXPECT_EQ(told_[1], "4 started");
}

TEST_F(TaskBookTest, WhatIsToBeDeletedInAStreamThatIsGoneIsNotDeletedInItsSuccessor) {
  add(1);
  sent();
  stored(1, 7);
  book_.stop(task_id(1));
  keep(book_.lost(1, 7));
  EXPECT_EQ(deletes(), std::vector<uint64_t>());
  EXPECT_EQ(told_, Words());
}

TEST_F(TaskBookTest, WhatCouldNotBeSentIsTakenBackLater) {
  add(1);
  sent();
  stored(1, 7);
  book_.stop(task_id(1));
  sent();
  book_.not_sent(std::move(mail_));
  sent();
  EXPECT_EQ(mail_.deletes, std::vector<uint64_t>{7});
  EXPECT_EQ(mail_.stops, std::vector<InstanceId>{task_id(1)});
}

}  // namespace
}  // namespace millrace
