// The process dies when it passes a crash point (os/crash_point.h) for the first time, with
// MILLRACE_HITS=3 also for the second and the third time, in each type of state; or its disk fails
// at the nth sync. After the restart, the results must be the same as without a crash.
#include <algorithm>
#include <csignal>
#include <filesystem>
#include <map>
#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "base/bytes.h"
#include "base/check.h"
#include "os/crash_point.h"
#include "tests/integration/environment_number.h"
#include "tests/integration/recording_webhook.h"
#include "tests/support/campaign.h"
#include "tests/support/crash_scenarios.h"
#include "tests/support/millrace_server.h"
#include "tests/unit/broker/task_world.h"

namespace millrace {
namespace {

using testing::AnyOf;
using testing::HasSubstr;

using Variables = std::map<std::string, std::string>;

/// At how many passings of a crash point the process dies, one run for each.
int hits() { return static_cast<int>(number_from("MILLRACE_HITS", 1)); }

constexpr int kLeastCommits = 6;  ///< at least one commit for each instance
constexpr int kKilled = 128 + SIGKILL;
constexpr int kAborted = 128 + SIGABRT;
constexpr int kFaulted = 128 + SIGSEGV;
constexpr int kNotStarted = 1;

/// Answers each task of service `echo` with its input.
class EchoWorker {
 public:
  explicit EchoWorker(const NatsServer& nats) : worker_(nats, "millrace.tasks.default.echo") {}

  /// Answers all tasks that are in the stream now.
  void work() {
    worker_.ask(R"({"batch":8,"no_wait":true})");
    while (const auto task = worker_.client->next(Duration(1))) {
      if (task->reply.empty()) continue;  // a status message: the pull request has ended
      ids_[task->data].insert(Worker::header(*task, "Direktiv-ActionID"));
      worker_.answer(*task, task->data);
    }
  }

  /// The action ids of the tasks, by input.
  const std::map<std::string, std::set<std::string>>& ids() const { return ids_; }

 private:
  Worker worker_;
  std::map<std::string, std::set<std::string>> ids_;
};

/// Runs the program through one scenario. Calls that a crash left without an answer are repeated.
class ScenarioRun {
 public:
  ScenarioRun(const NatsServer& nats, RawNatsClient& client, RecordingWebhook& webhook,
              const CrashScenario& scenario, const std::filesystem::path& prepared,
              const Variables& faults)
      : scenario_(scenario),
        client_(client),
        worker_(nats),
        webhook_(webhook),
        subscriber_(nats.client()),
        server_(nats.url(), {}, MILLRACE_FAULTS_PROGRAM) {
    delete_streams(client_);
    subscriber_->subscribe("millrace.events.default.told");
    subscriber_->flush();
    std::filesystem::copy(prepared, server_.data());
    server_.launch(faults);
    until("/readyz answers 200", [&] { return ask("GET", "/readyz").status == 200; });
  }

  /// Starts and wakes all instances, and waits until they have ended.
  void drive() {
    for (size_t i = 1; i <= 3; ++i) {
      for (const std::string& type : scenario_.start_events) publish(type, fmt::format("e{}", i));
      until("the instance has started", [&] { return instances().size() == i; });
    }
    for (size_t i = 1; i <= 3; ++i) call(fmt::format("c{}", i));
    for (const std::string& type : scenario_.wake_events) {
      for (const char* const key : kKeys) publish(type, key);
    }
    until("all instances have ended", [&] {
      const std::vector<Json> all = instances();
      return std::all_of(all.begin(), all.end(), [](const Json& one) {
        return one.at("status") == "complete" || one.at("status") == "failed";
      });
    });
    if (scenario_.has_webhook) {
      until("the webhook has an event of each instance", [&] {
        const auto received = webhook_.ids();
        const std::vector<Json> all = instances();
        return std::all_of(all.begin(), all.end(), [&](const Json& one) {
          return received.contains(one.at("id").get<std::string>());
        });
      });
    }
    if (scenario_.generates_event) {
      until("all events are published", [&] { return published().size() >= std::size(kKeys); });
    }
  }

  /// Publishes events that match nothing, so that batches change the cursor only, until the process
  /// ends.
  void publish_unmatched_until_it_ends() {
    for (size_t i = 0; deaths_.empty(); ++i) {
      CHECK(i < 50'000, "the process does not end");
      publish("other", std::to_string(i));
      restart_if_dead();
    }
  }

  /// Waits until the process has died.
  void await_death() {
    until("the process ends", [&] { return !deaths_.empty(); });
  }

  /// The exit code and the log of each process that died.
  const std::vector<ProcessEnd>& deaths() const { return deaths_; }

  void expect_right() {
    const std::vector<Json> all = instances();
    EXPECT_EQ(all.size(), std::size(kKeys));
    std::map<std::string, TimePoint> started;
    for (const Json& item : all) {
      const std::string id = item.at("id");
      const Json instance = body("instances/" + id);
      const std::string key = instance.at("input").at("begin").at("key");
      EXPECT_EQ(instance.at("status"), scenario_.status) << instance;
      EXPECT_EQ(instance.value("run", 1), scenario_.runs) << instance;
      EXPECT_EQ(instance.value(Json::json_pointer("/error/code"), ""), scenario_.error);
      EXPECT_TRUE(started.emplace(key, expect_history(id)).second) << key << " twice";
      EXPECT_EQ(calls_.contains(key) ? call(key) : id, id) << "the call " << key;
      EXPECT_EQ(webhook_.ids()[id].size(), scenario_.has_webhook ? 1U : 0U) << "webhook event ids";
    }
    EXPECT_EQ(calls_.size(), 3U);
    expect_published(started);
    EXPECT_EQ(worker_.ids().size(), scenario_.has_task ? std::size(kKeys) : 0);
    for (const auto& [key, ids] : worker_.ids()) EXPECT_EQ(ids.size(), 1U) << "the task of " << key;
    if (scenario_.children > 0) {
      EXPECT_EQ(items("instances?workflow=child").size(), std::size(kKeys) * scenario_.children);
    }
    EXPECT_TRUE(items("dlq").empty());
    EXPECT_EQ(instances().size(), std::size(kKeys)) << "the repeated calls started no instance";
  }

 private:
  struct PublishedEvent {
    std::string id;
    TimePoint stamped;  ///< the time of the message in the stream
  };

  static constexpr const char* kKeys[] = {"e1", "e2", "e3", "c1", "c2", "c3"};

  void restart_if_dead() {
    if (server_.is_running() && listens_) return;
    if (!server_.is_running()) {
      deaths_.push_back(server_.end());
      server_.launch();
    }
    listens_ = server_.listens();
  }

  template <class Condition>
  void until(std::string_view what, const Condition& condition) {
    const bool came = eventually([&] {
      restart_if_dead();
      if (scenario_.has_task) worker_.work();
      return condition();
    });
    CHECK(came, "{}: not true in time: {}\n{}", scenario_.name, what, server_.process().errors());
  }

  HttpReply ask(std::string_view method, std::string_view path, std::string_view text = "",
                const Headers& headers = {}) {
    return server_.ask(method, path, text, headers);
  }

  Json body(const std::string& path) {
    HttpReply reply;
    until(path, [&] { return (reply = ask("GET", path)).status == 200; });
    return reply.json();
  }
  std::vector<Json> items(const std::string& path) {
    return body(path).at("items").get<std::vector<Json>>();
  }
  std::vector<Json> instances() { return items("instances?workflow=work"); }

  void publish(const std::string& type, const std::string& key) {
    const Json ack = client_.publish_acked(
        "millrace.events.default." + type, "",
        fmt::format(R"({{"specversion":"1.0","id":"{0}-{1}","source":"/campaign","type":"{0}",)"
                    R"("key":"{1}","data":{{"key":"{1}"}}}})",
                    type, key));
    CHECK(ack.contains("seq"), "{}", ack.dump());
  }

  /// Starts the instance of this key; after a crash the call is repeated. All calls with one key
  /// must return the same id.
  std::string call(const std::string& key) {
    HttpReply reply;
    until("the call is answered", [&] {
      reply = ask("POST", "workflows/work/start", dump_json({{"begin", {{"key", key}}}}),
                  {{"Idempotency-Key", key}});
      return reply.status != 0 && reply.status != 503;
    });
    const auto known = calls_.find(key);
    if (known != calls_.end()) {
      EXPECT_EQ(reply.status, 200) << "the instance was started before";
    } else if (deaths_.empty()) {
      EXPECT_EQ(reply.status, 201);
    }
    std::string id = reply.json().at("id");
    EXPECT_EQ(calls_.emplace(key, id).first->second, id);
    return id;
  }

  /// Expects one start (of the last run), one end, each state once, and no early end. Returns the
  /// time of the start.
  TimePoint expect_history(const std::string& id) {
    std::vector<std::string> entered;
    std::vector<TimePoint> started;
    std::vector<TimePoint> ended;
    for (const Json& record : items("instances/" + id + "/history")) {
      const TimePoint time = parse_rfc3339(record.at("time").get<std::string>()).value();
      if (record.at("kind") == "entered") entered.push_back(record.at("state"));
      // The history of the run before has gone: the last run begins with another record.
      if (record.at("kind") == (scenario_.runs > 1 ? "continued" : "started")) {
        started.push_back(time);
      }
      if (record.at("kind") == "ended") ended.push_back(time);
    }
    EXPECT_EQ(entered, scenario_.entered);
    EXPECT_EQ(started.size(), 1U);
    EXPECT_EQ(ended.size(), 1U);
    if (started.empty() || ended.empty()) return {};
    EXPECT_GE(ended[0] - started[0], scenario_.generates_event ? Duration(0) : scenario_.at_least);
    return started[0];
  }

  /// The generated events in the stream, by key.
  std::multimap<std::string, PublishedEvent> published() {
    std::multimap<std::string, PublishedEvent> found;
    const Json info = client_.api("STREAM.INFO.MILLRACE_EVENTS");
    const uint64_t last = info.at("state").at("last_seq");
    for (uint64_t sequence = 1; sequence <= last; ++sequence) {
      const Json message =
          client_.api("STREAM.MSG.GET.MILLRACE_EVENTS", {{"seq", sequence}}).at("message");
      if (message.at("subject") != "millrace.events.default.told") continue;
      const Json event = Json::parse(base64_decode(message.at("data").get<std::string>()).value());
      found.emplace(event.at("data").at("key"),
                    PublishedEvent{event.at("id"),
                                   parse_rfc3339(message.at("time").get<std::string>()).value()});
    }
    return found;
  }

  /// Expects one event of each instance, under one id and not early. The stream drops a redelivered
  /// message; a subscriber receives it.
  void expect_published(const std::map<std::string, TimePoint>& started) {
    std::map<std::string, std::set<std::string>> ids;
    for (const auto& [key, event] : published()) {
      ids[key].insert(event.id);
      ASSERT_TRUE(started.contains(key)) << key;
      EXPECT_GE(event.stamped - started.at(key), scenario_.at_least);
    }
    EXPECT_EQ(ids.size(), scenario_.generates_event ? std::size(kKeys) : 0);
    subscriber_->flush();
    while (const auto message = subscriber_->next(Duration(0))) {
      const Json event = Json::parse(message->data);
      ids[event.at("data").at("key")].insert(event.at("id"));
    }
    for (const auto& [key, all] : ids) EXPECT_EQ(all.size(), 1U) << key;
  }

  const CrashScenario& scenario_;
  RawNatsClient& client_;
  EchoWorker worker_;
  RecordingWebhook& webhook_;
  std::unique_ptr<RawNatsClient> subscriber_;
  MillraceServer server_;
  bool listens_ = false;
  std::vector<ProcessEnd> deaths_;
  std::map<std::string, std::string> calls_;  ///< the ids that calls returned, by key
};

class CrashRecovery : public testing::Test {
 protected:
  /// Prepares a data folder that has the workflow and nothing else.
  void prepare(const CrashScenario& scenario) {
    MillraceServer server("nats://127.0.0.1:1");  // no server listens there
    server.start();
    server.apply(scenario.definition);
    if (scenario.has_webhook) {
      const Json settings = {
          {"webhooks", {{{"url", webhook_.url()}, {"types", {"millrace.instance.completed"}}}}}};
      CHECK(server.ask("PUT", "/v1/ns/default", dump_json(settings)).status == 200);
    }
    if (!scenario.child.empty()) server.apply(scenario.child);
    server.stop();
    std::filesystem::copy(server.data(), prepared());
  }

  std::filesystem::path prepared() const { return folder_.path() / "prepared"; }

  NatsServer nats_;
  std::unique_ptr<RawNatsClient> client_ = nats_.client();
  RecordingWebhook webhook_;
  Folder folder_;
};

/// With this setting a checkpoint follows each commit, and writes one row in each transaction.
const std::pair<const std::string, std::string> kCheckpointsAtOnce = {"MILLRACE_CHECKPOINT_BYTES",
                                                                      "1"};

Variables crash_at(std::string_view point, int hit) {
  return {{"MILLRACE_CRASH", fmt::format("{}:{}", point, hit)}, kCheckpointsAtOnce};
}

class CrashPoints : public CrashRecovery, public testing::WithParamInterface<CrashScenario> {};

TEST_P(CrashPoints, LoseAndRepeatNothing) {
  const CrashScenario& scenario = GetParam();
  Campaign campaign("crash points: " + scenario.name,
                    "each instance once, stable answers and ids, no early timer");
  prepare(scenario);
  for (const auto& [point, name] : kCrashPoints) {
    const bool is_passed = kAlways.contains(point) || scenario.also.contains(point);
    for (int hit = 1; hit <= (is_passed ? hits() : 1); ++hit) {
      campaign.run(fmt::format("{}:{}", name, hit), [&, point_name = name] {
        ScenarioRun run(nats_, *client_, webhook_, scenario, prepared(), crash_at(point_name, hit));
        run.drive();
        if (is_passed) {
          run.await_death();
          EXPECT_EQ(run.deaths().at(0).code, kKilled);
        }
        EXPECT_EQ(run.deaths().size(), is_passed ? 1U : 0U);
        run.expect_right();
      });
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Each, CrashPoints, testing::ValuesIn(kScenarios),
                         [](const auto& one) { return one.param.name; });

TEST_F(CrashRecovery, ReadsEventsAgainAfterACrashInABatchThatWritesTheCursorOnly) {
  const CrashScenario& scenario = kScenarios[0];
  Campaign campaign("crash points: cursor alone",
                    "each instance once, stable answers and ids, no early timer");
  prepare(scenario);
  for (int hit = 1; hit <= hits(); ++hit) {
    campaign.run(fmt::format("cursor-alone:{}", hit), [&] {
      ScenarioRun run(nats_, *client_, webhook_, scenario, prepared(),
                      crash_at("cursor-alone", hit));
      run.drive();
      run.publish_unmatched_until_it_ends();
      EXPECT_EQ(run.deaths().at(0).code, kKilled);
      run.expect_right();
    });
  }
}

class ScheduleCrash : public CrashRecovery, public testing::WithParamInterface<const char*> {};

TEST_P(ScheduleCrash, RepeatsNoTickAndFiresNoneEarly) {
  const std::string point = GetParam();
  Campaign campaign("crash points: schedule, " + point, "no tick twice, no early tick");
  prepare({.name = "schedule", .definition = R"(
id: work
start: {type: scheduled, cron: "@every 1s"}
states: [{id: done, type: noop}]
)"});
  for (int hit = 1; hit <= hits(); ++hit) {
    campaign.run(fmt::format("{}:{}", point, hit), [&] {
      MillraceServer server(nats_.url(), {}, MILLRACE_FAULTS_PROGRAM);
      std::filesystem::copy(prepared(), server.data());
      server.launch(crash_at(point, hit));
      EXPECT_EQ(server.end().code, kKilled);
      server.start();
      // Before the crash there were at most `hit` instances; this waits for one more.
      const auto most = static_cast<size_t>(hit);
      EXPECT_TRUE(
          eventually([&] { return server.items("instances?status=complete").size() > most; }));
      std::set<std::string> ticks;
      for (const Json& instance : server.items("instances?status=complete")) {
        const Json started = server.history(instance.at("id").get<std::string>()).at(0);
        const std::string tick = started.at("detail").at("tick");
        EXPECT_TRUE(ticks.insert(tick).second) << "two instances of the tick " << tick;
        EXPECT_LE(tick, started.at("time").get<std::string>()) << "the tick fired early";
      }
      server.kill();
    });
  }
}

INSTANTIATE_TEST_SUITE_P(Each, ScheduleCrash,
                         testing::Values("timer-applied", "finished", "written", "committed",
                                         "journal-turned", "root-written"),
                         [](const auto& one) {
                           std::string name = one.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST_F(CrashRecovery, MovesAPoisonEventToTheDeadLetterQueue) {
  prepare({.name = "poison", .definition = R"(
id: work
start: {type: event, event: {type: begin}}
states: [{id: done, type: noop}]
)"});
  const auto publish = [&](std::string_view id) {
    const Json ack = client_->publish_acked(
        "millrace.events.default.begin", "",
        fmt::format(R"({{"specversion":"1.0","id":"{}","source":"/t","type":"begin"}})", id));
    CHECK(ack.contains("seq"), "{}", ack.dump());
  };
  MillraceServer server(nats_.url(), {}, MILLRACE_FAULTS_PROGRAM);
  std::filesystem::copy(prepared(), server.data());
  server.start();
  ASSERT_TRUE(eventually([&] { return server.ask("GET", "/readyz").status == 200; }));
  server.stop();
  publish("poison");
  publish("good");
  // The first process dies in the batch of both events, the next two in a batch of the poison
  // alone.
  for (int death = 0; death < 3; ++death) {
    server.launch({{"MILLRACE_CRASH", "event-applied:1:fault"}});
    EXPECT_EQ(server.end().code, kFaulted);
  }
  server.start();
  const auto items = [&](const std::string& path) {
    const HttpReply reply = server.ask("GET", path);
    return reply.status == 200 ? reply.json().at("items") : Json::array();
  };
  EXPECT_TRUE(eventually([&] { return items("instances").size() == 1; }));
  ASSERT_TRUE(eventually([&] { return items("dlq").size() == 1; }));
  EXPECT_EQ(items("dlq")[0].at("reason"), "millrace.poison");
}

/// The disk fails: what is on it is unknown, so the process aborts.
class FailedDisk : public CrashRecovery, public testing::WithParamInterface<const char*> {};

TEST_P(FailedDisk, AbortsTheProcessAndTheRestartLosesNothing) {
  Campaign campaign(fmt::format("failed disk: {}", GetParam()),
                    "an error message and an abort; after the restart, as after a crash");
  for (const CrashScenario& scenario : kScenarios) {
    if (scenario.name != "generateEvent" && scenario.name != "eventAnd") continue;
    prepare(scenario);
    for (int nth = 1; nth <= kLeastCommits; ++nth) {
      const std::string fault = fmt::format("{}:{}", GetParam(), nth);
      campaign.run(scenario.name + " " + fault, [&] {
        ScenarioRun run(nats_, *client_, webhook_, scenario, prepared(),
                        {{"MILLRACE_FILES", fault}, kCheckpointsAtOnce});
        run.drive();
        run.await_death();
        ASSERT_EQ(run.deaths().size(), 1U);
        // A fault while the journal is opened prevents the start.
        EXPECT_THAT(run.deaths().at(0).code, AnyOf(kAborted, kNotStarted));
        EXPECT_THAT(run.deaths().at(0).errors, HasSubstr("disk is unknown"));
        run.expect_right();
      });
    }
    std::filesystem::remove_all(prepared());
  }
}

INSTANTIATE_TEST_SUITE_P(Each, FailedDisk, testing::Values("sync", "root", "error"),
                         [](const auto& one) { return std::string(one.param); });

}  // namespace
}  // namespace millrace
