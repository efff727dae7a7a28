#include "orchestrator/batch/event_start.h"

#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "base/json.h"
#include "model/hops.h"

namespace millrace {
namespace {

StartEvent entry_of(const std::string& type) {
  return {.filter = {.type = type, .predicates = {}}};
}

Event event_of_type(const std::string& type, const std::string& id, const std::string& data) {
  Event event{.id = id, .source = "/s", .type = type};
  event.data = data;
  return event;
}

TEST(EventStart, PutsThePayloadIntoTheDataUnderTheTypeOfTheEvent) {
  const Event event = event_of_type("placed", "1", R"({"order": 7})");
  const StartEvent entry = entry_of("placed");
  const StartSpec spec = start_by_events(Workflow(), 3, {&entry, 1}, {&event, 1}, event);
  EXPECT_EQ(spec.data, Json::parse(R"({"placed": {"order": 7}})"));
  EXPECT_EQ(spec.how.value(), Json::parse(R"({
    "by": "event", "event": {"type": "placed", "source": "/s", "id": "1"}, "revision": 3})"));
}

TEST(EventStart, PutsThePayloadsOfEventsOfOneTypeIntoAnArray) {
  const std::vector<StartEvent> entries{entry_of("t"), entry_of("other"), entry_of("t")};
  const std::vector<Event> events{event_of_type("t", "1", "1"), event_of_type("other", "2", "2"),
                                  event_of_type("t", "3", "3")};
  const StartSpec spec = start_by_events(Workflow(), 1, entries, events, events[1]);
  EXPECT_EQ(spec.data, Json::parse(R"({"t": [1, 3], "other": 2})"));
  EXPECT_EQ(spec.how.value()["event"]["id"], "2")
      << "`event` is the event that completed the group";
}

TEST(EventStart, TakesTheTraceAndTheCorrelationIdOfTheEventThatCompletesTheGroup) {
  const std::vector<StartEvent> entries{entry_of("a"), entry_of("b")};
  std::vector<Event> events{event_of_type("a", "1", "1"), event_of_type("b", "2", "2")};
  events[0].extensions["traceparent"] = "00-cc-dd-01";
  events[1].extensions["traceparent"] = "00-aa-bb-01";
  events[1].extensions["correlationid"] = "order-7";
  const StartSpec spec = start_by_events(Workflow(), 1, entries, events, events[1]);
  EXPECT_EQ(spec.traceparent, "00-aa-bb-01");
  EXPECT_EQ(spec.correlation, "order-7");
  const StartSpec other = start_by_events(Workflow(), 1, entries, events, events[0]);
  EXPECT_EQ(other.traceparent, "00-cc-dd-01");
  EXPECT_EQ(other.correlation, "") << "the last event has no correlation";
}

TEST(EventStart, TakesTheHighestNumberOfHopsOfItsEvents) {
  const std::vector<StartEvent> entries{entry_of("a"), entry_of("b")};
  std::vector<Event> events{event_of_type("a", "1", "1"), event_of_type("b", "2", "2")};
  events[0].extensions[std::string(kHopsAttribute)] = 5;
  events[1].extensions[std::string(kHopsAttribute)] = 2;
  EXPECT_EQ(start_by_events(Workflow(), 1, entries, events, events[1]).hops, 5U);
}

TEST(EventStart, HasTheAttributesOfItsEventsWithoutTheirData) {
  std::vector<Event> events{event_of_type("a", "1", "1"), event_of_type("b", "2", "2")};
  events[0].subject = "order/7";
  events[0].time = "2024-01-01T00:00:00Z";
  events[0].extensions = {{"correlationid", "c"}, {"level", -3}, {"test", true}};
  const Json first = Json::parse(R"({
    "specversion": "1.0", "id": "1", "source": "/s", "type": "a", "subject": "order/7",
    "time": "2024-01-01T00:00:00Z", "correlationid": "c", "level": -3, "test": true})");
  const Json second =
      Json::parse(R"({"specversion": "1.0", "id": "2", "source": "/s", "type": "b"})");
  Workflow workflow;
  workflow.names_instance = true;
  const std::vector<StartEvent> entries{entry_of("a"), entry_of("b")};
  const auto kept = [&](Start::Kind kind, std::span<const Event> of) {
    workflow.start.kind = kind;
    return start_by_events(workflow, 1, std::span(entries).first(of.size()), of, of.back())
        .start_event.value();
  };
  EXPECT_EQ(kept(Start::Kind::kEvent, {&events[0], 1}), first);
  EXPECT_EQ(kept(Start::Kind::kEventsXor, {&events[1], 1}), second);
  EXPECT_EQ(kept(Start::Kind::kEventsAnd, events), Json::array({first, second}));
  EXPECT_EQ(kept(Start::Kind::kEventsAnd, {&events[1], 1}), Json::array({second}));
  workflow.names_instance = false;
  EXPECT_EQ(kept(Start::Kind::kEvent, {&events[0], 1}), Json()) << "no jq program reads it";
}

TEST(EventStart, KeepsTheTextOfALargePayload) {
  const std::string data = "[ \"" + std::string(kLargeJson, 'x') + "\" ]";
  const Event event = event_of_type("placed", "1", data);
  const StartEvent entry = entry_of("placed");
  const StartSpec spec = start_by_events(Workflow(), 3, {&entry, 1}, {&event, 1}, event);
  EXPECT_EQ(spec.data.text(), R"({"placed":)" + data + "}");
}

}  // namespace
}  // namespace millrace
