#include "broker/task_book.h"

#include <gmock/gmock.h>

#include "tests/unit/broker/task_book_fixture.h"

namespace millrace {
namespace {

TEST_F(TaskBookTest, KeepsAHeartbeatThatComesBeforeTheAcknowledgementOfTheStream) {
  add(1);
  sent();
  heard(7, AckWord::kAlive);
  heard(7, AckWord::kAlive);
  EXPECT_EQ(reports_, Words());
  stored(1, 7);
  EXPECT_EQ(reports_, (Words{"1 started"}));
  heard(7, AckWord::kAlive);
  EXPECT_EQ(reports_, (Words{"1 started", "1 alive"}));
}

TEST_F(TaskBookTest, TakesAcknowledgementsOnlyFromTheConsumerOfTheTask) {
  add(1), add(2);
  sent();
  heard(8, AckWord::kTerm, "evil+charge");
  stored(1, 7), stored(2, 8);
  heard(7, AckWord::kTerm, "evil+charge");
  heard(7, AckWord::kAlive, "evil+charge");
  pass(kGrace);
  EXPECT_EQ(reports_, Words());
  heard(7, AckWord::kAlive);
  EXPECT_EQ(reports_, (Words{"1 started"}));
}

TEST_F(TaskBookTest, IgnoresAnAnswerToATaskOfAnotherNamespace) {
  add(1);
  sent();
  stored(1, 7);
  EXPECT_FALSE(book_.answered(task_id(1), "evil", now_));
  pass(kGrace);
  EXPECT_EQ(deletes(), std::vector<uint64_t>());
  EXPECT_TRUE(book_.answered(task_id(1), "shop", now_));
}

TEST_F(TaskBookTest, ReportsHeartbeatsThatFollowSoonOnOneAnotherOnce) {
  add(1);
  sent();
  stored(1, 7);
  EXPECT_EQ(book_.since_heartbeat(task_id(1), now_), std::nullopt);
  for (int i = 0; i < 1'000; ++i) heard(7, AckWord::kAlive);
  EXPECT_EQ(reports_, (Words{"1 started", "1 alive"}));
  pass(Duration(60));
  heard(7, AckWord::kAlive);
  pass(Duration(40));
  EXPECT_EQ(reports_, (Words{"1 started", "1 alive"}));
  EXPECT_EQ(book_.since_heartbeat(task_id(1), now_), Duration(40)) << "it was not reported";
  heard(7, AckWord::kAlive);
  EXPECT_EQ(reports_, (Words{"1 started", "1 alive", "1 alive"}));
  EXPECT_EQ(book_.since_heartbeat(task_id(1), now_), Duration(0));
  EXPECT_EQ(book_.since_heartbeat(task_id(2), now_), std::nullopt);
}

TEST_F(TaskBookTest, SendsFurtherRequestsOfANamespaceWhenItsServicesHaveAnswered) {
  for (const uint8_t number : {1, 2, 3, 4, 5}) add(number, false);
  book_.add(task_id(9), "other", false, NatsMessage{.subject = "theirs", .data = "x"});
  EXPECT_EQ(sent(), (std::vector<int>{1, 2, 9}));
  EXPECT_EQ(sent(), std::vector<int>()) << "the others wait";
  book_.stop(task_id(3));
  book_.link_lost();
  EXPECT_EQ(sent(), (std::vector<int>{1, 2, 9})) << "they have their places already";
  for (const uint8_t number : {1, 2, 9}) book_.delivered(task_id(number), now_);
  EXPECT_TRUE(book_.answered(task_id(2), std::nullopt, now_));
  EXPECT_EQ(sent(), (std::vector<int>{4})) << "the third was stopped";
  EXPECT_TRUE(book_.failed(task_id(4)));
  EXPECT_EQ(sent(), (std::vector<int>{5}));
  EXPECT_FALSE(book_.has_mail(false));
}

TEST_F(TaskBookTest, CountsTheBytesOfANamespaceThatTheBrokerDoesNotHave) {
  const uint64_t one = std::string_view(kTaskSubject).size() + 1;
  EXPECT_EQ(book_.unsent_bytes("shop"), 0U);
  add(1), add(2), add(3, false);
  EXPECT_EQ(book_.unsent_bytes("shop"), 3 * one);
  EXPECT_EQ(book_.unsent_bytes("other"), 0U);
  sent();
  EXPECT_EQ(book_.unsent_bytes("shop"), 3 * one) << "the broker has not accepted them";
  stored(1, 7);
  EXPECT_EQ(book_.unsent_bytes("shop"), 2 * one);
  EXPECT_TRUE(book_.delivered(task_id(3), now_));
  EXPECT_EQ(book_.unsent_bytes("shop"), one);
  book_.link_lost();
  EXPECT_EQ(book_.unsent_bytes("shop"), one);
  book_.stop(task_id(2));
  EXPECT_EQ(book_.unsent_bytes("shop"), 0U) << "a stopped task is not sent again";
}

TEST_F(TaskBookTest, ForgetsAcknowledgementsOfForeignMessages) {
  add(1);
  sent();
  for (uint64_t foreign = 100; foreign < 120'000; ++foreign) {
    heard(foreign, AckWord::kAlive, "theirs+mail");
    pass(Duration(foreign % 100 == 0));  // lets a millisecond pass after every hundred messages
  }
  EXPECT_LE(book_.overheard(), 16'384u);
  heard(120'000, AckWord::kAlive);
  stored(1, 120'000);
  EXPECT_EQ(reports_, (Words{"1 started"}))
      << "an acknowledgement by the consumer of the task is kept";
  add(2);
  sent();
  heard(120'002, AckWord::kAlive, "theirs+mail");
  EXPECT_EQ(book_.overheard(), 1u);
  pass(Duration(10'000));
  EXPECT_EQ(book_.overheard(), 0u);
}

TEST_F(TaskBookTest, ReportsADeliveredTaskAsStartedEvenWithoutAHeartbeat) {
  for (const uint8_t number : {1, 2, 3}) add(number);
  sent();
  EXPECT_FALSE(book_.waits_for_workers());
  for (const uint8_t number : {1, 2, 3}) stored(number, 10 + number);
  heard(11, AckWord::kAlive);
  EXPECT_EQ(book_.waiting_subjects(), (std::vector<std::string>{kTaskSubject}));
  record(book_.given_out(kTaskSubject, 12));
  EXPECT_EQ(reports_, (Words{"1 started", "2 started"}));
  record(book_.given_out("another", 13));
  heard(12, AckWord::kAlive);
  EXPECT_EQ(reports_, (Words{"1 started", "2 started", "2 alive"}));
  book_.stop(task_id(3));
  EXPECT_FALSE(book_.waits_for_workers());
}

TEST_F(TaskBookTest, ReportsOnRequestWhetherAWorkerHasATask) {
  for (const uint8_t number : {1, 2, 3}) add(number);
  EXPECT_FALSE(book_.ask(task_id(1), now_)) << "the task has not been sent";
  EXPECT_FALSE(book_.ask(task_id(9), now_)) << "the task does not exist";
  sent();
  for (const uint8_t number : {1, 2, 3}) EXPECT_TRUE(book_.ask(task_id(number), now_));
  EXPECT_TRUE(book_.take_asked().empty()) << "the stream has not acknowledged the tasks";
  stored(1, 11);
  stored(2, 12);
  const TaskBook::Asked asked = book_.take_asked();
  const std::string subject = "millrace.tasks.shop.charge";
  ASSERT_EQ(asked, (TaskBook::Asked{{subject, {task_id(1), task_id(2)}}}));
  record(book_.given_out(subject, 11));
  record(book_.not_started(asked.at(subject)));
  EXPECT_EQ(reports_, (Words{"1 started", "2 unbegun"}));
  pass(kLookTimeout);
  EXPECT_EQ(reports_.back(), "3 unbegun")
      << "the broker did not answer in time whether a worker has task 3";
  EXPECT_EQ(reports_.size(), 3u);
}

TEST_F(TaskBookTest, TakesAnAnswerThatComesBeforeTheAcknowledgementOfTheStream) {
  add(1);
  sent();
  EXPECT_TRUE(book_.answered(task_id(1), "shop", now_));
  heard(7, AckWord::kDone);
  stored(1, 7);
  EXPECT_EQ(book_.size(), 0u);
  EXPECT_EQ(deletes(), std::vector<uint64_t>());
}

TEST_F(TaskBookTest, DeletesTheMessageOfAnAnsweredTaskThatItsWorkerDoesNotAcknowledge) {
  add(1);
  sent();
  stored(1, 7);
  EXPECT_TRUE(book_.answered(task_id(1), "shop", now_));
  EXPECT_FALSE(book_.answered(task_id(1), "shop", now_)) << "the second answer has no effect";
  pass(kGrace - Duration(1));
  EXPECT_EQ(deletes(), std::vector<uint64_t>());
  pass(Duration(1));
  EXPECT_EQ(deletes(), std::vector<uint64_t>{7});
  EXPECT_EQ(book_.size(), 0u);
}

TEST_F(TaskBookTest, SendsATaskAgainIfTheStreamDoesNotAcknowledgeTheTaskInTime) {
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

TEST_F(TaskBookTest, LimitsTheNumberOfMessagesThatTheStreamHasNotAcknowledged) {
  for (const uint8_t number : {1, 2, 3, 4, 5}) add(number);
  EXPECT_EQ(sent(), (std::vector<int>{1, 2, 3}));
  EXPECT_FALSE(book_.has_mail(true));
  stored(1, 1);
  EXPECT_EQ(sent(), std::vector<int>{4});
}

TEST_F(TaskBookTest, SendsOnlyRequestsToServicesUntilTheStreamIsReady) {
  add(1);
  add(2, false);
  EXPECT_EQ(sent(false), std::vector<int>{2});
  EXPECT_FALSE(book_.has_mail(false));
  EXPECT_EQ(sent(true), std::vector<int>{1});
}

TEST_F(TaskBookTest, ReportsATaskOfAServiceAsStartedWhenTheBrokerHasItsRequest) {
  add(1, false);
  add(2, false);
  sent();
  EXPECT_TRUE(book_.answered(task_id(2), std::nullopt, now_));
  for (const uint8_t number : {1, 2}) {
    if (const auto report = book_.delivered(task_id(number), now_)) record({*report});
  }
  EXPECT_EQ(reports_, (Words{"1 started"}));
  EXPECT_FALSE(book_.delivered(task_id(1), now_)) << "the second call has no effect";
}

TEST_F(TaskBookTest, EndsTheRequestsThatWereSentOnARefusedSubject) {
  for (const uint8_t number : {1, 2, 3, 4}) add_request(number, number == 2 ? "svc.b" : "svc.a");
  add(5);
  EXPECT_EQ(sent(), (std::vector<int>{1, 2, 5}));
  record({*book_.delivered(task_id(1), now_)});
  record(book_.refused(kTaskSubject));
  record(book_.refused("svc.c"));
  EXPECT_EQ(reports_, (Words{"1 started"})) << "these subjects have no requests";
  record(book_.refused("svc.a"));
  ASSERT_EQ(reports_.size(), 2U) << "the tasks 3 and 4 were not sent";
  EXPECT_THAT(reports_[1], testing::StartsWith("1 !millrace.function.refused: NATS refused the "
                                               "request on the subject svc.a: "));
  EXPECT_FALSE(book_.answered(task_id(1), std::nullopt, now_));
  EXPECT_EQ(sent(), std::vector<int>{3}) << "in the place of the refused request";
  record(book_.refused("svc.a"));
  EXPECT_THAT(reports_.back(), testing::StartsWith("3 !millrace.function.refused: "));
  EXPECT_TRUE(book_.answered(task_id(2), std::nullopt, now_));
  EXPECT_EQ(sent(), std::vector<int>{4});
  book_.stop(task_id(4));
  EXPECT_EQ(book_.refused("svc.a").size(), 0U);
  EXPECT_EQ(book_.size(), 1U) << "the task of the work queue";
}

TEST_F(TaskBookTest, SendsUnacknowledgedMessagesAgainInOrderAfterALostConnection) {
  for (const uint8_t number : {1, 2, 3}) add(number);
  add(4, false);
  add(5, false);
  sent();
  stored(2, 1);
  book_.delivered(task_id(4), now_);
  book_.link_lost();
  EXPECT_EQ(sent(), (std::vector<int>{5, 1, 3}));
}

TEST_F(TaskBookTest, DeletesAStoppedTaskWhenItsSequenceIsKnown) {
  add(1);
  sent();
  book_.stop(task_id(1));
  sent();
  EXPECT_EQ(mail_.stops, std::vector<InstanceId>{task_id(1)});
  stored(1, 7);
  EXPECT_EQ(deletes(), std::vector<uint64_t>{7});
  EXPECT_EQ(book_.size(), 0u);
}

TEST_F(TaskBookTest, SendsNothingForATaskThatIsStoppedBeforeItIsSent) {
  add(1);
  book_.stop(task_id(1));
  EXPECT_EQ(sent(), std::vector<int>());
  EXPECT_TRUE(mail_.empty());
  EXPECT_EQ(book_.unsent(), 0u);
}

TEST_F(TaskBookTest, DoesNotSendAStoppedTaskAgainAfterALostConnection) {
  add(1);
  sent();
  book_.stop(task_id(1));
  book_.link_lost();
  EXPECT_EQ(sent(), std::vector<int>());
  EXPECT_EQ(book_.size(), 0u);
}

TEST_F(TaskBookTest, EndsATaskThatAWorkerGivesBackUnlessItsAnswerComesSoon) {
  for (const uint8_t number : {1, 2}) add(number);
  sent();
  stored(1, 1);
  stored(2, 2);
  heard(1, AckWord::kNak);
  heard(2, AckWord::kTerm);
  EXPECT_TRUE(book_.answered(task_id(2), "shop", now_));
  pass(kGrace);
  EXPECT_EQ(reports_,
            (Words{"1 !millrace.function.unavailable: a worker gave the task back without "
                   "an answer"}));
  EXPECT_EQ(deletes(), std::vector<uint64_t>{1});
  EXPECT_EQ(book_.size(), 0u);
}

TEST_F(TaskBookTest, ReportsTasksAsLostIfTheStreamOfTasksUsesTheirSequencesAgain) {
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
  EXPECT_EQ(reports_, (Words{"2 !millrace.function.unavailable: the broker has lost the task"}));
  EXPECT_EQ(book_.newest(), 6u);
  heard(6, AckWord::kAlive);
  heard(5, AckWord::kAlive);
  EXPECT_EQ(reports_.back(), "1 started");
  EXPECT_EQ(reports_[1], "4 started");
}

TEST_F(TaskBookTest, DoesNotDeleteAMessageThatTheBrokerHasLost) {
  add(1);
  sent();
  stored(1, 7);
  book_.stop(task_id(1));
  record(book_.lost(1, 7));
  EXPECT_EQ(deletes(), std::vector<uint64_t>());
  EXPECT_EQ(reports_, Words());
}

TEST_F(TaskBookTest, RepeatsStopsAndDeletionsThatCouldNotBeSent) {
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

TEST_F(TaskBookTest, EndsATaskWhoseServiceDoesNotAnswerWithinItsLimit) {
  constexpr Duration kLimit{60'000};
  book_.add(task_id(1), "shop", false, NatsMessage{.subject = "svc", .data = "x"}, kLimit);
  add(2, false);
  EXPECT_EQ(sent(), (std::vector<int>{1, 2}));
  pass(kLimit);
  EXPECT_EQ(reports_, Words()) << "the time begins when the service has the request";
  for (const uint8_t number : {1, 2}) record({*book_.delivered(task_id(number), now_)});
  EXPECT_EQ(reports_, (Words{"1 started", "2 started"}));
  EXPECT_EQ(book_.next_time(), now_ + kLimit);
  pass(kLimit - Duration(1));
  EXPECT_EQ(reports_.size(), 2U);
  pass(Duration(1));
  ASSERT_EQ(reports_.size(), 3U);
  EXPECT_TRUE(reports_[2].starts_with("1 !millrace.timeout.startToClose: ")) << reports_[2];
  EXPECT_EQ(book_.take_mail(false, 0, now_).stops, (std::vector<InstanceId>{task_id(1)}));
  EXPECT_EQ(book_.is_queued(task_id(1)), std::nullopt);
  pass(std::chrono::hours(1));
  EXPECT_EQ(reports_.size(), 3U) << "a task without a limit waits";
}

TEST_F(TaskBookTest, EndsNoTaskWhoseServiceAnswersWithinItsLimit) {
  book_.add(task_id(1), "shop", false, NatsMessage{.subject = "svc", .data = "x"}, Duration(10));
  sent();
  book_.delivered(task_id(1), now_);
  EXPECT_TRUE(book_.answered(task_id(1), std::nullopt, now_));
  pass(Duration(10));
  EXPECT_EQ(reports_, Words());
}

}  // namespace
}  // namespace millrace
