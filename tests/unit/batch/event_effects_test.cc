// The effects that a batch stores for its events, and the index rows that it writes.
#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "orchestrator/store/rows/effect_rows.h"
#include "orchestrator/store/rows/history_rows.h"
#include "orchestrator/store/rows/index_rows.h"
#include "orchestrator/store/rows/row.h"
#include "tests/unit/batch/batch_events_fixture.h"

namespace millrace {
namespace {

using std::chrono::hours;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr const char* kWaits = R"(
id: waits
start: {type: event, event: {type: begin}}
states:
- {id: wait, type: consumeEvent, timeout: PT1H, event: {type: go}}
)";

constexpr const char* kPair = R"(
id: pair
start:
  type: eventsAnd
  lifespan: PT1H
  correlate: [key]
  events: [{type: left}, {type: right}]
states: [{id: done, type: noop}]
)";

class EventEffectsTest : public BatchEventsTest {
 protected:
  /// Applies an event in the current batch; returns its sequence.
  uint64_t apply(const std::string& type, const std::string& id, const std::string& key = "") {
    Event event{.id = id, .source = "/s", .type = type};
    if (!key.empty()) event.extensions["key"] = key;
    const EventInput input{.ns = "default",
                           .sequence = ++sequence,
                           .stamped = now,
                           .event = EncodedEvent(std::move(event))};
    EXPECT_TRUE(batch->apply(now, input));
    return sequence;
  }
  /// The instance that the event started, which must exist.
  InstanceId started_by(uint64_t of) {
    const auto effects = read_effects(*tx, {1, of}).value();
    for (const EventEffect& one : effects) {
      if (one.kind != EventEffect::Kind::kStarted) continue;
      EXPECT_TRUE(read_head_anywhere(*tx, ns, one.instance).value());
      return one.instance;
    }
    ADD_FAILURE() << "event " << of << " started no instance";
    return {};
  }
  /// The effects of an event as text.
  std::vector<std::string> effects(uint64_t of) {
    using Kind = EventEffect::Kind;
    static const std::map<Kind, std::string> kNames = {{Kind::kStarted, "started"},
                                                       {Kind::kWoken, "woken"},
                                                       {Kind::kGrouped, "grouped"},
                                                       {Kind::kDuplicate, "duplicate"},
                                                       {Kind::kSkipped, "skipped"},
                                                       {Kind::kUncorrelated, "uncorrelated"},
                                                       {Kind::kKept, "kept"},
                                                       {Kind::kRefused, "refused"},
                                                       {Kind::kExpired, "expired"},
                                                       {Kind::kClosed, "closed"},
                                                       {Kind::kRateLimited, "rateLimited"},
                                                       {Kind::kDebounced, "debounced"},
                                                       {Kind::kBatched, "batched"}};
    std::vector<std::string> found;
    const auto effects = read_effects(*tx, {1, of}).value();
    for (const EventEffect& one : effects) {
      found.push_back(kNames.at(one.kind));
      if (one.instance != InstanceId()) found.back() += " " + to_string(one.instance);
    }
    return found;
  }

  uint64_t sequence = 0;
};

TEST_F(EventEffectsTest, AreStoredForEachEventOfABatch) {
  define(kWaits);
  const uint64_t begins = apply("begin", "1");
  const uint64_t goes = apply("go", "2");
  const uint64_t nothing = apply("other", "3");
  const uint64_t again = apply("begin", "1");
  end_batch();
  const std::string id = to_string(started_by(begins));
  EXPECT_THAT(effects(begins), ElementsAre("started " + id));
  EXPECT_THAT(effects(goes), ElementsAre("woken " + id));
  EXPECT_THAT(effects(nothing), IsEmpty());
  EXPECT_THAT(effects(again), ElementsAre("duplicate"));
}

TEST_F(EventEffectsTest, AreStoredForEventsOfGroupsAlsoWhenTheyExpire) {
  define(kPair);
  const uint64_t without_key = apply("left", "1");
  const uint64_t left = apply("left", "2", "a");
  const uint64_t alone = apply("left", "3", "b");
  end_batch();
  const uint64_t right = apply("right", "4", "a");
  end_batch();
  EXPECT_THAT(effects(without_key), ElementsAre("uncorrelated"));
  EXPECT_THAT(effects(left), ElementsAre("grouped"));
  EXPECT_THAT(effects(right), ElementsAre("started " + to_string(started_by(right))));
  for (const TimerInput& timer : due(now + hours(1))) {
    ASSERT_TRUE(batch->apply(now + hours(1), timer));
  }
  end_batch();
  EXPECT_THAT(effects(alone), ElementsAre("grouped", "expired"))
      << "the later effect has a row of its own";
}

TEST_F(EventEffectsTest, OfABatchThatChangesNothingElseWaitForTheNextCommit) {
  define(kWaits);
  apply("begin", "1");
  end_batch();
  const uint64_t again = apply("begin", "1");
  ASSERT_TRUE(batch->finish(now));
  EXPECT_TRUE(tx->write_set().empty()) << "a duplicate alone is not worth a sync";
  batches.begin();
  apply("begin", "2");
  end_batch();
  EXPECT_THAT(effects(again), ElementsAre("duplicate"));
}

TEST_F(EventEffectsTest, OfABatchThatChangesNothingElseAreWrittenAfterASecond) {
  define(kWaits);
  apply("begin", "1");
  end_batch();
  const uint64_t again = apply("begin", "1");
  const auto finish = [&](std::chrono::milliseconds after) {
    const auto outcome = batch->finish(now + after);
    EXPECT_TRUE(outcome);
    return outcome ? outcome->backlog.effects_at : std::nullopt;
  };
  const TimePoint due_at = now + std::chrono::seconds(1);
  EXPECT_EQ(finish(std::chrono::milliseconds(0)), due_at);
  batches.begin();
  const uint64_t once_more = apply("begin", "1");
  EXPECT_EQ(finish(std::chrono::milliseconds(999)), due_at) << "another one does not put it off";
  EXPECT_TRUE(tx->write_set().empty());
  batches.begin();
  EXPECT_EQ(finish(std::chrono::milliseconds(1'000)), std::nullopt) << "no further turn is needed";
  commit();
  batches.begin();
  EXPECT_THAT(effects(again), ElementsAre("duplicate"));
  EXPECT_THAT(effects(once_more), ElementsAre("duplicate"));
  EXPECT_EQ(finish(std::chrono::milliseconds(5'000)), std::nullopt);
  EXPECT_TRUE(tx->write_set().empty());
}

TEST_F(EventEffectsTest, AreTheSameAfterALostBatch) {
  define(kWaits);
  const uint64_t begins = apply("begin", "1");
  ASSERT_TRUE(batch->finish(now));
  const InstanceId id = started_by(begins);
  tx->drop();
  tasks.undo();
  ASSERT_TRUE(read_caches());
  ASSERT_TRUE(batch->undo());
  batches.begin();
  sequence = begins - 1;
  apply("begin", "1");
  end_batch();
  EXPECT_THAT(effects(begins), ElementsAre("started " + to_string(id)));
  EXPECT_EQ(started_by(begins), id);
  EXPECT_EQ(read_usage(*tx, ns)->live, 1U);
}

TEST_F(EventEffectsTest, HavePositionsThatInstancesAndHistoryHave) {
  define(kWaits);
  const uint64_t begins = apply("begin", "1");
  end_batch();
  const InstanceId id = started_by(begins);
  EXPECT_EQ(read_live_head(*tx, ns, id).value()->listen_from.event, (EventPosition{1, begins}));
  const auto row =
      rows::read(*tx, Table::kHistory,
                 rows::key_of(read_live_head(*tx, ns, id).value()->last_history), decode_history);
  ASSERT_TRUE(row && *row);
  EXPECT_EQ((*row)->records.back().kind, HistoryKind::kEntered);
  EXPECT_EQ((*row)->records.back().event, (EventPosition{1, begins}));
}

TEST_F(EventEffectsTest, GiveAStreamThatWasCreatedAgainAnotherNumber) {
  define(kWaits);
  apply("begin", "1");
  end_batch();
  ASSERT_TRUE(batch->stream_opened({.stream_created = 12, .sequence = 0, .stamped = now}));
  sequence = 0;
  apply("begin", "2");
  end_batch();
  const auto found = read_effects(*tx, {2, 1});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->size(), 1U);
}

}  // namespace
}  // namespace millrace
