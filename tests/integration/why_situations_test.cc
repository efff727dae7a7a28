// What the tables of situations cover, and what `why` answers over HTTP where a row is not enough.
#include "tests/integration/why_situations.h"

#include <set>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "orchestrator/why/hints.h"
#include "orchestrator/why/verdict.h"

namespace millrace {
namespace {

using testing::HasSubstr;
using testing::Not;

std::vector<Situation> all_situations() {
  std::vector<Situation> all = situations_of_predicates();
  for (const auto& more : {situations_of_waits(), situations_of_starts()}) {
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

std::set<std::string> names_in(std::span<const std::string_view> names) {
  return {names.begin(), names.end()};
}

std::set<std::string> words_of_schema(const Json& schemas, const char* schema, const char* member) {
  return schemas.at(schema).at("properties").at(member).at("enum").get<std::set<std::string>>();
}

TEST(WhySituationTables, HaveEachVerdictAndEachHint) {
  std::set<std::string> verdicts;
  std::set<std::string> hints;
  for (const Situation& one : all_situations()) {
    std::istringstream words(one.expected);
    std::string verdict;
    std::string hint;
    words >> verdict >> hint;
    verdicts.insert(verdict);
    if (!hint.empty() && hint != "-") hints.insert(hint);
  }
  EXPECT_EQ(verdicts, names_in(verdict_names()));
  EXPECT_EQ(hints, names_in(hint_names()));
}

TEST(WhySituationTables, HaveAtLeastSixtySituationsWithNamesOfTheirOwn) {
  std::set<std::string> names;
  for (const Situation& one : all_situations()) {
    EXPECT_TRUE(names.insert(one.name).second) << one.name;
  }
  EXPECT_GE(names.size(), 60U);
}

TEST_F(WhySituations, AreDescribedByTheOpenApiDocument) {
  const Json schemas = millrace_.get("/v1/openapi.json").at("components").at("schemas");
  EXPECT_EQ(words_of_schema(schemas, "JudgedListener", "verdict"), names_in(verdict_names()));
  EXPECT_EQ(words_of_schema(schemas, "JudgedPredicate", "hint"), names_in(hint_names()));
}

// No listener is judged for a message that is not an event.
TEST_F(WhySituations, SayThatAMessageIsNotAnEvent) {
  millrace_.apply("id: wait\nstates:\n  - {id: wait, type: consumeEvent, event: {type: sent}}\n");
  const std::string id = millrace_.start_instance("wait", Json::object());
  millrace_.instance_once(id, "waiting");
  client_->publish("millrace.events.default.sent", "not an event");
  client_->flush();
  EXPECT_TRUE(eventually([&] {
    return millrace_.get("events?limit=1")["newest"] == 1 &&
           millrace_.get("events/1/why").contains("deadLetter");
  }));
  const Json why = millrace_.get("events/1/why?instance=" + id);
  EXPECT_EQ(why["near"], Json::array());
  EXPECT_EQ(why["deadLetter"]["reason"], "event.malformed_json");
  EXPECT_EQ(millrace_.get("instances/" + id + "/why?event=1")["events"][0]["verdict"], "dead");
}

TEST_F(WhySituations, ShowNoValueOfASecret) {
  EXPECT_EQ(millrace_.ask("PUT", "secrets/door-code", "open-sesame").status, 201);
  millrace_.apply(
      "id: door\nstates:\n  - {id: wait, type: consumeEvent, "
      "event: {type: knock, context: {code: jq(.code)}}}\n");
  millrace_.apply(R"(id: visit
functions:
  - {id: door, type: subflow, workflow: door}
states:
  - id: knock
    type: action
    action:
      function: door
      secrets: [door-code]
      input: {code: 'jq(.secrets["door-code"])'}
)");
  millrace_.start_instance("visit", Json::object());
  const std::string door = millrace_.only_instance_once("door", "waiting")["id"];
  const std::string event =
      R"({"specversion":"1.0","id":"e","source":"bank.eu","type":"knock","code":"OPEN-SESAME"})";
  EXPECT_EQ(
      millrace_.ask("POST", "events", event, {{"Content-Type", "application/cloudevents+json"}})
          .status,
      202);
  EXPECT_TRUE(eventually([&] {
    return millrace_.get("events?limit=1")["newest"] == 1 &&
           millrace_.get("events/1/why")["applied"] == true;
  }));
  for (const Json& judged :
       {millrace_.get("events/1/why?instance=" + door).at("near").at(0),
        millrace_.get("instances/" + door + "/why?event=1").at("events").at(0)}) {
    EXPECT_EQ(summary_of(judged), "predicate -");
    EXPECT_EQ(judged.at("predicates")[0]["asks"], "***");
    EXPECT_THAT(judged.dump(), Not(HasSubstr("open-sesame")));
  }
}

}  // namespace
}  // namespace millrace
