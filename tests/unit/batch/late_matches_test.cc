// LateMatches: the matches that the budget of an event left undecided are decided in portions, and
// the result is the same as with an unlimited budget.
#include "orchestrator/batch/late_matches.h"

#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/store/rows/event_rows.h"
#include "tests/unit/batch/batch_part_fixture.h"

namespace millrace {
namespace {

using std::chrono::hours;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr const char* kPickyWait = R"(
id: picky
states:
- {id: wait, type: consumeEvent, event: {type: go, context: {subject: '^(?=yes)'}}}
)";
constexpr const char* kPickyWaits = R"(
id: picky-twice
states:
- {id: first, type: consumeEvent, event: {type: go, context: {subject: '^(?=yes)'}}, transition: second}
- {id: second, type: consumeEvent, event: {type: go, context: {subject: '^(?=no)'}}}
)";
constexpr const char* kPatientWait = R"(
id: patient
states:
- id: first
  type: consumeEvent
  timeout: PT1H
  event: {type: go, context: {subject: '^(?=yes)'}}
  catch: [{error: direktiv.stateTimeout, transition: second}]
- {id: second, type: consumeEvent, event: {type: go, context: {subject: '^(?=later)'}}}
)";
constexpr const char* kPatientForOthers = R"(
id: patient-for-others
states:
- id: first
  type: consumeEvent
  timeout: PT1H
  event: {type: go, context: {subject: '^(?=yes)'}}
  catch: [{error: direktiv.stateTimeout, transition: second}]
- {id: second, type: consumeEvent, event: {type: then}}
)";
constexpr const char* kPickyBegin = R"(
id: begins
start: {type: event, event: {type: go, context: {subject: '^(?=yes)'}}}
states:
- {id: wait, type: consumeEvent, event: {type: never}}
)";
constexpr const char* kPickyPairs = R"(
id: pairs
start:
  type: eventsAnd
  lifespan: PT30M
  events: [{type: go, context: {subject: '^(?=yes)'}}, {type: stop}]
states:
- {id: wait, type: consumeEvent, event: {type: never}}
)";

constexpr const char* kTakesAll =
    "id: all\nstates: [{id: a, type: consumeEvent, event: {type: go}, transition: a}]";

/// Enough to load an instance, to read an event, to compile a pattern and to run it, and no more.
constexpr MatchBudget kSmallPortion{.has_long_runs = true, .steps = 1'100, .bytes = 1'000};

class LateMatchesTest : public BatchPartTest {
 protected:
  LateMatchesTest() { make({}); }
  void make(LateLimits limits) {
    late = std::make_unique<LateMatches>(batch, instances, starts, limits);
  }

  /// Starts an instance of the workflow and commits.
  InstanceId start_committed(const WorkflowEntry& entry) {
    const InstanceId id = start(entry);
    commit_batch();
    return id;
  }
  /// Keeps the next event for the given targets, and commits.
  void keep(const std::string& subject, LateMatchRecord targets = {}, TimePoint at = {},
            const std::string& type = "go") {
    const Event event{
        .id = std::to_string(++events), .source = "/s", .type = type, .subject = subject};
    kept_events.keep(*tx, ns, event, fingerprint_of("default", event), {1, events}, at, at);
    const Status done = late->kept(ns, std::move(targets));
    ASSERT_TRUE(done) << done.error().message;
    commit_batch();
  }
  static Fingerprint known_as(const std::string& id, const std::string& subject) {
    return fingerprint_of("default", {.id = id, .source = "/s", .type = "go", .subject = subject});
  }
  Status try_portion() {
    late->begin_batch();
    for (const WorkLane& lane : late->lanes()) TRY(late->go_on(now, lane));
    TRY(late->take_over());
    kept_events.trim(*tx);
    return try_commit_batch();
  }
  void portion() {
    const Status done = try_portion();
    ASSERT_TRUE(done) << done.error().message;
  }
  /// Does portions until nothing is undecided; returns their number.
  size_t decide_all() {
    size_t portions = 0;
    for (; !late->empty() && portions < 1'000; ++portions) portion();
    EXPECT_TRUE(late->empty());
    EXPECT_EQ(kept_events.undecided().size(), 0U);
    EXPECT_EQ(rows_of(Table::kFanout), 0U);
    return portions;
  }
  Undecided& undecided() { return kept_events.undecided(); }

  Groups groups{batch, instances};
  StartInputs starts{batch, instances, groups};
  std::unique_ptr<LateMatches> late;
  uint64_t events = 0;  ///< the number of kept events so far
};

TEST_F(LateMatchesTest, WakeAnInstanceIfTheEventMatches) {
  const InstanceId id = start_committed(define(kPickyWait));
  keep("yes", {.instances = {id}});
  EXPECT_TRUE(undecided().has(id));
  EXPECT_EQ(status_of(id), "waiting");
  EXPECT_EQ(decide_all(), 1U);
  EXPECT_EQ(status_of(id), "complete");
  EXPECT_EQ(outcome.counts.matches_late, 1U);
  EXPECT_EQ(outcome.counts.instances_woken, 1U);
  EXPECT_EQ(rows_of(Table::kKeptEvents), 0U);
}

TEST_F(LateMatchesTest, LeaveAnInstanceWaitingIfTheEventDoesNotMatch) {
  const InstanceId id = start_committed(define(kPickyWait));
  keep("no", {.instances = {id}});
  EXPECT_TRUE(kept_events.seen(known_as("1", "no"))) << "the event may still have an effect";
  decide_all();
  EXPECT_EQ(status_of(id), "waiting");
  EXPECT_FALSE(kept_events.seen(known_as("1", "no")));
  EXPECT_FALSE(dedupe.seen(known_as("1", "no"))) << "the event had no effect";
  EXPECT_EQ(rows_of(Table::kKeptEvents), 0U);
}

TEST_F(LateMatchesTest, GiveAnInstanceTheEventsThatWaitedInTheirOrder) {
  const InstanceId id = start_committed(define(kPickyWaits));
  keep("no", {.instances = {id}});
  keep("yes");
  keep("other");
  keep("no again");
  EXPECT_THAT(late->lanes(), ElementsAre(WorkLane{ns}));
  decide_all();
  EXPECT_EQ(status_of(id), "complete") << "the second and the fourth event woke it";
  EXPECT_EQ(outcome.counts.instances_woken, 2U);
}

TEST_F(LateMatchesTest, FireATimerBeforeTheEventsThatCameAfterItsDeadline) {
  const InstanceId id = start_committed(define(kPatientWait));
  keep("no", {.instances = {id}}, now);
  keep("later", {}, now + std::chrono::minutes(59));
  keep("other", {}, now + hours(1));
  keep("yes", {}, now + hours(2));
  keep("later", {}, now + hours(3));
  now += hours(4);
  decide_all();
  EXPECT_EQ(status_of(id), "complete");
  EXPECT_EQ(outcome.counts.timers_fired, 1U);
  EXPECT_EQ(outcome.counts.instances_woken, 1U)
      << "the event before the deadline is not one of the second wait";
}

TEST_F(LateMatchesTest, FireATimerOnceAllEventsBeforeItAreDecided) {
  make({.portion = kSmallPortion});
  const InstanceId id = start_committed(define(kPatientWait));
  keep("no", {.instances = {id}}, now);
  for (int i = 0; i < 20; ++i) keep("no", {}, now + hours(2));
  now += hours(4);
  for (int i = 0; i < 4; ++i) portion();
  EXPECT_FALSE(late->empty());
  EXPECT_EQ(read_live(*tx, ns, id).value()->state, 1U) << "the second state";
  decide_all();
  EXPECT_EQ(status_of(id), "waiting");
}

TEST_F(LateMatchesTest, GiveAnInstanceTheEventsOfOtherTypesThatCameAfterItsTimer) {
  for (const bool has_later_event : {false, true}) {
    const InstanceId id = start_committed(define(kPatientForOthers));
    keep("no", {.instances = {id}}, now);
    keep("other", {}, now + hours(2), "then");
    if (has_later_event) keep("no", {}, now + hours(3));
    now += hours(4);
    decide_all();
    EXPECT_EQ(status_of(id), "complete") << has_later_event;
  }
}

TEST_F(LateMatchesTest, ArmTheTimersAgainThatWereDueMeanwhile) {
  const InstanceId id = start_committed(define(kPatientWait));
  keep("no", {.instances = {id}}, now);
  now += hours(2);
  EXPECT_THAT(due(now), SizeIs(1)) << "the timer leaves the wheel";
  decide_all();
  EXPECT_EQ(status_of(id), "waiting");
  EXPECT_THAT(due(now), SizeIs(1));
}

TEST_F(LateMatchesTest, DecideInPortions) {
  make({.portion = kSmallPortion});
  const WorkflowEntry& entry = define(kPickyWait);
  const InstanceId first = start(entry);
  const InstanceId second = start(entry);
  commit_batch();
  keep("no", {.instances = {first, second}});
  keep("yes");
  EXPECT_GE(decide_all(), 3U);
  EXPECT_EQ(status_of(first), "complete");
  EXPECT_EQ(status_of(second), "complete");
}

TEST_F(LateMatchesTest, DecideAnEventForAllInstancesBeforeTheNextEvent) {
  make({.portion = kSmallPortion});
  const WorkflowEntry& entry = define(kPickyWait);
  const InstanceId first = start(entry);
  const InstanceId second = start(entry);
  commit_batch();
  keep("no", {.instances = {first, second}});
  for (int i = 0; i < 20; ++i) keep("no");
  ASSERT_TRUE(kept_events.seen(known_as("1", "no")));
  for (int i = 0; i < 3; ++i) portion();
  EXPECT_FALSE(kept_events.seen(known_as("1", "no"))) << "the first event is needed no more";
  EXPECT_EQ(rows_of(Table::kFanout), 1U) << "a row names the instances that go on";
  lose_batch();
  ASSERT_TRUE(late->load());
  EXPECT_TRUE(undecided().has(first));
  EXPECT_TRUE(undecided().has(second));
  keep("yes");
  decide_all();
  EXPECT_THAT(stored_live(), IsEmpty());
}

TEST_F(LateMatchesTest, ContinueInTheNextProcess) {
  make({.portion = {.has_long_runs = true, .steps = 2'000, .bytes = 1'000}});
  const WorkflowEntry& entry = define(kPickyWait);
  std::vector<InstanceId> ids;
  for (int i = 0; i < 5; ++i) ids.push_back(start(entry));
  commit_batch();
  keep("yes", {.instances = ids});
  portion();
  lose_batch();
  ASSERT_TRUE(late->load());
  for (const InstanceId& id : ids) EXPECT_TRUE(undecided().has(id));
  decide_all();
  EXPECT_THAT(stored_live(), IsEmpty());
}

TEST_F(LateMatchesTest, StartAnInstanceIfTheEventMatches) {
  const WorkflowNumber begins = define(kPickyBegin).number;
  keep("yes", {.starts = {begins}}, now);
  EXPECT_TRUE(undecided().has(begins));
  keep("no", {.starts = {begins}}, now);
  keep("yes", {.starts = {begins}}, now);
  decide_all();
  EXPECT_THAT(stored_live(), SizeIs(2));
  EXPECT_EQ(outcome.counts.matches_late, 3U);
  EXPECT_FALSE(undecided().has(begins));
}

TEST_F(LateMatchesTest, StartOneInstanceDespiteARestartAfterSomePortions) {
  make({.portion = kSmallPortion});
  const WorkflowNumber begins = define(kPickyBegin).number;
  keep("yes", {.starts = {begins}}, now);
  keep("no", {.starts = {begins}}, now);
  for (int i = 0; i < 20 && rows_of(Table::kFanout) > 0; ++i) {
    portion();
    lose_batch();
    ASSERT_TRUE(late->load());
  }
  EXPECT_EQ(rows_of(Table::kFanout), 0U);
  EXPECT_THAT(stored_live(), SizeIs(1));
}

TEST_F(LateMatchesTest, DropAnUndecidedStartOfADeletedWorkflow) {
  keep("yes", {.starts = {WorkflowNumber(99)}});
  decide_all();
  EXPECT_THAT(stored_live(), IsEmpty());
  EXPECT_EQ(damages.count(), 0U);
}

TEST_F(LateMatchesTest, LetALifespanEndBeforeTheEventsThatCameAfterIt) {
  const WorkflowEntry& pairs = define(kPickyPairs);
  const Event stop{.id = "s", .source = "/s", .type = "stop"};
  std::optional<Error> over;
  ASSERT_TRUE(groups.offer(now, {.event = stop, .position = {1, 100}, .stamped = now}, pairs,
                           *definition(pairs), {1}, over));
  commit_batch();
  keep("no", {.starts = {pairs.number}}, now);
  keep("yes", {.starts = {pairs.number}}, now + std::chrono::minutes(30));
  now += hours(1);
  decide_all();
  EXPECT_EQ(outcome.counts.groups_expired, 1U);
  EXPECT_THAT(stored_live(), IsEmpty()) << "the event does not complete the group";
}

TEST_F(LateMatchesTest, CompleteAGroupWhoseLifespanEndedMeanwhile) {
  const WorkflowEntry& pairs = define(kPickyPairs);
  const Event stop{.id = "s", .source = "/s", .type = "stop"};
  std::optional<Error> over;
  ASSERT_TRUE(groups.offer(now, {.event = stop, .position = {1, 100}, .stamped = now}, pairs,
                           *definition(pairs), {1}, over));
  commit_batch();
  keep("yes", {.starts = {pairs.number}}, now + std::chrono::minutes(29));
  now += hours(1);
  decide_all();
  EXPECT_EQ(outcome.counts.groups_expired, 0U);
  EXPECT_THAT(stored_live(), SizeIs(1));
}

TEST_F(LateMatchesTest, NameWhatMustBeDecidedLate) {
  const InstanceId id = start_committed(define(kPickyWait));
  Targets targets{.undecided_starts = {WorkflowNumber(7)}, .undecided_instances = {id}};
  targets.starts.push_back({.workflow = WorkflowNumber(5), .entries = {0}});
  EXPECT_EQ(late->late_of(targets),
            (LateMatchRecord{.starts = {WorkflowNumber(7)}, .instances = {id}}));
  keep("yes", {.starts = {WorkflowNumber(5)}, .instances = {id}});
  EXPECT_EQ(late->late_of(targets),
            (LateMatchRecord{.starts = {WorkflowNumber(5), WorkflowNumber(7)}}))
      << "a start waits for its earlier event; the instance gets the event with the earlier one";
  EXPECT_TRUE(late->late_of({}).empty());
}

TEST_F(LateMatchesTest, AreFullIfTooManyEventsOrBytesOfTheNamespaceWait) {
  make({.events = 3, .bytes = 1'000});
  keep("yes");
  EXPECT_FALSE(late->is_full(ns)) << "nothing is undecided";
  keep("yes", {.instances = {numbered_id(9)}});
  keep("yes");
  EXPECT_FALSE(late->is_full(ns));
  keep("yes");
  EXPECT_TRUE(late->is_full(ns));
  const Error error = late->refuse(ns);
  EXPECT_EQ(error.code, "millrace.match.budget");
  EXPECT_THAT(error.message, HasSubstr("3 events"));
  EXPECT_THAT(error.message, HasSubstr("namespace \"default\""));
  lose_batch();
  ASSERT_TRUE(late->load());
  EXPECT_TRUE(late->is_full(ns)) << "the count is the same in the next process";
  decide_all();
  EXPECT_FALSE(late->is_full(ns));
  keep(std::string(2'000, 'x'), {.instances = {numbered_id(9)}});
  EXPECT_TRUE(late->is_full(ns));
}

TEST_F(LateMatchesTest, DoOnePortionOfEachNamespaceInABatch) {
  make({.portion = {.has_long_runs = true, .steps = 1, .bytes = 1'000}});
  const NamespaceNumber shop = create_namespace("shop");
  keep("yes", {.instances = {numbered_id(91), numbered_id(92)}});
  const Event event{.id = "x", .source = "/s", .type = "go"};
  kept_events.keep(*tx, shop, event, fingerprint_of("shop", event), {1, 50});
  ASSERT_TRUE(late->kept(shop, {.instances = {numbered_id(93), numbered_id(94)}}));
  commit_batch();
  EXPECT_THAT(late->lanes(), ElementsAre(WorkLane{ns}, WorkLane{shop}));
  ASSERT_TRUE(late->go_on(now, {shop}));
  EXPECT_FALSE(undecided().has(numbered_id(93)));
  EXPECT_TRUE(undecided().has(numbered_id(94)));
  EXPECT_FALSE(late->may_go_on({shop})) << "the batch has done a portion of it";
  EXPECT_TRUE(late->may_go_on({ns}));
  ASSERT_TRUE(late->go_on(now, {ns}));
  EXPECT_FALSE(undecided().has(numbered_id(91)));
  EXPECT_TRUE(undecided().has(numbered_id(92)));
  commit_batch();
  late->begin_batch();
  EXPECT_TRUE(late->may_go_on({shop}));
  decide_all();
}

TEST_F(LateMatchesTest, TakeOverTheSearchOfAnInstanceThatUsedUpTheBudgetOfItsBatch) {
  const WorkflowEntry& entry = define(kPickyWait);
  keep("no", {.instances = {numbered_id(99)}});  // so that the events are kept
  keep("yes");
  const InstanceId id = start(entry);
  LoadedInstance* const loaded = *instances.load(now, ns, id);
  loaded->instance.listen_from = {};
  batch.kept_budget.steps = 1;
  ASSERT_FALSE(*instances.offer_kept_events(now, *loaded));
  EXPECT_TRUE(undecided().has(id));
  EXPECT_FALSE(*instances.offer_kept_events(now, *loaded)) << "an undecided instance gets no event";
  ASSERT_TRUE(late->take_over());
  commit_batch();
  lose_batch();
  ASSERT_TRUE(late->load());
  EXPECT_TRUE(undecided().has(id)) << "a row names the instance";
  decide_all();
  EXPECT_EQ(status_of(id), "complete");
}

TEST_F(LateMatchesTest, GiveAnInstanceTheKeptEventsThatItsUnitOfWorkHasNotGivenIt) {
  const InstanceId id = start(define(kTakesAll));
  commit_batch();
  constexpr uint64_t kEvents = 600;
  for (uint64_t i = 1; i <= kEvents; ++i) {
    const Event go{.id = std::to_string(i), .source = "/s", .type = "go"};
    kept_events.keep(*tx, ns, go, fingerprint_of("default", go), {1, i});
  }
  commit_batch();
  LoadedInstance* const loaded = *instances.load(now, ns, id);
  ASSERT_TRUE(*instances.offer_kept_events(now, *loaded));
  EXPECT_EQ(batch.outcome.counts.instances_woken, 250U);
  EXPECT_TRUE(undecided().has(id));
  EXPECT_FALSE(*instances.offer_kept_events(now, *loaded));
  ASSERT_TRUE(late->take_over());
  commit_batch();
  uint64_t woken = outcome.counts.instances_woken;
  for (int portions = 0; portions < 500 && !late->empty(); ++portions) {
    portion();
    woken += outcome.counts.instances_woken;
  }
  EXPECT_TRUE(late->empty());
  EXPECT_EQ(woken, kEvents);
  EXPECT_EQ(status_of(id), "waiting");
  EXPECT_EQ(rows_of(Table::kKeptEvents), 0U);
}

TEST_F(LateMatchesTest, CountOnlyTheEventsThatComeWhileAnInstanceSearchesThroughOlderOnes) {
  make({.events = 3});
  const InstanceId id = start(define(kPickyWait));
  for (int i = 0; i < 5; ++i) keep("no");
  keep("yes");
  LoadedInstance* const loaded = *instances.load(now, ns, id);
  loaded->instance.listen_from = {};
  batch.kept_budget.steps = 1;
  ASSERT_FALSE(*instances.offer_kept_events(now, *loaded));
  ASSERT_TRUE(late->take_over());
  EXPECT_TRUE(undecided().has(id));
  EXPECT_FALSE(late->is_full(ns)) << "six events were kept before";
  commit_batch();
  lose_batch();
  ASSERT_TRUE(late->load());
  EXPECT_FALSE(late->is_full(ns));
  keep("no");
  EXPECT_FALSE(late->is_full(ns));
  keep("no");
  EXPECT_TRUE(late->is_full(ns));
  decide_all();
  EXPECT_FALSE(late->is_full(ns));
  EXPECT_EQ(status_of(id), "complete");
}

TEST_F(LateMatchesTest, DecideSomethingInEachPortionHoweverShortItsUnitOfWorkIs) {
  struct Spent final : WorkBudget {
    bool is_spent(size_t) const override { return true; }
  };
  const WorkflowEntry& entry = define(kPickyWait);
  const InstanceId first = start(entry);
  const InstanceId second = start(entry);
  commit_batch();
  keep("yes", {.instances = {first, second}});
  Spent work;
  for (int portions = 0; portions < 3; ++portions) {
    late->begin_batch();
    ASSERT_TRUE(late->may_go_on({ns}));
    ASSERT_TRUE(late->go_on(now, {ns}, &work));
    commit_batch();
  }
  EXPECT_TRUE(late->empty());
  EXPECT_THAT(stored_live(), IsEmpty());
}

TEST_F(LateMatchesTest, DecideEachMatchOnceDespiteFailedReads) {
  const WorkflowNumber begins = define(kPickyBegin).number;
  const InstanceId id = start_committed(define(kPickyWait));
  keep("yes", {.starts = {begins}, .instances = {id}}, now);
  const auto before = rows();
  const uint64_t failed = fail_each_read([&] { return try_portion(); },
                                         [&] {
                                           lose_batch();
                                           EXPECT_EQ(rows(), before);
                                           ASSERT_TRUE(late->load());
                                         });
  EXPECT_GE(failed, 3U);
  EXPECT_TRUE(late->empty());
  EXPECT_THAT(stored_live(), SizeIs(1)) << "one instance started and one ended";
}

TEST_F(LateMatchesTest, AreDroppedIfTheirKeptEventIsMissing) {
  write_late_match(*tx, 77, {.instances = {numbered_id(1)}});
  commit();
  ASSERT_TRUE(late->load());
  EXPECT_TRUE(late->empty());
  EXPECT_EQ(damages.count(), 1U);
}

}  // namespace
}  // namespace millrace
