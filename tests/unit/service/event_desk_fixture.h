// EventDeskTest: an event desk on a broker in memory and a store. The test writes the rows of
// replays in place of the engine. For one thread.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/bytes.h"
#include "broker/memory_stored_events.h"
#include "cloudevents/subject.h"
#include "orchestrator/service/event_replays.h"
#include "orchestrator/service/local_event_desk.h"
#include "orchestrator/store/rows/instance_rows.h"
#include "tests/unit/support/catalog_store.h"

namespace millrace {

class EventDeskTest : public CatalogStoreTest {
 protected:
  class DeskClock final : public Clock {
   public:
    TimePoint now() const override { return time; }
    TimePoint time = from_millis(1'700'000'000'000);
  };
  /// Publishes into the broker, and pumps it at once.
  class PumpingPublisher final : public Publisher {
   public:
    explicit PumpingPublisher(MemoryBroker& to) : to_(to) {}
    void publish(NatsMessage message, Done done) override {
      to_.publish(std::move(message), std::move(done));
      to_.pump();
    }

   private:
    MemoryBroker& to_;
  };

  /// Stores an event a second after the one before.
  void store(const std::string& type, const std::string& id, const std::string& space = "default",
             const std::string& more = "") {
    clock.time += std::chrono::seconds(1);
    broker.inject({event_subject(space, type),
                   {},
                   R"({"specversion":"1.0","id":")" + id + R"(","source":"/shop","type":")" + type +
                       "\"" + more + "}"});
  }
  Event event_at(uint64_t sequence) {
    return decode_nats(events.get(sequence).value().message).value();
  }
  /// An instance of the workflow, live or ended.
  InstanceId store_instance(WorkflowNumber workflow, uint8_t number, InstanceStatus status) {
    Instance instance{.id = numbered_id(number), .ns = ns, .revision = {workflow, 1}};
    instance.started_at = now;
    instance.status = status;
    instance.phase = has_ended(status) ? Phase::kEnded : Phase::kWaiting;
    if (has_ended(status)) instance.ended_at = now;
    const std::vector<Call> none;
    write_instance(*tx, instance, {.input = true, .data = true, .calls = &none});
    commit();
    return instance.id;
  }
  static std::string code(const Result<Json>& result) {
    return result ? "ok" : result.error().code;
  }
  std::function<Status(std::string_view, size_t)> admit() {
    return [this](std::string_view, size_t count) -> Status {
      if (!over_quota && count <= most_admitted) return {};
      return fail("millrace.quota.eventsPerSecond", "too many");
    };
  }
  EventReplays::Parts replay_parts() {
    return {.environment = *environment,
            .clock = clock,
            .events = events,
            .publisher = publisher,
            .admit = admit(),
            .command = [this](Command command, const EventReplays::Done& done) {
              done(change(std::get<ChangeReplay>(command)));
            }};
  }
  /// Writes the row as the engine does.
  Result<Json> change(const ChangeReplay& command) {
    if (loses_progress) return fail("stopping", "the process ends");
    const auto record = TRY(read_namespace(*tx, command.ns));
    const ReplayPlace place{.ns = record->number, .id = command.id};
    ReplayRecord after = command.record;
    if (command.kind == ChangeReplay::Kind::kStop) {
      after = read_replay(*tx, place).value().value();
      after.state = ReplayRecord::State::kStopped;
    }
    write_replay(*tx, place, after);
    commit();
    return Json{{"id", to_hex(command.id)}};
  }
  LocalEventDesk desk() {
    return LocalEventDesk({.environment = *environment,
                           .clock = clock,
                           .events = events,
                           .publisher = publisher,
                           .replays = replays,
                           .admit = admit(),
                           .applied = [this] { return applied; }});
  }

  Cursor applied;  ///< the engine's, which may be ahead of the one in the store
  DeskClock clock;
  MemoryBroker broker{clock};
  PumpingPublisher publisher{broker};
  MemoryStoredEvents events{broker};
  bool over_quota = false;
  size_t most_admitted = 1'000'000;  ///< events at a time
  bool loses_progress = false;       ///< no row of a replay is written
  EventReplays replays{replay_parts()};
};

}  // namespace millrace
