// RunningEngine as the engine of the active of a cluster, in this process, on a real nats-server.
// The log of the cluster is in memory.
#include <filesystem>
#include <future>
#include <mutex>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/process_parts.h"
#include "app/running_engine.h"
#include "tests/support/memory_log.h"
#include "tests/support/millrace_server.h"
#include "tests/support/nats_fixture.h"
#include "tests/unit/http/http_peer.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr const char* kReporter = R"(
id: reporter
states:
- {id: report, type: generateEvent, event: {type: reported, source: /r}}
)";

/// Asks a worker by the work queue, and a service that has a URL.
constexpr const char* kAsks = R"(
id: asks
functions:
- {id: work, type: service, service: worker}
- {id: call, type: service, service: called}
states:
- id: both
  type: parallel
  actions: [{function: work}, {function: call}]
)";

class EngineInCluster : public NatsFixture {
 protected:
  EngineInCluster() {
    ServerSettings settings{.data = folder_.path() / "data",
                            .listen = "127.0.0.1:0",
                            .nats = {.servers = {server_.url()}},
                            .cluster = "shop"};
    auto store = open_store(settings);
    EXPECT_TRUE(store) << store.error().message;
    auto process =
        ProcessParts::open(std::move(settings), JqLauncher::start(millrace_program()).value());
    EXPECT_TRUE(process) << process.error().message;
    process_ = *std::move(process);
    auto engine = RunningEngine::make(
        *process_, *std::move(store),
        ClusterLead{.log = *lead_, .epoch = 1, .on_log_error = [this](const Error& error) {
                      const std::lock_guard lock(mutex_);
                      errors_.push_back(error.code);
                    }});
    EXPECT_TRUE(engine) << engine.error().message;
    engine_ = *std::move(engine);
    const Status started = engine_->start();
    EXPECT_TRUE(started) << started.error().message;
  }

  static Permission::Time in_an_hour() {
    return std::chrono::steady_clock::now() + std::chrono::hours(1);
  }

  /// Runs an instance that publishes an event, until it has ended.
  void publish_by_an_instance() {
    Service& service = engine_->service();
    ASSERT_NO_FATAL_FAILURE(apply(kReporter));
    run(StartInstance{.ns = "default", .workflow = "reporter", .input = Json::object()});
    ASSERT_TRUE(eventually([&] {
      return !service.instances("default", {.statuses = {InstanceStatus::kComplete}})
                  .value()
                  .at("items")
                  .empty();
    }));
  }

  void apply(const char* text) {
    Loaded loaded = engine_->service().load_definition(text, "default");
    ASSERT_TRUE(loaded.workflow);
    run(ApplyWorkflow{.ns = "default", .text = text, .workflow = loaded.workflow});
  }

  void run(Command command) {
    std::promise<std::string> code;
    engine_->service().command(std::move(command), [&](const Result<Json>& result) {
      code.set_value(result ? "" : result.error().code);
    });
    EXPECT_EQ(code.get_future().get(), "");
  }

  /// How many events the event stream has.
  uint64_t published() { return messages_of("MILLRACE_EVENTS"); }

  uint64_t messages_of(const std::string& stream) {
    const Json info = client_->api("STREAM.INFO." + stream);
    return info.contains("state") ? info["state"]["messages"].get<uint64_t>() : 0;
  }

  std::vector<std::string> errors() {
    const std::lock_guard lock(mutex_);
    return errors_;
  }

  std::unique_ptr<RawNatsClient> client_ = server_.client();
  Folder folder_;
  MemoryLog log_;
  std::unique_ptr<CommitLog> lead_ = log_.start_epoch(RandomName{1}, RandomName{1}, 0).value();
  std::mutex mutex_;
  std::vector<std::string> errors_;
  std::unique_ptr<ProcessParts> process_;
  std::unique_ptr<RunningEngine> engine_;
};

TEST_F(EngineInCluster, AppendsItsCommitsToTheLogAndHasNoEffectsBeforeItIsAllowedTo) {
  publish_by_an_instance();
  EXPECT_GT(log_.messages().size(), 1U);
  EXPECT_FALSE(process_->publishing->connected());
  EXPECT_EQ(published(), 0U);
  engine_->allow_until(in_an_hour());
  EXPECT_TRUE(eventually([&] { return published() == 1; }));
  EXPECT_THAT(errors(), IsEmpty());
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "data" / "in-hand"))
      << "a node has no file with a crash note";
}

TEST_F(EngineInCluster, HandsOutTasksAndCallsServicesOnlyWhileItIsAllowedTo) {
  HttpPeer peer([](const HttpPeer::Request&, HttpPeer::Connection& connection) {
    return connection.answer(200, "1");
  });
  run(CreateNamespace{.name = "default",
                      .settings = Json{{"services", {{"called", {{"url", peer.url("/call")}}}}}}});
  apply(kAsks);
  for (size_t count = 1; count <= 2; ++count) {
    run(StartInstance{.ns = "default", .workflow = "asks", .input = Json::object()});
    ASSERT_TRUE(eventually([&] {
      const Json levels = engine_->service().overview("default").value().at("levels");
      const size_t tasks = levels["tasksUnsent"].get<size_t>() + messages_of("MILLRACE_TASKS");
      const size_t calls = levels["httpWaiting"].get<size_t>() + peer.requests(0).size();
      return tasks == count && calls == count;
    })) << "the engine has handed out both";
    EXPECT_FALSE(process_->working->connected());
    EXPECT_EQ(messages_of("MILLRACE_TASKS"), count - 1);
    EXPECT_THAT(peer.requests(0), SizeIs(count - 1));
    engine_->allow_until(in_an_hour());
    EXPECT_TRUE(eventually([&] { return messages_of("MILLRACE_TASKS") == count; }));
    EXPECT_THAT(peer.requests(count), SizeIs(count));
    engine_->forbid();
  }
}

TEST_F(EngineInCluster, HasNoEffectsWhenItIsForbidden) {
  engine_->allow_until(in_an_hour());
  publish_by_an_instance();
  ASSERT_TRUE(eventually([&] { return published() == 1; }));
  engine_->forbid();
  EXPECT_FALSE(process_->publishing->connected());
  publish_by_an_instance();
  EXPECT_EQ(published(), 1U);
  engine_->allow_until(in_an_hour());
  EXPECT_TRUE(eventually([&] { return published() == 2; }));
}

TEST_F(EngineInCluster, SendsNothingWhenItIsAbandoned) {
  publish_by_an_instance();
  engine_->abandon();
  engine_->allow_until(in_an_hour());
  engine_.reset();
  EXPECT_EQ(published(), 0U);
}

TEST_F(EngineInCluster, AnswersThatItMakesTurns) {
  for (int turn = 0; turn < 2; ++turn) {
    std::promise<void> answered;
    engine_->ask_turn([&] { answered.set_value(); });
    EXPECT_EQ(answered.get_future().wait_for(kPatience), std::future_status::ready);
  }
}

TEST_F(EngineInCluster, ReportsThatAnotherNodeOwnsTheStreams) {
  ASSERT_TRUE(eventually([&] {
    const Json info = client_->api("STREAM.INFO.MILLRACE_OWNER");
    return info.contains("state") && info["state"]["messages"] == 1;
  }));
  OwnerRecord other{.store = "0a",
                    .process = std::string(32, 'b'),
                    .folder = "cluster shop",
                    .host = "there",
                    .cluster = "shop",
                    .epoch = 2};
  client_->publish_acked("millrace.owner", "", dump_json(encode(other)));
  EXPECT_TRUE(eventually([&] { return !errors().empty(); }));
  EXPECT_THAT(errors(), ElementsAre("log.deposed"));
}

}  // namespace
}  // namespace millrace
