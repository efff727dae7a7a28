// Queries for variables and secrets: lists by key, and the value of a variable.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/store/rows/secret_rows.h"
#include "orchestrator/store/rows/variable_rows.h"
#include "tests/unit/service/definitions.h"
#include "tests/unit/service/query_fixture.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class VariableQueriesTest : public QueryTest {
 protected:
  VariableQueriesTest() : waits(apply(kWaits)) { store(waiting_instance(waits, 1)); }

  void set(const VariableOwner& owner, const std::string& key, const Variable& variable) {
    write_variable(*tx, {owner, key}, variable);
    commit();
  }
  VariableOwner of_namespace() const { return {.scope = VariableScope::kNamespace, .ns = ns}; }
  VariableOwner of_workflow() const {
    return {.scope = VariableScope::kWorkflow, .ns = ns, .workflow = waits};
  }
  VariableOwner of_instance() const {
    return {.scope = VariableScope::kInstance, .ns = ns, .instance = numbered_id(1)};
  }
  void put_secret(const std::string& name) {
    write_secret(*tx, ns, name, "4711");
    commit();
  }

  static Ask list(const VariablePlace& place, size_t limit = 100, std::string cursor = "") {
    return [=](Queries& queries, const View& view) {
      return queries.variables(view, place, limit, cursor);
    };
  }
  /// Asks for the bytes of a variable.
  static Ask one(const VariablePlace& place, std::string key) {
    return [=](Queries& queries, const View& view) -> Result<Json> {
      return Json(TRY(queries.variable(view, place, key)).bytes);
    };
  }
  /// Asks for the line of the instance in the archive.
  static Ask archive_line(uint8_t number) {
    return [=](Queries& queries, const View& view) -> Result<Json> {
      const auto line = TRY(queries.archive_line(view, "default", {.id = numbered_id(number)}));
      return line ? Json::parse(*line) : Json();
    };
  }
  static Ask secrets(size_t limit = 100, std::string cursor = "", std::string ns = "default") {
    return [=](Queries& queries, const View& view) {
      return queries.secrets(view, ns, limit, cursor);
    };
  }

  const WorkflowNumber waits;
  const VariablePlace in_namespace{.ns = "default"};
  const VariablePlace in_workflow{.ns = "default", .workflow = "waits"};
  const VariablePlace in_instance{.ns = "default", .instance = numbered_id(1)};
};

TEST_F(VariableQueriesTest, ListTheSizeAndTheTypeOfEachVariableSortedByKey) {
  set(of_namespace(), "b", {.content_type = "text/plain", .bytes = "value"});
  set(of_namespace(), "a", {.content_type = "", .bytes = ""});
  set(of_namespace(), "c", {.content_type = "text/plain", .bytes = "4711", .sealed = true});
  EXPECT_EQ(answer(list(in_namespace)), Json::parse(R"({"items": [
    {"key": "a", "size": 0, "contentType": ""},
    {"key": "b", "size": 5, "contentType": "text/plain"},
    {"key": "c", "size": 4, "contentType": "text/plain", "sealed": true}], "next": null})"));
}

TEST_F(VariableQueriesTest, FindTheVariablesOfTheOwnerOnly) {
  set(of_namespace(), "a", {.bytes = "of the namespace"});
  set(of_workflow(), "a", {.bytes = "of the workflow"});
  set(of_instance(), "a", {.bytes = "of the instance"});
  EXPECT_EQ(answer(one(in_namespace, "a")), "of the namespace");
  EXPECT_EQ(answer(one(in_workflow, "a")), "of the workflow");
  EXPECT_EQ(answer(one(in_instance, "a")), "of the instance");
  for (const VariablePlace& place : {in_namespace, in_workflow, in_instance}) {
    EXPECT_EQ(answer(list(place))["items"].size(), 1U);
  }
  create_namespace("shop");
  EXPECT_THAT(answer(list({.ns = "shop"}))["items"], IsEmpty());
}

TEST_F(VariableQueriesTest, EndAPageAtItsLimitWithTheLastKeyAsThePageCursor) {
  for (const char* const key : {"a", "b", "c"}) set(of_workflow(), key, {.bytes = "value"});
  const auto keys = [&](size_t limit) {
    return pages("key", limit, [&](auto& queries, auto& view, size_t most, auto cursor) {
      return queries.variables(view, in_workflow, most, cursor);
    });
  };
  EXPECT_THAT(keys(1), ElementsAre(ElementsAre("a"), ElementsAre("b"), ElementsAre("c")));
  EXPECT_THAT(keys(2), ElementsAre(ElementsAre("a", "b"), ElementsAre("c")));
  EXPECT_THAT(keys(3), ElementsAre(ElementsAre("a", "b", "c")));
  EXPECT_EQ(answer(list(in_workflow, 2))["next"], "b");
  EXPECT_EQ(answer(list(in_workflow, 9, "bb"))["items"][0]["key"], "c")
      << "the key of the cursor need not exist any more";
}

TEST_F(VariableQueriesTest, ReturnTheBytesOfAVariableWithTheirType) {
  const Variable variable{.content_type = "image/png", .bytes = std::string("\0\xff", 2)};
  set(of_instance(), "picture", variable);
  DefinitionCache loaded(load_stored);
  Queries queries(loaded, started, clock);
  EXPECT_EQ(queries.variable(*Snapshot::take(*environment), in_instance, "picture"), variable);
}

TEST_F(VariableQueriesTest, WithholdASealedVariable) {
  set(of_instance(), "card", {.bytes = "4711", .sealed = true});
  const Result<Json> found = ask(one(in_instance, "card"));
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, "variable.sealed");
  EXPECT_THAT(found.error().message, testing::Not(testing::HasSubstr("4711")));
}

TEST_F(VariableQueriesTest, WriteTheVariablesOfAnInstanceIntoItsLineOfTheArchive) {
  EXPECT_EQ(answer(archive_line(1))["variables"], Json::array());
  set(of_namespace(), "a", {.bytes = "of the namespace"});
  set(of_workflow(), "a", {.bytes = "of the workflow"});
  set(of_instance(), "b", {.content_type = "image/png", .bytes = std::string("\0\xff", 2)});
  set(of_instance(), "a", {.content_type = "application/json", .bytes = R"({"paid": true})"});
  set(of_instance(), "c", {.content_type = "text/plain", .bytes = "4711", .sealed = true});
  const Json line = answer(archive_line(1));
  EXPECT_EQ(line["variables"], Json::parse(R"json([
    {"key": "a", "size": 14, "contentType": "application/json", "data": "{\"paid\": true}",
     "encoding": "utf-8"},
    {"key": "b", "size": 2, "contentType": "image/png", "data": "AP8=", "encoding": "base64"},
    {"key": "c", "size": 4, "contentType": "text/plain", "sealed": true,
     "data": "(sealed)"}])json"));
  EXPECT_FALSE(line.contains("variablesLeftOut"));
}

TEST_F(VariableQueriesTest, LeaveOutVariablesThatWouldMakeALineOfTheArchiveTooLarge) {
  for (const char* const key : {"a", "b", "c", "d", "e"}) {
    set(of_instance(), key, {.bytes = std::string(kMaxVariableBytes, 'x')});
  }
  set(of_instance(), "f", {.bytes = "small"});
  const Json line = answer(archive_line(1));
  std::vector<std::string> keys;
  for (const Json& one : line["variables"]) keys.push_back(one["key"]);
  EXPECT_THAT(keys, ElementsAre("a", "b", "c", "f"));
  EXPECT_EQ(line["variablesLeftOut"], 2);
}

TEST_F(VariableQueriesTest, FailForNamesThatDoNotExist) {
  const std::pair<VariablePlace, const char*> rows[] = {
      {in_namespace, "variable.not_found"},
      {in_workflow, "variable.not_found"},
      {in_instance, "variable.not_found"},
      {{.ns = "none"}, "namespace.not_found"},
      {{.ns = "default", .workflow = "none"}, "workflow.not_found"},
      {{.ns = "default", .instance = numbered_id(9)}, "instance.not_found"},
  };
  for (const auto& [place, code] : rows) {
    EXPECT_EQ(outcome(one(place, "a")), code);
    const bool has_owner = std::string_view(code) == "variable.not_found";
    EXPECT_EQ(outcome(list(place)), has_owner ? "found" : code);
  }
  EXPECT_EQ(outcome(secrets(9, "", "none")), "namespace.not_found");
}

TEST_F(VariableQueriesTest, FailOnADamagedRow) {
  set(of_namespace(), "a", {.bytes = "value"});
  std::string key;
  tx->scan(Table::kVariables, {}, [&](std::string_view found, std::string_view) {
    key = found;
    return true;
  });
  damage(Table::kVariables, key);
  EXPECT_EQ(outcome(one(in_namespace, "a")), kDamagedRow);
  EXPECT_EQ(outcome(list(in_namespace)), kDamagedRow);
  EXPECT_EQ(outcome(list(in_namespace, 9, "a")), "found")
      << "the page begins after the damaged row";
  EXPECT_EQ(outcome(archive_line(1)), "found") << "the variable is not the instance's";
}

TEST_F(VariableQueriesTest, ListSecretsSortedByNameWithoutTheirValues) {
  create_namespace("shop");
  for (const char* const name : {"c", "a", "b"}) put_secret(name);
  EXPECT_EQ(answer(secrets()), Json::parse(R"({
    "items": [{"name": "a"}, {"name": "b"}, {"name": "c"}], "next": null})"));
  const auto names = pages("name", 2, [](auto& queries, auto& view, size_t most, auto cursor) {
    return queries.secrets(view, "default", most, cursor);
  });
  EXPECT_THAT(names, ElementsAre(ElementsAre("a", "b"), ElementsAre("c")));
  EXPECT_EQ(answer(secrets(2))["next"], "b");
  EXPECT_THAT(answer(secrets(9, "", "shop"))["items"], IsEmpty());
}

TEST_F(VariableQueriesTest, ListASecretWhoseRowIsDamaged) {
  put_secret("a");
  damage(Table::kSecrets, rows::ns_prefix(ns) + "a");
  EXPECT_EQ(answer(secrets())["items"], Json::array({{{"name", "a"}}}));
}

TEST_F(VariableQueriesTest, FailWhenAReadFails) {
  put_secret("a");
  expect_each_read_to_count(secrets());
  for (const VariableOwner& owner : {of_namespace(), of_workflow(), of_instance()}) {
    set(owner, "a", {.bytes = "value"});
  }
  for (const VariablePlace& place : {in_namespace, in_workflow, in_instance}) {
    expect_each_read_to_count(list(place));
    expect_each_read_to_count(one(place, "a"));
  }
  expect_each_read_to_count(archive_line(1));
}

}  // namespace
}  // namespace millrace
