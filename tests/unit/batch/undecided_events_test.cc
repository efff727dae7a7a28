// Events for which the budget of matching does not suffice: what a batch does with them, and with
// the events that come after them.
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/store/rows/instance_rows.h"
#include "tests/unit/support/batch_store.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr const char* kBeginsPickily = R"(
id: picky
start: {type: event, event: {type: begin}}
states:
- {id: first, type: consumeEvent, event: {type: go, context: {subject: '^(?=yes)'}}, transition: second}
- {id: second, type: consumeEvent, event: {type: then}}
)";
constexpr const char* kPickyStart = R"(
id: picky-start
start: {type: event, event: {type: go, context: {subject: '^(?=start)'}}}
states:
- {id: wait, type: consumeEvent, event: {type: never}}
)";

/// The first event leaves every pattern that backtracks undecided.
constexpr MatchBudget kNoBudget{.steps = 0};

class UndecidedEventsTest : public BatchStoreTest {
 protected:
  UndecidedEventsTest() { make_batch({.match = kNoBudget}); }

  void make_batch(BatchLimits limits) {
    batch = std::make_unique<Batch>(parts(), limits);
    ASSERT_TRUE(batch->load());
  }
  void define(const std::string& text) {
    auto workflow = load_stored(text);
    ASSERT_TRUE(workflow) << workflow.error().message;
    const Command command =
        ApplyWorkflow{.ns = "default", .text = text, .workflow = std::move(*workflow)};
    ASSERT_TRUE(batch->apply(now, CommandInput{1, command}));
    end_batch();
  }
  void apply(const std::string& type, const std::string& id, const std::string& subject = "s") {
    const EventInput input{
        .ns = "default",
        .sequence = ++sequence,
        .stamped = now,
        .event = EncodedEvent({.id = id, .source = "/s", .type = type, .subject = subject})};
    const Status applied = batch->apply(now, input);
    ASSERT_TRUE(applied) << applied.error().message;
    end_batch();
  }
  void end_batch() {
    auto finished = batch->finish(now);
    ASSERT_TRUE(finished) << finished.error().message;
    outcome = *std::move(finished);
    commit();
    batches.begin();
  }
  void go_on() {
    ASSERT_TRUE(go_on_with_all(*batch, now));
    end_batch();
  }
  void lose_batch() {
    tx->drop();
    tasks.undo();
    ASSERT_TRUE(read_caches());
    ASSERT_TRUE(batch->undo());
    batches.begin();
  }

  std::unique_ptr<Batch> batch;
  BatchOutcome outcome;  ///< the outcome of the last batch
  uint64_t sequence = 0;
};

TEST_F(UndecidedEventsTest, AreDecidedByALaterBatch) {
  define(kBeginsPickily);
  define(kPickyStart);
  apply("begin", "1");
  apply("go", "2", "yes, do");
  EXPECT_EQ(outcome.counts.instances_woken, 0U);
  EXPECT_EQ(outcome.counts.events_unmatched, 0U);
  EXPECT_EQ(outcome.backlog.undecided, 2U) << "an instance and a start";
  EXPECT_TRUE(outcome.backlog.has_steps);
  go_on();
  EXPECT_EQ(outcome.counts.instances_woken, 1U);
  EXPECT_EQ(outcome.counts.matches_late, 2U);
  EXPECT_EQ(outcome.backlog.undecided, 0U);
  EXPECT_FALSE(outcome.backlog.has_steps);
  EXPECT_EQ(rows_of(Table::kKeptEvents), 0U);
  EXPECT_THAT(stored_live(), SizeIs(1));
}

TEST_F(UndecidedEventsTest, AreDecidedAfterLaterEventsOfAnotherNamespaceWereErased) {
  define(R"(
id: again
start: {type: event, event: {type: begin}}
states:
- {id: wait, type: consumeEvent, event: {type: go, context: {subject: '^(?=yes)'}}, transition: wait}
)");
  apply("begin", "1");
  apply("go", "2", "yes");
  ASSERT_EQ(outcome.backlog.undecided, 1U);
  const NamespaceNumber shop = create_namespace("shop");
  const Event later{.id = "3", .source = "/s", .type = "go"};
  kept_events.keep(*tx, shop, later, fingerprint_of("shop", later), {1, 3});
  end_batch();
  EXPECT_EQ(rows_of(Table::kKeptEvents), 1U) << "no instance of the namespace shop needs its event";
  go_on();
  EXPECT_EQ(outcome.counts.instances_woken, 1U);
  EXPECT_EQ(outcome.backlog.undecided, 0U) << "the instance waits for its second event";
  EXPECT_EQ(rows_of(Table::kKeptEvents), 0U);
}

TEST_F(UndecidedEventsTest, HoldBackLaterEventsOfTheSameInstanceOnly) {
  define(kBeginsPickily);
  apply("begin", "1");
  apply("go", "2", "yes");
  apply("begin", "3");
  EXPECT_EQ(outcome.counts.instances_started, 1U) << "a start without a pattern does not wait";
  apply("then", "4");
  EXPECT_EQ(outcome.counts.instances_woken, 0U);
  go_on();
  EXPECT_EQ(outcome.counts.instances_woken, 2U) << "the first instance gets both events";
  EXPECT_THAT(stored_live(), SizeIs(1));
}

TEST_F(UndecidedEventsTest, LetNoLaterEventStartAnInstanceFirst) {
  define(kPickyStart);
  apply("go", "1", "start");
  apply("go", "2", "start");
  EXPECT_EQ(outcome.backlog.undecided, 1U) << "one start, for which two events wait";
  go_on();
  EXPECT_EQ(outcome.counts.instances_started, 2U);
}

TEST_F(UndecidedEventsTest, StartAnInstanceThatGetsTheEventsWhichCameAfterThem) {
  define(
      "id: chain\nstart: {type: event, event: {type: go, context: {subject: '^(?=start)'}}}\n"
      "states: [{id: wait, type: consumeEvent, event: {type: then}}]");
  apply("then", "1");
  apply("go", "2", "start");
  apply("then", "3");
  go_on();
  ASSERT_THAT(actions_of<ContinueInput>(outcome), SizeIs(1))
      << "its first step is in a later batch";
  ASSERT_TRUE(batch->apply(now, actions_of<ContinueInput>(outcome).front()));
  end_batch();
  EXPECT_EQ(outcome.counts.instances_woken, 1U);
  EXPECT_THAT(stored_live(), IsEmpty());
}

TEST_F(UndecidedEventsTest, AreDuplicatesUntilTheyAreDecided) {
  define(kBeginsPickily);
  apply("begin", "1");
  apply("go", "2", "no");
  apply("go", "2", "no");
  EXPECT_EQ(outcome.counts.events_duplicate, 1U);
  go_on();
  apply("go", "2", "no");
  EXPECT_EQ(outcome.counts.events_duplicate, 0U) << "the event had no effect";
}

TEST_F(UndecidedEventsTest, AreUndecidedAgainAfterALostBatch) {
  define(kBeginsPickily);
  apply("begin", "1");
  apply("go", "2", "yes");
  const auto before = rows();
  ASSERT_TRUE(go_on_with_all(*batch, now));
  lose_batch();
  EXPECT_EQ(rows(), before);
  EXPECT_EQ(kept_events.undecided().size(), 1U);
  go_on();
  EXPECT_EQ(outcome.counts.instances_woken, 1U);
}

TEST_F(UndecidedEventsTest, AreOfferedLaterToTheStartsThatTheirUnitOfWorkHadNoTimeFor) {
  make_batch({.offered_in_one_unit = 2});
  for (int i = 0; i < 20; ++i) {
    define(
        fmt::format("id: begins-{}\nstart: {{type: event, event: {{type: begin}}}}\n"
                    "states: [{{id: wait, type: consumeEvent, event: {{type: then}}}}]",
                    i));
  }
  std::set<InstanceId> continued;
  const auto continue_all = [&] {
    for (const ContinueInput& one : actions_of<ContinueInput>(outcome)) {
      continued.insert(one.instance);
      ASSERT_TRUE(batch->apply(now, one));
    }
    end_batch();
  };
  meter.begin_turn();
  clock.let_looks_take(Duration(1));
  apply("begin", "1");
  EXPECT_EQ(outcome.counts.instances_started, 1U);
  EXPECT_EQ(outcome.backlog.undecided, 19U);
  clock.let_looks_take(Duration(0));
  meter.end();
  continue_all();
  apply("then", "2");
  for (int i = 0; i < 20 && outcome.backlog.has_steps; ++i) {
    go_on();
    continue_all();
  }
  EXPECT_FALSE(outcome.backlog.has_steps);
  EXPECT_THAT(continued, SizeIs(20));
  EXPECT_THAT(stored_live(), IsEmpty()) << "each has got the later event";
  EXPECT_EQ(rows_of(Table::kFanout), 0U);
}

TEST_F(UndecidedEventsTest, BecomeOneDeadLetterIfAQuotaRefusesTheirStarts) {
  const Json settings{{"quotas", {{"instances", 1}}}};
  const Command limit = CreateNamespace{.name = "default", .settings = settings};
  ASSERT_TRUE(batch->apply(now, CommandInput{1, limit}));
  end_batch();
  for (const char* const id : {"a", "b", "c"}) {
    define(fmt::format(
        "id: {}\nstart: {{type: event, event: {{type: go, context: {{subject: '^(?=yes)'}}}}}}\n"
        "states: [{{id: wait, type: consumeEvent, event: {{type: never}}}}]",
        id));
  }
  apply("go", "1", "yes");
  EXPECT_EQ(outcome.backlog.undecided, 3U);
  go_on();
  EXPECT_EQ(outcome.counts.instances_started, 1U);
  EXPECT_THAT(outbox_subjects(), SizeIs(1));
}

TEST_F(UndecidedEventsTest, BecomeDeadLettersIfTooManyWait) {
  make_batch({.match = kNoBudget, .late = {.events = 2}});
  define(kBeginsPickily);
  define("id: ends\nstart: {type: event, event: {type: then}}\nstates: [{id: done, type: noop}]");
  apply("begin", "1");
  apply("go", "2", "yes");
  apply("then", "3");
  EXPECT_EQ(outcome.counts.matches_refused, 0U);
  EXPECT_EQ(outcome.counts.instances_started, 1U);
  apply("then", "4");
  EXPECT_EQ(outcome.counts.matches_refused, 1U);
  EXPECT_EQ(outcome.counts.instances_started, 0U) << "a refused event has no effect at all";
  EXPECT_THAT(outbox_subjects(), ElementsAre("millrace.dlq.default.millrace%2Ematch%2Ebudget"));
  apply("begin", "5");
  EXPECT_EQ(outcome.counts.matches_refused, 0U);
  EXPECT_EQ(outcome.counts.instances_started, 1U) << "the undecided instance needs no such event";
  go_on();
  EXPECT_THAT(stored_live(), SizeIs(1)) << "the first instance got the two events that waited";
  apply("then", "6");
  EXPECT_EQ(outcome.counts.matches_refused, 0U);
  EXPECT_EQ(outcome.counts.instances_started, 1U);
}

TEST_F(UndecidedEventsTest, MayFanOutToTheInstancesThatAreDecided) {
  make_batch({.woken = 1, .match = kNoBudget});
  define(kBeginsPickily);
  define(
      "id: plain\nstart: {type: event, event: {type: begin}}\n"
      "states: [{id: wait, type: consumeEvent, event: {type: go}}]");
  apply("begin", "1");
  apply("begin", "2");
  ASSERT_THAT(stored_live(), SizeIs(4));
  apply("go", "3", "yes");
  EXPECT_EQ(outcome.backlog.fan_out, 2U);
  EXPECT_EQ(outcome.backlog.undecided, 2U);
  go_on();
  EXPECT_EQ(outcome.counts.instances_woken, 4U);
  EXPECT_FALSE(outcome.backlog.has_steps);
  EXPECT_EQ(rows_of(Table::kFanout), 0U);
}

}  // namespace
}  // namespace millrace
