// The variables that a task gets as files, and which of them its runner reads.
#include "orchestrator/outgoing/task_files.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/outgoing/task_dispatch_fixture.h"

namespace millrace {
namespace {

class TaskFilesTest : public TaskDispatchTest {};

TEST_F(TaskFilesTest, LetsTheRunnerReadALargeVariable) {
  const std::string large(100'000, 'x');
  put_prices(large);
  begin({with_file(1)});
  hand_out(with_file(1));
  EXPECT_EQ(runner.ran.at(0).files.at(0).bytes, large) << "nothing else reads it";
  std::vector<std::string> read;
  tasks->read_large_variables_with([&](const VariableName& name) {
    read.push_back(name.key);
    return read_variable(*tx, name);
  });
  begin({with_file(2), with_file(3)});
  hand_out(with_file(2));
  const TaskFile file = runner.ran.at(1).files.at(0);
  EXPECT_EQ(file.bytes, "");
  EXPECT_THAT(read, testing::IsEmpty());
  EXPECT_EQ(file.read(), large);
  EXPECT_THAT(read, testing::ElementsAre("prices"));
  put_prices("cheap");
  EXPECT_EQ(file.read(), "cheap") << "as it is then";
  write_variable(*tx, prices(), {.bytes = "a secret", .sealed = true});
  EXPECT_EQ(file.read().error().code, kFunctionFiles) << "the task is not sealed";
  erase_variable(*tx, prices());
  EXPECT_EQ(file.read(), "");
  put_prices("cheap");
  hand_out(with_file(3));
  EXPECT_FALSE(runner.ran.at(2).files.at(0).read) << "a small one is read at once";
}

}  // namespace
}  // namespace millrace
