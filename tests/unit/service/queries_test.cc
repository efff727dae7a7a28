// Queries: find the namespace, workflow or instance with a name. The queries of each resource are
// tested in a file of their own (namespace_queries_test.cc …).
#include "orchestrator/service/queries.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/service/query_fixture.h"

namespace millrace {
namespace {

using testing::HasSubstr;

class QueriesTest : public QueryTest {
 protected:
  static constexpr const char* kEnds = "id: ends\nstates:\n- {id: end, type: noop}\n";

  QueriesTest() : ends(apply(kEnds)) {
    create_namespace("shop");
    store(ended(waiting_instance(ends, 1), InstanceStatus::kComplete));
  }

  static Ask check(std::string ns) {
    return [=](Queries& queries, const View& view) -> Result<Json> {
      TRY(queries.check_namespace(view, ns));
      return Json(true);
    };
  }
  static Ask workflow(std::string ns, std::string id) {
    return [=](Queries& queries, const View& view) { return queries.workflow(view, ns, id); };
  }
  static Ask instance(std::string ns, InstanceId id) {
    return [=](Queries& queries, const View& view) { return queries.instance(view, ns, id); };
  }

  const WorkflowNumber ends;
};

TEST_F(QueriesTest, FindANamespaceByItsName) {
  EXPECT_EQ(outcome(check("default")), "found");
  EXPECT_EQ(outcome(check("shop")), "found");
  const Result<Json> none = ask(check("none"));
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, "namespace.not_found");
  EXPECT_THAT(none.error().message, HasSubstr("\"none\""));
}

TEST_F(QueriesTest, FindAWorkflowInItsNamespace) {
  EXPECT_EQ(outcome(workflow("default", "ends")), "found");
  EXPECT_EQ(outcome(workflow("shop", "ends")), "workflow.not_found");
  EXPECT_EQ(outcome(workflow("default", "none")), "workflow.not_found");
  EXPECT_EQ(outcome(workflow("none", "ends")), "namespace.not_found");
}

TEST_F(QueriesTest, FindAnInstanceInItsNamespace) {
  EXPECT_EQ(outcome(instance("default", numbered_id(1))), "found");
  EXPECT_EQ(outcome(instance("shop", numbered_id(1))), "instance.not_found");
  EXPECT_EQ(outcome(instance("default", numbered_id(2))), "instance.not_found");
  EXPECT_EQ(outcome(instance("none", numbered_id(1))), "namespace.not_found");
}

TEST_F(QueriesTest, FindNothingForANameThatIsNotAnIdentifier) {
  for (const std::string& name : {std::string(), std::string("no identifier"), std::string("a/b"),
                                  std::string("a\0b", 3), std::string(600, 'a')}) {
    EXPECT_EQ(outcome(check(name)), "namespace.not_found") << name;
    EXPECT_EQ(outcome(workflow(name, "ends")), "namespace.not_found") << name;
    EXPECT_EQ(outcome(workflow("default", name)), "workflow.not_found") << name;
  }
}

TEST_F(QueriesTest, FailOnADamagedRowOfTheNamespace) {
  damage(Table::kNamespaces, "shop");
  EXPECT_EQ(outcome(check("shop")), kDamagedRow);
  EXPECT_EQ(outcome(check("default")), "found");
}

TEST_F(QueriesTest, ReadTheStoreAsTheCommitOfTheirViewLeftIt) {
  DefinitionCache loaded(load_stored);
  Queries queries(loaded, started, clock);
  const Snapshot before = *Snapshot::take(*environment);
  create_namespace("later");
  EXPECT_FALSE(queries.check_namespace(before, "later"));
  EXPECT_TRUE(queries.check_namespace(*Snapshot::take(*environment), "later"));
}

TEST_F(QueriesTest, FailWhenAReadFails) {
  expect_each_read_to_count(check("default"));
  expect_each_read_to_count(workflow("default", "ends"));
  expect_each_read_to_count(instance("default", numbered_id(1)));
}

}  // namespace
}  // namespace millrace
