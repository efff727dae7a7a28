// Variables, through the whole engine: scopes, the order of writes, restarts, and the deletion of
// their owners.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/store/transaction.h"
#include "tests/simulation/answer_code.h"
#include "tests/simulation/world.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using testing::UnorderedElementsAre;

/// A workflow that counts its instances in a variable of that scope.
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
  variables: [{{key: n, scope: {}, value: 'jq(first(.var.n // 0 | . + 1))'}}]
  transition: read
- id: read
  type: getter
  variables: [{{key: n, scope: {}}}]
)",
                     id, scope, scope, scope);
}

void define_counting(World& world) {
  world.evaluator.define("first(.var.n // 0 | . + 1)", [](const Json& input) -> QueryResult {
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

TEST(Variables, OfScopeWorkflowAreSharedByTheInstancesOfTheWorkflow) {
  World world;
  define_counting(world);
  world.apply(counter("a", "workflow"));
  world.apply(counter("b", "workflow"));
  for (int i = 0; i < 3; ++i) {
    world.publish("count", std::to_string(i));
    world.run_until_idle();
  }
  world.start("b");
  std::map<std::string, std::vector<int>> seen;
  for (const Json& one : world.instances()) {
    seen[one["workflow"]].push_back(one["data"]["var"]["n"]);
  }
  EXPECT_THAT(seen["a"], ElementsAre(1, 2, 3));
  EXPECT_THAT(seen["b"], UnorderedElementsAre(1, 2, 3, 4));
}

TEST(Variables, OfScopeNamespaceAreSharedByTheWorkflowsOfTheNamespace) {
  World world;
  define_counting(world);
  world.must(CreateNamespace{.name = "other"});
  world.apply(counter("a", "namespace"));
  world.apply(counter("b", "namespace"));
  world.apply(counter("a", "namespace"), "other");
  world.start("a");
  world.start("b");
  world.must(StartInstance{.ns = "other", .workflow = "a"});
  world.start("a");
  std::vector<int> seen;
  for (const Json& one : world.instances()) seen.push_back(one["data"]["var"]["n"]);
  EXPECT_THAT(seen, ElementsAre(1, 2, 3));
}

TEST(Variables, OfScopeInstanceBelongToOneInstance) {
  World world;
  define_counting(world);
  world.apply(counter("a", "instance"));
  world.start("a");
  world.start("a");
  for (const Json& one : world.instances()) EXPECT_EQ(one["data"]["var"]["n"], 1);
}

TEST(Variables, SurviveARestart) {
  World world;
  define_counting(world);
  world.apply(counter("a", "workflow"));
  world.start("a");
  world.restart();
  world.start("a");
  world.evaluator.hold();
  world.publish("count", "1");
  world.run_until_idle();
  world.crash_after_commit();
  world.evaluator.release();
  world.recover();
  world.run_until_idle();
  const std::vector<Json> all = world.instances();
  ASSERT_THAT(all, SizeIs(3));
  EXPECT_EQ(all.back()["data"]["var"]["n"], 3)
      << "the instance that crashed between its getter and its setter";
}

TEST(Variables, ShowEachInstanceOfABatchTheValueThatItWroteItself) {
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
  world.step();  // one batch for all starts
  std::vector<int> seen;
  for (const Json& one : world.instances()) seen.push_back(one["data"]["var"]["n"]);
  EXPECT_THAT(seen, ElementsAre(1, 2, 3)) << "each instance sees its own value";
  world.start("last", {{"set", nullptr}});
  EXPECT_THAT(variable_rows(world), IsEmpty()) << "null deletes";
}

TEST(Variables, AreNotSetByALostBatch) {
  World world;
  world.apply(counter("a", "workflow"));
  world.evaluator.define("first(.var.n // 0 | . + 1)",
                         [](const Json&) -> QueryResult { return Json(1); });
  const auto before = variable_rows(world);
  world.command(StartInstance{.ns = "default", .workflow = "a"});
  world.crash();
  world.recover();
  world.run_until_idle();
  EXPECT_EQ(variable_rows(world), before);
}

constexpr const char* kWaitsAndSets = R"(
id: waits
states:
- {id: wait, type: consumeEvent, event: {type: go}}
)";

PutVariable put(const VariablePlace& place, std::string key, std::string bytes) {
  return {place, std::move(key), {.content_type = "text/plain", .bytes = std::move(bytes)}};
}

class VariablePlaces : public testing::Test {
 protected:
  VariablePlaces() {
    world.apply(kWaitsAndSets);
    id = *parse_instance_id(world.start("waits")["id"].get<std::string>());
  }

  Result<Json> list(const VariablePlace& place, size_t limit = 50, std::string_view cursor = "") {
    const Snapshot view = *Snapshot::take(world.environment());
    return world.queries().variables(view, place, limit, cursor);
  }
  Result<Variable> get(const VariablePlace& place, std::string_view key) {
    const Snapshot view = *Snapshot::take(world.environment());
    return world.queries().variable(view, place, key);
  }
  std::string error(const Command& command) {
    const Answered answered = world.command(command);
    world.run_until_idle();
    return answer_code(answered);
  }

  World world;
  InstanceId id;
};

TEST_F(VariablePlaces, HaveSeparateValuesUnderOneKey) {
  const VariablePlace places[] = {
      {.ns = "default"}, {.ns = "default", .workflow = "waits"}, {.ns = "default", .instance = id}};
  for (const auto& place : places) {
    EXPECT_EQ(
        world.must(put(place, "k", place.workflow + "!")),
        (Json{{"key", "k"}, {"size", place.workflow.size() + 1}, {"contentType", "text/plain"}}));
  }
  world.restart();
  for (const auto& place : places) {
    EXPECT_EQ(get(place, "k"), (Variable{"text/plain", place.workflow + "!"}));
    EXPECT_EQ(get(place, "other").error().code, "variable.not_found");
    EXPECT_EQ(error(DeleteVariable{place, "k"}), "ok");
    EXPECT_EQ(error(DeleteVariable{place, "k"}), "variable.not_found");
    EXPECT_THAT((*list(place))["items"], IsEmpty());
  }
}

TEST_F(VariablePlaces, AreRefusedWhenTheyDoNotExist) {
  const struct {
    VariablePlace place;
    const char* code;
  } rows[] = {{{.ns = "nowhere"}, "namespace.not_found"},
              {{.ns = "default", .workflow = "none"}, "workflow.not_found"},
              {{.ns = "default", .instance = InstanceId{}}, "instance.not_found"}};
  for (const auto& row : rows) {
    EXPECT_EQ(error(put(row.place, "k", "1")), row.code);
    EXPECT_EQ(error(DeleteVariable{row.place, "k"}), row.code);
    EXPECT_EQ(list(row.place).error().code, row.code);
    EXPECT_EQ(get(row.place, "k").error().code, row.code);
  }
  EXPECT_THAT(variable_rows(world), IsEmpty());
}

TEST_F(VariablePlaces, AreListedPageByPage) {
  const VariablePlace place{.ns = "default"};
  for (const char* key : {"b", "a", "c"}) world.must(put(place, key, ""));
  const Json first = *list(place, 2);
  EXPECT_EQ(first["items"][0]["key"], "a");
  EXPECT_EQ(first["next"], "b");
  const Json second = *list(place, 2, "b");
  EXPECT_EQ(second["items"][0]["key"], "c");
  EXPECT_EQ(second["next"], nullptr);
}

TEST_F(VariablePlaces, HaveNoVariablesAfterTheyAreDeleted) {
  const VariablePlace ns{.ns = "default"};
  const VariablePlace workflow{.ns = "default", .workflow = "waits"};
  const VariablePlace instance{.ns = "default", .instance = id};
  for (int i = 0; i < 2'500; ++i) {
    const std::string key = fmt::format("k{}", i);
    world.command(put(workflow, key, "w"));
    world.command(put(instance, key, "i"));
    if (i % 100 == 0) world.run_until_idle();
  }
  world.must(put(ns, "k", "n"));
  world.must(CancelInstance{.ns = "default", .instance = id});
  EXPECT_THAT(variable_rows(world), SizeIs(5'001));
  world.must(DeleteInstance{.ns = "default", .instance = id});
  EXPECT_THAT(variable_rows(world), SizeIs(2'501));
  world.must(DeleteWorkflow{.ns = "default", .id = "waits"});
  EXPECT_THAT(variable_rows(world), SizeIs(1)) << "the variable of the namespace is left";
}

TEST_F(VariablePlaces, HaveNoVariablesAfterTheirNamespaceIsDeleted) {
  world.must(CreateNamespace{.name = "other"});
  world.apply(kWaitsAndSets, "other");
  const Json started = world.must(StartInstance{.ns = "other", .workflow = "waits"});
  const InstanceId other = *parse_instance_id(started["id"].get<std::string>());
  for (int i = 0; i < 1'500; ++i) {
    world.command(put({.ns = "other"}, fmt::format("k{}", i), "n"));
    if (i % 100 == 0) world.run_until_idle();
  }
  world.must(put({.ns = "other", .workflow = "waits"}, "k", "w"));
  world.must(put({.ns = "other", .instance = other}, "k", "i"));
  world.must(put({.ns = "default"}, "k", "n"));
  world.must(DeleteNamespace{.name = "other", .cancel = true});
  EXPECT_THAT(variable_rows(world), ElementsAre("k=\x01\x0atext/plainn"));
}

}  // namespace
}  // namespace millrace
