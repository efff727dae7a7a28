// Secrets, and instances that hold something of one, through the whole core: it is in no file and
// in no answer, and yet there for those who need it.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/store/rows/instance_rows.h"
#include "orchestrator/store/rows/secret_rows.h"
#include "tests/simulation/world.h"
#include "tests/support/leaks.h"

namespace millrace {
namespace {

using std::chrono::hours;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

constexpr const char* kValue = "correct-horse-battery-staple";

constexpr const char* kUsesIt = R"(
id: uses
states:
- {id: get, type: consumeEvent, event: {type: go}, transition: tell}
- id: tell
  type: generateEvent
  log: jq(.go)
  event: {type: told, source: jq(.go), data: jq(.go)}
  transition: later
- id: later
  type: generateEvent
  event: {type: told.later, source: s, data: jq(.go)}
  delay: PT1H
  transition: keep
- id: keep
  type: setter
  variables:
  - {key: kept, scope: namespace, value: jq(.go)}
  - {key: own, value: jq(.go)}
  transition: fails
- {id: fails, type: error, error: some.error, message: "it is %s", args: [jq(.go)], transition: wait}
- id: wait
  type: eventAnd
  events:
  - {event: {type: one, context: {subject: jq(.go)}}}
  - {event: {type: two}}
)";

constexpr const char* kReadsIt = R"(
id: reads
states:
- {id: get, type: getter, variables: [{key: kept, scope: namespace}], transition: wait}
- {id: wait, type: consumeEvent, event: {type: never}}
)";

InstanceId parsed_id(const std::string& text) { return *parse_instance_id(text); }

/// Seals a living instance, as an action that brings it a secret does.
void seal(World& world, const std::string& id) {
  const auto folder = world.environment().folder();
  world.crash();
  {
    const auto environment = *Environment::open(folder);
    Transaction tx(*environment);
    auto instance = *read_living(tx, NamespaceNumber(1), parsed_id(id));
    instance->sealed = true;
    write_instance(tx, *instance, {});
    ASSERT_TRUE(tx.commit());
  }
  world.recover();
}

/// All that anybody can read: the files, and what is answered of the namespace.
std::vector<std::string> leaks_of(World& world) {
  std::vector<std::string> leaks = leaks_in_folder(world.environment().folder(), kValue);
  const auto look = [&](std::string_view name, const Result<Json>& answer) {
    ASSERT_TRUE(answer) << name << ": " << answer.error().message;
    for (auto& leak : leaks_in(name, answer->dump(), kValue)) leaks.push_back(std::move(leak));
  };
  const Snapshot view = *Snapshot::take(world.environment());
  Queries& queries = world.queries();
  const Result<Json> all = queries.instances(view, "default", {.limit = 1000});
  look("instances", all);
  for (const Json& one : (*all)["items"]) {
    const InstanceId id = parsed_id(one["id"]);
    look("instance", queries.instance(view, "default", id));
    look("history", queries.history(view, "default", id));
    look("variables", queries.variables(view, {.space = "default", .instance = id}, 1000, ""));
  }
  look("listeners", queries.listeners(view, "default", 1000, ""));
  look("variables", queries.variables(view, {.space = "default"}, 1000, ""));
  look("secrets", queries.secrets(view, "default", 1000, ""));
  return leaks;
}

/// Sends what kUsesIt waits for.
void give(World& world) {
  world.publish("go", "1", kValue);
  world.settle();
}

class Sealed : public testing::Test {
 protected:
  Sealed() {
    world.apply(kUsesIt);
    world.apply(kReadsIt);
    id = world.start("uses", {{"known", "to all"}})["id"];
  }
  void give_it() { give(world); }

  World world;
  std::string id;
};

TEST_F(Sealed, InstancesTellNothingOfWhatTheyHold) {
  seal(world, id);
  give_it();
  EXPECT_THAT(leaks_of(world), IsEmpty()) << "while it waits";
  const Json waits = world.instance(id);
  EXPECT_EQ(waits["sealed"], true);
  EXPECT_EQ(waits["status"], "waiting");
  EXPECT_EQ(waits["input"], "(sealed)");
  EXPECT_EQ(waits["data"], "(sealed)");
  EXPECT_EQ(waits["error"], (Json{{"code", "some.error"}, {"msg", "(sealed)"}}));

  // What it has sent is what its author meant to send.
  world.settle_publishes();
  ASSERT_THAT(world.events("told"), SizeIs(1));
  EXPECT_EQ(world.events("told")[0].data, fmt::format("\"{}\"", kValue));
  EXPECT_THAT(leaks_of(world), IsEmpty()) << "while what was sent is kept";

  world.restart();
  world.publish({.id = "2", .source = "s", .type = "one", .subject = kValue});
  world.settle();
  EXPECT_THAT(leaks_of(world), IsEmpty()) << "while it holds what it has got so far";
  world.publish("two", "3");
  world.settle();
  const Json ended = world.instance(id);
  EXPECT_EQ(ended["status"], "failed");
  EXPECT_EQ(ended["output"], "(sealed)");
  EXPECT_THAT(leaks_of(world), IsEmpty()) << "and has ended";

  world.restart();
  world.run_for(hours(1));
  world.settle_publishes();
  ASSERT_THAT(world.events("told.later"), SizeIs(1));
  EXPECT_EQ(world.events("told.later")[0].data, fmt::format("\"{}\"", kValue));
  EXPECT_THAT(leaks_of(world), IsEmpty());
  world.must(DeleteInstance{.space = "default", .instance = parsed_id(id)});
  EXPECT_THAT(leaks_of(world), IsEmpty());
}

TEST_F(Sealed, HistoryTellsWhatHappenedAndNotWhatWith) {
  seal(world, id);
  give_it();
  Json details;
  for (Json item : world.history_items(id)) {
    Json& detail = item["detail"];
    if (item["kind"] == "published") detail["id"] = "an id";
    if (detail.contains("at")) detail["at"] = "a time";
    if (!detail.is_null()) details[item["kind"].get<std::string>()].push_back(detail);
  }
  const Json started = details["started"][0];
  EXPECT_EQ(started["by"], "call");
  details.erase("started");
  const std::string no = "(sealed)";
  EXPECT_EQ(
      details,
      (Json{{"woken", {{{"id", "1"}, {"source", no}, {"type", no}}}},
            {"log", {{{"value", no}}}},
            {"published",
             {{{"id", "an id"}, {"type", no}}, {{"id", "an id"}, {"type", no}, {"at", "a time"}}}},
            {"fixed", {{{"code", "some.error"}, {"msg", no}}}}}));
}

TEST_F(Sealed, InstancesSealTheVariablesThatTheySetAndThoseSealWhoReadsThem) {
  seal(world, id);
  give_it();
  const Snapshot view = *Snapshot::take(world.environment());
  const VariablePlace space{.space = "default"};
  EXPECT_EQ(world.queries().variable(view, space, "kept").error().code, "variable.sealed");
  EXPECT_EQ((*world.queries().variables(view, space, 10, ""))["items"][0]["sealed"], true);

  const std::string reader = world.start("reads")["id"];
  EXPECT_EQ(world.instance(reader)["sealed"], true);
  EXPECT_THAT(leaks_of(world), IsEmpty());
  {
    const Snapshot later = *Snapshot::take(world.environment());
    const auto read = *read_living(later, NamespaceNumber(1), parsed_id(reader));
    EXPECT_EQ(read->data.value()["var"]["kept"], kValue);
  }
  world.must(PutVariable{space, "kept", {.content_type = "text/plain", .bytes = "known"}});
  const Snapshot after = *Snapshot::take(world.environment());
  EXPECT_TRUE(world.queries().variable(after, space, "kept")) << "it is another value now";
}

TEST_F(Sealed, InstancesAreFewAndOthersAreReadAsEver) {
  give_it();
  EXPECT_THAT(leaks_of(world), Not(IsEmpty())) << "or these tests would find nothing anywhere";
  EXPECT_FALSE(world.instance(id).contains("sealed"));
  EXPECT_EQ(world.instance(id)["data"]["go"], kValue);
}

TEST(Secrets, OfAnActionReachItsChildAndNoFileLogOrAnswer) {
  World world;
  world.apply(kUsesIt);
  world.apply(R"(
id: caller
functions: [{id: f, type: subflow, workflow: uses}]
states:
- id: call
  type: action
  action:
    function: f
    secrets: [token]
    input: {go: jq(.secrets.token), known: to all}
    retries: {max_attempts: 2, delay: PT1M, codes: ['*']}
)");
  world.must(PutSecret{"default", "token", kValue});
  const std::string caller = world.start("caller")["id"];
  EXPECT_THAT(leaks_of(world), IsEmpty()) << "its input is kept for a second attempt";
  EXPECT_FALSE(world.instance(caller).contains("sealed")) << "it has nothing of it in its data";
  const Json child = world.instances().back();
  EXPECT_EQ(child["workflow"], "uses");
  EXPECT_EQ(child["sealed"], true);
  world.restart();
  give(world);
  EXPECT_THAT(leaks_of(world), IsEmpty());
  for (const char* type : {"one", "two"}) {
    world.publish({.id = type, .source = "s", .type = type, .subject = kValue});
    world.settle();
  }
  EXPECT_THAT(leaks_of(world), IsEmpty()) << "its error comes back";
  EXPECT_EQ(world.instance(caller)["sealed"], true);
  world.run_for(seconds(60));
  EXPECT_THAT(leaks_of(world), IsEmpty()) << "and it is tried again";
}

TEST(Secrets, ThatAreMissingAreAnErrorOfTheAction) {
  World world;
  world.apply(R"(
id: caller
functions: [{id: f, type: subflow, workflow: nowhere}]
states:
- {id: call, type: action, action: {function: f, secrets: [token]}}
)");
  const std::string caller = world.start("caller")["id"];
  EXPECT_EQ(world.instance(caller)["error"],
            (Json{{"code", "direktiv.secrets.notFound"}, {"msg", "there is no secret \"token\""}}));
}

TEST(Secrets, AreKeptAndListedByNameOnly) {
  World world;
  world.must(CreateNamespace{.name = "other"});
  const auto answer = [](bool created) { return Json{{"name", "token"}, {"created", created}}; };
  EXPECT_EQ(world.must(PutSecret{"default", "token", "old"}), answer(true));
  EXPECT_EQ(world.must(PutSecret{"default", "token", kValue}), answer(false));
  EXPECT_EQ(world.must(PutSecret{"other", "token", kValue}), answer(true));
  EXPECT_THAT(leaks_of(world), IsEmpty());
  world.restart();
  const auto read = [&](NamespaceNumber space) {
    const Snapshot view = *Snapshot::take(world.environment());
    return *read_secret(view, space, "token");
  };
  EXPECT_EQ(read(NamespaceNumber(1)), kValue);
  EXPECT_EQ(read(NamespaceNumber(2)), kValue);
  EXPECT_EQ(world.must(DeleteSecret{"default", "token"})["deleted"], true);
  world.must(DeleteNamespace{.name = "other"});
  EXPECT_EQ(read(NamespaceNumber(1)), std::nullopt);
  EXPECT_EQ(read(NamespaceNumber(2)), std::nullopt);

  const Answered gone = world.command(DeleteSecret{"default", "token"});
  const Answered nowhere = world.command(PutSecret{"nowhere", "token", kValue});
  world.settle();
  EXPECT_EQ((**gone).error().code, "secret.not_found");
  EXPECT_EQ((**nowhere).error().code, "namespace.not_found");
  EXPECT_THAT(leaks_of(world), IsEmpty());
}

}  // namespace
}  // namespace millrace
