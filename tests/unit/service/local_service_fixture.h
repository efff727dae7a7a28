// LocalServiceTest: a LocalService on a simulated world. The test answers for the publisher, and
// can make parts and reads of the store fail.
#pragma once

#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "broker/memory_stored_events.h"
#include "orchestrator/service/local_service.h"
#include "tests/simulation/world.h"
#include "tests/support/fake_origins.h"
#include "tests/unit/service/definitions.h"
#include "tests/unit/service/fake_stored_letters.h"

namespace millrace {

/// Records the published messages; the test completes them.
class HoldingPublisher final : public Publisher {
 public:
  void publish(NatsMessage message, Done done) override {
    messages.push_back(std::move(message));
    waiting.push_back(std::move(done));
  }

  std::vector<NatsMessage> messages;
  std::vector<Done> waiting;
};

class LocalServiceTest : public testing::Test {
 protected:
  static constexpr const char* kTicks = R"(
id: ticks
start: {type: scheduled, cron: "0 7 * * *"}
states:
- {id: end, type: noop}
)";
  static constexpr const char* kPairs = R"(
id: pairs
start: {type: eventsAnd, correlate: [key], events: [{type: left}, {type: right}]}
states:
- {id: end, type: noop}
)";

  LocalServiceTest() : world(options()) { renew(); }
  ~LocalServiceTest() override {
    service.reset();
    on_read = nullptr;
  }

  WorldOptions options() {
    WorldOptions made;
    made.store.fails_read = [this](Table, std::string_view) { return on_read && on_read(); };
    return made;
  }
  LocalService::Parts parts(Processor& processor) {
    const auto state = [this](const char* part) {
      return [this, part]() -> Status {
        if (failing != part) return {};
        return fail("broker.unreachable", std::string("no ") + part);
      };
    };
    return {.environment = world.environment(),
            .clock = world.clock,
            .intake = world.intake(),
            .processor = processor,
            .definitions = definitions,
            .queries = world.queries(),
            .publisher = publisher,
            .stored_events = stored_events,
            .stored_letters = stored_letters,
            .origins = origins,
            .stream_prefix = "millrace",
            .metrics = metrics,
            .losses = losses,
            .watch = ring,
            .reads_events = state("reader"),
            .sends_events = state("sender"),
            .runs_tasks = state("tasks"),
            .evaluates = state("workers"),
            .levels = [this] { return levels; },
            .evaluate =
                [this](Evaluation evaluation, std::function<void(EvaluationResult)> done) {
                  evaluations.push_back(std::move(evaluation));
                  evaluated.push_back(std::move(done));
                },
            .check_programs =
                [this](std::span<const std::string> programs, Duration at_most) {
                  given.push_back(at_most);
                  world.clock.advance(check_takes);
                  checked.insert(checked.end(), programs.begin(), programs.end());
                  return std::vector<std::optional<Error>>(programs.size(), wrong);
                },
            .check_schemas =
                [this](std::span<const std::string> schemas, Duration) {
                  checked.insert(checked.end(), schemas.begin(), schemas.end());
                  return std::vector<std::optional<Error>>(schemas.size());
                },
            .info = {{"version", "1"}},
            .boot = "b1",
            .attempt_keys = AttemptKeys("secret")};
  }
  void renew() { service = std::make_unique<LocalService>(parts(world.processor())); }
  /// Restarts the process with a changed store.
  void restart_with(const std::function<void(Transaction& tx)>& change) {
    service.reset();
    world.checks_store = false;
    world.crash();
    world.change_store(change);
    world.recover();
    renew();
  }
  void store_settings(const std::string& text) {
    restart_with([&](Transaction& tx) {
      auto record = read_namespace(tx, "default").value().value();
      record.settings = text;
      write_namespace(tx, "default", record);
    });
  }

  /// Publishes `count` events. The answer is added to `published`.
  void publish(size_t count, const std::string& ns = "default") {
    std::vector<Event> events;
    for (size_t i = 0; i < count; ++i) {
      events.push_back({.id = std::to_string(i), .source = "/s", .type = "paid"});
    }
    service->publish_events(ns, std::move(events), [this](Result<Accepted> accepted) {
      published.push_back(std::move(accepted));
    });
  }
  std::future<Result<Json>> verify() {
    const auto report = std::make_shared<std::promise<Result<Json>>>();
    service->verify([report](Result<Json> answer) { report->set_value(std::move(answer)); });
    return report->get_future();
  }
  /// Expects this answer, and an error if the store cannot be read.
  void expect_answer(const std::function<Result<Json>()>& ask, const Result<Json>& expected) {
    ASSERT_TRUE(expected) << expected.error().message;
    EXPECT_EQ(ask(), expected);
    on_read = [] { return true; };
    EXPECT_EQ(code_of(ask()), "store.io") << *expected;
    on_read = nullptr;
  }
  static std::string code_of(const auto& result) {
    return result ? std::string() : result.error().code;
  }

  std::function<bool()> on_read;  ///< called on the thread of each read; true: the read fails
  World world;
  HoldingPublisher publisher;
  MemoryStoredEvents stored_events{world.broker};
  FakeStoredLetters stored_letters;
  FakeOrigins origins;
  DefinitionCache definitions{load_stored};
  Metrics metrics;
  BrokerLosses losses{world.clock, metrics};
  std::string_view failing;  ///< the part that reports an error
  PartLevels levels{.consumers = 7, .jq_workers = 3};
  std::vector<std::string> checked;
  WatchRing ring;
  // The evaluations that the service has asked for, and their callbacks.
  std::vector<Evaluation> evaluations;
  std::vector<std::function<void(EvaluationResult)>> evaluated;
  std::vector<Duration> given;  ///< the time of each check of programs
  Duration check_takes{0};      ///< how long a check of programs takes
  std::optional<Error> wrong;   ///< the error that the check reports for each program
  std::vector<Result<Accepted>> published;
  std::unique_ptr<LocalService> service;
};

}  // namespace millrace
