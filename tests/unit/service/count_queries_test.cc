// The numbers of instances.
#include <gtest/gtest.h>

#include "orchestrator/store/rows/index_build.h"
#include "tests/unit/service/definitions.h"
#include "tests/unit/service/query_fixture.h"

namespace millrace {
namespace {

class CountQueriesTest : public QueryTest {
 protected:
  using enum CountField;
  using enum InstanceStatus;
  static constexpr const char* kAgain = R"(
id: again
states:
- {id: first, type: consumeEvent, event: {type: paid}, transition: second}
- {id: second, type: consumeEvent, event: {type: sent}}
)";

  CountQueriesTest() : waits(apply(kWaits)), again(apply(kAgain)) {}

  /// Two instances of `waits` wait and one has failed; of `again` one waits in each state.
  void store_five() {
    store(waiting_instance(waits, 1));
    store(waiting_instance(waits, 2));
    store(ended(waiting_instance(waits, 3), kFailed));
    store(waiting_instance(again, 4));
    Instance later = waiting_instance(again, 5);
    later.state = 1;
    store(later);
  }
  static Ask ask_for(CountRequest request, std::string name = "default") {
    return [=](Queries& queries, const View& view) {
      return queries.instance_counts(view, name, request);
    };
  }
  Json items(const CountRequest& request) { return answer(ask_for(request))["items"]; }

  const WorkflowNumber waits;
  const WorkflowNumber again;
};

TEST_F(CountQueriesTest, AreOneNumberWithoutAGroup) {
  EXPECT_EQ(items({}), (Json{{{"count", 0}}}));
  EXPECT_EQ(items({.by = {kStatus}}), Json::array());
  store_five();
  EXPECT_EQ(items({}), (Json{{{"count", 5}}}));
  EXPECT_EQ(items({.workflow = "waits"}), (Json{{{"count", 3}}}));
  EXPECT_EQ(items({.statuses = {kFailed, kPaused}}), (Json{{{"count", 1}}}));
  EXPECT_EQ(items({.workflow = "again", .statuses = {kFailed}}), (Json{{{"count", 0}}}));
}

TEST_F(CountQueriesTest, AreGroupedByTheMembersThatAreAskedFor) {
  store_five();
  EXPECT_EQ(items({.by = {kStatus}}),
            (Json{{{"status", "waiting"}, {"count", 4}}, {{"status", "failed"}, {"count", 1}}}));
  EXPECT_EQ(items({.by = {kWorkflow}}),
            (Json{{{"workflow", "again"}, {"count", 2}}, {{"workflow", "waits"}, {"count", 3}}}));
  EXPECT_EQ(items({.by = {kState, kWorkflow}, .workflow = "again"}),
            (Json{{{"workflow", "again"}, {"state", "first"}, {"count", 1}},
                  {{"workflow", "again"}, {"state", "second"}, {"count", 1}}}));
  EXPECT_EQ(items({.by = {kWorkflow, kRevision, kState, kStatus}, .workflow = "waits"}),
            (Json{{{"workflow", "waits"},
                   {"revision", 1},
                   {"state", "wait"},
                   {"status", "waiting"},
                   {"count", 2}},
                  {{"workflow", "waits"},
                   {"revision", 1},
                   {"state", "wait"},
                   {"status", "failed"},
                   {"count", 1}}}));
  EXPECT_EQ(items({.by = {kState}}), (Json{{{"state", "first"}, {"count", 1}},
                                           {{"state", "second"}, {"count", 1}},
                                           {{"state", "wait"}, {"count", 3}}}));
}

TEST_F(CountQueriesTest, AreThoseOfTheStateThatIsAskedFor) {
  store_five();
  EXPECT_EQ(items({.state = "second"}), (Json{{{"count", 1}}}));
  EXPECT_EQ(items({.state = "third"}), (Json{{{"count", 0}}}));
  EXPECT_EQ(items({.by = {kStatus}, .state = "wait"}),
            (Json{{{"status", "waiting"}, {"count", 2}}, {{"status", "failed"}, {"count", 1}}}));
  EXPECT_EQ(items({.by = {kState}, .workflow = "again", .state = "first"}),
            (Json{{{"state", "first"}, {"count", 1}}}));
}

TEST_F(CountQueriesTest, SayAsOfWhenTheyAre) {
  EXPECT_EQ(answer(ask_for({}))["asOf"], format_rfc3339(clock.now()));
}

TEST_F(CountQueriesTest, HaveNoNameOfAStateWhoseDefinitionIsDamaged) {
  store_five();
  drop(Table::kDefinitions, definition_key({waits, 1}));
  EXPECT_EQ(items({.by = {kState}, .workflow = "waits"}),
            (Json{{{"state", nullptr}, {"count", 3}}}));
}

TEST_F(CountQueriesTest, ReadNoInstance) {
  store_five();
  damage(Table::kLive, head_key(waiting_instance(waits, 1)));
  EXPECT_EQ(items({}), (Json{{{"count", 5}}}));
}

TEST_F(CountQueriesTest, AreNotKnownWhileTheIndexIsNotComplete) {
  store_five();
  request_index_build(*tx);
  commit();
  EXPECT_EQ(outcome(ask_for({})), "index.incomplete");
}

TEST_F(CountQueriesTest, FailIfTheAnswerWouldHaveTooManyItems) {
  constexpr uint32_t kRevisions = 10'001;
  IndexChanges index;
  for (uint32_t revision = 1; revision <= kRevisions; ++revision) {
    IndexedInstance one = indexed(waiting_instance(waits, 1));
    one.id = make_instance_id(now + std::chrono::milliseconds(revision), {});
    one.place.revision.number = revision;
    index.add(*tx, one);
  }
  EXPECT_TRUE(index.write(*tx, [](const Error& error) { ADD_FAILURE() << error.message; }));
  commit();
  EXPECT_EQ(outcome(ask_for({.by = {kRevision}})), "request.parameter");
  EXPECT_EQ(items({.by = {kWorkflow}}), (Json{{{"workflow", "waits"}, {"count", kRevisions}}}));
}

TEST_F(CountQueriesTest, FailForNamesThatDoNotExist) {
  EXPECT_EQ(outcome(ask_for({}, "none")), "namespace.not_found");
  EXPECT_EQ(outcome(ask_for({.workflow = "none"})), "workflow.not_found");
}

TEST_F(CountQueriesTest, FailWhenAReadFails) {
  store_five();
  expect_each_read_to_count(ask_for({.by = {kWorkflow, kState}}));
  expect_each_read_to_count(ask_for({.workflow = "waits"}));
}

}  // namespace
}  // namespace millrace
