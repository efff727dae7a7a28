// What is shown of an instance that waits to start, or has ended while it did: in the list of
// instances, and in the answer of why.
#include "orchestrator/service/start_wait.h"

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "orchestrator/store/rows/history_rows.h"
#include "tests/unit/service/why_desk_fixture.h"

namespace millrace {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

class StartWaitTest : public LocalWhyDeskTest {
 protected:
  StartWaitTest()
      : ship_(apply("id: ship\nconcurrency: {limit: 1, key: jq(.c), timeout: PT1H}\n"
                    "states:\n- {id: a, type: noop}\n")) {}

  /// The instance 1, which waits for a slot until an hour later.
  Instance queued() const {
    Instance instance = waiting_instance(ship_, 1);
    instance.status = InstanceStatus::kPending;
    instance.phase = Phase::kEntering;
    instance.slot = Slot{.key = "\"a\"", .priority = 2, .number = 7, .is_queued = true};
    instance.timers = {{TimerKind::kQueue, now + hours(1)}};
    return instance;
  }
  Instance throttled() const {
    Instance instance = queued();
    instance.slot.reset();
    instance.throttled = Throttled{.key = "", .priority = 0, .number = 8};
    instance.timers = {{TimerKind::kThrottle, now + hours(1)}};
    return instance;
  }
  Json listed_waits() {
    const Json page = answer(
        [](Queries& queries, const View& view) { return queries.instances(view, "default", {}); });
    return page["items"][0].value("waits", Json());
  }
  /// Stores the instance 1 as one that has ended with the error, with a record of each kind, a
  /// second after the one before, each in a row of its own.
  void store_ended(const std::string& code, const std::vector<HistoryKind>& kinds) {
    Instance instance = ended(queued(), InstanceStatus::kFailed);
    instance.slot.reset();
    instance.timers.clear();
    instance.error = Error{code, "it ended"};
    for (const HistoryKind kind : kinds) {
      HistoryRow row{.ns = ns, .instance = instance.id, .previous = instance.last_history};
      row.records.push_back({.time = now + seconds(instance.history_count), .kind = kind});
      if (kind == HistoryKind::kQueued) {
        row.records.back().detail = LazyJson(Json{{"priority", 0}, {"key", "\"a\""}});
      }
      write_history(*tx, ++instance.last_history, row);
      ++instance.history_count;
    }
    store(instance);
  }

  const WorkflowNumber ship_;
};

TEST_F(StartWaitTest, IsInTheListOfInstances) {
  store(queued());
  EXPECT_EQ(listed_waits(), Json::parse(R"([{"for": "slot", "key": "a"}])"));
  Instance sealed = queued();
  sealed.sealed = Sealing::kHidden;
  store(sealed);
  EXPECT_EQ(listed_waits()[0]["key"], "(sealed)");
  store(throttled());
  EXPECT_EQ(listed_waits(), Json::parse(R"([{"for": "throttle"}])"));
  Instance holder = queued();
  holder.slot->is_queued = false;
  store(holder);
  EXPECT_EQ(listed_waits(), Json());
}

TEST_F(StartWaitTest, HasAnEndWithAnError) {
  const std::string until = format_rfc3339(now + hours(1));
  store(queued());
  Json slot = of_instance(1)["instance"]["slot"];
  EXPECT_EQ(slot["until"], until);
  EXPECT_EQ(slot["error"], "millrace.concurrency.timeout");
  EXPECT_FALSE(slot.contains("paused"));
  Instance paused = queued();
  std::swap(paused.timers, paused.held_timers);
  store(paused);
  EXPECT_EQ(of_instance(1)["instance"]["slot"]["paused"], true);
  Instance endless = queued();
  endless.timers.clear();
  store(endless);
  EXPECT_FALSE(of_instance(1)["instance"]["slot"].contains("until"));
  store(throttled());
  const Json waits = of_instance(1)["instance"]["throttled"];
  EXPECT_EQ(waits["until"], until);
  EXPECT_EQ(waits["error"], "millrace.throttle.timeout");
}

TEST_F(StartWaitTest, ShowsWhatIsPaused) {
  const auto asked = [&] { return of_instance(1)["instance"]; };
  store(queued());
  EXPECT_EQ(asked()["slot"]["limit"], 1);
  EXPECT_FALSE(asked().contains("paused"));
  EXPECT_FALSE(asked()["slot"].contains("holdersPaused"));
  Instance holder = waiting_instance(ship_, 2);
  holder.slot = Slot{.key = "\"a\"", .number = 3, .is_queued = false};
  holder.paused = true;
  holder.status = InstanceStatus::kPaused;
  write_slot_place(*tx, slot_key_of(ship_, "\"a\""), *holder.slot,
                   {.instance = holder.id, .since = now});
  store(holder);
  EXPECT_EQ(asked()["slot"]["holdersPaused"], true);
  EXPECT_EQ(asked()["slot"]["holders"][0]["paused"], true);
  Instance paused = throttled();
  paused.paused = true;
  paused.status = InstanceStatus::kPaused;
  store(paused);
  EXPECT_EQ(asked()["paused"], "instance");
  EXPECT_FALSE(asked()["throttled"].contains("workflowPaused"));
  catalog.pause_workflow(*tx, ship_, true);
  commit_catalog();
  EXPECT_EQ(asked()["paused"], "workflow");
  EXPECT_EQ(asked()["throttled"]["workflowPaused"], true);
  store(queued());
  EXPECT_EQ(asked()["slot"]["workflowPaused"], true) << "it was resumed by itself";
  EXPECT_FALSE(asked().contains("paused"));
}

TEST_F(StartWaitTest, IsNamedWhenItHasEndedTheInstance) {
  using enum HistoryKind;
  const auto at = [&](int second) { return format_rfc3339(now + seconds(second)); };
  store_ended("millrace.concurrency.timeout", {kStarted, kQueued, kRaised, kEnded});
  Json instance = of_instance(1)["instance"];
  EXPECT_EQ(instance["error"],
            (Json{{"code", "millrace.concurrency.timeout"}, {"msg", "it ended"}}));
  EXPECT_EQ(instance["waited"], (Json{{"for", "slot"}, {"since", at(1)}, {"key", "a"}}));
  store_ended("millrace.throttle.timeout", {kStarted, kQueued, kAdmitted, kThrottled, kEnded});
  EXPECT_EQ(of_instance(1)["instance"]["waited"], (Json{{"for", "throttle"}, {"since", at(3)}}));
}

TEST_F(StartWaitTest, IsNotNamedIfTheInstanceHadStarted) {
  using enum HistoryKind;
  store_ended("millrace.concurrency.replaced", {kStarted, kQueued, kAdmitted, kEntered, kEnded});
  Json instance = of_instance(1)["instance"];
  EXPECT_EQ(instance["error"]["code"], "millrace.concurrency.replaced");
  EXPECT_FALSE(instance.contains("waited"));
  store_ended("order.lost", {kStarted, kQueued, kEnded});
  instance = of_instance(1)["instance"];
  EXPECT_EQ(instance["error"]["code"], "order.lost");
  EXPECT_FALSE(instance.contains("waited"));
  store_ended("millrace.concurrency.timeout", std::vector<HistoryKind>(40, kQueued));
  EXPECT_FALSE(of_instance(1)["instance"].contains("waited")) << "too many rows to look at";
}

}  // namespace
}  // namespace millrace
