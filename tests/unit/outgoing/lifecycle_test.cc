// Lifecycle: the history records that are published as lifecycle events, and their contents.
#include "orchestrator/outgoing/lifecycle.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cloudevents/headers.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class LifecycleTest : public testing::Test {
 protected:
  LifecycleTest() {
    instance.id.bytes.back() = 1;
    instance.revision.number = 4;
    instance.status = InstanceStatus::kRunning;
  }
  HistoryRecord record(HistoryKind kind, Json detail = nullptr) const {
    return {.time = at, .kind = kind, .state = "pay", .detail = std::move(detail)};
  }
  std::vector<Event> events_of(const std::vector<HistoryRecord>& records,
                               uint64_t first = 1) const {
    return lifecycle_events(of, records, first);
  }
  std::vector<std::string> types(const std::vector<HistoryRecord>& records) const {
    std::vector<std::string> found;
    for (const Event& event : events_of(records)) found.push_back(event.type);
    return found;
  }
  static Json data(const Event& event) { return Json::parse(event.data.value_or("null")); }
  static std::string extension(const Event& event, const std::string& name) {
    const auto found = event.extensions.find(name);
    return found == event.extensions.end() ? "none" : std::get<std::string>(found->second);
  }

  TimePoint at = from_millis(1'630'497'600'000);
  Instance instance;
  LifecycleOf of{.ns = "shop", .workflow = "orders", .instance = instance};
  std::string id() const { return to_string(instance.id); }
};

TEST_F(LifecycleTest, PublishesAnEventOnlyForCertainKindsOfHistoryRecords) {
  const Json failed{{"code", "no.money"}, {"msg", "none left"}};
  const struct {
    HistoryKind kind;
    Json detail;
    std::string type;  ///< empty: no event
  } rows[] = {
      {HistoryKind::kStarted, Json{{"by", "call"}}, "millrace.instance.started"},
      {HistoryKind::kEntered, nullptr, ""},
      {HistoryKind::kWoken, Json{{"id", "1"}}, ""},
      {HistoryKind::kElapsed, nullptr, ""},
      {HistoryKind::kPublished, nullptr, ""},
      {HistoryKind::kLog, nullptr, ""},
      {HistoryKind::kRaised, failed, "millrace.step.failed"},
      {HistoryKind::kCaught, nullptr, ""},
      {HistoryKind::kFixed, failed, ""},
      {HistoryKind::kCancelled, failed, ""},
      {HistoryKind::kCalled, nullptr, ""},
      {HistoryKind::kReturned, Json::object(), ""},
      {HistoryKind::kReturned, failed, "millrace.step.failed"},
      {HistoryKind::kRetrying, Json{{"attempt", 2}}, "millrace.retry.scheduled"},
      {HistoryKind::kTimedOut, Json{{"index", 0}}, "millrace.step.timedout"},
      {HistoryKind::kSkipped, nullptr, ""},
      {HistoryKind::kRun, nullptr, ""},
      {HistoryKind::kOutput, nullptr, ""},
      {HistoryKind::kPaused, nullptr, "millrace.instance.paused"},
      {HistoryKind::kResumed, nullptr, "millrace.instance.resumed"},
      {HistoryKind::kRevived, Json{{"how", "retry"}}, "millrace.instance.revived"},
      {HistoryKind::kContinued, Json{{"run", 1}}, ""},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(to_string(row.kind));
    const auto published = types({record(row.kind, row.detail)});
    if (row.type.empty()) {
      EXPECT_THAT(published, IsEmpty());
    } else {
      EXPECT_THAT(published, ElementsAre(row.type));
      EXPECT_NE(std::find(lifecycle_types().begin(), lifecycle_types().end(), row.type),
                lifecycle_types().end());
    }
  }
}

TEST_F(LifecycleTest, ShowsInTheEventTypeHowAnInstanceEnded) {
  const std::pair<InstanceStatus, const char*> rows[] = {
      {InstanceStatus::kComplete, "millrace.instance.completed"},
      {InstanceStatus::kFailed, "millrace.instance.failed"},
      {InstanceStatus::kCancelled, "millrace.instance.cancelled"},
      {InstanceStatus::kTimedOut, "millrace.instance.timedout"},
  };
  for (const auto& [status, type] : rows) {
    instance.status = status;
    EXPECT_THAT(types({record(HistoryKind::kEnded)}), ElementsAre(type));
  }
}

TEST_F(LifecycleTest, PutsTheInstanceAndTheTimeAndTheDetailOfTheRecordIntoTheEvent) {
  const auto events = events_of({record(HistoryKind::kRetrying, Json{{"attempt", 2}})}, 9);
  ASSERT_THAT(events, SizeIs(1));
  const Event& event = events[0];
  EXPECT_EQ(event.id, id() + "-h9");
  EXPECT_EQ(event.source, "/millrace/shop/orders");
  EXPECT_EQ(event.subject, id());
  EXPECT_EQ(event.time, "2021-09-01T12:00:00.000Z");
  EXPECT_EQ(data(event), (Json{{"namespace", "shop"},
                               {"workflow", "orders"},
                               {"revision", 4},
                               {"instance", id()},
                               {"status", "running"},
                               {"state", "pay"},
                               {"detail", {{"attempt", 2}}}}));
}

TEST_F(LifecycleTest, PutsTheNumberOfTheHistoryRecordIntoTheIdOfTheEvent) {
  const auto events = events_of(
      {record(HistoryKind::kPaused), record(HistoryKind::kLog), record(HistoryKind::kResumed)}, 5);
  ASSERT_THAT(events, SizeIs(2));
  EXPECT_EQ(events[0].id, id() + "-h5");
  EXPECT_EQ(events[1].id, id() + "-h7");
}

TEST_F(LifecycleTest, IncludesTheErrorAndTheNumberOfTheRunOfAFailedInstance) {
  instance.status = InstanceStatus::kFailed;
  instance.run = 3;
  instance.error = Error{"no.money", "none left"};
  const Json published =
      data(events_of({record(HistoryKind::kEnded, Json{{"status", "failed"}})}).at(0));
  EXPECT_EQ(published["run"], 3);
  EXPECT_EQ(published["error"], (Json{{"code", "no.money"}, {"msg", "none left"}}));
}

TEST_F(LifecycleTest, WithholdsTheErrorMessageOfASealedInstance) {
  instance.status = InstanceStatus::kFailed;
  instance.sealed = true;
  instance.error = Error{"no.money", "the secret"};
  const auto events =
      events_of({record(HistoryKind::kRaised, Json{{"code", "no.money"}, {"msg", "the secret"}}),
                 record(HistoryKind::kEnded)});
  ASSERT_THAT(events, SizeIs(2));
  for (const Event& event : events) {
    EXPECT_EQ(event.data.value_or("").find("the secret"), std::string::npos) << event.type;
  }
  EXPECT_EQ(data(events[1])["error"], (Json{{"code", "no.money"}}));
}

TEST_F(LifecycleTest, PublishesOneEventForAFailedCallAndTheFailureOfItsState) {
  const Json failed{{"code", "no.money"}, {"msg", ""}};
  EXPECT_THAT(types({record(HistoryKind::kReturned, failed), record(HistoryKind::kRaised, failed)}),
              ElementsAre("millrace.step.failed"));
  EXPECT_THAT(types({record(HistoryKind::kRaised, failed), record(HistoryKind::kEntered),
                     record(HistoryKind::kRaised, failed)}),
              ElementsAre("millrace.step.failed", "millrace.step.failed"))
      << "the second error is of another state";
}

TEST_F(LifecycleTest, PublishesATimeoutEventAndAFailureEventForAStateTimeout) {
  const auto events = events_of(
      {record(HistoryKind::kRaised, Json{{"code", "direktiv.stateTimeout"}, {"msg", ""}})});
  ASSERT_THAT(events, SizeIs(2));
  EXPECT_EQ(events[0].type, "millrace.step.timedout");
  EXPECT_EQ(events[1].type, "millrace.step.failed");
  EXPECT_NE(events[0].id, events[1].id);
}

TEST_F(LifecycleTest, NamesTheLatestEventThatStartedOrWokeTheInstanceAsTheCause) {
  const auto events =
      events_of({record(HistoryKind::kPaused), record(HistoryKind::kWoken, Json{{"id", "e1"}}),
                 record(HistoryKind::kResumed)});
  ASSERT_THAT(events, SizeIs(2));
  EXPECT_EQ(extension(events[0], "causationid"), "none");
  EXPECT_EQ(extension(events[1], "causationid"), "e1");
  const auto started =
      events_of({record(HistoryKind::kStarted, Json{{"by", "event"}, {"event", {{"id", "e0"}}}})});
  EXPECT_EQ(extension(started.at(0), "causationid"), "e0");
}

TEST_F(LifecycleTest, PassesOnTheCorrelationAndTheTraceOfTheInstance) {
  EXPECT_EQ(extension(events_of({record(HistoryKind::kPaused)}).at(0), "correlationid"), id());
  EXPECT_EQ(extension(events_of({record(HistoryKind::kPaused)}).at(0), "traceparent"), "none");
  instance.correlation = "order-7";
  instance.traceparent = "00-aa-bb-01";
  EXPECT_EQ(extension(events_of({record(HistoryKind::kPaused)}).at(0), "correlationid"), "order-7");
  EXPECT_EQ(extension(events_of({record(HistoryKind::kPaused)}).at(0), "traceparent"),
            "00-aa-bb-01");
}

TEST_F(LifecycleTest, PublishesToASubjectOfTheNamespaceAndTheWorkflowAndTheEndOfTheEventType) {
  const std::pair<const char*, const char*> rows[] = {
      {"millrace.instance.completed", "completed"},
      {"millrace.step.failed", "step-failed"},
      {"millrace.retry.scheduled", "retry-scheduled"},
  };
  for (const auto& [type, what] : rows) {
    const NatsMessage message =
        lifecycle_message(of, {.id = "the id", .source = "/s", .type = type});
    EXPECT_EQ(message.subject, std::string("millrace.lifecycle.shop.orders.") + what);
    const std::string* const known_as = find_header(message.headers, "Nats-Msg-Id");
    ASSERT_NE(known_as, nullptr);
    EXPECT_EQ(*known_as, "the id");
  }
}

}  // namespace
}  // namespace millrace
