// SourcesSimulation: the source `orders` of the stream ORDERS, which the test reads turn by turn,
// on a simulated world.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "broker/memory_stored_events.h"
#include "orchestrator/service/source_run.h"
#include "tests/simulation/world.h"
#include "tests/support/fake_origins.h"

namespace millrace {

inline constexpr const char* kTakesOrders = R"(
id: takes-orders
start: {type: event, event: {type: order}}
states:
- {id: end, type: noop}
)";

inline const SourcePlace kOrders{.ns = NamespaceNumber(1), .name = "orders"};

/// Publishes into the broker of the world, and has it acknowledge at once.
class WorldPublisher final : public Publisher {
 public:
  explicit WorldPublisher(MemoryBroker& to) : to_(to) {}
  void publish(NatsMessage message, Done done) override {
    to_.publish(std::move(message), std::move(done));
    to_.pump(0);
  }

 private:
  MemoryBroker& to_;
};

class SourcesSimulation : public testing::Test {
 protected:
  SourcesSimulation() { world.apply(kTakesOrders); }

  /// Applies the source `orders` of the stream ORDERS, which is read from its first message on, and
  /// has a new process read it.
  void apply(const std::string& settings = R"({"begin":"all","stream":"ORDERS"})") {
    change(settings);
    begin();
  }
  void change(const std::string& settings) {
    const OriginState state = origins.find("ORDERS").value();
    ApplySource command{.ns = "default", .name = "orders"};
    command.record.origin = {.source = {7}, .created = state.created};
    command.record.stream = "ORDERS";
    command.record.begin = R"("all")";
    command.record.settings = settings;
    world.must(command);
  }
  /// A new process reads the source.
  void begin() {
    parts.emplace(
        SourceParts{.environment = world.environment(),
                    .clock = world.clock,
                    .origins = origins,
                    .publisher = publisher,
                    .events = stored,
                    .admit = [](std::string_view, size_t) { return Status(); },
                    .command =
                        [this](Command command, const std::function<void(Result<Json>)>& done) {
                          const Answered answer = world.command(std::move(command));
                          world.run_until_idle();
                          done(*answer ? **answer : Result<Json>(fail("stopping", "no answer")));
                        },
                    .evaluate =
                        [this](Evaluation evaluation, std::function<void(EvaluationResult)> done) {
                          world.evaluator.submit(std::move(evaluation), std::move(done));
                        },
                    .totals = &totals,
                    .patience = Duration(0)});
    run = std::make_unique<SourceRun>(*parts, kOrders, "default",
                                      consumer_of("default", kOrders, source()));
  }
  /// Makes turns of the source and of the engine until all messages are applied.
  void settle(int most = 400) {
    for (; most > 0; --most) {
      const Duration wait = run->turn();
      world.run_until_idle();
      const OriginRecord at = origin();
      const uint64_t last = origins.streams["ORDERS"].last;
      if (at.applied.highest() >= last && at.applied.above().empty() && !run->figures().waits) {
        return;
      }
      world.run_for(std::max(wait, Duration(20)));
    }
    ADD_FAILURE() << "not all messages were applied: " << origin().applied.highest();
  }
  /// Makes a turn when the rate permits the next page.
  void turn_later() {
    world.run_for(Duration(20));
    run->turn();
  }
  SourceRecord source() {
    const Snapshot view = Snapshot::take(world.environment()).value();
    return read_source(view, kOrders).value().value_or(SourceRecord());
  }
  OriginRecord origin() {
    const Snapshot view = Snapshot::take(world.environment()).value();
    return read_origin(view, source().origin).value().value_or(OriginRecord());
  }
  /// Adds a message that is no CloudEvent.
  void add_plain(const std::string& data) {
    ++orders;
    origins.add("ORDERS", "shop.orders.eu", data);
  }
  std::vector<std::string> types_of_events() const {
    std::vector<std::string> types;
    for (const auto& one : world.broker.events()) {
      types.push_back(decode_nats(one.message).value().type);
    }
    return types;
  }
  void add_orders(int count) {
    for (int i = 0; i < count; ++i) {
      origins.add_event("ORDERS", "shop.orders.eu", "order", std::to_string(++orders));
    }
  }

  World world;
  FakeOrigins origins;
  WorldPublisher publisher{world.broker};
  MemoryStoredEvents stored{world.broker};
  SourceTotals totals;
  std::optional<SourceParts> parts;
  std::unique_ptr<SourceRun> run;
  int orders = 0;
};

}  // namespace millrace
