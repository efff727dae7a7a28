// Tasks with files that their services have accepted: the next process passes on only the files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/outgoing/task_dispatch_fixture.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class AcceptedTasksTest : public TaskDispatchTest {};

TEST_F(AcceptedTasksTest, HandOutOnlyTheirFilesAfterARestart) {
  StartTask of_pool = with_file(2);
  of_pool.runs = Container{.image = "paint"};
  begin({with_file(1), of_pool});
  EXPECT_TRUE(tasks->find(numbered_id(1))->has_files);
  EXPECT_FALSE(tasks->find(numbered_id(2))->has_files) << "its container has the files";
  EXPECT_TRUE(tasks->accept(*tx, numbered_id(1)).value());
  EXPECT_TRUE(tasks->accept(*tx, numbered_id(2)).value());
  commit_tasks();
  restart();
  put_prices("cheap");
  EXPECT_THAT(hand_out_due(), IsEmpty());
  ASSERT_EQ(runner.kept.size(), 1U);
  EXPECT_EQ(runner.kept[0].id, numbered_id(1));
  EXPECT_EQ(runner.kept[0].files.at(0).bytes, "cheap");
  EXPECT_TRUE(tasks->find(numbered_id(1))->is_accepted) << "an operator can answer it";
  EXPECT_FALSE(tasks->accept(*tx, numbered_id(1)).value());
  tasks->stop(numbered_id(1));
  EXPECT_THAT(runner.stopped, ElementsAre(numbered_id(1))) << "its files are not needed any more";
}

TEST_F(AcceptedTasksTest, HaveTheirFilesAlsoWhileTheirServiceIsPaused) {
  begin({task(1), with_file(2)});
  EXPECT_TRUE(tasks->accept(*tx, numbered_id(2)).value());
  commit_tasks();
  set_settings(Json::parse(R"({"paused": ["charges"]})"));
  restart();
  EXPECT_THAT(hand_out_due(), IsEmpty()) << "the service is paused";
  EXPECT_EQ(runner.kept.size(), 1U) << "but it has accepted this task already";
}

TEST_F(AcceptedTasksTest, AreStoredAsSealedIfAFileHasDataOfASecret) {
  begin({with_file(1)});
  write_variable(*tx, prices(), {.bytes = "a secret", .sealed = true});
  commit_tasks();
  hand_out(with_file(1));
  EXPECT_TRUE(tasks->find(numbered_id(1))->sealed);
  EXPECT_TRUE(tasks->accept(*tx, numbered_id(1)).value());
  commit_tasks();
  put_prices("no secret any more");
  restart();
  hand_out_due();
  EXPECT_TRUE(tasks->find(numbered_id(1))->sealed);
  EXPECT_TRUE(runner.kept.at(0).sealed);
}

}  // namespace
}  // namespace millrace
