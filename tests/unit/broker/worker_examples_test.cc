// The workers in examples/ against a real queue: each takes a task, sends a heartbeat, answers, and
// fails with an error code.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "broker/task_queue.h"
#include "tests/support/process.h"
#include "tests/unit/broker/task_world.h"

namespace millrace {
namespace {

struct Example {
  const char* file;
  const char* program;
};
void PrintTo(const Example& example, std::ostream* out) { *out << example.file; }

class WorkerExamples : public NatsFixture, public testing::WithParamInterface<Example> {
 protected:
  /// The answer as JSON; null: there is no answer, or it is not JSON.
  Json answer_to(uint8_t number) {
    return parse_json(sink_.wait_for_end(task_id(number))).value_or(Json());
  }

  void run(uint8_t number, std::string input) {
    Task task = queue_task(number);
    task.input = std::move(input);
    queue_.run(std::move(task));
  }

  CollectingTaskSink sink_;
  std::unique_ptr<Connection> connection_ = server_.connect();
  TaskQueue queue_{*connection_, sink_, patient()};
};

TEST_P(WorkerExamples, AnswerTasksSendHeartbeatsAndReportErrorCodes) {
  ASSERT_EQ(run_process({.command = {GetParam().program, "--version"}}).code, 0)
      << GetParam().program << " is not installed, and examples/workers needs it";
  const std::unique_ptr<RawNatsClient> acks = server_.client();
  acks->subscribe("$JS.ACK.MILLRACE_TASKS.>");
  run(1, R"({"word":"hello"})");
  // Once the task is sent, the consumer exists, and the first request of the worker finds it.
  ASSERT_TRUE(eventually([&] { return queue_.counts().unsent == 0; }));
  const Process worker(
      {.command = {GetParam().program, std::string("examples/workers/") + GetParam().file,
                   fmt::format("127.0.0.1:{}", server_.port()), kTaskSubject}});

  EXPECT_EQ(answer_to(1), (Json{{"word", "HELLO"}})) << worker.errors();
  EXPECT_EQ(acks->next().value().data, "+WPI");
  EXPECT_EQ(acks->next().value().data, "+ACK");

  run(2, R"({"colour":"grün"})");
  EXPECT_THAT(sink_.wait_for_end(task_id(2)), testing::StartsWith("!word.missing: "))
      << worker.errors();

  run(3, R"({"word":"again"})");
  EXPECT_EQ(answer_to(3), (Json{{"word", "AGAIN"}})) << worker.errors();
}

INSTANTIATE_TEST_SUITE_P(All, WorkerExamples,
                         testing::Values(Example{"worker.py", "python3"},
                                         Example{"worker.mjs", "node"},
                                         Example{"worker.sh", "bash"}),
                         [](const auto& one) { return std::string(one.param.program); });

}  // namespace
}  // namespace millrace
