// KeptEvents: events that are stored until no instance can come to wait for them any more.
#include "orchestrator/memory/kept_events.h"

#include <optional>
#include <set>
#include <string>

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

/// An instance that enters a state and listens from the event `listen_from` on.
Instance entering(uint8_t number, uint64_t listen_from) {
  return {.id = numbered_id(number), .ns = kSpace, .listen_from = {.kept = listen_from}};
}
Instance listening(uint8_t number, uint64_t listen_from, const std::vector<std::string>& types) {
  Instance instance = entering(number, listen_from);
  instance.status = InstanceStatus::kWaiting;
  instance.phase = Phase::kWaiting;
  for (uint32_t i = 0; i < types.size(); ++i) {
    instance.listeners.push_back({.entry = i, .filter = {.type = types[i], .predicates = {}}});
  }
  return instance;
}

class KeptEventsTest : public FaultyStoreTest {
 protected:
  KeptEventsTest() { batches.begin(); }

  static std::shared_ptr<const AwaitedTypes> types(std::vector<std::string> of) {
    return std::make_shared<const AwaitedTypes>(std::move(of));
  }
  void keep(const std::string& type, int id, NamespaceNumber ns = kSpace) {
    kept_events->keep(*tx, ns, event_of(type, id), known_as(id),
                      {.stream = 1, .sequence = static_cast<uint64_t>(id)});
  }
  void commit_kept_events() {
    commit();
    batches.begin();
  }
  std::vector<std::pair<NamespaceNumber, InstanceId>> lose_batch() {
    tx->drop();
    return kept_events->undo();
  }
  /// The kept event that matches the instance, as `number:id:` and the indexes of its listeners;
  /// or `stopped at number`, or `next number`.
  std::string find(const Instance& instance, MatchBudget budget = MatchBudget::unlimited(),
                   const KeptEvents::Range& range = {}) {
    const auto found = kept_events->find(*tx, instance, range, budget);
    EXPECT_TRUE(found) << found.error().message;
    if (!found) return "error";
    if (found->stopped_at) return fmt::format("stopped at {}", *found->stopped_at);
    if (found->next) return fmt::format("next {}", *found->next);
    if (!found->match) return "none";
    return fmt::format("{}:{}:{}", found->match->position.kept, found->match->event->id,
                       fmt::join(found->match->entries, ","));
  }
  /// The numbers of the stored events.
  std::vector<uint64_t> rows() {
    std::vector<uint64_t> numbers;
    EXPECT_TRUE(each_kept_event(*tx, [&](const KeptEventPlace& place, const KeptEventRecord&) {
      numbers.push_back(place.number);
    }));
    return numbers;
  }
  void restart() {
    kept_events = std::make_unique<KeptEvents>(damages, batches);
    const Status loaded = kept_events->load(*tx);
    EXPECT_TRUE(loaded) << loaded.error().message;
    batches.begin();
  }

  Damages damages;
  BatchCount batches;
  std::unique_ptr<KeptEvents> kept_events = std::make_unique<KeptEvents>(damages, batches);
};

TEST_F(KeptEventsTest, KnowsWhichInstancesMayComeToWait) {
  Instance instance;
  for (const Phase phase : {Phase::kEntering, Phase::kLeaving}) {
    instance.phase = phase;
    EXPECT_TRUE(may_come_to_listen(instance));
  }
  instance.phase = Phase::kWaiting;
  EXPECT_FALSE(may_come_to_listen(instance)) << "the instance listens";
  instance.calls.emplace_back();
  EXPECT_TRUE(may_come_to_listen(instance)) << "the instance waits for its calls";
  instance.status = InstanceStatus::kFailed;
  EXPECT_FALSE(may_come_to_listen(instance)) << "the instance has ended";
}

TEST_F(KeptEventsTest, KnowsThePositionJustBeforeAnEvent) {
  keep("go", 1);
  keep("go", 7);
  EXPECT_EQ(kept_events->just_before(kSpace, 1), EventPosition()) << "nothing came before it";
  EXPECT_EQ(kept_events->just_before(kSpace, 2), (EventPosition{1, 6}));
  EXPECT_EQ(kept_events->just_before(kSpace, 3), EventPosition()) << "it is not kept";
  EXPECT_EQ(kept_events->just_before(kOther, 2), EventPosition());
}

TEST_F(KeptEventsTest, FindsNoEventThatTheInstanceHasTaken) {
  keep("go", 11);
  keep("go", 12);
  Instance instance = listening(1, 0, {"go"});
  EXPECT_EQ(find(instance), "1:11:0");
  instance.consumed.add({.stream = 1, .sequence = 5}, known_as(11));  // another copy of it
  EXPECT_EQ(find(instance), "2:12:0");
  instance.consumed.add({.stream = 1, .sequence = 12}, known_as(12));
  EXPECT_EQ(find(instance), "none");
}

TEST_F(KeptEventsTest, WantsEventsThatAnInstanceMayComeToWaitFor) {
  EXPECT_FALSE(kept_events->wants(kSpace, "go"));
  kept_events->update(entering(1, 0), types({"go", "stop"}));
  kept_events->update(entering(2, 0), types({"go"}));
  EXPECT_TRUE(kept_events->wants(kSpace, "go"));
  EXPECT_TRUE(kept_events->wants(kSpace, "stop"));
  EXPECT_FALSE(kept_events->wants(kSpace, "other"));
  EXPECT_FALSE(kept_events->wants(kOther, "go"));

  kept_events->update(listening(1, 0, {"stop"}), types({"stop"}));
  EXPECT_FALSE(kept_events->wants(kSpace, "stop")) << "the instance listens now";
  EXPECT_TRUE(kept_events->wants(kSpace, "go")) << "the other instance may still come to wait";
  kept_events->forget(numbered_id(2));
  kept_events->forget(numbered_id(9));
  EXPECT_FALSE(kept_events->wants(kSpace, "go"));
}

TEST_F(KeptEventsTest, FindsTheFirstEventAfterThePositionFromWhichTheInstanceListens) {
  keep("go", 1);
  keep("stop", 2);
  keep("go", 3);
  commit_kept_events();
  EXPECT_EQ(kept_events->last(), 3U);
  EXPECT_EQ(find(listening(1, 0, {"go"})), "1:1:0");
  EXPECT_EQ(find(listening(1, 1, {"go"})), "3:3:0");
  EXPECT_EQ(find(listening(1, 3, {"go"})), "none");
  EXPECT_EQ(find(listening(1, 1, {"go", "stop"})), "2:2:1");
  EXPECT_EQ(find(listening(1, 0, {"other"})), "none");
  Instance elsewhere = listening(1, 0, {"go"});
  elsewhere.ns = kOther;
  EXPECT_EQ(find(elsewhere), "none");
}

TEST_F(KeptEventsTest, FindsTheKeptEventAndEveryListenerThatMatchesIt) {
  keep("go", 1);
  keep("go", 2);
  Instance instance = listening(1, 0, {"go", "go", "go"});
  for (const size_t i : {0, 2}) {
    instance.listeners[i].filter.predicates = {{.attribute = "id", .text = "2"}};
  }
  instance.listeners[1].filter.predicates = {{.attribute = "id", .text = "9"}};
  EXPECT_EQ(find(instance), "2:2:0,2") << "an event is found within the batch that keeps it, too";
}

TEST_F(KeptEventsTest, KnowsTheEventsThatItKeeps) {
  keep("go", 1);
  EXPECT_TRUE(kept_events->seen(known_as(1)));
  EXPECT_FALSE(kept_events->seen(known_as(2)));
  kept_events->trim(*tx);
  EXPECT_FALSE(kept_events->seen(known_as(1))) << "the event can have no effect any more";
}

TEST_F(KeptEventsTest, ErasesEventsThatNoInstanceCanWaitForAnyMore) {
  keep("go", 1);
  keep("go", 2);
  keep("go", 3);
  kept_events->update(entering(1, 1), types({"go"}));
  kept_events->update(entering(2, 2), types({"go"}));
  kept_events->trim(*tx);
  commit_kept_events();
  EXPECT_THAT(rows(), ElementsAre(2, 3)) << "both instances listen from a later event";
  kept_events->forget(numbered_id(1));
  kept_events->trim(*tx);
  commit_kept_events();
  EXPECT_THAT(rows(), ElementsAre(3));
  kept_events->forget(numbered_id(2));
  kept_events->trim(*tx);
  commit_kept_events();
  EXPECT_THAT(rows(), IsEmpty());
  keep("go", 4);
  EXPECT_EQ(kept_events->last(), 4U) << "a number is never used twice";
}

TEST_F(KeptEventsTest, ErasesEventsWhateverInstancesOfOtherNamespacesMayComeToWaitFor) {
  kept_events->update(entering(1, 0), types({"go"}));
  keep("go", 1);
  keep("go", 2, kOther);
  keep("go", 3);
  EXPECT_TRUE(kept_events->hold(3));
  keep("go", 4, kOther);
  EXPECT_EQ(kept_events->last_of(kSpace), 3U);
  EXPECT_EQ(kept_events->last_of(kOther), 4U);
  kept_events->trim(*tx);
  commit_kept_events();
  EXPECT_THAT(rows(), ElementsAre(1, 3)) << "no instance of the other namespace needs its events";
  EXPECT_FALSE(kept_events->seen(known_as(2)));
  EXPECT_EQ(kept_events->last_of(kOther), 0U);
  EXPECT_EQ(kept_events->last(), 4U);
  kept_events->forget(numbered_id(1));
  kept_events->let_go(3);
  kept_events->trim(*tx);
  commit_kept_events();
  EXPECT_THAT(rows(), IsEmpty());
}

TEST_F(KeptEventsTest, ErasesTheEventsOfManyNamespacesInTurns) {
  constexpr int kSpaces = 100;
  for (int id = 1; id <= kSpaces; ++id) {
    keep("go", id, NamespaceNumber(static_cast<uint32_t>(id)));
  }
  kept_events->trim(*tx);
  commit_kept_events();
  const size_t left = rows().size();
  EXPECT_GT(left, 0U) << "one batch looks at some namespaces";
  EXPECT_LT(left, static_cast<size_t>(kSpaces));
  kept_events->trim(*tx);
  commit_kept_events();
  EXPECT_THAT(rows(), IsEmpty());
}

TEST_F(KeptEventsTest, KeepsAHeldEventAndAllLaterEventsOfItsNamespace) {
  keep("go", 1);
  EXPECT_EQ(kept_events->hold(1).value(), kSpace);
  const auto held = kept_events->read(*tx, 1);
  ASSERT_TRUE(held);
  EXPECT_EQ(held->event->id, "1");
  EXPECT_EQ(held->known_as, known_as(1));
  EXPECT_TRUE(kept_events->wants(kSpace, "whatever"));
  EXPECT_FALSE(kept_events->wants(kOther, "whatever"));
  keep("stop", 2);
  kept_events->trim(*tx);
  commit_kept_events();
  EXPECT_THAT(rows(), UnorderedElementsAre(1, 2));
  EXPECT_EQ(find(listening(1, 0, {"go"})), "1:1:0");

  kept_events->let_go(1);
  EXPECT_FALSE(kept_events->wants(kSpace, "whatever"));
  kept_events->trim(*tx);
  commit_kept_events();
  EXPECT_THAT(rows(), IsEmpty());
}

TEST_F(KeptEventsTest, WantsOnlyTheTypesForWhichEventsAreHeld) {
  keep("go", 1);
  keep("go", 2);
  EXPECT_TRUE(kept_events->hold(kSpace, 1, std::set<std::string>{"go", "stop"}));
  EXPECT_TRUE(kept_events->wants(kSpace, "go"));
  EXPECT_TRUE(kept_events->wants(kSpace, "stop"));
  EXPECT_FALSE(kept_events->wants(kSpace, "whatever"));
  EXPECT_TRUE(kept_events->hold(kSpace, 2, std::set<std::string>{"again"}));
  EXPECT_TRUE(kept_events->wants(kSpace, "again"));
  kept_events->let_go(1);
  EXPECT_TRUE(kept_events->wants(kSpace, "stop")) << "an event of the namespace is held";
  kept_events->hold_types(kSpace, std::nullopt);
  EXPECT_TRUE(kept_events->wants(kSpace, "whatever"));
  kept_events->let_go(2);
  EXPECT_FALSE(kept_events->wants(kSpace, "go"));
  EXPECT_TRUE(kept_events->hold(kSpace, 2, std::set<std::string>{"go"}));
  EXPECT_TRUE(kept_events->hold(kSpace, 2, std::set<std::string>{"stop"}));
  EXPECT_TRUE(kept_events->wants(kSpace, "stop")) << "by a second holder of the event";
  EXPECT_FALSE(kept_events->wants(kSpace, "whatever"));
}

TEST_F(KeptEventsTest, RefusesToHoldAnEventThatIsNotKept) {
  keep("go", 1);
  const auto held = kept_events->hold(2);
  ASSERT_FALSE(held);
  EXPECT_EQ(held.error().code, kDamagedRow);
  EXPECT_FALSE(kept_events->wants(kSpace, "go"));
}

TEST_F(KeptEventsTest, IsUnchangedByALostBatch) {
  kept_events->update(entering(1, 0), types({"go"}));
  keep("go", 1);
  keep("go", 2);
  commit_kept_events();

  keep("go", 3);
  kept_events->forget(numbered_id(1));
  kept_events->update(entering(2, 3), types({"stop"}));
  EXPECT_TRUE(kept_events->hold(3));
  kept_events->trim(*tx);
  EXPECT_THAT(lose_batch(), UnorderedElementsAre(std::pair(kSpace, numbered_id(1)),
                                                 std::pair(kSpace, numbered_id(2))));
  EXPECT_EQ(kept_events->last(), 2U);
  EXPECT_TRUE(kept_events->seen(known_as(1)));
  EXPECT_TRUE(kept_events->seen(known_as(2)));
  EXPECT_FALSE(kept_events->seen(known_as(3)));
  // The caller of undo() must then apply the last commit of each changed instance again.
  kept_events->update(entering(1, 0), types({"go"}));
  kept_events->forget(numbered_id(2));
  batches.begin();
  EXPECT_FALSE(kept_events->wants(kSpace, "stop"));
  EXPECT_EQ(find(listening(1, 0, {"go"})), "1:1:0");
  kept_events->trim(*tx);
  EXPECT_THAT(rows(), UnorderedElementsAre(1, 2))
      << "no event is held, and one instance may come to wait";
  kept_events->forget(numbered_id(1));
  kept_events->trim(*tx);
  commit_kept_events();
  EXPECT_THAT(rows(), IsEmpty());
}

TEST_F(KeptEventsTest, ForgetsAnEventThatALostBatchKeptAndErased) {
  keep("go", 1);
  kept_events->trim(*tx);
  EXPECT_THAT(lose_batch(), IsEmpty());
  EXPECT_FALSE(kept_events->seen(known_as(1)));
  EXPECT_EQ(kept_events->last(), 0U);
  EXPECT_EQ(find(listening(1, 0, {"go"})), "none");
}

TEST_F(KeptEventsTest, FindsTheKeptEventsAfterARestartOfMillrace) {
  keep("go", 1);
  keep("stop", 2);
  commit_kept_events();
  restart();
  EXPECT_EQ(kept_events->last(), 2U);
  EXPECT_TRUE(kept_events->seen(known_as(2)));
  EXPECT_EQ(find(listening(1, 0, {"stop"})), "2:2:0");
  EXPECT_TRUE(kept_events->hold(1));
  kept_events->trim(*tx);
  EXPECT_THAT(rows(), UnorderedElementsAre(1, 2));
}

TEST_F(KeptEventsTest, SkipsAndRecordsADamagedEvent) {
  keep("go", 1);
  keep("go", 2);
  commit_kept_events();
  write_kept_event(*tx, {.ns = kSpace, .type = fingerprint({"go"}), .number = 1},
                   {.known_as = known_as(1), .event = "no event"});
  commit_kept_events();
  EXPECT_EQ(find(listening(1, 0, {"go"})), "2:2:0");
  EXPECT_EQ(damages.count(), 1U);
  EXPECT_TRUE(kept_events->hold(1));
  const auto read = kept_events->read(*tx, 1);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, kDamagedRow);
}

TEST_F(KeptEventsTest, IsUnchangedIfAReadFails) {
  keep("go", 1);
  keep("stop", 2);
  commit_kept_events();
  const Instance instance = listening(1, 0, {"go", "stop"});
  const auto find_one = [&]() -> Status {
    MatchBudget budget = MatchBudget::unlimited();
    const auto found = TRY(kept_events->find(*tx, instance, {}, budget));
    EXPECT_TRUE(found.match);
    return {};
  };
  EXPECT_GE(fail_each_read(find_one, [] {}), 1U);
  EXPECT_TRUE(kept_events->hold(1));
  EXPECT_TRUE(kept_events->wants(kSpace, "go"));
  const auto read_one = [&]() -> Status {
    TRY(kept_events->read(*tx, 1));
    return {};
  };
  EXPECT_GE(fail_each_read(read_one, [] {}), 1U);
  kept_events->let_go(1);
  EXPECT_FALSE(kept_events->wants(kSpace, "go"));
  EXPECT_GE(fail_each_read([&] { return kept_events->load(*tx); }, [] {}), 2U);
  EXPECT_EQ(kept_events->last(), 2U);
  EXPECT_EQ(find(instance), "1:1:0");
}

TEST_F(KeptEventsTest, LetsAnEventGoWhenNoHolderIsLeft) {
  keep("go", 1);
  EXPECT_TRUE(kept_events->hold(1));
  EXPECT_TRUE(kept_events->hold(1));
  kept_events->let_go(1);
  kept_events->trim(*tx);
  EXPECT_TRUE(kept_events->seen(known_as(1)));
  EXPECT_TRUE(kept_events->wants(kSpace, "other"));
  kept_events->let_go(1);
  kept_events->trim(*tx);
  EXPECT_FALSE(kept_events->seen(known_as(1)));
  EXPECT_FALSE(kept_events->wants(kSpace, "other"));
}

TEST_F(KeptEventsTest, SearchesInPortionsAndMatchesEachPatternOnce) {
  for (int id = 1; id <= 3; ++id) keep("go", id);
  Instance instance = listening(1, 0, {"go"});
  instance.listeners[0].filter.predicates = {
      {.attribute = "id", .kind = Predicate::Kind::kPattern, .text = "^(?=3)"}};
  // One step is enough to begin each part of the work: reading, compiling, a run.
  const MatchBudget one_step{.has_long_runs = true, .steps = 1, .bytes = 1'000};
  EXPECT_EQ(find(instance, one_step), "stopped at 1");
  const MatchBudget portion{.has_long_runs = true, .steps = 300, .bytes = 10'000};
  EXPECT_EQ(find(instance, portion), "stopped at 2") << "reading, compiling and a run for event 1";
  const MatchBudget next{.has_long_runs = true, .steps = 101, .bytes = 10'000};
  EXPECT_EQ(find(instance, next, {.from = 2}), "stopped at 3")
      << "the third event could not be read";
  EXPECT_EQ(find(instance, portion, {.from = 2}), "3:3:0");
}

TEST_F(KeptEventsTest, TakesStepsForEventsOfOtherTypesAndNoneForThoseOfOtherNamespaces) {
  for (int id = 1; id <= 40; ++id) keep("go", id, kOther);
  for (int id = 41; id <= 80; ++id) keep("stop", id);
  keep("go", 81);
  const Instance instance = listening(1, 0, {"go"});
  const MatchBudget one_step{.has_long_runs = true, .steps = 1, .bytes = 1'000};
  EXPECT_EQ(find(instance, one_step), "stopped at 72") << "16 events of another type take one step";
  EXPECT_EQ(find(instance, one_step, {.from = 72}), "81:81:0");
  const MatchBudget three_steps{.has_long_runs = true, .steps = 3, .bytes = 1'000};
  EXPECT_EQ(find(instance, three_steps), "81:81:0");
}

TEST_F(KeptEventsTest, SearchesInARangeOfNumbers) {
  keep("go", 1);
  keep("stop", 2);
  keep("go", 3);
  const MatchBudget all = MatchBudget::unlimited();
  EXPECT_EQ(find(listening(1, 0, {"go"}), all, {.from = 2, .to = 3}), "3:3:0");
  EXPECT_EQ(find(listening(1, 0, {"go"}), all, {.from = 1, .to = 2}), "1:1:0");
  EXPECT_EQ(find(listening(1, 1, {"go"}), all, {.from = 1, .to = 2}), "next 3");
  EXPECT_EQ(find(listening(1, 0, {"other"}), all, {.from = 1, .to = 2}), "none");
  EXPECT_EQ(find(listening(1, 3, {"go"}), all, {.from = 1, .to = 2}), "none");
}

TEST_F(KeptEventsTest, StopsASearchBeforeItReadsTooManyBytes) {
  for (int id = 1; id <= 3; ++id) keep("go", id);
  const Instance instance = listening(1, 0, {"other", "go"});
  Instance none = listening(1, 0, {"go"});
  none.listeners[0].filter.predicates = {{.attribute = "id", .text = "9"}};
  EXPECT_EQ(find(instance, {.has_long_runs = true, .steps = 1'000, .bytes = 0}), "stopped at 1");
  EXPECT_EQ(find(none, {.has_long_runs = true, .steps = 1'000, .bytes = 1}), "stopped at 2");
}

TEST_F(KeptEventsTest, FindsTheEventsBeforeATimerByTheirTimes) {
  for (int id = 1; id <= 3; ++id) {
    kept_events->keep(*tx, kSpace, event_of("go", id), known_as(id), {1, static_cast<uint64_t>(id)},
                      {}, from_millis(10 * id));
  }
  const auto last_before = [&](int64_t deadline, uint64_t from) {
    return kept_events->last_before(kSpace, from_millis(deadline), {.kept = from}).kept;
  };
  EXPECT_EQ(last_before(5, 0), 0U);
  EXPECT_EQ(last_before(20, 0), 1U) << "a timer comes before an event";
  EXPECT_EQ(last_before(21, 0), 2U);
  EXPECT_EQ(last_before(15, 2), 2U);
  EXPECT_EQ(last_before(99, 1), 3U);
  commit_kept_events();
  restart();
  EXPECT_EQ(last_before(21, 0), 2U);
  EXPECT_EQ(kept_events->last_before(kSpace, from_millis(99), {}).event, (EventPosition{1, 3}));
  EXPECT_EQ(kept_events->last_before(kOther, from_millis(99), {}).kept, 0U);
  EXPECT_EQ(kept_events->after_timers(kSpace, 2), from_millis(20));
  std::vector<uint64_t> numbers;
  kept_events->each_size(kSpace, 2, [&](uint64_t number, size_t size) {
    numbers.push_back(number);
    EXPECT_GT(size, 10U);
  });
  EXPECT_THAT(numbers, ElementsAre(2, 3));
}

}  // namespace
}  // namespace millrace
