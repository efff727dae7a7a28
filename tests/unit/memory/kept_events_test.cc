// Recent: events that are kept for instances which cannot listen yet, until none can want them.
#include "orchestrator/memory/kept_events.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/store/rows/event_rows.h"
#include "orchestrator/store/rows/group_rows.h"
#include "orchestrator/store/rows/task_rows.h"
#include "tests/unit/support/catalog_store.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

constexpr NamespaceNumber kSpace{1};
constexpr NamespaceNumber kOther{2};

Event event_of(const std::string& type, int id) {
  return {.id = std::to_string(id), .source = "/s", .type = type};
}
Fingerprint known_as(int id) { return fingerprint({std::to_string(id)}); }

/// One that is about to enter a state, and listens from that event on.
Instance on_its_way(uint8_t number, uint64_t listen_from) {
  return {.id = numbered_id(number), .space = kSpace, .listen_from = listen_from};
}
Instance listening(uint8_t number, uint64_t listen_from, const std::vector<std::string>& types) {
  Instance instance = on_its_way(number, listen_from);
  instance.status = InstanceStatus::kWaiting;
  instance.phase = Phase::kWaiting;
  for (uint32_t i = 0; i < types.size(); ++i) {
    instance.listeners.push_back({.entry = i, .filter = {.type = types[i], .predicates = {}}});
  }
  return instance;
}

class RecentTest : public FaultyStoreTest {
 protected:
  RecentTest() { batches.begin(); }

  static std::shared_ptr<const AwaitedTypes> types(std::vector<std::string> of) {
    return std::make_shared<const AwaitedTypes>(std::move(of));
  }
  void keep(const std::string& type, int id, NamespaceNumber space = kSpace) {
    recent->keep(*tx, space, event_of(type, id), known_as(id));
  }
  void commit_recent() {
    commit();
    batches.begin();
  }
  std::vector<std::pair<NamespaceNumber, InstanceId>> lose_batch() {
    tx->drop();
    return recent->undo();
  }
  /// `number:id of the event:entries` of what is found for it.
  std::string find(const Instance& instance) {
    const auto found = recent->find(*tx, instance);
    EXPECT_TRUE(found) << found.error().message;
    if (!found || !*found) return "none";
    return fmt::format("{}:{}:{}", (*found)->number, (*found)->event->id,
                       fmt::join((*found)->entries, ","));
  }
  /// The numbers of the rows.
  std::vector<uint64_t> rows() {
    std::vector<uint64_t> numbers;
    EXPECT_TRUE(each_recent(*tx, [&](const RecentPlace& place, const RecentRecord&) {
      numbers.push_back(place.number);
    }));
    return numbers;
  }
  void restart() {
    recent = std::make_unique<Recent>(damages, batches);
    const Status loaded = recent->load(*tx);
    EXPECT_TRUE(loaded) << loaded.error().message;
    batches.begin();
  }

  Damages damages;
  BatchCount batches;
  std::unique_ptr<Recent> recent = std::make_unique<Recent>(damages, batches);
};

TEST(OnItsWay, IsWhatMayComeToListenByItself) {
  Instance instance;
  for (const Phase phase : {Phase::kEntering, Phase::kLeaving}) {
    instance.phase = phase;
    EXPECT_TRUE(is_on_its_way(instance));
  }
  instance.phase = Phase::kWaiting;
  EXPECT_FALSE(is_on_its_way(instance)) << "it listens";
  instance.calls.emplace_back();
  EXPECT_TRUE(is_on_its_way(instance)) << "it waits for its calls";
  instance.status = InstanceStatus::kFailed;
  EXPECT_FALSE(is_on_its_way(instance)) << "it has ended";
}

TEST_F(RecentTest, WantsWhatInstancesOnTheirWayMayComeToWaitFor) {
  EXPECT_FALSE(recent->wants(kSpace, "go"));
  recent->update(on_its_way(1, 0), types({"go", "stop"}));
  recent->update(on_its_way(2, 0), types({"go"}));
  EXPECT_TRUE(recent->wants(kSpace, "go"));
  EXPECT_TRUE(recent->wants(kSpace, "stop"));
  EXPECT_FALSE(recent->wants(kSpace, "other"));
  EXPECT_FALSE(recent->wants(kOther, "go"));

  recent->update(listening(1, 0, {"stop"}), types({"stop"}));
  EXPECT_FALSE(recent->wants(kSpace, "stop")) << "it can listen";
  EXPECT_TRUE(recent->wants(kSpace, "go")) << "the other one is still on its way";
  recent->forget(numbered_id(2));
  recent->forget(numbered_id(9));
  EXPECT_FALSE(recent->wants(kSpace, "go"));
}

TEST_F(RecentTest, FindsTheFirstEventBehindWhereTheInstanceListensFrom) {
  keep("go", 1);
  keep("stop", 2);
  keep("go", 3);
  commit_recent();
  EXPECT_EQ(recent->last(), 3U);
  EXPECT_EQ(find(listening(1, 0, {"go"})), "1:1:0");
  EXPECT_EQ(find(listening(1, 1, {"go"})), "3:3:0");
  EXPECT_EQ(find(listening(1, 3, {"go"})), "none");
  EXPECT_EQ(find(listening(1, 1, {"go", "stop"})), "2:2:1");
  EXPECT_EQ(find(listening(1, 0, {"other"})), "none");
  Instance elsewhere = listening(1, 0, {"go"});
  elsewhere.space = kOther;
  EXPECT_EQ(find(elsewhere), "none");
}

TEST_F(RecentTest, FindsWhatOneOfTheListenersMatches) {
  keep("go", 1);
  keep("go", 2);
  Instance instance = listening(1, 0, {"go", "go", "go"});
  for (const size_t i : {0, 2}) {
    instance.listeners[i].filter.predicates = {{.attribute = "id", .text = "2"}};
  }
  instance.listeners[1].filter.predicates = {{.attribute = "id", .text = "9"}};
  EXPECT_EQ(find(instance), "2:2:0,2") << "in the batch that keeps it, too";
}

TEST_F(RecentTest, KnowsWhatItKeeps) {
  keep("go", 1);
  EXPECT_TRUE(recent->seen(known_as(1)));
  EXPECT_FALSE(recent->seen(known_as(2)));
  recent->trim(*tx);
  EXPECT_FALSE(recent->seen(known_as(1))) << "it can have no effect any more";
}

TEST_F(RecentTest, ErasesWhatNoInstanceCanWantAnyMore) {
  keep("go", 1);
  keep("go", 2);
  keep("go", 3);
  recent->update(on_its_way(1, 1), types({"go"}));
  recent->update(on_its_way(2, 2), types({"go"}));
  recent->trim(*tx);
  commit_recent();
  EXPECT_THAT(rows(), ElementsAre(2, 3)) << "the first is behind none of them";
  recent->forget(numbered_id(1));
  recent->trim(*tx);
  commit_recent();
  EXPECT_THAT(rows(), ElementsAre(3));
  recent->forget(numbered_id(2));
  recent->trim(*tx);
  commit_recent();
  EXPECT_THAT(rows(), IsEmpty());
  keep("go", 4);
  EXPECT_EQ(recent->last(), 4U) << "no number is given twice";
}

TEST_F(RecentTest, KeepsWhatIsHeldAndAllBehindItInItsNamespace) {
  keep("go", 1);
  const auto held = recent->hold(*tx, 1);
  ASSERT_TRUE(held);
  EXPECT_EQ(held->space, kSpace);
  EXPECT_EQ(held->event->id, "1");
  EXPECT_TRUE(recent->wants(kSpace, "whatever"));
  EXPECT_FALSE(recent->wants(kOther, "whatever"));
  keep("stop", 2);
  recent->trim(*tx);
  commit_recent();
  EXPECT_THAT(rows(), UnorderedElementsAre(1, 2));
  EXPECT_EQ(find(listening(1, 0, {"go"})), "1:1:0");

  recent->let_go(1);
  EXPECT_FALSE(recent->wants(kSpace, "whatever"));
  recent->trim(*tx);
  commit_recent();
  EXPECT_THAT(rows(), IsEmpty());
}

TEST_F(RecentTest, HoldsNothingThatIsNotKept) {
  keep("go", 1);
  const auto held = recent->hold(*tx, 2);
  ASSERT_FALSE(held);
  EXPECT_EQ(held.error().code, kDamagedRow);
  EXPECT_FALSE(recent->wants(kSpace, "go"));
}

TEST_F(RecentTest, IsAfterALostBatchAsBeforeIt) {
  recent->update(on_its_way(1, 0), types({"go"}));
  keep("go", 1);
  keep("go", 2);
  commit_recent();

  keep("go", 3);
  recent->forget(numbered_id(1));
  recent->update(on_its_way(2, 3), types({"stop"}));
  EXPECT_TRUE(recent->hold(*tx, 3));
  recent->trim(*tx);
  EXPECT_THAT(lose_batch(), UnorderedElementsAre(std::pair(kSpace, numbered_id(1)),
                                                 std::pair(kSpace, numbered_id(2))));
  EXPECT_EQ(recent->last(), 2U);
  EXPECT_TRUE(recent->seen(known_as(1)));
  EXPECT_TRUE(recent->seen(known_as(2)));
  EXPECT_FALSE(recent->seen(known_as(3)));
  // What was changed of instances is shown again.
  recent->update(on_its_way(1, 0), types({"go"}));
  recent->forget(numbered_id(2));
  batches.begin();
  EXPECT_FALSE(recent->wants(kSpace, "stop"));
  EXPECT_EQ(find(listening(1, 0, {"go"})), "1:1:0");
  recent->trim(*tx);
  EXPECT_THAT(rows(), UnorderedElementsAre(1, 2)) << "nothing is held, and one is on its way";
  recent->forget(numbered_id(1));
  recent->trim(*tx);
  commit_recent();
  EXPECT_THAT(rows(), IsEmpty());
}

TEST_F(RecentTest, LosesWhatWasKeptAndTrimmedInTheSameBatch) {
  keep("go", 1);
  recent->trim(*tx);
  EXPECT_THAT(lose_batch(), IsEmpty());
  EXPECT_FALSE(recent->seen(known_as(1)));
  EXPECT_EQ(recent->last(), 0U);
  EXPECT_EQ(find(listening(1, 0, {"go"})), "none");
}

TEST_F(RecentTest, FindsAfterARestartWhatItKept) {
  keep("go", 1);
  keep("stop", 2);
  commit_recent();
  restart();
  EXPECT_EQ(recent->last(), 2U);
  EXPECT_TRUE(recent->seen(known_as(2)));
  EXPECT_EQ(find(listening(1, 0, {"stop"})), "2:2:0");
  EXPECT_TRUE(recent->hold(*tx, 1));
  recent->trim(*tx);
  EXPECT_THAT(rows(), UnorderedElementsAre(1, 2));
}

TEST_F(RecentTest, PassesOverADamagedEventAndNotesIt) {
  keep("go", 1);
  keep("go", 2);
  commit_recent();
  write_recent(*tx, {.space = kSpace, .type = fingerprint({"go"}), .number = 1},
               {.known_as = known_as(1), .event = "no event"});
  commit_recent();
  EXPECT_EQ(find(listening(1, 0, {"go"})), "2:2:0");
  EXPECT_EQ(damages.count(), 1U);
  EXPECT_FALSE(recent->hold(*tx, 1));
  EXPECT_FALSE(recent->wants(kSpace, "go"));
}

TEST_F(RecentTest, IsAsBeforeWhereAReadFails) {
  keep("go", 1);
  keep("stop", 2);
  commit_recent();
  const Instance instance = listening(1, 0, {"go", "stop"});
  const auto find_one = [&]() -> Status {
    const auto found = TRY(recent->find(*tx, instance));
    EXPECT_TRUE(found);
    return {};
  };
  EXPECT_GE(fail_each_read(find_one, [] {}), 1U);
  const auto hold_one = [&]() -> Status {
    TRY(recent->hold(*tx, 1));
    return {};
  };
  EXPECT_GE(fail_each_read(hold_one, [&] { EXPECT_FALSE(recent->wants(kSpace, "go")); }), 1U);
  EXPECT_TRUE(recent->wants(kSpace, "go"));
  recent->let_go(1);
  EXPECT_FALSE(recent->wants(kSpace, "go"));
  EXPECT_GE(fail_each_read([&] { return recent->load(*tx); }, [] {}), 2U);
  EXPECT_EQ(recent->last(), 2U);
  EXPECT_EQ(find(instance), "1:1:0");
}

}  // namespace
}  // namespace millrace
