// The overview of a namespace: counts, and what asks for attention.
#include <gtest/gtest.h>

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
  EXPECT_TRUE(shown["asOf"].is_string());
  EXPECT_EQ(outcome(overview("none")), "namespace.not_found");
  expect_each_read_to_count(overview());
}

TEST_F(OverviewQueriesTest, NamesSettingsThatCannotBeRead) {
  damage_settings();
  const Json attention = answer(overview())["attention"];
  ASSERT_EQ(attention.size(), 1U);
  EXPECT_EQ(attention[0]["kind"], "settings");
}

}  // namespace
}  // namespace millrace
