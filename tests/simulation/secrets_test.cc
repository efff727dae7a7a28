// Secrets and sealed instances, through the whole engine: the value of a secret is in no file and
// in no answer, but actions can read it.

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

constexpr const char* kPrintsIt = R"(
id: prints
functions: [{id: f, type: container, image: shell}]
states:
- id: call
  type: action
  action: {function: f, secrets: [token], input: {go: jq(.secrets.token)}}
)";

constexpr const char* kHidesTheCall = R"(
id: hides-the-call
functions: [{id: f, type: container, image: shell}]
states:
- {id: call, type: action, action: {function: f, sealed: true, input: {n: 1}}}
)";

constexpr const char* kHidesItself = R"(
id: hides-itself
sealed: true
states:
- {id: wait, type: consumeEvent, event: {type: never}}
)";

constexpr const char* kGetsItAsAFile = R"(
id: reader-of-files
functions: [{id: f, type: container, image: cat, files: [{key: kept, scope: namespace}]}]
states:
- {id: call, type: action, action: {function: f}}
)";

constexpr const char* kReadsIt = R"(
id: reads
states:
- {id: get, type: getter, variables: [{key: kept, scope: namespace}], transition: wait}
- {id: wait, type: consumeEvent, event: {type: never}}
)";

InstanceId parsed_id(const std::string& text) { return *parse_instance_id(text); }

/// Seals a live instance, as an action that reads a secret does.
void seal(World& world, const std::string& id) {
  const auto folder = world.environment().folder();
  world.crash();
  {
    const auto environment = *Environment::open(folder);
    Transaction tx(*environment);
    auto instance = *read_live(tx, NamespaceNumber(1), parsed_id(id));
    instance->sealed = true;
    write_instance(tx, *instance, {});
    ASSERT_TRUE(tx.commit());
  }
  world.recover();
}

/// The places of the value in all files and in all answers about the namespace.
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
    look("history", queries.history(view, "default", id, {}));
    look("calls", queries.instance_calls(view, "default", id, 1000, ""));
    look("children", queries.instance_children(view, "default", id, 1000, ""));
    look("variables", queries.variables(view, {.ns = "default", .instance = id}, 1000, ""));
  }
  look("listeners", queries.listeners(view, "default", {.limit = 1000}));
  look("variables", queries.variables(view, {.ns = "default"}, 1000, ""));
  look("secrets", queries.secrets(view, "default", 1000, ""));
  return leaks;
}

/// Sends the event that kUsesIt waits for, with the value of the secret in the data.
void send_secret(World& world) {
  world.publish("go", "1", kValue);
  world.run_until_idle();
}

class SealedInstance : public testing::Test {
 protected:
  SealedInstance() {
    world.apply(kUsesIt);
    world.apply(kReadsIt);
    id = world.start("uses", {{"known", "to all"}})["id"];
  }
  void send_it() { send_secret(world); }

  World world;
  std::string id;
};

TEST_F(SealedInstance, ShowsNoneOfItsData) {
  seal(world, id);
  send_it();
  EXPECT_THAT(leaks_of(world), IsEmpty()) << "while the instance waits";
  const Json waits = world.instance(id);
  EXPECT_EQ(waits["sealed"], true);
  EXPECT_EQ(waits["status"], "waiting");
  EXPECT_EQ(waits["input"], "(sealed)");
  EXPECT_EQ(waits["data"], "(sealed)");
  EXPECT_EQ(waits["error"], (Json{{"code", "some.error"}, {"msg", "(sealed)"}}));

  // An event that the workflow publishes has the value of the secret, unencrypted.
  world.answer_publishes();
  ASSERT_THAT(world.events("told"), SizeIs(1));
  EXPECT_EQ(world.events("told")[0].data, fmt::format("\"{}\"", kValue));
  EXPECT_THAT(leaks_of(world), IsEmpty()) << "while the acked messages are kept";

  world.restart();
  world.publish({.id = "2", .source = "s", .type = "one", .subject = kValue});
  world.run_until_idle();
  EXPECT_THAT(leaks_of(world), IsEmpty()) << "while the instance has the first event";
  world.publish("two", "3");
  world.run_until_idle();
  const Json ended = world.instance(id);
  EXPECT_EQ(ended["status"], "failed");
  EXPECT_EQ(ended["output"], "(sealed)");
  EXPECT_THAT(leaks_of(world), IsEmpty()) << "after the instance has ended";

  world.restart();
  world.run_for(hours(1));
  world.answer_publishes();
  ASSERT_THAT(world.events("told.later"), SizeIs(1));
  EXPECT_EQ(world.events("told.later")[0].data, fmt::format("\"{}\"", kValue));
  EXPECT_THAT(leaks_of(world), IsEmpty());
  world.must(DeleteInstance{.ns = "default", .instance = parsed_id(id)});
  EXPECT_THAT(leaks_of(world), IsEmpty());
}

TEST_F(SealedInstance, ShowsItsHistoryWithoutValues) {
  seal(world, id);
  send_it();
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

TEST_F(SealedInstance, SealsTheVariablesThatItSetsAndTheirReaders) {
  seal(world, id);
  send_it();
  const Snapshot view = *Snapshot::take(world.environment());
  const VariablePlace ns{.ns = "default"};
  EXPECT_EQ(world.queries().variable(view, ns, "kept").error().code, "variable.sealed");
  EXPECT_EQ((*world.queries().variables(view, ns, 10, ""))["items"][0]["sealed"], true);

  const std::string reader = world.start("reads")["id"];
  EXPECT_EQ(world.instance(reader)["sealed"], true);
  EXPECT_THAT(leaks_of(world), IsEmpty());
  {
    const Snapshot later = *Snapshot::take(world.environment());
    const auto read = *read_live(later, NamespaceNumber(1), parsed_id(reader));
    EXPECT_EQ(read->data.value()["var"]["kept"], kValue);
  }
  world.must(PutVariable{ns, "kept", {.content_type = "text/plain", .bytes = "known"}});
  const Snapshot after = *Snapshot::take(world.environment());
  EXPECT_TRUE(world.queries().variable(after, ns, "kept")) << "the new value is not sealed";
}

TEST_F(SealedInstance, SealsAnInstanceWhoseFunctionGetsItsVariableAsAFile) {
  seal(world, id);
  send_it();
  world.apply(kGetsItAsAFile);
  const std::string reader = world.start("reader-of-files")["id"];
  ASSERT_THAT(world.functions.tasks(), SizeIs(1));
  const Task task = world.functions.tasks()[0];
  EXPECT_THAT(task.files.at(0).bytes, testing::HasSubstr(kValue));
  EXPECT_TRUE(task.sealed);
  world.functions.report({.task = task.id, .what = TaskOutput{task.files[0].bytes}});
  world.run_until_idle();
  EXPECT_EQ(world.instance(reader)["sealed"], true);
  EXPECT_THAT(leaks_of(world), IsEmpty()) << "after the output of the function";
  world.functions.answer(task.id, task.files[0].bytes);
  world.run_until_idle();
  EXPECT_EQ(world.status(reader), "complete");
  EXPECT_THAT(leaks_of(world), IsEmpty()) << "after the result of the function";
  world.restart();
  EXPECT_THAT(leaks_of(world), IsEmpty());
}

TEST_F(SealedInstance, LeavesOtherInstancesReadable) {
  send_it();
  EXPECT_THAT(leaks_of(world), Not(IsEmpty())) << "an instance that is not sealed shows the value";
  EXPECT_FALSE(world.instance(id).contains("sealed"));
  EXPECT_EQ(world.instance(id)["data"]["go"], kValue);
}

TEST(Secrets, ReachTheSubflowOfAnActionAndNoFileLogOrAnswer) {
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
  EXPECT_THAT(leaks_of(world), IsEmpty()) << "while the input is kept for a second attempt";
  EXPECT_FALSE(world.instance(caller).contains("sealed")) << "the data of the caller has no secret";
  const Json child = world.instances().back();
  EXPECT_EQ(child["workflow"], "uses");
  EXPECT_EQ(child["sealed"], true);
  world.restart();
  send_secret(world);
  EXPECT_THAT(leaks_of(world), IsEmpty());
  for (const char* type : {"one", "two"}) {
    world.publish({.id = type, .source = "s", .type = type, .subject = kValue});
    world.run_until_idle();
  }
  EXPECT_THAT(leaks_of(world), IsEmpty()) << "after the error of the subflow";
  EXPECT_EQ(world.instance(caller)["sealed"], true);
  world.run_for(seconds(60));
  EXPECT_THAT(leaks_of(world), IsEmpty()) << "after the retry";
}

TEST(Secrets, SealAnInstanceAtTheFirstOutputOfAFunctionThatGotThem) {
  World world;
  world.must(PutSecret{"default", "token", kValue});
  world.apply(kPrintsIt);
  const std::string id = world.start("prints")["id"];
  ASSERT_THAT(world.functions.tasks(), SizeIs(1));
  EXPECT_FALSE(world.instance(id).contains("sealed")) << "the instance has only made the call";
  const InstanceId task = world.functions.tasks()[0].id;
  world.functions.report({.task = task, .what = TaskOutput{fmt::format("+ curl {}", kValue)}});
  world.run_until_idle();
  EXPECT_THAT(world.history(id), testing::Contains("output call"));
  EXPECT_EQ(world.instance(id)["sealed"], true);
  EXPECT_THAT(leaks_of(world), IsEmpty());
  world.restart();
  EXPECT_THAT(leaks_of(world), IsEmpty()) << "after the journal was read again";
}

/// The first task of the world prints these words; the instance that waits for it then shows them.
Json printed(World& world, const std::string& id, const std::string& words) {
  world.functions.report({.task = world.functions.tasks().at(0).id, .what = TaskOutput{words}});
  world.run_until_idle();
  return world.history_items(id).back()["detail"];
}

TEST(Secrets, AreMaskedInWhatIsShownOfAnInstance) {
  World world;
  world.must(PutSecret{"default", "token", kValue});
  world.apply(kPrintsIt);
  const std::string id = world.start("prints", {{"known", "to all"}})["id"];
  const Json shown{{"index", 0}, {"text", "+ curl *** http://x"}};
  EXPECT_EQ(printed(world, id, fmt::format("+ curl {} http://x", kValue)), shown);
  EXPECT_EQ(world.instance(id)["sealed"], true);
  EXPECT_EQ(world.instance(id)["input"], (Json{{"known", "to all"}}));
  world.functions.answer(world.functions.tasks()[0].id, {{"sent", kValue}, {"count", 7}});
  world.run_until_idle();
  const Json result{{"known", "to all"}, {"return", {{"sent", "***"}, {"count", 7}}}};
  EXPECT_EQ(world.instance(id)["output"], result);
  EXPECT_THAT(leaks_of(world), IsEmpty());

  world.must(PutSecret{"default", "token", "another value"});
  EXPECT_EQ(world.instance(id)["output"], result) << "the instance has the former value";
  world.must(DeleteSecret{"default", "token"});
  world.restart();
  EXPECT_EQ(world.instance(id)["output"], result);
  EXPECT_THAT(leaks_of(world), IsEmpty());
}

TEST(Secrets, HideAllDataOfAnInstanceIfTheNamespaceAsksForIt) {
  World world;
  world.must(PutSecret{"default", "token", kValue});
  world.apply(kPrintsIt);
  const std::string id = world.start("prints")["id"];
  EXPECT_EQ(printed(world, id, "hello")["text"], "hello");
  world.must(CreateNamespace{.name = "default", .settings = Json{{"sealed", true}}});
  EXPECT_EQ(world.history_items(id).back()["detail"]["text"], "(sealed)");
  EXPECT_EQ(world.instance(id)["data"], "(sealed)");
}

TEST(Secrets, HideAllDataThatComesFromAnActionWhichAsksForIt) {
  World world;
  world.apply(kHidesTheCall);
  const std::string id = world.start("hides-the-call")["id"];
  EXPECT_TRUE(world.functions.tasks().at(0).sealed);
  EXPECT_FALSE(world.instance(id).contains("sealed")) << "nothing has come from the call";
  EXPECT_EQ(printed(world, id, "hello")["text"], "(sealed)");
  EXPECT_EQ(world.instance(id)["data"], "(sealed)");
}

TEST(Secrets, HideTheInstancesOfAWorkflowThatAsksForIt) {
  World world;
  world.apply(kHidesItself);
  const std::string id = world.start("hides-itself", {{"card", kValue}})["id"];
  EXPECT_EQ(world.instance(id)["input"], "(sealed)");
  EXPECT_THAT(leaks_of(world), IsEmpty()) << "its rows are sealed from the start";
}

TEST(Secrets, RaiseAnErrorOfTheActionWhenTheyAreMissing) {
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

TEST(Secrets, AreShownByNameOnly) {
  World world;
  world.must(CreateNamespace{.name = "other"});
  const auto answer = [](bool created) { return Json{{"name", "token"}, {"created", created}}; };
  EXPECT_EQ(world.must(PutSecret{"default", "token", "old"}), answer(true));
  EXPECT_EQ(world.must(PutSecret{"default", "token", kValue}), answer(false));
  EXPECT_EQ(world.must(PutSecret{"other", "token", kValue}), answer(true));
  EXPECT_THAT(leaks_of(world), IsEmpty());
  world.restart();
  const auto read = [&](NamespaceNumber ns) {
    const Snapshot view = *Snapshot::take(world.environment());
    return *read_secret(view, ns, "token");
  };
  EXPECT_EQ(read(NamespaceNumber(1)), kValue);
  EXPECT_EQ(read(NamespaceNumber(2)), kValue);
  EXPECT_EQ(world.must(DeleteSecret{"default", "token"})["deleted"], true);
  world.must(DeleteNamespace{.name = "other"});
  EXPECT_EQ(read(NamespaceNumber(1)), std::nullopt);
  EXPECT_EQ(read(NamespaceNumber(2)), std::nullopt);

  const Answered gone = world.command(DeleteSecret{"default", "token"});
  const Answered nowhere = world.command(PutSecret{"nowhere", "token", kValue});
  world.run_until_idle();
  EXPECT_EQ((**gone).error().code, "secret.not_found");
  EXPECT_EQ((**nowhere).error().code, "namespace.not_found");
  EXPECT_THAT(leaks_of(world), IsEmpty());
}

}  // namespace
}  // namespace millrace
