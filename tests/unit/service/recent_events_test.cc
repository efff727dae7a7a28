#include "orchestrator/service/recent_events.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/ids.h"
#include "model/event_target.h"
#include "orchestrator/memory/dedupe.h"

namespace millrace {
namespace {

using Sequences = std::vector<uint64_t>;

const TimePoint kBeforeAll = from_millis(1'700'000'000'000);

class RecentEventsTest : public testing::Test {
 protected:
  /// Adds an event one second after the one before.
  void add(std::string type, std::map<std::string, AttributeValue> extensions = {},
           std::string id = "", std::optional<std::string> data = {}) {
    ++last_;
    const Event event{.id = id.empty() ? std::to_string(last_) : std::move(id),
                      .source = "/s",
                      .type = std::move(type),
                      .extensions = std::move(extensions),
                      .data = std::move(data)};
    events_[last_] = event;
    recent_.add({.ns = "default",
                 .sequence = last_,
                 .stamped = kBeforeAll + std::chrono::seconds(last_),
                 .message = encode_nats(event)});
  }
  static LookBack asks(std::vector<EarlyListener> listeners, bool fills_each = false) {
    return {.workflow = WorkflowNumber(3),
            .listeners = std::move(listeners),
            .fills_each = fills_each,
            .until = {.stream = 1, .sequence = 1'000'000},
            .space = "default"};
  }
  static EarlyListener waits_for(std::string type, std::vector<Predicate> predicates = {},
                                 uint32_t entry = 0) {
    return {.entry = entry,
            .filter = {.type = std::move(type), .predicates = std::move(predicates)}};
  }
  static Predicate equals(std::string name, std::string text) {
    return {.attribute = std::move(name), .text = std::move(text)};
  }
  EarlyEvents search(const LookBack& asked) {
    return recent_
        .find(asked,
              [this](uint64_t sequence) -> Result<std::optional<Event>> {
                const auto found = events_.find(sequence);
                return found == events_.end() ? std::nullopt : std::optional(found->second);
              })
        .value();
  }
  Sequences find(const LookBack& asked) {
    const EarlyEvents found = search(asked);
    EXPECT_TRUE(found) << found.error().message;
    Sequences sequences;
    if (found) {
      for (const EarlyEvent& one : *found) sequences.push_back(one.sequence);
    }
    return sequences;
  }
  std::string error_of(const LookBack& asked) {
    const EarlyEvents found = search(asked);
    return found ? "" : found.error().code;
  }

  RecentEvents recent_{{.looked_at = 100, .found = 3, .found_bytes = 1'000}};
  std::map<uint64_t, Event> events_;  ///< in the stream
  uint64_t last_ = 0;
};

TEST_F(RecentEventsTest, FindTheOldestMatchingEvent) {
  add("a", {{"n", 1}});
  add("b", {{"n", 2}});
  add("a", {{"n", 2}});
  add("a", {{"n", 2}});
  EXPECT_EQ(find(asks({waits_for("a")})), Sequences{1});
  EXPECT_EQ(find(asks({waits_for("a", {equals("n", "2")})})), Sequences{3});
  EXPECT_EQ(find(asks({waits_for("a", {equals("n", "9")})})), Sequences());
  EXPECT_EQ(find(asks({waits_for("c")})), Sequences());
  const EarlyEvents found = search(asks({waits_for("b", {}, 7)}));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->at(0).event->id, "2");
  EXPECT_EQ(found->at(0).entry, 7U);
  EXPECT_EQ(found->at(0).known_as, fingerprint_of("default", *found->at(0).event));
}

TEST_F(RecentEventsTest, FindEventsInTheWindowOnly) {
  for (int i = 0; i < 5; ++i) add("a");
  LookBack asked = asks({waits_for("a")});
  asked.listeners[0].since = kBeforeAll + std::chrono::seconds(3);
  EXPECT_EQ(find(asked), Sequences{3});
  asked.until.sequence = 2;
  EXPECT_EQ(find(asked), Sequences()) << "the instance listens to the others";
  asked.listeners[0].since = kBeforeAll + std::chrono::seconds(9);
  asked.until.sequence = 9;
  EXPECT_EQ(find(asked), Sequences());
}

TEST_F(RecentEventsTest, GiveEachListenerAnEventOfItsOwnIfItIsAskedFor) {
  add("a");
  add("b");
  add("a");
  add("a");
  const std::vector<EarlyListener> listeners = {waits_for("a", {}, 0), waits_for("b", {}, 1),
                                                waits_for("a", {}, 2)};
  EXPECT_EQ(find(asks(listeners, true)), (Sequences{1, 2, 3}));
  EXPECT_EQ(find(asks(listeners, false)), Sequences{1});
  const EarlyEvents found = search(asks(listeners, true));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->at(0).entry, 0U);
  EXPECT_EQ(found->at(2).entry, 2U);
}

TEST_F(RecentEventsTest, PassOverWhatTheInstanceHasTaken) {
  add("a");
  add("a");
  add("a", {}, "2");  // the same event once more
  add("a");
  LookBack asked = asks({waits_for("a", {}, 0), waits_for("a", {}, 1)}, true);
  asked.consumed.stream = 1;
  asked.consumed.events = {
      {1, fingerprint_of("default", Event{.id = "1", .source = "/s", .type = "a"})}};
  EXPECT_EQ(find(asked), (Sequences{2, 4}));
  asked.consumed.forgotten = 1;
  EXPECT_EQ(error_of(asked), kLookbackLimit) << "the first event may be one that was taken";
  for (EarlyListener& one : asked.listeners) one.since = kBeforeAll + std::chrono::seconds(2);
  EXPECT_EQ(find(asked), (Sequences{2, 4}));
  asked.consumed.stream = 2;
  asked.consumed.forgotten = 9;
  EXPECT_EQ(find(asked), (Sequences{2, 4})) << "what was forgotten is of another stream";
}

TEST_F(RecentEventsTest, PassOverEventsForOthers) {
  add("a", {{std::string(kTargetAttribute), workflow_target(WorkflowNumber(4))}});
  add("a", {{std::string(kTargetAttribute), workflow_target(WorkflowNumber(3))}});
  EXPECT_EQ(find(asks({waits_for("a")})), Sequences{2});
  events_.erase(1);
  EXPECT_EQ(find(asks({waits_for("a")})), Sequences{2}) << "events for others are not read again";
}

TEST_F(RecentEventsTest, MatchPatterns) {
  add("a", {{"n", "xyz"}});
  add("a", {{"n", "yes"}});
  const Predicate pattern{.attribute = "n", .kind = Predicate::Kind::kPattern, .text = "^y"};
  EXPECT_EQ(find(asks({waits_for("a", {pattern})})), Sequences{2});
}

TEST_F(RecentEventsTest, FindOneOfManyByAnEqualAttribute) {
  for (int i = 0; i < 2'000; ++i) add("a", {{"n", i % 500}, {"m", i}});
  EXPECT_EQ(find(asks({waits_for("a", {equals("n", "7")})})), Sequences{8});
  EXPECT_EQ(find(asks({waits_for("a", {equals("n", "7"), equals("m", "1507")})})), Sequences{1508});
  EXPECT_EQ(find(asks({waits_for("a", {equals("n", "7"), equals("m", "1508")})})), Sequences());
  for (int i = 0; i < 1'000; ++i) recent_.drop_oldest();
  EXPECT_EQ(find(asks({waits_for("a", {equals("n", "7")})})), Sequences{1008});
  EXPECT_EQ(find(asks({waits_for("a")})), Sequences{1001});
  add("a", {{"n", 7}});
  recent_.drop_before(kBeforeAll + std::chrono::seconds(1'509));
  EXPECT_EQ(find(asks({waits_for("a", {equals("n", "7")})})), Sequences{2001});
  EXPECT_EQ(find(asks({waits_for("a", {equals("m", "1507")})})), Sequences());
}

TEST_F(RecentEventsTest, CountOnlyEventsOfTheWindow) {
  for (int i = 1; i <= 400; ++i) add("a", {{"n", i % 2}, {"m", i}});
  const Predicate pattern{.attribute = "m", .kind = Predicate::Kind::kPattern, .text = "^200$"};
  LookBack asked = asks({waits_for("a", {equals("n", "0"), pattern})});
  asked.until.sequence = 200;
  EXPECT_EQ(find(asked), Sequences{200}) << "a hundred events of the value are up to there";
  asked.listeners[0].filter.predicates[1].text = "^400$";
  asked.until.sequence = 1'000'000;
  EXPECT_EQ(error_of(asked), kLookbackLimit) << "two hundred have the value";
  asked.listeners[0].since = kBeforeAll + std::chrono::seconds(201);
  EXPECT_EQ(find(asked), Sequences{400}) << "a hundred of them are in the window";
}

TEST_F(RecentEventsTest, HaveLimits) {
  for (int i = 0; i < 101; ++i) add("a", {{"n", i}});
  const Predicate last{.attribute = "n", .kind = Predicate::Kind::kPattern, .text = "^100$"};
  EXPECT_EQ(error_of(asks({waits_for("a", {last})})), kLookbackLimit) << "events looked at";
  recent_.drop_oldest();
  EXPECT_EQ(find(asks({waits_for("a", {last})})), Sequences{101});
  std::vector<EarlyListener> listeners;
  for (uint32_t i = 0; i < 4; ++i) listeners.push_back(waits_for("a", {}, i));
  EXPECT_EQ(error_of(asks(listeners, true)), kLookbackLimit) << "events found";
  listeners.pop_back();
  EXPECT_EQ(find(asks(listeners, true)), (Sequences{2, 3, 4}));
  recent_.clear();
  for (int i = 0; i < 3; ++i) add("a", {}, "", std::string(1'200, '7'));
  EXPECT_EQ(error_of(asks(listeners, true)), kLookbackLimit) << "bytes of the data";
  listeners.pop_back();
  EXPECT_EQ(error_of(asks(listeners, true)), kLookbackLimit);
  EXPECT_EQ(find(asks({waits_for("a")})), Sequences{102}) << "a large event alone";
}

TEST_F(RecentEventsTest, FailIfAFoundEventIsNoLongerInTheStream) {
  add("a");
  add("a");
  events_.erase(1);
  EXPECT_EQ(error_of(asks({waits_for("a")})), kLookbackLimit);
  events_[1] = events_[2];
  EXPECT_EQ(error_of(asks({waits_for("a")})), kLookbackLimit) << "another event";
  const Result<EarlyEvents> failed = recent_.find(
      asks({waits_for("a")}),
      [](uint64_t) -> Result<std::optional<Event>> { return fail("broker.timeout", "slow"); });
  EXPECT_EQ(failed.error().code, "broker.timeout");
}

TEST_F(RecentEventsTest, CountTheMemoryOfTheIndex) {
  for (int i = 0; i < 100; ++i) add("a", {{"n", i}});
  const size_t before = recent_.bytes();
  EXPECT_EQ(find(asks({waits_for("a", {equals("n", "7")})})), Sequences{8});
  EXPECT_GE(recent_.bytes(), before + 100 * 2 * sizeof(uint32_t)) << "the attribute n is in it";
  add("a", {{"n", 100}});
  while (!recent_.empty()) recent_.drop_oldest();
  EXPECT_EQ(recent_.bytes(), 0U);
}

TEST_F(RecentEventsTest, KnowTheirMemoryAndTimes) {
  EXPECT_TRUE(recent_.empty());
  recent_.add({.sequence = 1, .message = {.data = "no event"}});
  EXPECT_TRUE(recent_.empty()) << "a message that is no event";
  add("a");
  add("b");
  EXPECT_GT(recent_.bytes(), 0U);
  EXPECT_EQ(recent_.oldest(), kBeforeAll + std::chrono::seconds(1));
  EXPECT_EQ(recent_.newest(), kBeforeAll + std::chrono::seconds(2));
  recent_.drop_oldest();
  recent_.drop_oldest();
  EXPECT_TRUE(recent_.empty());
  EXPECT_EQ(recent_.bytes(), 0U);
}

}  // namespace
}  // namespace millrace
