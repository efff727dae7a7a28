// The overview of a namespace: counts, and what asks for attention.
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "orchestrator/service/attention.h"
#include "orchestrator/store/rows/group_rows.h"
#include "tests/unit/service/query_fixture.h"

namespace millrace {
namespace {

class OverviewQueriesTest : public QueryTest {
 protected:
  static Ask overview(std::string name = "default") {
    return [=](Queries& queries, const View& view) { return queries.overview(view, name); };
  }
};

TEST_F(OverviewQueriesTest, CountsInstancesAndNamesWhatAsksForAttention) {
  const WorkflowNumber order = apply("id: order\nstates:\n- {id: end, type: noop}\n");
  const WorkflowNumber paused = apply("id: slow\nstates:\n- {id: end, type: noop}\n");
  catalog.pause_workflow(*tx, paused, true);
  commit_catalog();
  store(waiting_instance(order, 1));
  store(ended(waiting_instance(order, 2), InstanceStatus::kFailed));
  store(ended(waiting_instance(order, 3), InstanceStatus::kFailed));
  set_settings(Json::parse(
      R"({"services": {"charge": {"queue": "millrace.tasks.default.charge"}}, "paused": ["charge"]})"));
  const Json shown = answer(overview());
  EXPECT_EQ(shown["counts"], Json::parse(R"([["order","failed",2],["order","waiting",1]])"));
  EXPECT_EQ(shown["attention"], Json::parse(R"([
    {"kind": "failed", "workflow": "order", "count": 2},
    {"kind": "pausedWorkflow", "workflow": "slow"},
    {"kind": "pausedService", "service": "charge"}])"));
  EXPECT_EQ(shown["cut"], Json::array());
  EXPECT_EQ(shown["asOf"], format_rfc3339(clock.now())) << "not the time of the last commit";
  EXPECT_EQ(outcome(overview("none")), "namespace.not_found");
  expect_each_read_to_count(overview());
}

TEST_F(OverviewQueriesTest, NamesWorkflowsThatWaitForTheOtherHalfOfAGroup) {
  const WorkflowNumber pair = apply(R"(
id: pair
start: {type: eventsAnd, events: [{type: paid}, {type: packed}]}
states:
- {id: end, type: noop}
)");
  apply("id: order\nstates:\n- {id: end, type: noop}\n");
  EXPECT_EQ(answer(overview())["attention"], Json::array());
  write_counts(*tx, pair, fingerprint({"a"}), {1, 0});
  write_counts(*tx, pair, fingerprint({"b"}), {0, 2});
  commit();
  const Json shown = answer(overview());
  EXPECT_EQ(shown["attention"],
            Json::parse(R"([{"kind": "incompleteGroups", "workflow": "pair", "count": 2}])"));
  EXPECT_EQ(shown["cut"], Json::array());
  for (int i = 0; i < 1'000; ++i) {
    write_counts(*tx, pair, fingerprint({"more", std::to_string(i)}), {1, 0});
  }
  commit();
  const Json many = answer(overview());
  EXPECT_EQ(many["attention"][0]["count"], 1'000);
  EXPECT_EQ(many["cut"][0]["kind"], "incompleteGroups");
}

TEST_F(OverviewQueriesTest, NamesWorkflowsWithCompensationsThatHaveFailedForGood) {
  const WorkflowNumber order = apply("id: order\nstates:\n- {id: end, type: noop}\n");
  const auto store_ended = [&](uint8_t number, WorkflowNumber workflow, InstanceStatus status,
                               bool has_failed) {
    Instance one = ended(waiting_instance(workflow, number), status);
    one.compensations = 2;
    if (has_failed) one.compensation_error = Error{"not.undone", "no"};
    store(one);
  };
  store_ended(1, order, InstanceStatus::kFailed, true);
  store_ended(2, order, InstanceStatus::kCancelled, true);
  store_ended(3, order, InstanceStatus::kCancelled, false);
  store_ended(4, WorkflowNumber(99), InstanceStatus::kCancelled, true);
  const Json shown = answer(overview());
  EXPECT_EQ(shown["attention"], Json::parse(R"([
    {"kind": "failed", "workflow": "order", "count": 1},
    {"kind": "compensationStopped", "workflow": "order", "count": 2}])"))
      << "those of a deleted workflow cannot be made";
  EXPECT_EQ(shown["cut"], Json::array());
}

TEST_F(OverviewQueriesTest, NamesTwentyOfEachKindAndSaysThatThereAreMore) {
  for (size_t i = 0; i <= kMostOfAKind; ++i) {
    const WorkflowNumber one =
        apply(fmt::format("id: w{:02}\nstates:\n- {{id: end, type: noop}}\n", i));
    catalog.pause_workflow(*tx, one, true);
    commit_catalog();
    const auto number = static_cast<uint8_t>(i + 1);
    store(ended(waiting_instance(one, number), InstanceStatus::kFailed));
    if (i == kMostOfAKind) continue;
    store(ended(waiting_instance(one, static_cast<uint8_t>(number + 100)),
                InstanceStatus::kTimedOut));
  }
  const Json shown = answer(overview());
  EXPECT_EQ(shown["counts"].size(), 2 * kMostOfAKind + 1);
  EXPECT_EQ(shown["attention"].size(), 3 * kMostOfAKind);
  EXPECT_EQ(shown["attention"].back(), (Json{{"kind", "pausedWorkflow"}, {"workflow", "w19"}}));
  EXPECT_EQ(shown["cut"], Json::parse(R"([{"kind": "failed"}, {"kind": "pausedWorkflow"}])"));
}

TEST_F(OverviewQueriesTest, LeavesOutWorkflowsIfThereAreTooManyRows) {
  const WorkflowNumber order = apply("id: order\nstates:\n- {id: end, type: noop}\n");
  const WorkflowNumber other = apply("id: other\nstates:\n- {id: end, type: noop}\n");
  store(waiting_instance(order, 1));
  store(ended(waiting_instance(order, 2), InstanceStatus::kFailed));
  store(waiting_instance(other, 3));
  struct Case {
    size_t most;
    size_t counts;
    bool is_complete;
  };
  const Case cases[] = {
      {3, 3, true},
      {2, 2, false},  // the third row is of the second workflow
      {1, 0, false},  // the second row is of the first workflow, too
  };
  for (const Case& one : cases) {
    const Json found = answer([&](Queries&, const View& view) -> Result<Json> {
      const auto counts = Queries::status_counts(view, ns, one.most);
      if (!counts) return tl::unexpected(counts.error());
      return Json::array({counts->counts.size(), counts->is_complete});
    });
    EXPECT_EQ(found, Json::array({one.counts, one.is_complete})) << one.most;
  }
}

TEST_F(OverviewQueriesTest, NamesSettingsThatCannotBeRead) {
  damage_settings();
  const Json attention = answer(overview())["attention"];
  ASSERT_EQ(attention.size(), 1U);
  EXPECT_EQ(attention[0]["kind"], "settings");
}

}  // namespace
}  // namespace millrace
