// TaskBook: inherited tasks, which another process may have sent and whose answers it may have
// received. A task is doubtful until it is known whether the stream has its message or its answer.
#include "broker/task_message.h"
#include "tests/unit/broker/task_book_fixture.h"

namespace millrace {
namespace {

TEST_F(TaskBookTest, AsksOnlyForTheMessageOfAnInheritedTaskThatIsADuplicate) {
  inherit(1), inherit(2), add(3);
  sent();
  stored(3, 7, true), stored(1, 8, true), stored(2, 9);
  EXPECT_EQ(asked(), (Words{"1 message 8"}));
  EXPECT_EQ(book_.unsent(), 0u);
}

TEST_F(TaskBookTest, TreatsAnInheritedTaskWhoseMessageTheStreamHasLikeAnyOther) {
  inherit(1);
  sent();
  stored(1, 7, true);
  asked();
  record(book_.given_out(kTaskSubject, 7));
  EXPECT_EQ(reports_, Words()) << "it is not known yet whether the stream has this message";
  found(1, About::kMessage, true);
  pass(kAckTimeout);
  EXPECT_EQ(asked(), Words());
  EXPECT_TRUE(mail_.messages.empty());
  record(book_.given_out(kTaskSubject, 7));
  EXPECT_EQ(reports_, (Words{"1 started"}));
}

TEST_F(TaskBookTest, SendsAnInheritedTaskAgainIfItsMessageIsGoneAndThereIsNoAnswer) {
  inherit(1);
  sent();
  stored(1, 7, true);
  asked();
  found(1, About::kMessage, false);
  pass(kGrace - Duration(1));
  EXPECT_EQ(asked(), Words());
  EXPECT_TRUE(mail_.messages.empty());
  pass(Duration(1));
  EXPECT_EQ(asked(), (Words{"1 answer"}));
  found(1, About::kAnswer, false);
  EXPECT_EQ(book_.unsent(), 1u);
  EXPECT_EQ(sent(), std::vector<int>{1});
  EXPECT_TRUE(mail_.messages.front().again);
  EXPECT_EQ(mail_.messages.front().message->headers,
            sent_again(inherited_message(1), "here").headers);
  stored(1, 7, true);
  EXPECT_EQ(book_.unsent(), 1u) << "this acknowledgement is a late one of the first message";
  stored(1, 9);
  heard(7, AckWord::kAlive);
  EXPECT_EQ(reports_, Words());
  heard(9, AckWord::kAlive);
  EXPECT_EQ(reports_, (Words{"1 started"}));
  EXPECT_TRUE(book_.answered(task_id(1), "shop", now_));
  heard(9, AckWord::kDone);
  EXPECT_EQ(book_.size(), 0u);
}

TEST_F(TaskBookTest, DoesNotSendAnInheritedTaskAThirdTime) {
  inherit_without_message(1, 7);
  found(1, About::kAnswer, false);
  sent();
  stored(1, 9, true);
  pass(kAckTimeout);
  EXPECT_EQ(asked(), Words());
  EXPECT_TRUE(mail_.messages.empty());
  EXPECT_EQ(book_.size(), 1u);
}

TEST_F(TaskBookTest, WaitsForAnAnswerToAnInheritedTaskThatIsInItsStream) {
  inherit_without_message(1, 7);
  found(1, About::kAnswer, true);
  EXPECT_EQ(asked(), Words());
  pass(kGrace);
  EXPECT_EQ(asked(), (Words{"1 answer"})) << "the answer may be removed without being read";
  EXPECT_TRUE(book_.answered(task_id(1), "shop", now_));
  found(1, About::kAnswer, false);
  EXPECT_EQ(book_.size(), 0u);
  EXPECT_FALSE(book_.has_mail(true));
}

TEST_F(TaskBookTest, DoesNotSendAnInheritedTaskAgainIfItsWorkerSendsAnAcknowledgement) {
  inherit(1);
  sent();
  heard(7, AckWord::kDone);
  stored(1, 7, true);
  EXPECT_EQ(asked(), Words());

  inherit(2);
  sent();
  stored(2, 8, true);
  asked();
  heard(8, AckWord::kDone);
  found(2, About::kMessage, false);

  inherit_without_message(3, 9);
  heard(9, AckWord::kAlive);
  found(3, About::kAnswer, false);

  pass(kAckTimeout);
  EXPECT_EQ(asked(), Words());
  EXPECT_TRUE(mail_.messages.empty());
  EXPECT_EQ(reports_, (Words{"1 started", "2 started", "3 started"}));
}

TEST_F(TaskBookTest, EndsAnInheritedTaskThatAWorkerGivesBack) {
  inherit(1);
  sent();
  stored(1, 7, true);
  asked();
  heard(7, AckWord::kTerm);
  found(1, About::kMessage, false);
  pass(kGrace);
  EXPECT_EQ(reports_,
            (Words{"1 !millrace.function.unavailable: a worker gave the task back without "
                   "an answer"}));
  EXPECT_EQ(book_.size(), 0u);
}

TEST_F(TaskBookTest, SendsNothingForADoubtfulTaskThatIsStopped) {
  inherit(1);
  sent();
  stored(1, 7, true);
  asked();
  book_.stop(task_id(1));
  found(1, About::kMessage, false);
  EXPECT_EQ(asked(), Words());
  EXPECT_EQ(mail_.deletes, std::vector<uint64_t>{7});
  EXPECT_EQ(mail_.stops, std::vector<InstanceId>{task_id(1)});

  inherit_without_message(2, 8);
  book_.stop(task_id(2));
  found(2, About::kAnswer, false);
  EXPECT_EQ(sent(), std::vector<int>());
  EXPECT_TRUE(mail_.deletes.empty());
  EXPECT_EQ(mail_.stops, std::vector<InstanceId>{task_id(2)});

  inherit_without_message(3, 9);
  found(3, About::kAnswer, false);
  book_.stop(task_id(3));
  EXPECT_EQ(sent(), std::vector<int>());
  EXPECT_EQ(mail_.stops, std::vector<InstanceId>{task_id(3)})
      << "a worker may still have the first message";
  EXPECT_EQ(book_.size(), 0u);
  EXPECT_EQ(book_.unsent(), 0u);
}

TEST_F(TaskBookTest, DeletesTheSecondMessageOfAStoppedTask) {
  inherit_without_message(1, 7);
  found(1, About::kAnswer, false);
  sent();
  book_.stop(task_id(1));
  stored(1, 9);
  EXPECT_EQ(deletes(), std::vector<uint64_t>{9});
  EXPECT_EQ(book_.size(), 0u);
}

TEST_F(TaskBookTest, AsksAgainIfTheBrokerDoesNotAnswerOrTheConnectionIsLost) {
  inherit(1);
  sent();
  stored(1, 7, true);
  const Words question = {"1 message 7"};
  EXPECT_EQ(asked(), question);
  pass(kAckTimeout - Duration(1));
  EXPECT_EQ(asked(), Words());
  pass(Duration(1));
  EXPECT_EQ(asked(), question);
  book_.link_lost();
  EXPECT_EQ(asked(), question);
  found(1, About::kAnswer, false);
  EXPECT_EQ(sent(), std::vector<int>()) << "the question about the answer is not open";
}

TEST_F(TaskBookTest, SendsAnInheritedTaskAgainOverALostConnection) {
  inherit_without_message(1, 7);
  found(1, About::kAnswer, false);
  EXPECT_EQ(sent(), std::vector<int>{1});
  book_.link_lost();
  EXPECT_EQ(sent(), std::vector<int>{1});
  EXPECT_EQ(mail_.messages.front().message->headers,
            sent_again(inherited_message(1), "here").headers);
}

TEST_F(TaskBookTest, LimitsTheNumberOfQuestionsThatTheBrokerHasNotAnswered) {
  for (const uint8_t number : {1, 2, 3}) inherit(number);
  sent();
  for (const uint8_t number : {1, 2, 3}) stored(number, 10 + number, true);
  EXPECT_TRUE(book_.has_mail(true));
  EXPECT_FALSE(book_.has_mail(false)) << "questions need the streams";
  EXPECT_EQ(asked(), (Words{"1 message 11", "2 message 12"}));
  EXPECT_FALSE(book_.has_mail(true));
  found(2, About::kMessage, true);
  EXPECT_EQ(asked(), (Words{"3 message 13"}));
  add(4);
  EXPECT_EQ(sent(), std::vector<int>{4}) << "open questions hold back no message";
}

TEST_F(TaskBookTest, ReportsADoubtfulTaskAsNotStartedWhenItsMessageIsGone) {
  inherit(1);
  sent();
  stored(1, 7, true);
  asked();
  EXPECT_TRUE(book_.ask(task_id(1), now_));
  EXPECT_TRUE(book_.take_asked().empty()) << "a worker may have the message";
  found(1, About::kMessage, false);
  const TaskBook::Asked asked_tasks = book_.take_asked();
  ASSERT_EQ(asked_tasks, (TaskBook::Asked{{kTaskSubject, {task_id(1)}}}));
  record(book_.given_out(kTaskSubject, 7));
  record(book_.not_started(asked_tasks.at(kTaskSubject)));
  EXPECT_EQ(reports_, (Words{"1 unbegun"}));
}

TEST_F(TaskBookTest, EndsADoubtfulTaskThatTheBrokerHasLost) {
  inherit(1);
  sent();
  stored(1, 7, true);
  asked();
  record(book_.lost(1, 7));
  found(1, About::kMessage, false);
  EXPECT_EQ(reports_, (Words{"1 !millrace.function.unavailable: the broker has lost the task"}));
  EXPECT_EQ(book_.size(), 0u);
  EXPECT_FALSE(book_.has_mail(true));
}

}  // namespace
}  // namespace millrace
