#include "broker/task_queue.h"

#include <atomic>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "broker/streams.h"
#include "tests/support/tcp_proxy.h"
#include "tests/unit/broker/failing_library.h"
#include "tests/unit/broker/task_world.h"

namespace millrace {
namespace {

using Words = std::vector<std::string>;
using Message = RawNatsClient::Message;

/// Asks until the condition holds.
bool comes_to_hold(const std::function<bool()>& condition) {
  const auto deadline = std::chrono::steady_clock::now() + kLongEnough;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::yield();
  }
  return true;
}

class TaskQueueTest : public NatsFixture {
 protected:
  void open(TaskQueueSettings settings = {}) {
    connection_ = server_.connect();
    queue_ = std::make_unique<TaskQueue>(*connection_, sink_, settings);
  }

  /// As a process that ends does, and its successor with the tasks that its store has.
  void restart() {
    queue_.reset();
    open();
  }

  uint64_t messages_in(std::string_view stream) {
    const Json info = client_->api(fmt::format("STREAM.INFO.{}", stream));
    return info["state"]["messages"].get<uint64_t>();
  }
  bool empties(std::string_view stream) {
    return comes_to_hold([&] { return messages_in(stream) == 0; });
  }
  bool all_sent() {
    return comes_to_hold([&] { return queue_->counts().unsent == 0; });
  }

  /// Nothing was told of the task, and all that could tell of it has been heard.
  void expect_silence(uint8_t number) {
    Worker worker(server_, "millrace.tasks.shop.probe");
    queue_->run(queue_task(99, "millrace.tasks.shop.probe"));
    const std::optional<Message> probe = worker.take();
    ASSERT_TRUE(probe);
    worker.say(*probe, "+WPI");
    ASSERT_EQ(sink_.wait_for(task_id(99), 1), (Words{"started"}));
    worker.answer(*probe, "through");
    ASSERT_EQ(sink_.wait_for(task_id(99), 2), (Words{"started", "through"}));
    worker.say(*probe, "+ACK");
    EXPECT_EQ(sink_.words(task_id(number)), Words());
  }

  std::unique_ptr<RawNatsClient> client_ = server_.client();
  CollectingTaskSink sink_;
  std::unique_ptr<Connection> connection_;
  std::unique_ptr<TaskQueue> queue_;
};

TEST_F(TaskQueueTest, AWorkerGetsTheInputAndWhatItHasToKnow) {
  open();
  queue_->run(queue_task(1));
  Worker worker(server_);
  const std::optional<Message> task = worker.take();
  ASSERT_TRUE(task);
  const std::string id = to_string(task_id(1));
  EXPECT_EQ(task->subject, kTaskSubject);
  EXPECT_EQ(task->data, R"({"n":1})");
  EXPECT_EQ(Worker::header(*task, "Nats-Msg-Id"), id);
  EXPECT_EQ(Worker::header(*task, "Direktiv-ActionID"), id);
  EXPECT_EQ(Worker::header(*task, "Direktiv-InstanceID"), to_string(task_id(200)));
  EXPECT_EQ(Worker::header(*task, "Direktiv-Namespace"), "shop");
  EXPECT_EQ(Worker::header(*task, "Direktiv-Step"), "pay");
  EXPECT_EQ(Worker::header(*task, "Direktiv-Attempt"), "2");
  EXPECT_EQ(Worker::header(*task, "Direktiv-Deadline"), "2023-11-14T22:14:20.000Z");
  EXPECT_EQ(Worker::header(*task, "Millrace-Reply"), "millrace.results.0.shop." + id);
}

TEST_F(TaskQueueTest, TheAnswerIsToldAndNothingOfTheTaskStaysInTheStreams) {
  open();
  queue_->run(queue_task(1));
  Worker worker(server_);
  const Message task = worker.take().value();
  worker.answer(task, R"({"paid":true})");
  EXPECT_EQ(sink_.wait_for_end(task_id(1)), R"({"paid":true})");
  worker.say(task, "+ACK");
  EXPECT_TRUE(empties(kTasksStream));
  EXPECT_TRUE(empties(kResultsStream));
  EXPECT_TRUE(comes_to_hold([&] { return queue_->counts().tasks == 0; }));
}

TEST_F(TaskQueueTest, TasksWaitWhereNoInboxCanBeMade) {
  FailingLibrary::natsInbox_Create = 3;
  open();
  queue_->run(queue_task(1));
  Worker worker(server_);
  worker.answer(worker.take().value(), "1");
  EXPECT_EQ(sink_.wait_for_end(task_id(1)), "1");
  EXPECT_EQ(FailingLibrary::natsInbox_Create, 0);
}

TEST_F(TaskQueueTest, AnAnsweredTaskLeavesTheStreamThoughItsWorkerNeverAcknowledgesIt) {
  open({.grace = Duration(1)});
  queue_->run(queue_task(1));
  Worker worker(server_);
  worker.answer(worker.take().value(), "1");
  EXPECT_EQ(sink_.wait_for_end(task_id(1)), "1");
  EXPECT_TRUE(empties(kTasksStream));
}

TEST_F(TaskQueueTest, TheFirstHeartbeatIsTheStartAndLaterOnesAreSignsOfLife) {
  open();
  queue_->run(queue_task(1));
  Worker worker(server_);
  const Message task = worker.take().value();
  worker.say(task, "+WPI");
  EXPECT_EQ(sink_.wait_for(task_id(1), 1), (Words{"started"}));
  worker.say(task, "+WPI");
  worker.say(task, "+WPI");
  EXPECT_EQ(sink_.wait_for(task_id(1), 3), (Words{"started", "alive", "alive"}));
}

TEST_F(TaskQueueTest, LookReportsAtOnceWhetherASilentWorkerHasATask) {
  open();
  queue_->run(queue_task(1));
  queue_->run(queue_task(2, "millrace.tasks.shop.mail"));
  Worker worker(server_);
  ASSERT_TRUE(worker.take());
  ASSERT_TRUE(all_sent());
  EXPECT_TRUE(queue_->look(task_id(1)));
  EXPECT_TRUE(queue_->look(task_id(2)));
  EXPECT_EQ(sink_.wait_for(task_id(1), 1).front(), "started");
  EXPECT_EQ(sink_.wait_for(task_id(2), 1), (Words{"unbegun"}));
  EXPECT_FALSE(queue_->look(task_id(3)));
}

TEST_F(TaskQueueTest, WithoutTheBrokerATaskCountsAsNotBegun) {
  open();
  queue_->run(queue_task(1));
  ASSERT_TRUE(all_sent());
  server_.process().kill();
  ASSERT_TRUE(comes_to_hold([&] { return !connection_->connected(); }));
  EXPECT_TRUE(queue_->look(task_id(1)));
  EXPECT_EQ(sink_.wait_for(task_id(1), 1), (Words{"unbegun"}));
}

TEST_F(TaskQueueTest, AnAcknowledgementAloneIsASignOfLifeAndTheAnswerStillCounts) {
  open();
  queue_->run(queue_task(1));
  Worker worker(server_);
  const Message task = worker.take().value();
  worker.say(task, "+ACK");
  EXPECT_EQ(sink_.wait_for(task_id(1), 1), (Words{"started"}));
  worker.answer(task, "1");
  EXPECT_EQ(sink_.wait_for(task_id(1), 2), (Words{"started", "1"}));
}

TEST_F(TaskQueueTest, WhoGivesATaskBackEndsIt) {
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
  EXPECT_TRUE(empties(kTasksStream)) << "nobody else is to get them";
}

TEST_F(TaskQueueTest, AnAnswerCountsAlsoWhereItsTaskWasGivenBackBefore) {
  open({.grace = kLongEnough});
  queue_->run(queue_task(1));
  Worker worker(server_);
  const Message task = worker.take().value();
  worker.say(task, "+TERM");
  worker.answer(task, "", "Direktiv-ErrorCode: card.declined\r\nDirektiv-ErrorMessage: no\r\n");
  EXPECT_EQ(sink_.wait_for_end(task_id(1)), "!card.declined: no");
}

TEST_F(TaskQueueTest, ErrorsComeByHeadersInAnySpelling) {
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
       "!millrace.function.status: \"no code!\" is no error code: ??"},
  };
  for (size_t i = 0; i < rows.size(); ++i) {
    const auto number = static_cast<uint8_t>(i + 1);
    queue_->run(queue_task(number));
    worker.answer(worker.take().value(), "body", rows[i].first);
    EXPECT_EQ(sink_.wait_for_end(task_id(number)), rows[i].second) << rows[i].first;
  }
}

TEST_F(TaskQueueTest, DoubleAndLateAnswersAreToldAndStickNowhere) {
  open();
  queue_->run(queue_task(1));
  Worker worker(server_);
  const Message task = worker.take().value();
  worker.answer(task, "1");
  worker.answer(task, "2");
  EXPECT_EQ(sink_.wait_for(task_id(1), 2), (Words{"1", "2"}));
  queue_->run(queue_task(2));
  const Message late = worker.take().value();
  queue_->stop(task_id(2));
  worker.answer(late, "3");
  EXPECT_EQ(sink_.wait_for_end(task_id(2)), "3") << "whether it is late the sink knows";
  EXPECT_TRUE(empties(kResultsStream));
}

TEST_F(TaskQueueTest, AnswersThatNameNoTaskAreCountedAndThrownAway) {
  std::atomic<int> strays = 0;
  open({.on_stray = [&] { ++strays; }});
  ASSERT_TRUE(comes_to_hold([&] { return queue_->health().has_value(); }));
  const std::string id = to_string(task_id(7));
  client_->publish_acked("millrace.results.0.shop.nobody", "", "x");
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

TEST_F(TaskQueueTest, AWorkerThatWasGivenTheOldFormOfTheSubjectIsHeard) {
  open();
  queue_->run(queue_task(1));
  Worker worker(server_);
  const Message task = worker.take().value();
  client_->publish_acked("millrace.results.shop." + to_string(task_id(1)), "", "1");
  EXPECT_EQ(sink_.wait_for(task_id(1), 1), (Words{"1"}));
  EXPECT_EQ(sink_.space_of(task_id(1)), "shop");
  worker.say(task, "+ACK");
  EXPECT_TRUE(empties(kResultsStream));
}

TEST_F(TaskQueueTest, AForgedAnswerOfAnotherNamespaceNeitherTakesTheTaskAwayNorHidesWhoGaveIt) {
  open({.grace = Duration(1)});
  queue_->run(queue_task(1));
  Worker worker(server_);
  const Message task = worker.take().value();
  client_->publish_acked("millrace.results.0.evil." + to_string(task_id(1)), "", "forged");
  EXPECT_EQ(sink_.wait_for(task_id(1), 1), (Words{"forged"})) << "whose the task is the sink knows";
  EXPECT_EQ(sink_.space_of(task_id(1)), "evil");
  expect_silence(2);
  EXPECT_TRUE(comes_to_hold([&] { return messages_in(kTasksStream) == 1; }))
      << "the task is still its worker's";
  worker.answer(task, "1");
  EXPECT_EQ(sink_.wait_for(task_id(1), 2).back(), "1");
  EXPECT_EQ(sink_.space_of(task_id(1)), "shop");
  EXPECT_TRUE(empties(kTasksStream));
}

TEST_F(TaskQueueTest, AnAnswerThatLooksLikeAStatusOfTheServerIsAnAnswer) {
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

/// Each delivery of one answer is spoiled on its way, so that no consumer gets past it.
TEST_F(TaskQueueTest, AnAnswerThatNoConsumerCanDeliverIsReadWithoutOne) {
  TcpProxy proxy(server_.port());
  connection_ = connect_to(proxy.nats_url());
  queue_ = std::make_unique<TaskQueue>(*connection_, sink_);
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

TEST_F(TaskQueueTest, SuchAnAnswerIsReadFromTheStreamsOfAnotherPrefixToo) {
  TcpProxy proxy(server_.port());
  connection_ = connect_to(proxy.nats_url());
  queue_ = std::make_unique<TaskQueue>(*connection_, sink_,
                                       TaskQueueSettings{.streams = {.prefix = "orders"}});
  ASSERT_TRUE(comes_to_hold([&] { return queue_->health().has_value(); }));
  proxy.spoil("spoiled", "$JS.ACK", "$JX.ACK");
  client_->publish_acked("orders.results.0.shop." + to_string(task_id(1)), "", "spoiled");
  EXPECT_EQ(sink_.wait_for_end(task_id(1)), "spoiled");
  EXPECT_TRUE(empties("ORDERS_RESULTS"));
}

TEST_F(TaskQueueTest, AnAnswerStaysInTheStreamUntilItIsStored) {
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

TEST_F(TaskQueueTest, WhatMayBeStoredLateBoundsWhatIsTold) {
  open({.most_unstored = 3});
  ASSERT_TRUE(comes_to_hold([&] { return queue_->health().has_value(); }));
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

TEST_F(TaskQueueTest, AnAnswerThatWasToldAndNotStoredIsToldAgainByTheNextProcess) {
  open();
  sink_.hold_back();
  queue_->run(queue_task(1));
  Worker worker(server_);
  worker.answer(worker.take().value(), "1");
  ASSERT_EQ(sink_.wait_for_end(task_id(1)), "1");
  restart();
  EXPECT_EQ(sink_.wait_for(task_id(1), 2), (Words{"1", "1"}));
  sink_.store();
  EXPECT_TRUE(empties(kResultsStream));
}

TEST_F(TaskQueueTest, WhatIsStoredAfterItsEndIsHarmless) {
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

TEST_F(TaskQueueTest, AnAnswerThatWasGivenWhileNobodyListenedIsTakenBeforeAnythingIsSentAgain) {
  open();
  queue_->run(queue_task(1));
  Worker worker(server_);
  const Message task = worker.take().value();
  queue_.reset();
  worker.answer(task, "1");
  worker.say(task, "+ACK");
  // As after so long an absence that the broker knows the id no more.
  client_->api("STREAM.DELETE.MILLRACE_TASKS");
  sink_.hold_back();
  open();
  EXPECT_EQ(sink_.wait_for_end(task_id(1)), "1");
}

TEST_F(TaskQueueTest, ATaskThatIsSentAgainAfterARestartIsTheOneThatItsWorkerHas) {
  open();
  queue_->run(queue_task(1));
  Worker worker(server_);
  const Message task = worker.take().value();
  worker.say(task, "+WPI");
  ASSERT_EQ(sink_.wait_for(task_id(1), 1), (Words{"started"}));
  restart();
  queue_->run(queue_task(1));
  ASSERT_TRUE(all_sent());
  EXPECT_EQ(messages_in(kTasksStream), 1u);
  worker.say(task, "+WPI");
  ASSERT_EQ(sink_.wait_for(task_id(1), 2), (Words{"started", "started"}))
      << "the new process has not heard of it before";
  worker.answer(task, "1");
  EXPECT_EQ(sink_.wait_for_end(task_id(1)), "1");
}

TEST_F(TaskQueueTest, ATaskIsGivenOutOnceUnlessItIsSentTwice) {
  open();
  queue_->run(queue_task(1));
  queue_->run(queue_task(1));
  ASSERT_TRUE(all_sent());
  Worker worker(server_);
  ASSERT_TRUE(worker.take());
  EXPECT_EQ(messages_in(kTasksStream), 1u);
  queue_->run(queue_task(2));
  EXPECT_EQ(worker.take().value().data, R"({"n":2})");
}

TEST_F(TaskQueueTest, WithoutAWorkerNothingIsTold) {
  open();
  queue_->run(queue_task(1));
  ASSERT_TRUE(all_sent());
  expect_silence(1);
  EXPECT_TRUE(comes_to_hold([&] { return messages_in(kTasksStream) == 1; }));
}

TEST_F(TaskQueueTest, AStoppedTaskIsTakenBackAndWhoHasItIsTold) {
  open();
  client_->subscribe("millrace.stops.*");
  for (const uint8_t number : {1, 2}) queue_->run(queue_task(number));
  ASSERT_TRUE(all_sent());
  ASSERT_EQ(messages_in(kTasksStream), 2u);
  queue_->stop(task_id(1));
  const std::optional<Message> stop = client_->next();
  ASSERT_TRUE(stop);
  EXPECT_EQ(stop->subject, "millrace.stops." + to_string(task_id(1)));
  EXPECT_EQ(stop->data, to_string(task_id(1)));
  EXPECT_TRUE(comes_to_hold([&] { return messages_in(kTasksStream) == 1; }));
  Worker worker(server_);
  EXPECT_EQ(worker.take().value().data, R"({"n":2})");
  queue_->stop(task_id(3));  // nobody's
  queue_->stop(task_id(2));
  EXPECT_TRUE(empties(kTasksStream));
  EXPECT_EQ(queue_->counts().tasks, 0u);
  EXPECT_EQ(sink_.size(), 0u);
}

TEST_F(TaskQueueTest, EachSubjectHasAConsumerThatIsMadeOnceAndFoundAgain) {
  open();
  queue_->run(queue_task(1));
  queue_->run(queue_task(2, "millrace.tasks.shop.send.mail"));
  ASSERT_TRUE(all_sent());
  Worker mail(server_, "millrace.tasks.shop.send.mail");
  EXPECT_EQ(mail.take().value().data, R"({"n":2})");
  const Json before = client_->api("CONSUMER.INFO.MILLRACE_TASKS.shop+charge");
  EXPECT_EQ(before["config"]["filter_subject"], kTaskSubject);
  EXPECT_EQ(before["config"]["max_deliver"], 1);
  EXPECT_EQ(before["config"]["max_ack_pending"], -1);
  restart();
  queue_->run(queue_task(3));
  ASSERT_TRUE(all_sent());
  EXPECT_EQ(client_->api("CONSUMER.INFO.MILLRACE_TASKS.shop+charge")["created"], before["created"]);
}

TEST_F(TaskQueueTest, AConsumerThatSomebodyDeletedIsMadeAgainWithTheNextConnection) {
  open();
  queue_->run(queue_task(1));
  ASSERT_TRUE(all_sent());
  client_->api("CONSUMER.DELETE.MILLRACE_TASKS.shop+charge");
  server_.process().stop();
  ASSERT_TRUE(comes_to_hold([&] { return !queue_->health(); }));
  ASSERT_TRUE(server_.process().start_again());
  Worker worker(server_);
  EXPECT_EQ(worker.take().value().data, R"({"n":1})");
}

TEST_F(TaskQueueTest, AConsumerThatWorkersCannotUseIsLeftAloneAndKeepsNobodyElseFromWorking) {
  ASSERT_TRUE(ensure_stream(*server_.connect(), tasks_stream()));
  client_->api("CONSUMER.DURABLE.CREATE.MILLRACE_TASKS.shop+charge",
               {{"stream_name", "MILLRACE_TASKS"},
                {"config",
                 {{"durable_name", "shop+charge"},
                  {"ack_policy", "explicit"},
                  {"filter_subject", "millrace.tasks.other"}}}});
  open();
  queue_->run(queue_task(1));
  queue_->run(queue_task(2, "millrace.tasks.shop.mail"));
  Worker mail(server_, "millrace.tasks.shop.mail");
  EXPECT_EQ(mail.take().value().data, R"({"n":2})");
  EXPECT_EQ(client_->api("CONSUMER.INFO.MILLRACE_TASKS.shop+charge")["config"]["filter_subject"],
            "millrace.tasks.other");
}

TEST_F(TaskQueueTest, TasksThatCannotBeSentAtAllEndAtOnce) {
  open();
  queue_->run(queue_task(1, "orders.charge"));
  Task with_files = queue_task(2);
  with_files.files.push_back({.name = "a"});
  queue_->run(std::move(with_files));
  Task large = queue_task(3);
  large.input.resize(2 << 20, ' ');
  queue_->run(std::move(large));
  queue_->run(queue_task(4, "millrace.tasks.shop. "));
  EXPECT_THAT(sink_.wait_for(task_id(1), 1).at(0),
              testing::StartsWith("!millrace.function.unavailable: \"orders.charge\""));
  EXPECT_THAT(sink_.wait_for(task_id(2), 1).at(0),
              testing::StartsWith("!millrace.function.files: "));
  EXPECT_THAT(sink_.wait_for(task_id(3), 1).at(0),
              testing::StartsWith("!millrace.function.tooLarge: "));
  EXPECT_THAT(sink_.wait_for(task_id(4), 1).at(0),
              testing::StartsWith("!millrace.function.unavailable: "));
  EXPECT_EQ(queue_->counts().tasks, 0u);
}

TEST_F(TaskQueueTest, TasksWaitInMemoryUntilTheBrokerIsBack) {
  open();
  ASSERT_TRUE(comes_to_hold([&] { return queue_->health().has_value(); }));
  server_.process().kill();
  ASSERT_TRUE(comes_to_hold([&] { return !queue_->health(); }));
  for (const uint8_t number : {1, 2, 3}) queue_->run(queue_task(number));
  queue_->stop(task_id(2));
  EXPECT_EQ(queue_->counts().unsent, 2u);
  ASSERT_TRUE(server_.process().start_again());
  Worker worker(server_);
  for (const uint8_t number : {1, 3}) {
    const Message task = worker.take().value();
    EXPECT_EQ(task.data, fmt::format(R"({{"n":{}}})", number));
    worker.answer(task, "done");
    EXPECT_EQ(sink_.wait_for_end(task_id(number)), "done");
  }
}

TEST_F(TaskQueueTest, ABrokerThatIsRestartedInTheMiddleLosesNeitherHeartbeatsNorAnswers) {
  open();
  queue_->run(queue_task(1));
  queue_->run(queue_task(2));
  Message task;
  {
    Worker worker(server_);
    task = worker.take().value();
    worker.say(task, "+WPI");
    ASSERT_EQ(sink_.wait_for(task_id(1), 1), (Words{"started"}));
  }
  ASSERT_TRUE(all_sent());
  server_.process().kill();
  ASSERT_TRUE(comes_to_hold([&] { return !queue_->health(); }));
  ASSERT_TRUE(server_.process().start_again());
  ASSERT_TRUE(comes_to_hold([&] { return queue_->health().has_value(); }));
  Worker worker(server_);
  worker.say(task, "+WPI");
  ASSERT_EQ(sink_.wait_for(task_id(1), 2), (Words{"started", "alive"}));
  worker.answer(task, "1");
  EXPECT_EQ(sink_.wait_for(task_id(1), 3), (Words{"started", "alive", "1"}));
  while (sink_.words(task_id(2)).empty()) {  // a killed broker may give the first one out again
    const Message other = worker.take().value();
    worker.answer(other, "2");
    if (other.data == R"({"n":2})") {
      EXPECT_EQ(sink_.wait_for_end(task_id(2)), "2");
    }
  }
}

TEST_F(TaskQueueTest, TasksThatTheBrokerLosesWithItsStreamEnd) {
  open();
  queue_->run(queue_task(1));
  ASSERT_TRUE(all_sent());
  client_->api("STREAM.DELETE.MILLRACE_TASKS");
  queue_->run(queue_task(2));
  EXPECT_EQ(sink_.wait_for_end(task_id(1)),
            "!millrace.function.unavailable: the broker has lost the task");
  Worker worker(server_);
  EXPECT_EQ(worker.take().value().data, R"({"n":2})");
}

TEST_F(TaskQueueTest, AStreamThatCannotBeWorkedWithIsNamed) {
  client_->api("STREAM.CREATE.MILLRACE_TASKS",
               {{"name", "MILLRACE_TASKS"}, {"subjects", {"millrace.tasks.>"}}});
  open();
  ASSERT_TRUE(comes_to_hold([&] { return queue_->health().error().code == "broker.stream"; }));
  EXPECT_THAT(queue_->health().error().message, testing::HasSubstr("retention \"limits\""));
}

class ServiceTest : public TaskQueueTest {};

TEST_F(ServiceTest, AServiceIsAskedAndItsFirstAnswerCounts) {
  client_->subscribe("svc.charge");
  open();
  queue_->run(service_task(1));
  const Message request = client_->next().value();
  EXPECT_EQ(request.data, R"({"n":1})");
  EXPECT_EQ(Worker::header(request, "Direktiv-ActionID"), to_string(task_id(1)));
  EXPECT_EQ(Worker::header(request, "Millrace-Reply"), "");
  client_->publish(request.reply, "first");
  client_->publish(request.reply, "second");
  client_->flush();
  EXPECT_EQ(sink_.wait_for_end(task_id(1)), "first");
  queue_->run(service_task(2));
  client_->publish(client_->next().value().reply, "third");
  client_->flush();
  EXPECT_EQ(sink_.wait_for_end(task_id(2)), "third");
  EXPECT_EQ(sink_.wait_for_end(task_id(1)), "first");
  EXPECT_EQ(queue_->counts().tasks, 0u);
}

TEST_F(ServiceTest, AnAttemptBeginsWhenTheBrokerHasTakenTheRequest) {
  client_->subscribe("svc.charge");
  open();
  queue_->run(service_task(1));
  ASSERT_TRUE(client_->next());
  EXPECT_EQ(sink_.wait_for(task_id(1), 1), (Words{"started"}));
}

TEST_F(ServiceTest, WhereNobodyListensTheTaskEnds) {
  open();
  queue_->run(service_task(1));
  EXPECT_EQ(sink_.wait_for_end(task_id(1)),
            "!millrace.function.unavailable: no service listens on the function's subject");
}

TEST_F(ServiceTest, ErrorsComeByTheHeadersOfMicroServices) {
  client_->subscribe("svc.charge");
  open();
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"Nats-Service-Error: card: unknown\r\nNats-Service-Error-Code: 404\r\n",
       "!404: card: unknown"},
      {"Nats-Service-Error:\r\nNats-Service-Error-Code: 404\r\n",
       "!404: Nats-Service-Error-Code: 404"},  // as the client library hands it out
      {"Direktiv-ErrorCode:\r\nDirektiv-ErrorMessage:\r\n", "body"},
      {"Direktiv-ErrorCode:\r\nX-Trace: 1\r\n", "body"},
      {"DIREKTIV-ERRORCODE: card.declined\r\n", "!card.declined: "},
  };
  for (size_t i = 0; i < rows.size(); ++i) {
    const auto number = static_cast<uint8_t>(i + 1);
    queue_->run(service_task(number));
    client_->publish(client_->next().value().reply, rows[i].first, "body", "");
    client_->flush();
    EXPECT_EQ(sink_.wait_for_end(task_id(number)), rows[i].second) << rows[i].first;
  }
}

TEST_F(ServiceTest, AStoppedRequestIsForgottenAndTheServiceIsTold) {
  client_->subscribe("svc.charge");
  const std::unique_ptr<RawNatsClient> stops = server_.client();
  stops->subscribe("millrace.stops.*");
  open();
  queue_->run(service_task(1));
  const Message request = client_->next().value();
  queue_->stop(task_id(1));
  EXPECT_EQ(stops->next().value().data, to_string(task_id(1)));
  client_->publish(request.reply, "late");
  client_->flush();
  queue_->run(service_task(2));
  client_->publish(client_->next().value().reply, "2");
  client_->flush();
  EXPECT_EQ(sink_.wait_for_end(task_id(2)), "2");
  EXPECT_THAT(sink_.words(task_id(1)), testing::Not(testing::Contains("late")));
}

TEST_F(ServiceTest, RequestsWaitInMemoryUntilTheBrokerIsBack) {
  open();
  server_.process().kill();
  ASSERT_TRUE(comes_to_hold([&] { return !connection_->connected(); }));
  queue_->run(service_task(1));
  ASSERT_TRUE(server_.process().start_again());
  EXPECT_THAT(sink_.wait_for_end(task_id(1)),
              testing::StartsWith("!millrace.function.unavailable: no service"));
}

TEST_F(ServiceTest, AnAnswerCountsAlsoWhereTheBrokerWasRestartedMeanwhile) {
  client_->subscribe("svc.charge");
  open();
  queue_->run(service_task(1));
  const Message request = client_->next().value();
  ASSERT_TRUE(all_sent());
  server_.process().kill();
  ASSERT_TRUE(comes_to_hold([&] { return !connection_->connected(); }));
  ASSERT_TRUE(server_.process().start_again());
  ASSERT_TRUE(connection_->wait_until_connected(kLongEnough));
  // Our subscriptions are sent again; behind a round trip the server has them.
  ASSERT_TRUE(connection_->api("INFO", Json::object()));
  client_ = server_.client();
  client_->publish(request.reply, "1");
  client_->flush();
  EXPECT_EQ(sink_.wait_for_end(task_id(1)), "1");
}

}  // namespace
}  // namespace millrace
