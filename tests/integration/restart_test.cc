// After a restart, millrace continues what the previous process left: waits, timers, delayed
// events, groups, and the deduplication window.
#include <chrono>

#include <fmt/format.h>

#include "tests/support/millrace_server.h"

namespace millrace {
namespace {

/// A workflow that waits, until the timeout, for an event `go` with the key of the input.
std::string waits_for(std::string_view timeout) {
  return fmt::format(R"(
id: waiter
states:
  - id: wait
    type: consumeEvent
    event:
      type: go
      context:
        key: jq(.key)
    timeout: {}
    catch:
      - error: direktiv.stateTimeout
        transition: late
  - id: late
    type: noop
)",
                     timeout);
}

constexpr const char* kCounter = R"(
id: counter
start:
  type: event
  event:
    type: count
states:
  - id: done
    type: noop
)";

std::string counted_event(std::string_view type, std::string_view id, std::string_view key = "k") {
  return fmt::format(R"({{"specversion":"1.0","id":"{}","source":"/test","type":"{}","key":"{}"}})",
                     id, type, key);
}

TimePoint now() { return std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now()); }

class Restart : public MillraceTest {
 protected:
  void publish(std::string_view type, std::string_view id, std::string_view key = "k") {
    const Json ack = nats_.client()->publish_acked(fmt::format("millrace.events.default.{}", type),
                                                   "", counted_event(type, id, key));
    ASSERT_TRUE(ack.contains("seq")) << ack;
  }

  static void wait_until_past(TimePoint deadline) {
    ASSERT_TRUE(eventually([&] { return now() > deadline; }));
  }

  /// Whether the history says that the instance caught its timeout.
  bool timed_out(const std::string& id) {
    for (const Json& record : millrace_.history(id)) {
      if (record.at("kind") == "caught") return true;
    }
    return false;
  }
};

TEST_F(Restart, KeepsAnInstanceWaitingUntilItsEventComes) {
  millrace_.apply(waits_for("PT1H"));
  const std::string id = millrace_.start_instance("waiter", {{"key", "k"}});
  const std::string other = millrace_.start_instance("waiter", {{"key", "other"}});
  millrace_.stop();
  millrace_.start_ready();
  publish("go", "1");
  millrace_.instance_once(id, "complete");
  EXPECT_FALSE(timed_out(id));
  EXPECT_EQ(millrace_.instance(other)["status"], "waiting");
}

TEST_F(Restart, AppliesAnEventThatWasPublishedWhileMillraceWasDown) {
  millrace_.apply(waits_for("PT1H"));
  const std::string id = millrace_.start_instance("waiter", {{"key", "k"}});
  millrace_.kill();
  publish("go", "1");
  millrace_.start_ready();
  millrace_.instance_once(id, "complete");
}

TEST_F(Restart, FiresATimerThatCameDueWhileMillraceWasDown) {
  millrace_.apply(waits_for("PT1S"));
  const std::string id = millrace_.start_instance("waiter", {{"key", "k"}});
  const TimePoint latest_deadline = now() + std::chrono::seconds(1);
  millrace_.kill();
  wait_until_past(latest_deadline);
  millrace_.start_ready();
  millrace_.instance_once(id, "complete");
  EXPECT_TRUE(timed_out(id));
}

TEST_F(Restart, AppliesAnEventStampedBeforeTheDeadlineInsteadOfTheTimeout) {
  for (const Duration length : {Duration(1'000), Duration(5'000), Duration(20'000),
                                Duration(80'000)}) {  // longer on a slow machine
    const std::string timeout = fmt::format("PT{}S", length.count() / 1000);
    millrace_.apply(waits_for(timeout));
    const TimePoint earliest_deadline = now() + length;
    const std::string in_time = millrace_.start_instance("waiter", {{"key", timeout}});
    const std::string late = millrace_.start_instance("waiter", {{"key", "late"}});
    const TimePoint latest_deadline = now() + length;
    millrace_.kill();
    publish("go", timeout, timeout);
    const bool was_in_time = now() < earliest_deadline;
    wait_until_past(latest_deadline);
    publish("go", fmt::format("late-{}", timeout), "late");
    millrace_.start_ready();
    if (!was_in_time) continue;

    millrace_.instance_once(in_time, "complete");
    EXPECT_FALSE(timed_out(in_time));
    millrace_.instance_once(late, "complete");
    EXPECT_TRUE(timed_out(late));
    return;
  }
  FAIL() << "no event was published in time";
}

TEST_F(Restart, PublishesADelayedEventOnceAndNotEarly) {
  millrace_.apply(R"(
id: reminder
states:
  - id: remind
    type: generateEvent
    delay: PT1S
    event:
      type: reminder
      source: reminder
)");
  const std::unique_ptr<RawNatsClient> events = nats_.client();
  events->subscribe("millrace.events.default.reminder");
  const TimePoint started = now();
  const std::string id = millrace_.start_instance("reminder", Json::object());
  millrace_.kill();
  millrace_.start_ready();
  ASSERT_TRUE(events->next());
  EXPECT_GE(now() - started, Duration(1000));
  millrace_.kill();
  millrace_.start_ready();
  millrace_.apply(kCounter);
  publish("count", "marker");
  millrace_.only_instance_once("counter", "complete");
  const Json info = events->api("STREAM.INFO.MILLRACE_EVENTS", {{"subjects_filter", ">"}});
  EXPECT_EQ(info["state"]["subjects"]["millrace.events.default.reminder"], 1) << info;
}

TEST_F(Restart, IgnoresADuplicate) {
  millrace_.apply(kCounter);
  publish("count", "1");
  ASSERT_TRUE(millrace_.has_instances("workflow=counter", 1));
  publish("count", "1");
  millrace_.kill();
  publish("count", "1");
  millrace_.start_ready();
  publish("count", "1");
  publish("count", "2");
  ASSERT_TRUE(millrace_.has_instances("workflow=counter&status=complete", 2));
  publish("count", "3");  // all earlier events are applied before it
  ASSERT_TRUE(millrace_.has_instances("workflow=counter", 3));
}

TEST_F(Restart, KeepsTheEventsOfAnIncompleteGroup) {
  millrace_.apply(read_repository_file("examples/order-fan-in/order-ready.yaml"));
  const auto send = [&](std::string_view type, std::string_view source) {
    const Json ack = nats_.client()->publish_acked(
        fmt::format("millrace.events.default.{}", type), "",
        fmt::format(R"({{"specversion":"1.0","id":"1","source":"{}","type":"{}","orderid":"o-1",)"
                    R"("data":{{}}}})",
                    source, type));
    ASSERT_TRUE(ack.contains("seq")) << ack;
  };
  send("order.placed", "shop");
  millrace_.kill();
  send("order.packed", "warehouse");
  millrace_.start_ready();
  millrace_.stop();
  millrace_.start_ready();
  send("order.paid", "payments.card");
  EXPECT_TRUE(millrace_.has_instances("workflow=order-ready", 1));
}

}  // namespace
}  // namespace millrace
