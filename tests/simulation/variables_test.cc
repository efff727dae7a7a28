// Variables through the whole core: scopes, the order of writes, restarts, and that they go with
// their owners.
#include "orchestrator/store/variables.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/store/tables.h"
#include "tests/simulation/world.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

/// Counts its instances, in a variable of that scope.
std::string counter(const std::string& id, const std::string& scope) {
  return fmt::format(R"(
id: {}
start: {{type: event, event: {{type: count}}}}
states:
- id: get
  type: getter
  variables: [{{key: n, scope: {}}}]
  transition: set
- id: set
  type: setter
  variables: [{{key: n, scope: {}, value: 'jq(.var.n // 0 | . + 1)'}}]
  transition: read
- id: read
  type: getter
  variables: [{{key: n, scope: {}}}]
)",
                     id, scope, scope, scope);
}

void define_counting(World& world) {
  world.evaluator.define(".var.n // 0 | . + 1", [](const Json& input) -> QueryResult {
    const Json& n = input["var"]["n"];
    return Json(n.is_null() ? 1 : n.get<int>() + 1);
  });
}

std::vector<std::string> variable_rows(const World& world) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : world.rows()) {
    if (key.starts_with("variables/")) keys.push_back(key.substr(key.size() - 1) + "=" + value);
  }
  return keys;
}

TEST(Variables, OfAWorkflowAreSharedByItsInstancesAndNoOthers) {
  World world;
  define_counting(world);
  world.apply(counter("a", "workflow"));
  world.apply(counter("b", "workflow"));
  for (int i = 0; i < 3; ++i) {
    world.publish("count", std::to_string(i));
    world.settle();
  }
  world.start("b");
  std::map<std::string, std::vector<int>> seen;
  for (const Json& one : world.instances()) {
    seen[one["workflow"]].push_back(one["data"]["var"]["n"]);
  }
  EXPECT_THAT(seen["a"], ElementsAre(1, 2, 3));
  EXPECT_THAT(seen["b"], ElementsAre(1, 2, 3, 4));
}

TEST(Variables, OfANamespaceAreSharedByAllItsWorkflowsAndNoOtherNamespace) {
  World world;
  define_counting(world);
  world.must(CreateNamespace{.name = "other"});
  world.apply(counter("a", "namespace"));
  world.apply(counter("b", "namespace"));
  world.apply(counter("a", "namespace"), "other");
  world.start("a");
  world.start("b");
  world.must(StartInstance{.space = "other", .workflow = "a"});
  world.start("a");
  std::vector<int> seen;
  for (const Json& one : world.instances()) seen.push_back(one["data"]["var"]["n"]);
  EXPECT_THAT(seen, ElementsAre(1, 2, 3));
}

TEST(Variables, OfAnInstanceAreItsOwn) {
  World world;
  define_counting(world);
  world.apply(counter("a", "instance"));
  world.start("a");
  world.start("a");
  for (const Json& one : world.instances()) EXPECT_EQ(one["data"]["var"]["n"], 1);
}

TEST(Variables, OutliveARestartWithTheBatchThatSetThem) {
  World world;
  define_counting(world);
  world.apply(counter("a", "workflow"));
  world.start("a");
  world.restart();
  world.start("a");
  world.evaluator.hold();
  world.publish("count", "1");
  world.settle();
  world.crash_after_commit();
  world.evaluator.release();
  world.recover();
  world.settle();
  const std::vector<Json> all = world.instances();
  ASSERT_THAT(all, SizeIs(3));
  EXPECT_EQ(all.back()["data"]["var"]["n"], 3) << "what crashed between reading and setting";
}

TEST(Variables, KeepTheLastWriteOfABatch) {
  World world;
  world.apply(R"(
id: last
start: {type: event, event: {type: set}}
states:
- id: set
  type: setter
  variables: [{key: n, scope: workflow, value: jq(.set)}]
  transition: get
- id: get
  type: getter
  variables: [{key: n, scope: workflow}]
)");
  for (int i = 1; i <= 3; ++i) world.publish("set", std::to_string(i), i);
  world.step();  // all in one batch
  std::vector<int> seen;
  for (const Json& one : world.instances()) seen.push_back(one["data"]["var"]["n"]);
  EXPECT_THAT(seen, ElementsAre(1, 2, 3)) << "each sees what it set itself";
  world.start("last", {{"set", nullptr}});
  EXPECT_THAT(variable_rows(world), IsEmpty()) << "null deletes";
}

TEST(Variables, AreNotSetByABatchThatIsLost) {
  World world;
  world.apply(counter("a", "workflow"));
  world.evaluator.define(".var.n // 0 | . + 1", [](const Json&) -> QueryResult { return Json(1); });
  const auto before = variable_rows(world);
  world.command(StartInstance{.space = "default", .workflow = "a"});
  world.crash();
  world.recover();
  world.settle();
  EXPECT_EQ(variable_rows(world), before);
}

}  // namespace
}  // namespace millrace
