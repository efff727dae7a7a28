// jq programs that never end, crash or need too much memory do not disturb other workflows.
//
// The tests of slow transforms are short by default. These environment variables set 200 instances
// of 3 s: MILLRACE_SLOW_WORKFLOWS=20 MILLRACE_SLOW_INSTANCES=10 MILLRACE_SLOW_MS=3000.
#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "tests/integration/environment_number.h"
#include "tests/support/millrace_server.h"

namespace millrace {
namespace {

using testing::HasSubstr;

/// A workflow that catches the error of its jq program and enters a state for its code.
std::string caught(std::string_view id, std::string_view program) {
  return fmt::format(R"(
id: {0}
states:
  - id: evaluate
    type: noop
    transform:
      result: '{1}'
    catch:
      - error: direktiv.jq.badCommand
        transition: crashed
      - error: millrace.jq.memory
        transition: grew
      - error: millrace.timeout.task
        transition: looped
  - id: crashed
    type: noop
  - id: grew
    type: noop
  - id: looped
    type: noop
)",
                     id, program);
}

/// A workflow that needs a jq worker before and after it waits for an event.
constexpr const char* kGood = R"(
id: good
start:
  type: event
  event:
    type: good.start
states:
  - id: prepare
    type: noop
    transform:
      key: jq(.["good.start"].key | ascii_upcase)
    transition: wait
  - id: wait
    type: consumeEvent
    event:
      type: good.go
      context:
        key: jq(.key)
    transform:
      key: jq(.key | ascii_downcase)
)";

std::string event_text(std::string_view type, std::string_view key) {
  return fmt::format(
      R"({{"specversion":"1.0","id":"{0}-{1}","source":"/test","type":"{0}","key":"{1}",)"
      R"("data":{{"key":"{1}"}}}})",
      type, key);
}

class Isolation : public testing::Test {
 protected:
  void start(std::string task_timeout) {
    millrace_ = std::make_unique<MillraceServer>(
        nats_.url(),
        std::map<std::string, std::string>{{"MILLRACE_TASK_TIMEOUT", std::move(task_timeout)},
                                           {"MILLRACE_TEST_SECRET", "visible"}});
    millrace_->start_ready();
    client_ = nats_.client();
  }

  MillraceServer& millrace() { return *millrace_; }

  void publish(std::string_view type, std::string_view key) {
    client_->publish(fmt::format("millrace.events.default.{}", type), event_text(type, key));
  }

  /// Runs a hundred instances of `good` from start to end.
  void run_good_instances() {
    millrace().apply(kGood);
    for (int i = 0; i < 100; ++i) publish("good.start", fmt::format("k{}", i));
    for (int i = 0; i < 100; ++i) publish("good.go", fmt::format("K{}", i));
    client_->flush();
    EXPECT_TRUE(millrace().has_instances("workflow=good&status=complete", 100));
  }

  /// The states that the instance entered.
  std::vector<std::string> states_entered(const std::string& id) {
    std::vector<std::string> states;
    for (const Json& record : millrace().history(id)) {
      if (record.at("kind") == "entered") states.push_back(record.at("state"));
    }
    return states;
  }

  NatsServer nats_;
  std::unique_ptr<RawNatsClient> client_;
  std::unique_ptr<MillraceServer> millrace_;
};

TEST_F(Isolation, EndsEachFaultyJqProgramWithItsErrorCodeWhileOtherInstancesRun) {
  start("PT2S");
  struct Row {
    const char* id;
    const char* program;
    testing::Matcher<std::string> ends_in;
  };
  const Row rows[] = {
    {"loops", "jq(last(range(1e18)))", "looped"},
    {"recurses", "jq(def f: f; f)", "looped"},
    // This program needs more memory with each turn of its loop, so either limit may come first.
    {"substitutes", R"x(jq("x" | gsub("^"; "x")))x", testing::AnyOf("looped", "grew")},
    {"aborts", "jq(1e18 | todate)", "crashed"},
    {"divides", "jq(-9223372036854775808 % -1)", "crashed"},
    {"halts", "jq(halt)", "crashed"},
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // no memory limit there
    {"grows", "jq([] | .[1e9] = 1)", "grew"},
#endif
  };
  std::map<std::string, std::string> ids;
  for (const Row& row : rows) {
    millrace().apply(caught(row.id, row.program));
    ids[row.id] = millrace().start_instance(row.id, {{"n", 1}});
  }
  run_good_instances();
  for (const Row& row : rows) {
    millrace().instance_once(ids[row.id], "complete");
    EXPECT_THAT(states_entered(ids[row.id]), testing::ElementsAre("evaluate", row.ends_in))
        << row.id;
  }
}

TEST_F(Isolation, HidesTheEnvironmentAndTheDiskFromJqPrograms) {
  start("PT10S");
  const std::string looks =
      R"(jq([env, $ENV, env.MILLRACE_TEST_SECRET, [inputs], input_filename, get_search_list]))";
  millrace().apply(caught("looks", looks));
  const std::string id = millrace().start_instance("looks", Json::object());
  const Json ended = millrace().instance_once(id, "complete");
  EXPECT_EQ(ended.at("data").at("result"), *parse_json("[{},{},null,[],null,[]]"));
  for (const char* program : {R"(jq(import "/etc/passwd" as $p; $p))", R"(jq(include "x"; .))"}) {
    const HttpReply refused = millrace().ask("PUT", "workflows/reads", caught("reads", program));
    EXPECT_EQ(refused.status, 422) << program;
    EXPECT_THAT(refused.body, HasSubstr("jq.syntax")) << program;
  }
}

TEST_F(Isolation, RunsOtherInstancesBesideTwoJqProgramsThatNeverEnd) {
  start("PT24H");
  std::vector<std::string> looping;
  for (const char* id : {"one", "two"}) {
    millrace().apply(caught(id, "jq(last(range(1e18)))"));
    looping.push_back(millrace().start_instance(id, {{"n", 1}}));
  }
  run_good_instances();
  for (const std::string& id : looping) EXPECT_EQ(millrace().instance(id).at("status"), "running");
  millrace().stop();  // expects that no process is left
}

/// A workflow that computes for about this time between its start and its wait.
std::string slow_workflow(size_t number, size_t milliseconds) {
  constexpr size_t kStepsAMillisecond = 3'000;
  return fmt::format(R"(
id: slow{0}
start:
  type: event
  event:
    type: slow{0}.start
states:
  - id: compute
    type: noop
    transform:
      key: jq(.["slow{0}.start"].key)
      steps: jq(reduce range({1}) as $i (0; . + 1))
    transition: wait
  - id: wait
    type: consumeEvent
    event:
      type: slow{0}.go
      context:
        key: jq(.key)
)",
                     number, milliseconds * kStepsAMillisecond);
}

class SlowTransform : public Isolation {
 protected:
  void SetUp() override {
    start("PT30S");
    for (size_t i = 0; i < workflows_; ++i) millrace().apply(slow_workflow(i, milliseconds_));
    // The event that an instance waits for is published directly after the event that starts it.
    for (size_t k = 0; k < instances_; ++k) {
      for (size_t i = 0; i < workflows_; ++i) {
        publish(fmt::format("slow{}.start", i), fmt::format("k{}", k));
        publish(fmt::format("slow{}.go", i), fmt::format("k{}", k));
      }
    }
    client_->flush();
  }

  size_t count(const std::string& query) { return millrace().instances(query).size(); }

  void expect_all_complete() {
    const auto long_enough = kPatience + Duration(20 * all() * milliseconds_);
    EXPECT_TRUE(eventually([&] { return count("status=complete") == all(); }, long_enough));
    EXPECT_EQ(count(""), all());
    EXPECT_TRUE(millrace().items("dlq").empty());
  }

  size_t all() const { return workflows_ * instances_; }

 private:
  const size_t workflows_ = number_from("MILLRACE_SLOW_WORKFLOWS", 2);
  const size_t instances_ = number_from("MILLRACE_SLOW_INSTANCES", 3);
  const size_t milliseconds_ = number_from("MILLRACE_SLOW_MS", 300);
};

TEST_F(SlowTransform, MissesNoEventThatComesBeforeItEnds) { expect_all_complete(); }

TEST_F(SlowTransform, MissesNoEventIfMillraceIsKilledDuringTheTransform) {
  ASSERT_TRUE(eventually([&] { return count("") == all() && count("status=complete") > 0; }));
  millrace().kill();
  millrace().start_ready();
  expect_all_complete();
}

}  // namespace
}  // namespace millrace
