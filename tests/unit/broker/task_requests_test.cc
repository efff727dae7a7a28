// The open requests of workers for tasks, as the broker counts them.
#include <gtest/gtest.h>

#include "broker/task_consumers.h"
#include "tests/unit/broker/task_queue_fixture.h"

namespace millrace {
namespace {

TEST_F(TaskQueueTest, CountsTheOpenRequestsOfWorkers) {
  open();
  const auto count = [&] {
    return open_task_requests(*connection_, "millrace", kTaskSubject, kPatience).value_or(99);
  };
  EXPECT_EQ(count(), 0U) << "there is no consumer yet";
  queue_->run(queue_task(1));
  Worker worker(server_);
  const std::optional<Message> task = worker.take();
  ASSERT_TRUE(task);
  worker.answer(*task, "7");
  worker.say(*task, "+ACK");
  EXPECT_EQ(sink_.wait_for_end(task_id(1)), "7");
  EXPECT_TRUE(becomes_true([&] { return count() == 0; }));
  for (int request = 0; request < 2; ++request) {
    worker.ask(R"({"batch":1,"expires":600000000000})");
  }
  EXPECT_TRUE(becomes_true([&] { return count() == 2; }));
}

}  // namespace
}  // namespace millrace
