// Visit::publish: the size of an event with two large parts, the hops of its chain, and its id.
#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/hops.h"
#include "states/visit.h"
#include "tests/tables/instance_run.h"

namespace millrace {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::IsEmpty;
using testing::SizeIs;

/// Visits of an instance that publish events.
struct PublishingVisit {
  Instance instance;
  TestLookup lookup;
  std::vector<Effect> earlier;
  std::vector<Effect> effects;         ///< of the last visit
  std::vector<HistoryRecord> history;  ///< of the last visit

  /// Publishes the event in a visit of its own. Returns the code of the error; empty: none.
  std::string publish(Event event, std::optional<Duration> delay = std::nullopt) {
    Visit visit(instance, run_start(), {}, lookup, earlier);
    std::optional<TimePoint> at;
    if (delay) at = run_start() + *delay;
    const auto raised = visit.publish(std::move(event), at);
    effects = visit.take_effects();
    history = visit.take_history();
    return raised ? raised->error.code : "";
  }
};

TEST(VisitPublish, AddsUpAllPartsOfAnEvent) {
  const std::string half((1024 - 16) * 512, 'x');
  const std::pair<const char*, std::function<void(Event&)>> parts[] = {
      {"type", [&](Event& event) { event.type = half; }},
      {"subject", [&](Event& event) { event.subject = half; }},
      {"dataschema", [&](Event& event) { event.dataschema = "a:" + half; }},
      {"datacontenttype", [&](Event& event) { event.datacontenttype = "text/" + half; }},
      {"value of an attribute", [&](Event& event) { event.extensions["other"] = half; }},
      {"name of an attribute", [&](Event& event) { event.extensions[half] = "x"; }},
      {"data", [&](Event& event) { event.data = "\"" + half + "\""; }},
  };
  for (const auto& [name, set] : parts) {
    SCOPED_TRACE(name);
    PublishingVisit publisher;
    Event small{.source = "s", .type = "t", .data = "1"};
    set(small);
    EXPECT_EQ(publisher.publish(small), "");
    EXPECT_THAT(publisher.effects, SizeIs(1));
    Event large{.source = half, .type = "t", .data = "1"};
    set(large);
    EXPECT_EQ(publisher.publish(large), "millrace.event.tooLarge");
    EXPECT_THAT(publisher.effects, IsEmpty());
  }
}

/// The estimate of the size adds the attributes, which may grow sixfold, and JSON, which may
/// double.
TEST(VisitPublish, MeasuresAnEventWhoseAttributesAndDataAreLarge) {
  PublishingVisit publisher;
  Event event{.source = std::string(400'000, 'x'), .type = "t"};
  event.data = '"' + std::string(600'000, 'x') + '"';
  EXPECT_EQ(publisher.publish(event), "");
  event.data = '"' + std::string(700'000, 'x') + '"';
  EXPECT_EQ(publisher.publish(event), "millrace.event.tooLarge");
}

TEST(VisitPublish, CountsTheHopsOfTheChainUnlessALongDelayBeginsANewOne) {
  const struct {
    uint32_t hops;  ///< of the instance
    std::optional<Duration> delay;
    int32_t expected;
    bool is_dead;  ///< the event becomes a dead letter
  } rows[] = {
      {0, std::nullopt, 1, false},
      {kMaxHops - 1, std::nullopt, kMaxHops, false},
      {kMaxHops, std::nullopt, kMaxHops + 1, true},
      {kMaxHops, milliseconds(999), kMaxHops + 1, true},
      {kMaxHops, seconds(1), 1, false},
      {kMaxHops, seconds(60), 1, false},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(&row - rows);
    PublishingVisit publisher;
    publisher.instance.hops = row.hops;
    ASSERT_EQ(publisher.publish({.source = "s", .type = "t"}, row.delay), "");
    ASSERT_THAT(publisher.effects, SizeIs(1));
    const auto& published = std::get<Publish>(publisher.effects[0]);
    EXPECT_EQ(published.event.extensions.at(std::string(kHopsAttribute)),
              AttributeValue(row.expected));
    EXPECT_EQ(published.at.has_value(), row.delay.has_value());
    ASSERT_THAT(publisher.history, SizeIs(1));
    const Json& detail = publisher.history[0].detail.value();
    EXPECT_EQ(detail.value("deadLetter", ""), row.is_dead ? kHopsError : "");
    EXPECT_EQ(detail.contains("at"), row.delay.has_value());
  }
}

TEST(VisitPublish, NumbersTheEventsOfAStep) {
  PublishingVisit publisher;
  publisher.instance.step = 7;
  Visit visit(publisher.instance, run_start(), {}, publisher.lookup, publisher.earlier);
  EXPECT_FALSE(visit.publish({.source = "s", .type = "t"}, std::nullopt));
  EXPECT_FALSE(visit.publish({.source = "s", .type = "t"}, std::nullopt));
  const std::vector<Effect> effects = visit.take_effects();
  ASSERT_THAT(effects, SizeIs(2));
  const std::string step = to_string(publisher.instance.id) + "-7-";
  EXPECT_EQ(std::get<Publish>(effects[0]).event.id, step + "0");
  EXPECT_EQ(std::get<Publish>(effects[1]).event.id, step + "1");
}

}  // namespace
}  // namespace millrace
