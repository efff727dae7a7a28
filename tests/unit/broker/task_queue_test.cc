#include "broker/task_queue.h"

#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "broker/streams.h"
#include "tests/support/tcp_proxy.h"
#include "tests/unit/broker/task_queue_fixture.h"

namespace millrace {
namespace {

TEST_F(TaskQueueTest, SendsTheInputWithTheHeadersOfTheTask) {
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

TEST_F(TaskQueueTest, ReportsTheAnswerAndDeletesTaskAndAnswerFromTheStreams) {
  open();
  queue_->run(queue_task(1));
  Worker worker(server_);
  const Message task = worker.take().value();
  worker.answer(task, R"({"paid":true})");
  EXPECT_EQ(sink_.wait_for_end(task_id(1)), R"({"paid":true})");
  worker.say(task, "+ACK");
  EXPECT_TRUE(empties(kTasksStream));
  EXPECT_TRUE(empties(kResultsStream));
  EXPECT_TRUE(becomes_true([&] { return queue_->counts().tasks == 0; }));
}

TEST_F(TaskQueueTest, CreatesADeletedConsumerAgainWhileTasksWait) {
  open();
  queue_->run(queue_task(1));
  Worker worker(server_);
  const Message first = worker.take().value();
  worker.answer(first, "1");
  worker.say(first, "+ACK");
  ASSERT_TRUE(empties(kTasksStream));
  EXPECT_EQ(queue_->counts().consumers_created_again, 0U);
  client_->api("CONSUMER.DELETE.MILLRACE_TASKS.shop+charge");
  queue_->run(queue_task(2));
  const std::optional<Message> second = worker.take();
  ASSERT_TRUE(second) << "the consumer was not created again";
  worker.answer(*second, "2");
  EXPECT_EQ(sink_.wait_for_end(task_id(2)), "2");
  // The broker may hand out the task before its answer about the consumer arrives.
  EXPECT_TRUE(becomes_true([&] { return queue_->counts().consumers_created_again == 1; }));
}

TEST_F(TaskQueueTest, DeletesAnAnsweredTaskThatItsWorkerNeverAcknowledges) {
  open({.grace = Duration(1)});
  queue_->run(queue_task(1));
  Worker worker(server_);
  worker.answer(worker.take().value(), "1");
  EXPECT_EQ(sink_.wait_for_end(task_id(1)), "1");
  EXPECT_TRUE(empties(kTasksStream));
}

TEST_F(TaskQueueTest, ReportsTheFirstHeartbeatAsTheStart) {
  open();
  queue_->run(queue_task(1));
  Worker worker(server_);
  const Message task = worker.take().value();
  worker.say(task, "+WPI");
  EXPECT_TRUE(sink_.wait_for_reports(task_id(1), "started", 1));
  worker.say(task, "+WPI");
  EXPECT_TRUE(sink_.wait_for_reports(task_id(1), "alive", 1));
  EXPECT_TRUE(queue_->since_heartbeat(task_id(1)));
  EXPECT_FALSE(queue_->since_heartbeat(task_id(2)));
  expect_starts(1);
}

TEST_F(TaskQueueTest, ReportsAtOnceWhetherAWorkerThatSentNoHeartbeatHasATask) {
  open({.look_timeout = kPatience});
  queue_->run(queue_task(1));
  queue_->run(queue_task(2, "millrace.tasks.shop.mail"));
  Worker worker(server_);
  ASSERT_TRUE(worker.take());
  ASSERT_TRUE(all_sent());
  EXPECT_TRUE(queue_->check_started(task_id(1)));
  EXPECT_TRUE(queue_->check_started(task_id(2)));
  EXPECT_EQ(sink_.wait_for(task_id(1), 1).front(), "started");
  EXPECT_EQ(sink_.wait_for(task_id(2), 1), (Words{"unbegun"}));
  EXPECT_FALSE(queue_->check_started(task_id(3)));
}

TEST_F(TaskQueueTest, ReportsATaskAsNotStartedIfTheBrokerIsUnreachable) {
  open();
  queue_->run(queue_task(1));
  ASSERT_TRUE(all_sent());
  server_.process().kill();
  ASSERT_TRUE(becomes_true([&] { return !connection_->connected(); }));
  EXPECT_TRUE(queue_->check_started(task_id(1)));
  EXPECT_EQ(sink_.wait_for(task_id(1), 1), (Words{"unbegun"}));
}

TEST_F(TaskQueueTest, DeliversATaskOnceIfItIsHandedOutTwice) {
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

TEST_F(TaskQueueTest, ReportsNothingIfNoWorkerTakesTheTask) {
  open();
  queue_->run(queue_task(1));
  ASSERT_TRUE(all_sent());
  expect_no_report(1);
  EXPECT_TRUE(becomes_true([&] { return messages_in(kTasksStream) == 1; }));
}

TEST_F(TaskQueueTest, DeletesAStoppedTaskFromTheStreamAndPublishesTheStop) {
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
  EXPECT_TRUE(becomes_true([&] { return messages_in(kTasksStream) == 1; }));
  Worker worker(server_);
  EXPECT_EQ(worker.take().value().data, R"({"n":2})");
  queue_->stop(task_id(3));  // an unknown task
  queue_->stop(task_id(2));
  EXPECT_TRUE(empties(kTasksStream));
  EXPECT_EQ(queue_->counts().tasks, 0u);
  for (const uint8_t number : {1, 3}) EXPECT_EQ(sink_.words(task_id(number)), Words());
  // The queue may have noticed that the worker has the task.
  EXPECT_EQ(sink_.wait_for_ends(task_id(2), 0), Words());
}

TEST_F(TaskQueueTest, CreatesTheConsumerOfASubjectOnceAndFindsItAgain) {
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

TEST_F(TaskQueueTest, CreatesADeletedConsumerAgainWhenItConnectsAgain) {
  open();
  queue_->run(queue_task(1));
  ASSERT_TRUE(all_sent());
  client_->api("CONSUMER.DELETE.MILLRACE_TASKS.shop+charge");
  server_.process().stop();
  ASSERT_TRUE(becomes_true([&] { return !queue_->health(); }));
  ASSERT_TRUE(server_.process().start_again());
  Worker worker(server_);
  EXPECT_EQ(worker.take().value().data, R"({"n":1})");
}

TEST_F(TaskQueueTest, LeavesAnUnusableConsumerUnchangedAndServesOtherSubjects) {
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

TEST_F(TaskQueueTest, FailsTasksThatCannotBeSent) {
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

TEST_F(TaskQueueTest, KeepsTasksInMemoryUntilTheBrokerIsBack) {
  open();
  ASSERT_TRUE(becomes_true([&] { return queue_->health().has_value(); }));
  server_.process().kill();
  ASSERT_TRUE(becomes_true([&] { return !queue_->health(); }));
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

TEST_F(TaskQueueTest, LosesNoHeartbeatOrAnswerWhenTheBrokerRestarts) {
  open();
  queue_->run(queue_task(1));
  queue_->run(queue_task(2));
  Message task;
  {
    Worker worker(server_);
    task = worker.take().value();
    worker.say(task, "+WPI");
    ASSERT_TRUE(sink_.wait_for_reports(task_id(1), "started", 1));
  }
  ASSERT_TRUE(all_sent());
  server_.process().kill();
  ASSERT_TRUE(becomes_true([&] { return !queue_->health(); }));
  ASSERT_TRUE(server_.process().start_again());
  ASSERT_TRUE(becomes_true([&] { return queue_->health().has_value(); }));
  Worker worker(server_);
  worker.say(task, "+WPI");
  ASSERT_TRUE(sink_.wait_for_reports(task_id(1), "alive", 1));
  worker.answer(task, "1");
  EXPECT_EQ(sink_.wait_for_ends(task_id(1), 1), (Words{"1"}));
  expect_starts(1);
  while (sink_.words(task_id(2)).empty()) {  // a killed broker may deliver the first task again
    const Message other = worker.take().value();
    worker.answer(other, "2");
    if (other.data == R"({"n":2})") {
      EXPECT_EQ(sink_.wait_for_end(task_id(2)), "2");
    }
  }
}

TEST_F(TaskQueueTest, EndsTasksThatTheBrokerLostTogetherWithTheirStream) {
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

TEST_F(TaskQueueTest, NamesTheUnusableSettingOfAStreamInTheError) {
  client_->api("STREAM.CREATE.MILLRACE_TASKS",
               {{"name", "MILLRACE_TASKS"}, {"subjects", {"millrace.tasks.>"}}});
  open();
  ASSERT_TRUE(becomes_true([&] { return queue_->health().error().code == "broker.stream"; }));
  EXPECT_THAT(queue_->health().error().message, testing::HasSubstr("retention \"limits\""));
}

}  // namespace
}  // namespace millrace
