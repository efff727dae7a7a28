// MemoryStoredEvents: gives the same answers as JetStreamStoredEvents.
#include "broker/memory_stored_events.h"

#include <gtest/gtest.h>

#include "orchestrator/ports/clock.h"

namespace millrace {
namespace {

class HandClock : public Clock {
 public:
  TimePoint now() const override { return time; }
  TimePoint time = from_millis(1'700'000'000'000);
};

class MemoryStoredEventsTest : public testing::Test {
 protected:
  std::vector<uint64_t> read(const StoredEvents::Range& range, uint64_t next = 0) {
    const Result<StoredEvents::Page> page = events_.read(range);
    if (!page) return {};
    EXPECT_EQ(page->next, next);
    std::vector<uint64_t> found;
    for (const StoredEvent& event : page->events) found.push_back(event.sequence);
    return found;
  }
  void store(const std::string& ns, const std::string& data) {
    broker_.inject({"millrace.events." + ns + ".t", {}, data});
  }

  HandClock clock_;
  MemoryBroker broker_{clock_};
  MemoryStoredEvents events_{broker_};
};

TEST_F(MemoryStoredEventsTest, ReadsRangesInPages) {
  using Sequences = std::vector<uint64_t>;
  for (int i = 0; i < 2; ++i) {
    store("a", "one");
    store("b", "two");
    clock_.time += std::chrono::seconds(1);
  }
  EXPECT_EQ(read({.ns = "a"}), (Sequences{1, 3}));
  EXPECT_EQ(read({.ns = "b", .first = 3}), (Sequences{4}));
  EXPECT_EQ(read({.ns = "b", .last = 3}), (Sequences{2}));
  EXPECT_EQ(read({.ns = "a", .limit = 1}, 3), (Sequences{1}));
  EXPECT_EQ(read({.ns = "a", .since = clock_.time - std::chrono::seconds(1)}), (Sequences{3}));
  store("c", std::string(kMostStoredBytes, 'x'));
  store("c", "next");
  EXPECT_EQ(read({.ns = "c"}, 6), (Sequences{5}));
}

TEST_F(MemoryStoredEventsTest, ReadsOneMessageAndTheSpan) {
  store("a", "one");
  store("a", "two");
  EXPECT_EQ(events_.span().value().complete_since, TimePoint::min());
  broker_.drop_oldest(1);
  EXPECT_EQ(events_.get(2).value().message.data, "two");
  EXPECT_EQ(events_.get(2).value().ns, "a");
  EXPECT_EQ(events_.get(1).error().code, "event.not_found");
  EXPECT_EQ(events_.span().value().first, 2U);
  EXPECT_EQ(events_.span().value().last, 2U);
  EXPECT_EQ(events_.span().value().complete_since, clock_.time + Duration(1));
  EXPECT_EQ(events_.span().value().created, to_millis(clock_.time) * 1'000'000);
}

TEST_F(MemoryStoredEventsTest, FailsWithoutAConnection) {
  broker_.disconnect();
  EXPECT_EQ(events_.get(1).error().code, "broker.unreachable");
  EXPECT_EQ(events_.span().error().code, "broker.unreachable");
  EXPECT_EQ(events_.read({.ns = "a"}).error().code, "broker.unreachable");
}

}  // namespace
}  // namespace millrace
