// Events that a batch applies again after the deduplication window: which id the instance gets that
// such an event starts.
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/store/rows/instance_rows.h"
#include "orchestrator/store/rows/row.h"
#include "tests/unit/batch/batch_events_fixture.h"

namespace millrace {
namespace {

using std::chrono::minutes;
using testing::ElementsAre;
using testing::UnorderedElementsAre;

constexpr const char* kBeginsToWait = R"(
id: waits
start: {type: event, event: {type: begin}}
states:
- {id: wait, type: consumeEvent, event: {type: go}}
)";

constexpr const char* kPairsToWait = R"(
id: pair
start: {type: eventsAnd, events: [{type: left}, {type: right}]}
states:
- {id: wait, type: consumeEvent, event: {type: go}}
)";

class RepeatedEventsTest : public BatchEventsTest {
 protected:
  /// Applies the event that has that sequence in the stream. Its stored time and its id follow from
  /// the sequence.
  void apply(const std::string& type, uint64_t sequence) {
    const EventInput input{
        .ns = "default",
        .sequence = sequence,
        .stamped = stored + Duration(sequence),
        .event = EncodedEvent({.id = std::to_string(sequence), .source = "/s", .type = type})};
    ASSERT_TRUE(batch->apply(now, input));
    end_batch();
  }
  /// Applies an event that is so much later that millrace forgets the events before it.
  void pass_window() {
    const auto window = static_cast<uint64_t>(Duration(DedupeWindow().time).count());
    apply("other", window + 1'000);
    now += DedupeWindow().time + minutes(1);
  }
  std::vector<InstanceId> live_ids() {
    std::vector<InstanceId> ids;
    for (const Instance& head : stored_live()) ids.push_back(head.id);
    return ids;
  }
  InstanceId only_id() {
    const std::vector<InstanceId> ids = live_ids();
    EXPECT_EQ(ids.size(), 1U);
    return ids.empty() ? InstanceId() : ids.front();
  }
};

TEST_F(RepeatedEventsTest, StartAnotherInstanceUnderAnotherId) {
  define(kBeginsToWait);
  apply("begin", 1);
  const InstanceId first = only_id();
  pass_window();
  reopen();
  apply("begin", 1);
  EXPECT_THAT(live_ids(), UnorderedElementsAre(first, numbered_id(1)));
  pass_window();
  restart();
  apply("begin", 1);
  EXPECT_THAT(live_ids(), UnorderedElementsAre(first, numbered_id(1), numbered_id(2)))
      << "a new process finds the ids in the store";
}

TEST_F(RepeatedEventsTest, StartAnotherInstanceUnderAnotherIdIfTheyCompleteAGroup) {
  define(kPairsToWait);
  apply("left", 1);
  apply("right", 2);
  const InstanceId first = only_id();
  pass_window();
  reopen();
  apply("left", 1);
  apply("right", 2);
  EXPECT_THAT(live_ids(), UnorderedElementsAre(first, numbered_id(1)));
}

TEST_F(RepeatedEventsTest, LeaveTheRowsOfADamagedInstanceAsTheyAre) {
  define(kBeginsToWait);
  apply("begin", 1);
  const std::string key = part_key(rows::instance_prefix(ns, only_id()), Part::kHead);
  tx->put(Table::kLive, key, "damaged");
  commit();
  batches.begin();
  pass_window();
  reopen();
  apply("begin", 1);
  EXPECT_EQ(tx->get(Table::kLive, key).value(), "damaged");
  EXPECT_TRUE(read_live_head(*tx, ns, numbered_id(1)).value());
}

TEST_F(RepeatedEventsTest, StartAnInstanceUnderTheSameIdIfTheStoreDoesNotHaveIt) {
  define(kBeginsToWait);
  apply("begin", 1);
  const InstanceId first = only_id();
  ASSERT_TRUE(erase_parts(*tx, ns, first));
  commit();
  batches.begin();
  pass_window();
  reopen();
  apply("begin", 1);
  EXPECT_THAT(live_ids(), ElementsAre(first));
  EXPECT_EQ(last_id, 0U) << "no instance got a random id";
}

}  // namespace
}  // namespace millrace
