// Groups: events wait until each entry of an `eventsAnd` start has an event. Then one event for
// each entry is used to start one instance.
#include "orchestrator/batch/groups.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cloudevents/json_format.h"
#include "matchers/correlation.h"
#include "orchestrator/store/rows/group_rows.h"
#include "orchestrator/store/rows/purge.h"
#include "tests/unit/batch/batch_part_fixture.h"

namespace millrace {
namespace {

using std::chrono::minutes;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr const char* kOrders = R"(
id: orders
start:
  type: eventsAnd
  lifespan: PT30M
  correlate: [order]
  events: [{type: placed}, {type: paid}]
states:
- {id: wait, type: consumeEvent, event: {type: never}}
)";

class GroupsTest : public BatchPartTest {
 protected:
  static Event event(const std::string& type, const std::string& id, const std::string& order) {
    Event one{.id = id, .source = "/s", .type = type};
    one.data = R"(")" + id + R"(")";
    if (!order.empty()) one.extensions["order"] = order;
    return one;
  }
  Status try_offer(const Event& one) {
    const WorkflowEntry& entry = *catalog.find_workflow(ns, "orders");
    const size_t which = one.type == "placed" ? 0 : 1;
    const AppliedEvent applied{.event = one,
                               .position = {1, ++sequence},
                               .stamped = now,
                               .known_as = fingerprint_of("default", one)};
    std::optional<Error> over;
    taken = TRY(groups.offer(now, applied, entry, *definition(entry), {which}, over));
    return try_commit_batch();
  }
  void offer(const Event& one) {
    const Status done = try_offer(one);
    ASSERT_TRUE(done) << done.error().message;
  }
  /// How many events wait for each entry of the only group.
  std::vector<uint32_t> waiting_events() {
    std::vector<uint32_t> counts;
    EXPECT_TRUE(each_group(*tx, catalog.find_workflow(ns, "orders")->number, std::nullopt,
                           [&](const Fingerprint&, const std::vector<uint32_t>& one) {
                             counts = one;
                             return Result<bool>(true);
                           }));
    return counts;
  }
  std::vector<uint64_t> numbers() {
    std::vector<uint64_t> found;
    EXPECT_TRUE(each_grouped(*tx, [&](const GroupedEvent& one) { found.push_back(one.number); }));
    return found;
  }
  /// Closes all groups of the workflow, as if it had been deleted.
  void close(size_t rows_at_once = 1'000) {
    const WorkflowNumber number = catalog.find_workflow(ns, "orders")->number;
    catalog.remove_workflow(*tx, number);
    const PurgeRecord record{.ns = "default", .workflow = "orders", .up_to = 1'000};
    std::string at;
    for (int i = 0; i < 100; ++i) {
      PurgeBudget budget{.rows = rows_at_once};
      const auto all = groups.close(number, record, ns, at, budget);
      ASSERT_TRUE(all) << all.error().message;
      commit_batch();
      closed += outcome.counts.groups_closed;
      if (*all) return;
    }
    FAIL() << "closing the groups does not end";
  }

  Groups groups{batch, instances};
  uint64_t sequence = 0;
  uint64_t closed = 0;
  bool taken = false;  ///< the last result of offer()
};

TEST_F(GroupsTest, StartOneInstanceWhenEachEntryHasAnEvent) {
  define(kOrders);
  offer(event("placed", "1", "a"));
  EXPECT_TRUE(taken);
  EXPECT_THAT(stored_live(), IsEmpty());
  EXPECT_THAT(waiting_events(), ElementsAre(1, 0));
  offer(event("paid", "2", "b"));
  EXPECT_THAT(stored_live(), IsEmpty()) << "the event belongs to another order";
  offer(event("paid", "3", "a"));
  ASSERT_THAT(stored_live(), SizeIs(1));
  const auto instance = read_instance(*tx, ns, stored_live()[0].id).value();
  EXPECT_EQ(instance->input.value(), Json::parse(R"({"placed": "1", "paid": "3"})"));
  EXPECT_THAT(numbers(), ElementsAre(2));
  EXPECT_THAT(due(now + minutes(30)), SizeIs(1)) << "the used events no longer expire";
}

TEST_F(GroupsTest, RefuseEventsThatAreTooLargeTogether) {
  constexpr size_t kEntries = 17;
  std::string text = "id: orders\nstart: {type: eventsAnd, correlate: [order], events: [";
  for (size_t i = 0; i < kEntries; ++i) text += fmt::format("{{type: part{}}}, ", i);
  text += "]}\nstates:\n- {id: wait, type: consumeEvent, event: {type: never}}\n";
  define(text);
  const WorkflowEntry& entry = *catalog.find_workflow(ns, "orders");
  std::vector<Error> refused;
  const auto offer_all = [&](size_t bytes) {
    for (size_t i = 0; i < kEntries; ++i) {
      Event part = event(fmt::format("part{}", i), fmt::format("{}-{}", bytes, i), "a");
      part.data = fmt::format(R"("{}")", std::string(bytes, 'x'));
      const AppliedEvent applied{.event = part,
                                 .position = {1, ++sequence},
                                 .stamped = now,
                                 .known_as = fingerprint_of("default", part)};
      std::optional<Error> over;
      ASSERT_TRUE(groups.offer(now, applied, entry, *definition(entry), {i}, over));
      if (over) refused.push_back(*over);
    }
    commit_batch();
  };
  offer_all(980'000);
  EXPECT_THAT(stored_live(), SizeIs(1)) << "together just less than 16 MiB";
  EXPECT_THAT(refused, IsEmpty());
  offer_all(1'000'000);
  EXPECT_THAT(stored_live(), SizeIs(1));
  ASSERT_THAT(refused, SizeIs(1)) << "the event that would complete the group";
  EXPECT_EQ(refused[0].code, "millrace.limits.data");
  EXPECT_THAT(numbers(), SizeIs(kEntries - 1)) << "the others wait as before";
  EXPECT_EQ(waiting_events().back(), 0U);
}

TEST_F(GroupsTest, UseTheOldestEventOfEachEntry) {
  define(kOrders);
  offer(event("placed", "1", "a"));
  offer(event("placed", "2", "a"));
  EXPECT_THAT(waiting_events(), ElementsAre(2, 0));
  offer(event("paid", "3", "a"));
  const auto instance = read_instance(*tx, ns, stored_live().at(0).id).value();
  EXPECT_EQ(instance->input.value()["placed"], "1");
  EXPECT_THAT(waiting_events(), ElementsAre(1, 0));
  EXPECT_THAT(numbers(), ElementsAre(2));
}

TEST_F(GroupsTest, RejectAnEventWithoutTheCorrelatedAttribute) {
  define(kOrders);
  offer(event("placed", "1", ""));
  EXPECT_FALSE(taken);
  EXPECT_EQ(outcome.counts.groups_uncorrelated, 1U);
  EXPECT_THAT(numbers(), IsEmpty());
}

TEST_F(GroupsTest, DropAnEventAtTheEndOfItsLifespan) {
  define(kOrders);
  offer(event("placed", "1", "a"));
  offer(event("placed", "2", "a"));
  ASSERT_TRUE(groups.expire(1));
  commit_batch();
  EXPECT_EQ(outcome.counts.groups_expired, 1U);
  EXPECT_THAT(waiting_events(), ElementsAre(1, 0));
  ASSERT_TRUE(groups.expire(1));
  commit_batch();
  EXPECT_EQ(outcome.counts.groups_expired, 0U) << "the event was already dropped";
  ASSERT_TRUE(groups.expire(2));
  commit_batch();
  EXPECT_EQ(rows_of(Table::kGroups), 0U);
}

TEST_F(GroupsTest, CountTheirEventsAgainIfTheStoredCountsAreDamaged) {
  const WorkflowEntry& entry = define(kOrders);
  offer(event("placed", "1", "a"));
  const auto key = correlation_key(Attributes(event("placed", "1", "a")), {"order"});
  ASSERT_TRUE(key);
  std::optional<Fingerprint> group;
  ASSERT_TRUE(each_grouped(*tx, [&](const GroupedEvent& one) { group = one.queue.group; }));
  write_counts(*tx, entry.number, *group, {0, 0, 7});
  commit();
  offer(event("paid", "2", "a"));
  EXPECT_EQ(damages.count(), 1U);
  EXPECT_THAT(stored_live(), SizeIs(1)) << "each entry has an event";
}

TEST_F(GroupsTest, SendTheirEventsToTheDeadLetterQueueWhenTheirWorkflowIsDeleted) {
  define(kOrders);
  for (int i = 1; i <= 5; ++i) offer(event("placed", std::to_string(i), "a"));
  close(2);
  EXPECT_EQ(closed, 5U);
  EXPECT_EQ(rows_of(Table::kGroups), 0U);
  EXPECT_THAT(due(now + minutes(30)), IsEmpty());
  EXPECT_THAT(
      outbox_subjects(),
      testing::AllOf(SizeIs(5), testing::Each("millrace.dlq.default.start%2Egroup_closed")));
}

TEST_F(GroupsTest, MakeDeadLettersOfADroppedGroupAndKeepTheOthers) {
  const WorkflowEntry& entry = define(kOrders);
  for (int i = 1; i <= 3; ++i) offer(event("placed", std::to_string(i), "a"));
  offer(event("placed", "4", "b"));
  std::optional<Fingerprint> group;
  ASSERT_TRUE(each_grouped(*tx, [&](const GroupedEvent& one) {
    if (one.number == 1) group = one.queue.group;
  }));
  ASSERT_TRUE(group);
  const auto drop = [&](uint64_t up_to, size_t rows) {
    PurgeBudget budget{.rows = rows};
    const auto dropped = groups.drop(entry, *definition(entry), *group, up_to, budget);
    EXPECT_TRUE(dropped) << dropped.error().message;
    commit_batch();
    closed += outcome.counts.groups_closed;
    return dropped.value_or(Groups::Dropped());
  };
  const Groups::Dropped first = drop(2, 1);
  EXPECT_EQ(first.events, 1U) << "at least one, whatever the budget";
  EXPECT_FALSE(first.is_all);
  const Groups::Dropped second = drop(2, 1'000);
  EXPECT_EQ(second.events, 1U);
  EXPECT_TRUE(second.is_all);
  EXPECT_THAT(numbers(), testing::UnorderedElementsAre(3, 4)) << "event 3 came later";
  EXPECT_EQ(drop(1'000, 1'000).events, 1U);
  EXPECT_EQ(drop(1'000, 1'000).events, 0U);
  EXPECT_THAT(numbers(), ElementsAre(4));
  EXPECT_THAT(waiting_events(), ElementsAre(1, 0)) << "the counts of the other group";
  EXPECT_THAT(due(now + minutes(30)), SizeIs(1));
  EXPECT_EQ(closed, 3U);
  EXPECT_THAT(
      outbox_subjects(),
      testing::AllOf(SizeIs(3), testing::Each("millrace.dlq.default.start%2Egroup_closed")));
}

TEST_F(GroupsTest, AreUnchangedAfterAFailedRead) {
  define(kOrders);
  offer(event("placed", "1", "a"));
  const auto before = rows();
  const uint64_t failed = fail_each_read([&] { return try_offer(event("paid", "2", "a")); },
                                         [&] {
                                           lose_batch();
                                           EXPECT_EQ(rows(), before);
                                         });
  EXPECT_GE(failed, 2U);
  EXPECT_THAT(stored_live(), SizeIs(1));
  EXPECT_EQ(rows_of(Table::kGroups), 0U);

  offer(event("placed", "3", "c"));
  const auto expire = [&]() -> Status {
    TRY(groups.expire(3));
    return try_commit_batch();
  };
  EXPECT_GE(fail_each_read(expire, [&] { lose_batch(); }), 2U);
  EXPECT_EQ(rows_of(Table::kGroups), 0U);
}

TEST(Groups, AreKeptIfTheStartOfTheNewRevisionHasTheSameEventsAndCorrelation) {
  const StartEvent placed{.filter = {.type = "placed", .predicates = {}}};
  const StartEvent paid{.filter = {.type = "paid", .predicates = {}}};
  const Start one{
      .kind = Start::Kind::kEventsAnd, .events = {placed, paid}, .correlate = {"order"}};
  Start other = one;
  other.state = 3;
  EXPECT_TRUE(same_groups(one, other));
  other.correlate = {"customer"};
  EXPECT_FALSE(same_groups(one, other));
  other = one;
  other.events = {paid, placed};
  EXPECT_FALSE(same_groups(one, other));
  other = one;
  other.kind = Start::Kind::kEventsXor;
  EXPECT_FALSE(same_groups(one, other));
}

}  // namespace
}  // namespace millrace
