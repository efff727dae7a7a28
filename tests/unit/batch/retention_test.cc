// Retention: ended instances are deleted by their age, their number and their size, as the settings
// of their namespace require; some in each batch.
#include "orchestrator/batch/retention.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/store/rows/head_rows.h"
#include "orchestrator/store/rows/index_rows.h"
#include "orchestrator/store/rows/row.h"
#include "orchestrator/store/rows/variable_rows.h"
#include "tests/unit/batch/retention_fixture.h"

namespace millrace {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

TEST_F(RetentionTest, KeepsEveryInstanceOfANamespaceWithoutRules) {
  end(passes);
  EXPECT_EQ(retention.next_pass(), std::nullopt);
  EXPECT_EQ(pass(), 0U);
  keep(R"({"ended": {}})");
  EXPECT_EQ(retention.next_pass(), std::nullopt);
  EXPECT_EQ(pass(), 0U);
  EXPECT_THAT(ended(), SizeIs(1));
}

TEST_F(RetentionTest, TrimsHistoriesAlsoInANamespaceWithoutRules) {
  const WorkflowEntry rounds = define(R"(
id: rounds
states:
- {id: wait, type: consumeEvent, event: {type: go}, transition: wait}
)");
  const InstanceId id = add(rounds);
  commit_all();
  const Event go{.id = "1", .source = "/s", .type = "go"};
  LoadedInstance* const loaded = instances.load(now, ns, id).value();
  ASSERT_NE(loaded, nullptr);
  for (int i = 0; i < 150; ++i) {
    ASSERT_TRUE(instances.step(now, *loaded, Matched{.event = &go, .entries = {0}}));
  }
  commit_all();
  const auto kept = [&] {
    const Instance head = read_live_head(*tx, ns, id).value().value();
    return head.history_count - head.history_trimmed;
  };
  for (const char* const rules : {R"({"history": {"records": 120}})",
                                  R"({"ended": {"age": "1h"}, "history": {"records": 50000}})"}) {
    keep(rules);
    EXPECT_TRUE(retention.next_pass());
    EXPECT_EQ(pass(), 0U);
    EXPECT_EQ(kept(), 120U) << rules;
  }
}

TEST_F(RetentionTest, DeletesInstancesThatEndedAtLeastTheAgeAgo) {
  keep(R"({"ended": {"age": "1h"}})");
  end(passes);
  end(fails);
  now += minutes(30);
  const InstanceId young = end(passes);
  now += minutes(28);
  EXPECT_EQ(pass(), 0U);
  EXPECT_EQ(pass(), 2U);
  EXPECT_THAT(ended(), ElementsAre(young));
  EXPECT_EQ(rows_of(Table::kByStatus), 1U);
  EXPECT_EQ(rows_of(Table::kHistory), 1U);
  EXPECT_EQ(read_usage(*tx, ns)->ended, 1U);
}

TEST_F(RetentionTest, CountsTheAgeFromTheEndOfTheInstance) {
  keep(R"({"ended": {"age": "1h"}})");
  const WorkflowEntry& waits = define(kWaits);
  const InstanceId id = add(waits);
  commit_all();
  now += hours(2);
  LoadedInstance* const loaded = instances.load(now, ns, id).value();
  ASSERT_NE(loaded, nullptr);
  ASSERT_TRUE(instances.step(now, *loaded, Cancel{.error = {"a.code", "cancelled"}}));
  commit_all();
  EXPECT_EQ(pass(), 0U);
  now += hours(1);
  EXPECT_EQ(pass(), 1U);
}

TEST_F(RetentionTest, AddsMonthsOfAnAgeToTheEndOfTheInstance) {
  keep(R"({"ended": {"age": "P1M"}})");
  now = parse_rfc3339("2024-01-31T12:00:00Z").value();
  end(passes);
  now = parse_rfc3339("2024-02-29T11:58:00Z").value();
  EXPECT_EQ(pass(), 0U);
  EXPECT_EQ(pass(), 1U);
}

TEST_F(RetentionTest, KeepsTheNewestInstancesOfEachWorkflow) {
  keep(R"({"ended": {"count": 3}})");
  const WorkflowEntry other = define("id: other\nstates:\n- {id: a, type: noop}\n");
  auto ids = end(passes, 5);
  for (const InstanceId& id : end(other, 2)) ids.push_back(id);
  EXPECT_EQ(pass(), 2U);
  EXPECT_THAT(ended(), ElementsAre(ids[2], ids[3], ids[4], ids[5], ids[6]));
  EXPECT_EQ(pass(), 0U);
  end(passes);
  EXPECT_EQ(pass(), 1U);
}

TEST_F(RetentionTest, CountsFailedInstancesApartIfTheyHaveARuleOfTheirOwn) {
  const WorkflowEntry turns = define(R"(
id: turns
states:
- {id: wait, type: consumeEvent, event: {type: go}}
)");
  const auto finish = [&](const InstanceId& id, bool fails_now) {
    LoadedInstance* const loaded = instances.load(now, ns, id).value();
    ASSERT_NE(loaded, nullptr);
    if (fails_now) {
      ASSERT_TRUE(instances.step(now, *loaded, Abandon{{"a.code", "it failed"}}));
    } else {
      ASSERT_TRUE(instances.step(now, *loaded, Cancel{.error = {"a.code", "cancelled"}}));
    }
  };
  const auto ids = end(turns, 6);
  for (size_t i = 0; i < ids.size(); ++i) finish(ids[i], i % 2 == 0);
  commit_all();
  keep(R"({"ended": {"count": 1}, "failed": {"count": 2}})");
  EXPECT_EQ(pass(), 3U);
  EXPECT_THAT(ended(), ElementsAre(ids[2], ids[4], ids[5]));
  keep(R"({"ended": {"count": 2}})");
  EXPECT_EQ(pass(), 1U);
  EXPECT_THAT(ended(), ElementsAre(ids[4], ids[5])) << "one rule counts all instances together";
}

TEST_F(RetentionTest, AppliesTheRuleOfAWorkflowInPlaceOfThatOfItsNamespace) {
  keep(R"({"ended": {"count": 1}, "workflows": {"passes": {"ended": {}}}})");
  end(passes, 3);
  end(fails, 3);
  EXPECT_EQ(pass(), 2U);
  EXPECT_THAT(ended(), SizeIs(4));
}

TEST_F(RetentionTest, AppliesTheRulesOfTheNamespaceToTheInstancesOfADeletedWorkflow) {
  keep(R"({"ended": {"count": 1}, "workflows": {"passes": {"ended": {}}}})");
  end(passes, 3);
  catalog.remove_workflow(*tx, passes.number);
  commit_all();
  EXPECT_EQ(pass(), 2U);
}

TEST_F(RetentionTest, DeletesTheOldestInstancesWhileTheNamespaceHasTooManyBytes) {
  auto ids = end(passes, 2);
  ids.push_back(end(fails));
  ids.push_back(end(passes));
  keep(fmt::format(R"({{"ended": {{"bytes": {}}}}})", used()).c_str());
  EXPECT_EQ(pass(), 0U);
  keep(fmt::format(R"({{"ended": {{"bytes": {}}}}})", used() - 1).c_str());
  EXPECT_EQ(pass(), 1U);
  EXPECT_THAT(ended(), ElementsAre(ids[1], ids[2], ids[3]));
  keep(R"({"ended": {"bytes": 1}})");
  EXPECT_EQ(pass(), 3U);
  EXPECT_THAT(ended(), IsEmpty());
}

TEST_F(RetentionTest, DeletesForBytesOnlyInstancesWhoseRuleHasBytes) {
  const auto stay = end(passes, 2);
  end(fails, 2);
  keep(R"({"failed": {"bytes": 1}, "workflows": {"other": {"ended": {"bytes": 2}}}})");
  EXPECT_EQ(pass(), 2U);
  EXPECT_EQ(ended(), stay);
}

TEST_F(RetentionTest, NeverDeletesALiveInstance) {
  const InstanceId id = add(define(kWaits));
  commit_all();
  keep(R"({"ended": {"age": "1m", "count": 1, "bytes": 1}})");
  now += hours(1);
  EXPECT_EQ(pass(), 0U);
  EXPECT_EQ(status_of(id), "waiting");
}

// Passes and steps.

TEST_F(RetentionTest, BeginsAPassOnceInAMinute) {
  keep(R"({"ended": {"age": "1m"}})");
  ASSERT_TRUE(retention.next_pass());
  EXPECT_LE(*retention.next_pass(), now) << "the first pass begins at once";
  const TimePoint began = now;
  step();
  EXPECT_FALSE(retention.is_running());
  EXPECT_EQ(retention.next_pass(), began + minutes(1));
  end(passes);
  now += minutes(1) - Duration(1);
  EXPECT_EQ(step(), 0U);
  EXPECT_EQ(retention.next_pass(), began + minutes(1));
  now += Duration(1);
  EXPECT_EQ(step(), 1U);
  EXPECT_EQ(retention.next_pass(), began + minutes(2));
}

TEST_F(RetentionTest, DeletesSomeHundredInstancesInEachBatch) {
  keep(R"({"ended": {"count": 1}})");
  end(passes, 600);
  now += minutes(1);
  uint64_t deleted = 0;
  int steps = 0;
  for (; steps == 0 || (retention.is_running() && steps < 100); ++steps) {
    const uint64_t some = step();
    EXPECT_LE(some, 300U);
    deleted += some;
  }
  EXPECT_EQ(deleted, 599U);
  EXPECT_GE(steps, 3);
  EXPECT_EQ(read_usage(*tx, ns)->ended, 1U);
}

TEST_F(RetentionTest, KeepsTheNewestInstancesIfOthersEndOrAreDeletedDuringThePass) {
  keep(R"({"ended": {"count": 100}})");
  const auto ids = end(passes, 600);
  now += minutes(1);
  step();
  ASSERT_TRUE(retention.is_running());
  const auto left = ended();
  ASSERT_GT(left.size(), 300U);
  // Twenty of the oldest are deleted by another command, and ten end.
  for (size_t i = 0; i < 20; ++i) {
    const auto head = read_head(*tx, Table::kEnded, ns, left[i]).value();
    erase_instance(*tx, *head);
    batch.index.remove(*tx, indexed(*head));
    purges.begin_history(ns, head->last_history);
  }
  end(passes, 10);
  for (int i = 0; i < 100 && (retention.is_running() || !purges.empty()); ++i) step();
  const auto kept = ended();
  ASSERT_GE(kept.size(), 100U);
  EXPECT_TRUE(std::includes(kept.begin(), kept.end(), ids.end() - 90, ids.end()));
  EXPECT_EQ(pass() + 100, kept.size());
}

TEST_F(RetentionTest, WaitsWhileTooManyPurgesRun) {
  keep(R"({"ended": {"age": "1m"}})");
  end(passes, 2);
  for (uint64_t i = 0; i < Purges::kMost; ++i) purges.begin_history(ns, 1'000 + i);
  now += minutes(2);
  ASSERT_TRUE(retention.go_on(now));
  EXPECT_TRUE(retention.is_running());
  EXPECT_EQ(batch.outcome.counts.deleted[1], 0U);
  commit_all();
  EXPECT_EQ(step(), 2U) << "the purges, whose history rows do not exist, have ended";
}

TEST_F(RetentionTest, DeletesAnInstanceWithManyVariablesInSeveralBatches) {
  keep(R"({"ended": {"age": "1m"}})");
  const InstanceId id = end(passes);
  for (int i = 0; i < 300; ++i) {
    write_variable(*tx,
                   {.owner = {.scope = VariableScope::kInstance, .ns = ns, .instance = id},
                    .key = std::to_string(i)},
                   {.bytes = "1"});
  }
  commit_all();
  now += minutes(2);
  EXPECT_EQ(step(), 0U);
  EXPECT_TRUE(retention.is_running());
  EXPECT_EQ(status_of(id), "complete");
  EXPECT_EQ(step(), 1U);
  EXPECT_EQ(rows_of(Table::kVariables), 0U);
}

// What a pass reports.

TEST_F(RetentionTest, CountsWhatItDeletesInEachNamespace) {
  keep(R"({"ended": {"count": 1}})");
  const auto ids = end(passes, 3);
  const Instance head = *read_head(*tx, Table::kEnded, ns, ids[0]).value();
  now += minutes(1);
  ASSERT_EQ(step(), 2U);
  ASSERT_EQ(outcome.counts.retention.size(), 1U);
  const RetentionCounts& counts = outcome.counts.retention.at(ns);
  const IndexedInstance one = indexed(head);
  EXPECT_EQ(counts.instances, 2U);
  EXPECT_EQ(counts.bytes, 2 * (one.row_bytes + one.history_bytes));
  EXPECT_EQ(counts.records, 2 * head.history_count);
  EXPECT_EQ(counts.archived, 0U);
  EXPECT_EQ(counts.trimmed, 0U);
}

TEST_F(RetentionTest, ReportsTheEndOfAPassAndWhenTheNextInstanceIsDue) {
  keep(R"({"ended": {"age": "1h"}, "failed": {"age": "2h"}})");
  const TimePoint began = now;
  end(passes);
  end(fails);
  now += minutes(30);
  end(passes);
  step();
  ASSERT_TRUE(outcome.pass_end);
  EXPECT_EQ(outcome.pass_end->at, now);
  EXPECT_EQ(outcome.pass_end->next_due.at(ns), began + hours(1));
  now += minutes(30);
  EXPECT_EQ(step(), 1U);
  ASSERT_TRUE(outcome.pass_end);
  EXPECT_EQ(outcome.pass_end->next_due.at(ns), began + hours(1) + minutes(30));
  now += Duration(1);
  step();
  EXPECT_FALSE(outcome.pass_end) << "no pass begins before its time";
}

TEST_F(RetentionTest, ReportsWhenAnInstanceIsDueThatEndedLongAfterItsStart) {
  keep(R"({"ended": {"age": "1h"}})");
  const InstanceId id = add(define(kWaits));
  commit_all();
  now += hours(3);
  LoadedInstance* const loaded = instances.load(now, ns, id).value();
  ASSERT_NE(loaded, nullptr);
  ASSERT_TRUE(instances.step(now, *loaded, Cancel{.error = {"a.code", "cancelled"}}));
  commit_all();
  step();
  ASSERT_TRUE(outcome.pass_end);
  EXPECT_EQ(outcome.pass_end->next_due.at(ns), now + hours(1));
}

TEST_F(RetentionTest, ReportsNoNextInstanceWithoutAnAge) {
  keep(R"({"ended": {"count": 5, "bytes": "1GiB"}})");
  end(passes, 3);
  now += minutes(1);
  step();
  ASSERT_TRUE(outcome.pass_end);
  EXPECT_THAT(outcome.pass_end->next_due, IsEmpty());
}

TEST_F(RetentionTest, ReportsTheSameNextInstanceAfterALostBatch) {
  keep(R"({"ended": {"age": "1h"}})");
  end(passes);
  const TimePoint due = now + hours(1);
  now += minutes(1);
  ASSERT_TRUE(retention.go_on(now));
  lose_all();
  step();
  ASSERT_TRUE(outcome.pass_end);
  EXPECT_EQ(outcome.pass_end->next_due.at(ns), due);
}

// Several namespaces.

class RetentionTurnsTest : public RetentionTest {
 protected:
  static constexpr size_t kMany = 2'000;  // more than six portions

  /// Makes two namespaces with these settings, of which the first has many instances that are due,
  /// and the second has two.
  void fill(const char* first_rules, const char* second_rules) {
    first = ns;
    keep(first_rules);
    end(passes, kMany);
    ns = second = create_namespace("shop");
    sells = define(kPasses);
    keep(second_rules);
    end(sells, 2);
    now += minutes(2);
  }
  size_t ended_in(NamespaceNumber which) {
    ns = which;
    return ended().size();
  }

  NamespaceNumber first{};
  NamespaceNumber second{};
  WorkflowEntry sells;  ///< in the second namespace
};

TEST_F(RetentionTurnsTest, GivesEachNamespaceAPortionBeforeTheFirstGetsAnotherOne) {
  fill(R"({"ended": {"age": "1m"}})", R"({"ended": {"age": "1m"}})");
  step();
  EXPECT_LT(ended_in(first), kMany);
  EXPECT_EQ(ended_in(second), 2U);
  ASSERT_TRUE(retention.go_on(now));
  lose_all();
  EXPECT_EQ(ended_in(second), 2U) << "the turn is lost with its batch";
  step();
  EXPECT_EQ(ended_in(second), 0U);
  EXPECT_GT(ended_in(first), 0U);
  for (int steps = 0; steps < 100 && retention.is_running(); ++steps) step();
  EXPECT_EQ(ended_in(first), 0U);
  EXPECT_FALSE(retention.is_running());
}

TEST_F(RetentionTurnsTest, GivesAFinishedNamespaceAnotherTurnIfThePassTakesLongerThanAMinute) {
  fill(R"({"ended": {"age": "1m"}})", R"({"ended": {"age": "1m"}})");
  step();
  step();
  ASSERT_EQ(ended_in(second), 0U);
  end(sells, 1);
  now += minutes(2);
  for (int turns = 0; turns < 3; ++turns) step();
  EXPECT_EQ(ended_in(second), 0U);
  EXPECT_GT(ended_in(first), 0U);
  EXPECT_TRUE(retention.is_running()) << "the same pass";
}

TEST_F(RetentionTurnsTest, GoesOnInOthersWhileANamespaceWaitsForAPageOfTheArchive) {
  fill(R"({"ended": {"age": "1m"}, "archive": true})", R"({"ended": {"age": "1m"}})");
  step();
  ASSERT_TRUE(batch.archive.has_page());
  batch.archive.take_page(1);
  EXPECT_TRUE(batch.retention.has_steps) << "of the other namespace";
  step();
  EXPECT_EQ(ended_in(second), 0U);
  EXPECT_EQ(ended_in(first), kMany);
  EXPECT_TRUE(retention.is_running());
  EXPECT_FALSE(batch.retention.has_steps) << "the page must be written first";
}

TEST_F(RetentionTurnsTest, GivesEachNamespaceAPageOfTheArchiveInTurn) {
  fill(R"({"ended": {"age": "1m"}, "archive": true})",
       R"({"ended": {"age": "1m"}, "archive": true})");
  std::vector<NamespaceNumber> pages;
  for (int i = 0; i < 3; ++i) {
    step();
    ASSERT_TRUE(batch.archive.has_page());
    pages.push_back(batch.archive.ns());
    batch.archive.drop();  // its instances stay
  }
  EXPECT_THAT(pages, ElementsAre(first, second, first));
}

// Damage and lost batches.

TEST_F(RetentionTest, PassesOverAnInstanceWhoseHeadIsDamaged) {
  keep(R"({"ended": {"age": "1m", "bytes": 1}})");
  const auto ids = end(passes, 2);
  tx->put(Table::kEnded, part_key(rows::instance_prefix(ns, ids[0]), Part::kHead), "rubbish");
  commit_all();
  now += minutes(2);
  EXPECT_EQ(pass(), 1U);
  EXPECT_EQ(damages.count(), 1U);
  EXPECT_EQ(rows_of(Table::kByStatus), 1U);
}

TEST_F(RetentionTest, DeletesNothingByCountOrBytesIfTheIndexIsDamaged) {
  keep(R"({"ended": {"count": 1, "bytes": 1}})");
  end(passes, 3);
  damage(Table::kCounts);
  damage(Table::kUsage);
  EXPECT_EQ(pass(), 0U);
  EXPECT_EQ(damages.count(), 2U);
}

TEST_F(RetentionTest, ContinuesFromTheLastCommitAfterALostBatch) {
  keep(R"({"ended": {"count": 1}})");
  end(passes, 600);
  now += minutes(1);
  step();
  const auto before = rows();
  ASSERT_TRUE(retention.go_on(now));
  lose_all();
  EXPECT_EQ(rows(), before);
  EXPECT_TRUE(retention.is_running());
  for (int i = 0; i < 100 && retention.is_running(); ++i) step();
  EXPECT_THAT(ended(), SizeIs(1));
}

TEST_F(RetentionTest, ForgetsAPassThatBeganInALostBatch) {
  keep(R"({"ended": {"age": "1m"}})");
  end(passes);
  now += minutes(1);
  ASSERT_TRUE(retention.go_on(now));
  lose_all();
  EXPECT_FALSE(retention.is_running());
  EXPECT_LE(*retention.next_pass(), now);
  EXPECT_EQ(step(), 1U);
}

TEST_F(RetentionTest, DeletesTheSameInstancesDespiteFailedReads) {
  keep(R"({"ended": {"count": 1}, "failed": {"bytes": 1}})");
  const auto ids = end(passes, 3);
  end(fails, 2);
  now += minutes(1);
  const auto before = rows();
  EXPECT_GE(fail_each_read([&] { return try_step(); },
                           [&] {
                             lose_all();
                             EXPECT_EQ(rows(), before);
                           }),
            10U);
  for (int i = 0; i < 10 && retention.is_running(); ++i) step();
  EXPECT_THAT(ended(), ElementsAre(ids[2]));
}

}  // namespace
}  // namespace millrace
