// TaskRouter: what it asks all runners.
#include "functions/task_router.h"

#include <gtest/gtest.h>

#include "model/task.h"
#include "tests/unit/support/recorders.h"

namespace millrace {
namespace {

TEST(TaskRouter, AddsUpTheBytesThatWaitInEachRunnerOnce) {
  RecordingRunner over_nats;
  RecordingRunner over_http;
  over_nats.waiting["shop"] = 5;
  over_http.waiting["shop"] = 2;
  TaskRouter router;
  router.route<WorkQueue>(over_nats);
  router.route<NatsService>(over_nats);
  router.route<HttpService>(over_http);
  EXPECT_EQ(router.waiting_bytes("shop"), 7U);
  EXPECT_EQ(router.waiting_bytes("other"), 0U);
}

TEST(TaskRouter, GivesEachTaskTheEpochOfTheNode) {
  for (const uint64_t epoch : {0, 18}) {
    RecordingRunner runner;
    TaskRouter router(epoch);
    router.route<HttpService>(runner);
    router.run({.target = HttpService()});
    ASSERT_EQ(runner.ran.size(), 1U);
    EXPECT_EQ(runner.ran.front().epoch, epoch);
  }
}

TEST(TaskRouter, GivesEachTaskACallback) {
  RecordingRunner runner;
  TaskRouter router(
      0, [](const Task& task) { return TaskCallback{.url = "http://m/" + task.ns, .key = "k"}; });
  router.route<HttpService>(runner);
  router.route<NatsService>(runner);
  router.route<WorkQueue>(runner);
  router.route<Container>(runner);
  const TaskFolder folder{.url = "http://m/files", .key = "k"};
  router.run({.ns = "shop", .target = HttpService()});
  router.run({.ns = "shop", .target = NatsService()});
  router.run({.ns = "shop", .target = WorkQueue()});
  router.run({.ns = "shop", .target = HttpService(), .folder = folder});
  router.run({.ns = "shop", .target = NatsService(), .folder = folder});
  router.run({.ns = "shop", .target = Container()});
  ASSERT_EQ(runner.ran.size(), 6U);
  for (const Task& task : runner.ran) {
    EXPECT_EQ(task.callback, (TaskCallback{"http://m/shop", "k"})) << task.target.index();
  }
}

}  // namespace
}  // namespace millrace
