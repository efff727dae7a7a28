// TaskQueue: answers and acknowledgements of workers, and which of them end a task. No answer and
// no acknowledgement is lost.
#include <atomic>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "broker/streams.h"
#include "tests/support/tcp_proxy.h"
#include "tests/unit/broker/task_queue_fixture.h"

namespace millrace {
namespace {

/// The settings of a process whose data folder is newer than queue_task().
TaskQueueSettings of_a_restored_store() {
  return {.folder = {.mark = "restored", .made = time_of(task_id(1)) + Duration(1)},
          .grace = Duration(1)};
}

TEST_F(TaskQueueTest, TakesAnAcknowledgementAsAHeartbeatAndALaterAnswerAsTheEnd) {
  open();
  queue_->run(queue_task(1));
  Worker worker(server_);
  const Message task = worker.take().value();
  worker.say(task, "+ACK");
  EXPECT_TRUE(sink_.wait_for_reports(task_id(1), "started", 1));
  EXPECT_EQ(sink_.wait_for_ends(task_id(1), 0), Words());
  worker.answer(task, "1");
  EXPECT_EQ(sink_.wait_for_ends(task_id(1), 1), (Words{"1"}));
  expect_starts(1);
}

TEST_F(TaskQueueTest, ReportsThatAWorkerHasAcceptedATaskAndRemovesItsMessage) {
  const std::string accepted = "Millrace-Answer: accepted\r\n";
  open({.grace = Duration(1)});
  Worker worker(server_);
  Task task = queue_task(1);
  task.callback = {.url = "http://m/v1/ns/shop/callbacks/k", .key = "0f"};
  queue_->run(task);
  const Message taken = worker.take().value();
  EXPECT_EQ(Worker::header(taken, "Millrace-Callback"), task.callback->url);
  EXPECT_EQ(Worker::header(taken, "Millrace-Callback-Subject"),
            "millrace.callbacks.0.shop." + to_string(task_id(1)));
  EXPECT_EQ(Worker::header(taken, "Millrace-Key"), "0f");
  worker.answer(taken, "", accepted);
  EXPECT_EQ(sink_.wait_for_ends(task_id(1), 1), (Words{"accepted"}));
  EXPECT_EQ(sink_.ns_of(task_id(1)), "shop") << "the sink compares the namespaces";
  EXPECT_TRUE(empties(kTasksStream)) << "without an acknowledgement of the worker";
  EXPECT_TRUE(empties(kResultsStream));
  EXPECT_TRUE(becomes_true([&] { return queue_->counts().tasks == 0; }));

  queue_->run(queue_task(2));
  worker.answer(worker.take().value(), "body", accepted);
  EXPECT_EQ(sink_.wait_for_end(task_id(2)), "body") << "it cannot be answered later";
  client_->publish_acked(reply_subject("shop", task_id(3)), accepted, "");
  EXPECT_EQ(sink_.wait_for_end(task_id(3)), "accepted") << "a task of an earlier process";
}

TEST_F(TaskQueueTest, EndsATaskThatAWorkerGivesBack) {
  open({.grace = Duration(1)});
  Worker worker(server_);
  for (const char* const word : {"-NAK", "+TERM"}) {
    const uint8_t number = word[0] == '-' ? 1 : 2;
    queue_->run(queue_task(number));
    worker.say(worker.take().value(), word);
    EXPECT_EQ(sink_.wait_for_end(task_id(number)),
              "!millrace.function.unavailable: a worker gave the task back without an "
              "answer");
  }
  EXPECT_TRUE(empties(kTasksStream)) << "no other worker gets these tasks";
}

TEST_F(TaskQueueTest, TakesAnAnswerAfterTheWorkerGaveTheTaskBack) {
  open({.grace = kPatience});
  queue_->run(queue_task(1));
  Worker worker(server_);
  const Message task = worker.take().value();
  worker.say(task, "+TERM");
  worker.answer(task, "", "Direktiv-ErrorCode: card.declined\r\nDirektiv-ErrorMessage: no\r\n");
  EXPECT_EQ(sink_.wait_for_end(task_id(1)), "!card.declined: no");
}

TEST_F(TaskQueueTest, ReadsErrorsFromHeadersInAnySpelling) {
  open();
  Worker worker(server_);
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"Direktiv-ErrorCode: card.declined\r\nDirektiv-ErrorMessage: not today\r\n",
       "!card.declined: not today"},
      {"direktiv-errorcode: card.declined\r\nDIREKTIV-ERRORMESSAGE: at: noon\r\n",
       "!card.declined: at: noon"},
      {"Nats-Service-Error-Code: 404\r\nNats-Service-Error: no such card\r\n",
       "!404: no such card"},
      {"nats-service-error: only words\r\n", "!millrace.function.status: only words"},
      {"Direktiv-ErrorCode: \r\nDirektiv-ErrorMessage: \r\n", "body"},
      {"X-Empty:\r\nDirektiv-ErrorCode: behind.it\r\n", "!behind.it: "},
      {"Direktiv-ErrorCode: no code!\r\nDirektiv-ErrorMessage: \xff?\r\n",
       "!millrace.function.status: \"no code!\" is not a valid error code: ??"},
  };
  for (size_t i = 0; i < rows.size(); ++i) {
    const auto number = static_cast<uint8_t>(i + 1);
    queue_->run(queue_task(number));
    worker.answer(worker.take().value(), "body", rows[i].first);
    EXPECT_EQ(sink_.wait_for_end(task_id(number)), rows[i].second) << rows[i].first;
  }
}

TEST_F(TaskQueueTest, ReportsDuplicateAndLateAnswersAndRemovesThemFromTheStream) {
  open();
  queue_->run(queue_task(1));
  Worker worker(server_);
  const Message task = worker.take().value();
  worker.answer(task, "1");
  worker.answer(task, "2");
  EXPECT_EQ(sink_.wait_for_ends(task_id(1), 2), (Words{"1", "2"}));
  queue_->run(queue_task(2));
  const Message late = worker.take().value();
  queue_->stop(task_id(2));
  worker.answer(late, "3");
  EXPECT_EQ(sink_.wait_for_end(task_id(2)), "3") << "the sink decides whether the answer is late";
  EXPECT_TRUE(empties(kResultsStream));
}

TEST_F(TaskQueueTest, CountsAndDropsAnswersWithoutTheIdOfATask) {
  std::atomic<int> strays = 0;
  open({.on_stray = [&] { ++strays; }});
  ASSERT_TRUE(becomes_true([&] { return queue_->health().has_value(); }));
  const std::string id = to_string(task_id(7));
  client_->publish_acked("millrace.results.0.shop.unknown", "", "x");
  client_->publish_acked("millrace.results.x", "A: b\r\n", "");
  client_->publish_acked("millrace.results.by.header", "Direktiv-ActionID: " + id + "\r\n", "x");
  client_->publish_acked("millrace.results.1.shop." + id, "", "of another partition");
  client_->publish_acked("millrace.results.0.shop." + id, "", "named");
  EXPECT_EQ(sink_.wait_for_end(task_id(7)), "named");
  EXPECT_TRUE(empties(kResultsStream));
  EXPECT_EQ(queue_->counts().strays, 4u);
  EXPECT_EQ(queue_->counts().answers, 5u);
  EXPECT_EQ(strays, 4);
}

TEST_F(TaskQueueTest, TakesAnAnswerWhoseSubjectHasTheFormOfEarlierReleases) {
  open();
  queue_->run(queue_task(1));
  Worker worker(server_);
  const Message task = worker.take().value();
  client_->publish_acked("millrace.results.shop." + to_string(task_id(1)), "", "1");
  EXPECT_EQ(sink_.wait_for_ends(task_id(1), 1), (Words{"1"}));
  EXPECT_EQ(sink_.ns_of(task_id(1)), "shop");
  worker.say(task, "+ACK");
  EXPECT_TRUE(empties(kResultsStream));
}

TEST_F(TaskQueueTest, KeepsATaskIfAnotherNamespaceForgesItsAnswer) {
  open({.grace = Duration(1)});
  queue_->run(queue_task(1));
  Worker worker(server_);
  const Message task = worker.take().value();
  client_->publish_acked("millrace.results.0.evil." + to_string(task_id(1)), "", "forged");
  EXPECT_EQ(sink_.wait_for_ends(task_id(1), 1), (Words{"forged"}))
      << "the sink knows the namespace of the task";
  EXPECT_EQ(sink_.ns_of(task_id(1)), "evil");
  expect_no_report(2);
  EXPECT_TRUE(becomes_true([&] { return messages_in(kTasksStream) == 1; }))
      << "the worker still has the task";
  worker.answer(task, "1");
  EXPECT_EQ(sink_.wait_for_ends(task_id(1), 2), (Words{"forged", "1"}));
  EXPECT_EQ(sink_.ns_of(task_id(1)), "shop");
  EXPECT_TRUE(empties(kTasksStream));
}

TEST_F(TaskQueueTest, TakesAnAnswerThatLooksLikeAStatusOfTheBroker) {
  open();
  Worker worker(server_);
  uint8_t number = 0;
  for (const char* const status :
       {"100 Idle Heartbeat", "404 No Messages", "408 Request Timeout", "409 Consumer Deleted",
        "409 Batch Completed", "503", "503 No Responders"}) {
    queue_->run(queue_task(++number));
    const Message task = worker.take().value();
    client_->publish_with_status("millrace.results.shop.stray", status, "", "");
    client_->publish_with_status(Worker::header(task, "Millrace-Reply"), status, "", "");
    client_->flush();
    EXPECT_EQ(sink_.wait_for_end(task_id(number)), "") << status;
    EXPECT_THAT(sink_.words(task_id(number)), testing::Contains("")) << status;
    worker.say(task, "+ACK");
  }
  EXPECT_TRUE(empties(kResultsStream));
  EXPECT_TRUE(queue_->health());
}

/// The proxy corrupts each delivery of one answer, so that no consumer can deliver it.
TEST_F(TaskQueueTest, ReadsAnAnswerThatNoConsumerCanDeliver) {
  TcpProxy proxy(server_.port());
  connection_ = connect_to(proxy.nats_url());
  queue_ = std::make_unique<TaskQueue>(*connection_, sink_, patient());
  Worker worker(server_);
  queue_->run(queue_task(1));
  queue_->run(queue_task(2));
  const Message first = worker.take().value();
  const Message second = worker.take().value();
  proxy.spoil("spoiled", "$JS.ACK", "$JX.ACK");
  worker.answer(first, "spoiled");
  worker.answer(second, "2");
  EXPECT_EQ(sink_.wait_for_end(task_id(1)), "spoiled");
  EXPECT_EQ(sink_.wait_for_end(task_id(2)), "2");
  EXPECT_TRUE(empties(kResultsStream));
}

TEST_F(TaskQueueTest, ReadsAnUndeliverableAnswerIfTheStreamsHaveAnotherPrefix) {
  TcpProxy proxy(server_.port());
  connection_ = connect_to(proxy.nats_url());
  queue_ =
      std::make_unique<TaskQueue>(*connection_, sink_, patient({.streams = {.prefix = "orders"}}));
  ASSERT_TRUE(becomes_true([&] { return queue_->health().has_value(); }));
  proxy.spoil("spoiled", "$JS.ACK", "$JX.ACK");
  client_->publish_acked("orders.results.0.shop." + to_string(task_id(1)), "", "spoiled");
  EXPECT_EQ(sink_.wait_for_end(task_id(1)), "spoiled");
  EXPECT_TRUE(empties("ORDERS_RESULTS"));
}

TEST_F(TaskQueueTest, KeepsAnAnswerInTheStreamUntilItsReportIsStored) {
  open();
  sink_.hold_back();
  queue_->run(queue_task(1));
  Worker worker(server_);
  worker.answer(worker.take().value(), "1");
  EXPECT_EQ(sink_.wait_for_end(task_id(1)), "1");
  EXPECT_EQ(messages_in(kResultsStream), 1u);
  sink_.store();
  EXPECT_TRUE(empties(kResultsStream));
}

TEST_F(TaskQueueTest, ReportsNoMoreAnswersThanTheLimitOfUnstoredReports) {
  open({.most_unstored = 3});
  ASSERT_TRUE(becomes_true([&] { return queue_->health().has_value(); }));
  sink_.hold_back();
  for (int i = 0; i < 10; ++i) {
    client_->publish_acked("millrace.results.0.shop." + to_string(task_id(1)), "",
                           std::to_string(i));
  }
  ASSERT_TRUE(sink_.wait_for_all(3));
  EXPECT_EQ(sink_.unstored(), 3u);
  sink_.store();
  EXPECT_EQ(sink_.wait_for(task_id(1), 10).size(), 10u);
  EXPECT_TRUE(empties(kResultsStream));
}

TEST_F(TaskQueueTest, ReportsNoMoreBytesOfAnswersThanTheLimitOfUnstoredReports) {
  open({.most_unstored_bytes = 1'500});
  ASSERT_TRUE(becomes_true([&] { return queue_->health().has_value(); }));
  sink_.hold_back();
  const std::string answer(1'000, 'x');
  for (int i = 0; i < 5; ++i) {
    client_->publish_acked("millrace.results.0.shop." + to_string(task_id(1)), "", answer);
  }
  ASSERT_TRUE(sink_.wait_for_all(2));
  EXPECT_EQ(sink_.unstored(), 2u);
  sink_.store();
  EXPECT_EQ(sink_.wait_for(task_id(1), 5).size(), 5u);
  EXPECT_TRUE(empties(kResultsStream));
}

TEST_F(TaskQueueTest, ReportsAnUnstoredAnswerAgainAfterARestartOfMillrace) {
  open();
  sink_.hold_back();
  queue_->run(queue_task(1));
  Worker worker(server_);
  worker.answer(worker.take().value(), "1");
  ASSERT_EQ(sink_.wait_for_end(task_id(1)), "1");
  restart();
  EXPECT_EQ(sink_.wait_for_ends(task_id(1), 2), (Words{"1", "1"}));
  sink_.store();
  EXPECT_TRUE(empties(kResultsStream));
}

TEST_F(TaskQueueTest, KeepsAnAnswerInTheStreamIfItsReportIsStoredAfterTheQueueIsDestroyed) {
  open();
  sink_.hold_back();
  queue_->run(queue_task(1));
  Worker worker(server_);
  worker.answer(worker.take().value(), "1");
  ASSERT_EQ(sink_.wait_for_end(task_id(1)), "1");
  queue_.reset();
  connection_.reset();
  sink_.store();
  EXPECT_EQ(messages_in(kResultsStream), 1u);
}

TEST_F(TaskQueueTest, ReadsTheAnswersInTheStreamBeforeItSendsTasksAgain) {
  open();
  queue_->run(queue_task(1));
  Worker worker(server_);
  const Message task = worker.take().value();
  queue_.reset();
  worker.answer(task, "1");
  worker.say(task, "+ACK");
  // As after a long downtime: the broker no longer knows the message id of the task.
  client_->api("STREAM.DELETE.MILLRACE_TASKS");
  sink_.hold_back();
  open();
  EXPECT_EQ(sink_.wait_for_end(task_id(1)), "1");
}

TEST_F(TaskQueueTest, SendsATaskAgainUnderTheSameIdAfterARestartOfMillrace) {
  open();
  queue_->run(queue_task(1));
  Worker worker(server_);
  const Message task = worker.take().value();
  worker.say(task, "+WPI");
  ASSERT_TRUE(sink_.wait_for_reports(task_id(1), "started", 1));
  restart();
  queue_->run(queue_task(1));
  ASSERT_TRUE(all_sent());
  EXPECT_EQ(messages_in(kTasksStream), 1u);
  worker.say(task, "+WPI");
  ASSERT_TRUE(sink_.wait_for_reports(task_id(1), "started", 2))
      << "the new process reports the start again";
  worker.answer(task, "1");
  EXPECT_EQ(sink_.wait_for_end(task_id(1)), "1");
  expect_starts(1, 2);
}

TEST_F(TaskQueueTest, SendsAnInheritedTaskAgainWhoseAnswerAnotherProcessHasReceived) {
  open();
  queue_->run(queue_task(1));
  Worker worker(server_);
  const Message task = worker.take().value();
  worker.answer(task, "1");
  ASSERT_EQ(sink_.wait_for_ends(task_id(1), 1), (Words{"1"}));
  worker.say(task, "+ACK");
  ASSERT_TRUE(empties(kTasksStream));
  ASSERT_TRUE(empties(kResultsStream));

  restart(of_a_restored_store());
  queue_->run(queue_task(1));
  const Message again = worker.take().value();
  EXPECT_EQ(again.data, task.data);
  EXPECT_EQ(Worker::header(again, "Direktiv-ActionID"), to_string(task_id(1)));
  EXPECT_TRUE(Worker::header(again, "Nats-Msg-Id").starts_with(to_string(task_id(1)) + "/"));

  restart(of_a_restored_store());
  queue_->run(queue_task(1));
  worker.answer(again, "2");
  EXPECT_EQ(sink_.wait_for_ends(task_id(1), 2), (Words{"1", "2"}));
  worker.say(again, "+ACK");
  EXPECT_TRUE(empties(kTasksStream)) << "the third process has not sent the task again";
}

TEST_F(TaskQueueTest, SendsAnInheritedTaskOnceIfAWorkerHasIt) {
  open();
  queue_->run(queue_task(1));
  Worker worker(server_);
  const Message task = worker.take().value();
  restart(of_a_restored_store());
  queue_->run(queue_task(1));
  ASSERT_TRUE(all_sent());
  worker.answer(task, "1");
  EXPECT_EQ(sink_.wait_for_ends(task_id(1), 1), (Words{"1"}));
  worker.say(task, "+ACK");
  EXPECT_TRUE(empties(kTasksStream));
}

}  // namespace
}  // namespace millrace
