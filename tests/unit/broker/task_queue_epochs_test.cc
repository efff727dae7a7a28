// TaskQueue on the nodes of a cluster: which of them reads the answers of workers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "broker/streams.h"
#include "tests/unit/broker/task_queue_fixture.h"

namespace millrace {
namespace {

using testing::HasSubstr;

class TaskQueueEpochs : public TaskQueueTest {
 protected:
  /// Another node of the cluster, with a connection and a sink of its own.
  struct Node {
    Node(const NatsServer& server, uint64_t epoch)
        : connection(server.connect()), queue(*connection, sink, patient({.epoch = epoch})) {}

    CollectingTaskSink sink;
    std::unique_ptr<Connection> connection;
    TaskQueue queue;
  };

  /// Waits until the stream of answers has this consumer, and no other.
  bool has_only(const std::string& consumer) {
    return becomes_true([&] {
      const Json found =
          client_->api(fmt::format("CONSUMER.NAMES.{}", kResultsStream)).value("consumers", Json());
      return found == Json::array({consumer});
    });
  }
  static bool is_deposed(const TaskQueue& queue) {
    return becomes_true([&] {
      const Status health = queue.health();
      return !health && health.error().code == "log.deposed";
    });
  }
};

TEST_F(TaskQueueEpochs, NamesItsConsumerByTheEpoch) {
  open({.process = "00112233445566778899aabbccddeeff"});
  ASSERT_TRUE(has_only("millrace-00112233445566778899aabbccddeeff"));
  restart({.process = "ffeeddccbbaa99887766554433221100", .epoch = 3});
  ASSERT_TRUE(has_only("millrace-3")) << "the process before it was in no cluster";
  queue_->run(queue_task(1));
  Worker worker(server_);
  worker.answer(worker.take().value(), "1");
  EXPECT_EQ(sink_.wait_for_end(task_id(1)), "1");
  restart();
  EXPECT_TRUE(has_only("millrace")) << "the process after it is in no cluster";
}

TEST_F(TaskQueueEpochs, GivesTheAnswersToALaterEpoch) {
  open({.epoch = 3});
  ASSERT_TRUE(has_only("millrace-3"));
  queue_->run(queue_task(1));
  Worker worker(server_);
  const Message task = worker.take().value();
  Node later(server_, 10);
  ASSERT_TRUE(has_only("millrace-10"));
  ASSERT_TRUE(is_deposed(*queue_));
  EXPECT_THAT(queue_->health().error().message,
              HasSubstr("the consumer millrace-10 of stream MILLRACE_RESULTS is of a later epoch "
                        "than 3"));
  worker.answer(task, "1");
  EXPECT_EQ(later.sink.wait_for_end(task_id(1)), "1");
  EXPECT_EQ(sink_.wait_for_ends(task_id(1), 0), Words());
  EXPECT_TRUE(later.queue.health());
}

TEST_F(TaskQueueEpochs, DoesNotTakeTheAnswersFromALaterEpoch) {
  open({.epoch = 10});
  ASSERT_TRUE(has_only("millrace-10"));
  Node former(server_, 9);
  ASSERT_TRUE(is_deposed(former.queue));
  EXPECT_TRUE(has_only("millrace-10"));
  queue_->run(queue_task(1));
  Worker worker(server_);
  worker.answer(worker.take().value(), "1");
  EXPECT_EQ(sink_.wait_for_end(task_id(1)), "1");
}

}  // namespace
}  // namespace millrace
