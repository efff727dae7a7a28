// The quota storeBytes through the whole engine: each family of rows counts when it is written,
// replaced and erased, and what would store more is refused while the quota is used up. The store
// check at the end of each process compares the sums with the rows.
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/store/rows/index_rows.h"
#include "tests/simulation/world.h"

namespace millrace {
namespace {

using std::chrono::hours;
using testing::AllOf;
using testing::ElementsAre;
using testing::Ge;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Lt;
using testing::SizeIs;

constexpr const char* kBytesQuota = "millrace.quota.storeBytes";

/// Of the quota: 640 KiB, so that the eighth that active instances may use besides is 80 KiB.
constexpr size_t kQuotaKiB = 640;
constexpr size_t kFullKiB = 650;          ///< more than the quota
constexpr size_t kBeyondEighthKiB = 721;  ///< more than the quota and its eighth
constexpr size_t kValueBytes = 5'000;     ///< of one value in a row
constexpr size_t kOfOneStep = 512 << 10;  ///< no step of these tests writes so many bytes

/// A workflow that waits for the event `go` and then enters the state `act`, which has `fields`.
/// The error of the quota leads to its end.
std::string acts(const std::string& id, const std::string& fields) {
  return fmt::format(R"(
id: {}
functions: [{{id: charge, type: knative-namespace, service: charge}}]
states:
- {{id: wait, type: consumeEvent, event: {{type: go}}, transition: act}}
- {{id: act, {}, catch: [{{error: millrace.quota.storeBytes, transition: caught}}]}}
- {{id: caught, type: noop}}
)",
                     id, fields);
}

const std::string kSetsBytes =
    acts("sets", "type: setter, variables: [{key: set, scope: namespace, value: jq(.value)}]");
const std::string kDelaysBytes =
    acts("delays",
         "type: generateEvent, delay: PT1H, event: {type: made, source: /s, data: jq(.value)}");
const std::string kPublishesBytes =
    acts("publishes", "type: generateEvent, event: {type: made, source: /s, data: jq(.value)}");
const std::string kCallsOnce =
    acts("calls", "type: action, action: {function: charge, input: jq(.value)}");

constexpr const char* kCallsAgain = R"(
id: again
functions: [{id: charge, type: knative-namespace, service: charge}]
states:
- id: act
  type: action
  action:
    function: charge
    retries: {max_attempts: 5, delay: PT10S, codes: [charge]}
  catch: [{error: millrace.quota.storeBytes, transition: caught}]
- {id: caught, type: noop}
)";

constexpr const char* kCallsDetached = R"(
id: detached
functions: [{id: charge, type: knative-namespace, service: charge}]
states:
- {id: wait, type: consumeEvent, event: {type: go}, transition: act}
- {id: act, type: action, async: true, action: {function: charge, input: jq(.value)}}
)";

constexpr const char* kPairOfBytes = R"(
id: pair
start: {type: eventsAnd, events: [{type: left}, {type: right}]}
states:
- {id: done, type: noop}
)";

constexpr const char* kThinksThenKeeps = R"(
id: thinks
states:
- {id: think, type: noop, transform: 'jq(slow)', transition: wait}
- {id: wait, type: consumeEvent, event: {type: kept}}
)";

constexpr const char* kOnlyEnds = R"(
id: ends
states:
- {id: done, type: noop}
)";

class BytesWorld : public testing::Test {
 protected:
  BytesWorld() {
    world.evaluator.define("slow", [](const Json& input) -> QueryResult { return input; });
    limit();
  }

  void limit() { set_settings({{"quotas", {{"storeBytes", fmt::format("{}KiB", kQuotaKiB)}}}}); }
  void set_settings(Json settings) {
    world.must(CreateNamespace{.name = "default", .settings = std::move(settings)});
  }
  static PutVariable variable(std::string key, size_t bytes) {
    return {.place = {.ns = "default"},
            .key = std::move(key),
            .value = {.content_type = "text/plain", .bytes = std::string(bytes, 'v')}};
  }
  /// Uses up the quota by a variable of that size.
  void fill(size_t kib) { world.must(variable("filler", kib << 10)); }
  void make_room() { world.must(DeleteVariable{.place = {.ns = "default"}, .key = "filler"}); }

  void publish(std::string type, Json data = nullptr) {
    world.publish(std::move(type), std::to_string(++last_event), std::move(data));
    world.run_until_idle();
  }
  std::string start(const std::string& workflow) {
    return world.start(workflow, {{"value", std::string(kValueBytes, 'x')}})["id"];
  }
  /// The code of the error that the instance caught; empty: none.
  std::string caught(const std::string& id) {
    return world.instance(id)["output"].value("/error/code"_json_pointer, "");
  }
  /// The size of the counted rows of the default namespace.
  uint64_t counted() {
    return read_usage(*Snapshot::take(world.environment()), NamespaceNumber(1))->counted_bytes;
  }
  double refusals() { return world.metric("millrace_quota_refusals_total{quota=\"storeBytes\"}"); }

  World world;
  int last_event = 0;
};

TEST_F(BytesWorld, CountsVariablesWhenTheyAreSetReplacedAndDeleted) {
  world.apply(kOnlyEnds);
  const std::string id = world.start("ends")["id"];
  const VariablePlace places[] = {{.ns = "default"},
                                  {.ns = "default", .workflow = "ends"},
                                  {.ns = "default", .instance = parse_instance_id(id).value()}};
  for (const VariablePlace& place : places) {
    const uint64_t before = counted();
    PutVariable put = variable("k", kValueBytes);
    put.place = place;
    world.must(put);
    const uint64_t set = counted();
    EXPECT_THAT(set - before, Ge(kValueBytes));
    put.value.bytes.resize(1'000);
    world.must(put);
    EXPECT_EQ(counted(), set - (kValueBytes - 1'000));
    world.restart();
    EXPECT_EQ(counted(), set - (kValueBytes - 1'000));
    world.must(DeleteVariable{.place = place, .key = "k"});
    EXPECT_EQ(counted(), before);
  }
}

TEST_F(BytesWorld, CountsTheVariablesOfADeletedInstanceNoMore) {
  world.apply(kOnlyEnds);
  const uint64_t before = counted();
  const InstanceId id = parse_instance_id(world.start("ends")["id"].get<std::string>()).value();
  PutVariable put = variable("k", kValueBytes);
  put.place.instance = id;
  world.must(put);
  EXPECT_THAT(counted() - before, Ge(kValueBytes));
  world.must(DeleteInstance{.ns = "default", .instance = id});
  EXPECT_EQ(counted(), before);
}

TEST_F(BytesWorld, CountsSecretsAndTheirFormerValues) {
  const uint64_t before = counted();
  world.must(PutSecret{"default", "card", std::string(kValueBytes, 's')});
  const uint64_t one = counted();
  EXPECT_THAT(one - before, Ge(kValueBytes));
  world.must(PutSecret{"default", "card", std::string(kValueBytes, 't')});
  EXPECT_THAT(counted() - one, Ge(kValueBytes)) << "the former value stays";
  world.must(DeleteSecret{"default", "card"});
  EXPECT_THAT(counted() - one, Ge(kValueBytes)) << "it is a former value now";
}

TEST_F(BytesWorld, CountsDefinitionsAlsoOfDeletedWorkflows) {
  const uint64_t before = counted();
  world.apply(kOnlyEnds);
  const uint64_t one = counted();
  EXPECT_THAT(one - before, Ge(std::string(kOnlyEnds).size()));
  world.apply(std::string(kOnlyEnds) + "- {id: more, type: noop}\n");
  const uint64_t two = counted();
  EXPECT_THAT(two - one, Ge(std::string(kOnlyEnds).size()));
  world.must(DeleteWorkflow{.ns = "default", .id = "ends"});
  EXPECT_EQ(counted(), two) << "ended instances may need them";
}

TEST_F(BytesWorld, CountsEventsInGroups) {
  world.apply(kPairOfBytes);
  const uint64_t before = counted();
  publish("left", std::string(kValueBytes, 'd'));
  EXPECT_THAT(counted() - before, Ge(kValueBytes));
  publish("right");
  EXPECT_EQ(counted(), before) << "the events have started an instance";
  publish("left", std::string(kValueBytes, 'd'));
  world.must(DeleteWorkflow{.ns = "default", .id = "pair"});
  world.run_for(hours(1));
  EXPECT_EQ(counted(), before) << "the group was closed";
}

TEST_F(BytesWorld, CountsDelayedEventsUntilTheyArePublished) {
  world.apply(kDelaysBytes);
  const uint64_t before = counted();
  start("delays");
  publish("go");
  EXPECT_THAT(counted() - before, Ge(kValueBytes));
  world.run_for(hours(2));
  EXPECT_THAT(world.events("made"), SizeIs(1));
  EXPECT_EQ(counted(), before);
}

TEST_F(BytesWorld, CountsTasksUntilTheyEnd) {
  world.apply(kCallsOnce);
  const uint64_t before = counted();
  start("calls");
  publish("go");
  EXPECT_THAT(counted() - before, Ge(kValueBytes));
  world.functions.answer(world.functions.tasks().at(0).id, {{"paid", true}});
  world.run_until_idle();
  EXPECT_EQ(counted(), before);
}

TEST_F(BytesWorld, CountsKeptEventsUntilNoInstanceMayNeedThem) {
  world.apply(kThinksThenKeeps);
  const uint64_t before = counted();
  world.evaluator.hold();
  const std::string id = world.start("thinks")["id"];
  publish("kept", std::string(kValueBytes, 'd'));
  EXPECT_THAT(counted() - before, Ge(kValueBytes));
  world.evaluator.release();
  world.run_until_idle();
  EXPECT_EQ(world.status(id), "complete");
  publish("other");
  EXPECT_EQ(counted(), before);
}

TEST_F(BytesWorld, CountsEventsForWebhooksUntilTheyAreDelivered) {
  world.receivers.answer = [](const Event&) {
    return WebhookFailure{.error = {"webhook.refused", "away"}};
  };
  set_settings(Json::parse(R"({"webhooks": [{"url": "http://hook"}]})"));
  world.apply(kOnlyEnds);
  const uint64_t before = counted();
  world.start("ends");
  EXPECT_THAT(counted(), testing::Gt(before));
  EXPECT_GT(world.rows_of("hooks"), 0U);
  world.receivers.answer = nullptr;
  world.run_for(hours(1));
  EXPECT_EQ(world.rows_of("hooks"), 0U);
  EXPECT_EQ(counted(), before);
}

TEST_F(BytesWorld, HasNoRowOfADeletedNamespace) {
  world.must(CreateNamespace{.name = "shop"});
  world.apply(kPairOfBytes, "shop");
  PutVariable put = variable("k", kValueBytes);
  put.place.ns = "shop";
  world.must(put);
  world.must(PutSecret{"shop", "card", "4711"});
  world.publish({.id = "1", .source = "/s", .type = "left"}, "shop");
  world.run_until_idle();
  const auto of_shop = [&] {
    return read_usage(*Snapshot::take(world.environment()), NamespaceNumber(2)).value();
  };
  EXPECT_THAT(of_shop().counted_bytes, Ge(kValueBytes));
  world.must(DeleteNamespace{.name = "shop"});
  world.run_for(hours(1));
  EXPECT_EQ(of_shop(), Usage{});
}

TEST_F(BytesWorld, RefusesCommandsThatWouldStoreMore) {
  world.apply(kOnlyEnds);
  world.must(variable("known", 100));
  world.must(PutSecret{"default", "card", "4711"});
  fill(kFullKiB);
  const std::vector<Command> more = {
      variable("new", 1),
      variable("known", 101),
      PutSecret{"default", "other", "4711"},
      World::application(kPairOfBytes),
      World::application(std::string(kOnlyEnds) + "- {id: more, type: noop}\n"),
      StartInstance{.ns = "default", .workflow = "ends"},
  };
  for (const Command& one : more) {
    const Error error = world.refusal(one);
    EXPECT_EQ(error.code, kBytesQuota);
    EXPECT_THAT(error.message, AllOf(HasSubstr(fmt::format("{}KiB or more", kQuotaKiB)),
                                     HasSubstr("quotas.storeBytes")));
  }
  EXPECT_EQ(refusals(), static_cast<double>(more.size()));
  world.restart();
  EXPECT_EQ(world.refusal(more.front()).code, kBytesQuota);
  world.must(variable("known", 100));
  world.must(PutSecret{"default", "card", "4712"});
  EXPECT_EQ(world.apply(kOnlyEnds)["changed"], false);
  make_room();
  for (const Command& one : more) world.must(one);
}

TEST_F(BytesWorld, RefusesNothingInAnotherNamespace) {
  world.must(CreateNamespace{.name = "shop"});
  fill(kFullKiB);
  EXPECT_EQ(world.refusal(variable("new", 1)).code, kBytesQuota);
  PutVariable put = variable("new", 1);
  put.place.ns = "shop";
  world.must(put);
}

TEST_F(BytesWorld, RaisesAnErrorInAStateThatWouldStoreMore) {
  for (const std::string& workflow : {kSetsBytes, kDelaysBytes, kPublishesBytes})
    world.apply(workflow);
  const std::string sets = start("sets");
  const std::string delays = start("delays");
  const std::string publishes = start("publishes");
  fill(kFullKiB);
  publish("go");
  EXPECT_EQ(caught(sets), kBytesQuota);
  EXPECT_EQ(caught(delays), kBytesQuota);
  EXPECT_EQ(caught(publishes), "") << "an event that is published at once is not stored for long";
  EXPECT_THAT(world.events("made"), SizeIs(1));
  EXPECT_EQ(world.rows_of("delayed"), 0U);
  EXPECT_EQ(world.rows_of("variables"), 1U);
  EXPECT_EQ(refusals(), 2);
  make_room();
  for (const char* const workflow : {"sets", "delays"}) start(workflow);
  publish("go");
  EXPECT_EQ(world.rows_of("delayed"), 1U);
  EXPECT_EQ(world.rows_of("variables"), 1U);
}

TEST_F(BytesWorld, LetsAStateReplaceAVariableByAValueThatIsNotLonger) {
  world.apply(kSetsBytes);
  world.must(variable("set", kValueBytes + 2));  // a JSON string has two quotation marks
  const std::string id = start("sets");
  fill(kFullKiB);
  publish("go");
  EXPECT_EQ(caught(id), "");
  EXPECT_EQ(refusals(), 0);
}

TEST_F(BytesWorld, EndsALoopOfDelayedEvents) {
  world.apply(R"(
id: loop
states:
- id: make
  type: generateEvent
  delay: PT1H
  event: {type: made, source: /s, data: jq(.value)}
  transition: make
)");
  const std::string id = start("loop");
  EXPECT_EQ(world.status(id), "failed");
  EXPECT_EQ(world.instance(id)["error"]["code"], kBytesQuota);
  EXPECT_GT(world.rows_of("delayed"), 0U);
  EXPECT_THAT(counted(), Lt((kQuotaKiB << 10) + kOfOneStep));
}

TEST_F(BytesWorld, MakesAnEventThatWouldWaitInAGroupADeadLetter) {
  world.apply(kPairOfBytes);
  publish("left");
  fill(kFullKiB);
  publish("left");
  publish("right");
  EXPECT_THAT(world.dead_letters(), ElementsAre(kBytesQuota, kBytesQuota));
  EXPECT_THAT(world.instances(), IsEmpty());
  make_room();
  publish("right");
  EXPECT_THAT(world.instances(), SizeIs(1)) << "the first event has stayed in the group";
}

TEST_F(BytesWorld, MakesNoDetachedCallButGoesOnWithTheCallsOfActiveInstances) {
  world.apply(kCallsDetached);
  world.apply(kCallsOnce);
  const std::string detached = start("detached");
  const std::string calls = start("calls");
  fill(kFullKiB);
  publish("go");
  EXPECT_EQ(world.status(detached), "complete");
  EXPECT_EQ(world.status(calls), "waiting");
  EXPECT_EQ(world.rows_of("tasks"), 1U) << "that of the call which its instance waits for";
  EXPECT_EQ(refusals(), 1);
}

TEST_F(BytesWorld, FailsTheCallsOfActiveInstancesBeyondAnEighthMore) {
  world.apply(kCallsAgain);
  const std::string calls = start("again");
  world.functions.report({world.functions.tasks().at(0).id,
                          TaskEnded{.result = tl::unexpected(Error{"charge.busy", "no"})}});
  world.run_until_idle();
  fill(kBeyondEighthKiB);
  world.run_for(std::chrono::seconds(11));
  EXPECT_EQ(caught(calls), kBytesQuota);
  EXPECT_EQ(world.rows_of("tasks"), 0U);
}

TEST_F(BytesWorld, KeepsNoEventBeyondAnEighthMore) {
  world.apply(kThinksThenKeeps);
  world.evaluator.hold();
  const std::string id = world.start("thinks")["id"];
  fill(kFullKiB);
  publish("kept");
  EXPECT_EQ(world.rows_of("recent"), 1U) << "an active instance may need it";
  world.evaluator.release();
  world.run_until_idle();
  EXPECT_EQ(world.status(id), "complete");
  make_room();
  world.evaluator.hold();
  const std::string other = world.start("thinks")["id"];
  fill(kBeyondEighthKiB);
  publish("kept");
  EXPECT_THAT(world.dead_letters(), ElementsAre(kBytesQuota));
  make_room();
  world.evaluator.release();
  world.run_until_idle();
  EXPECT_EQ(world.status(other), "waiting");
  publish("kept");
  EXPECT_EQ(world.status(other), "complete");
}

TEST_F(BytesWorld, FailsACallWhoseAnswerHasVariablesThatItMayNotStore) {
  world.apply(kCallsOnce);
  const std::string calls = start("calls");
  publish("go");
  fill(kFullKiB);
  TaskEnded ended{.result = "{}"};
  ended.variables.push_back({VariableScope::kWorkflow, "receipt", {"application/json", "17"}});
  world.functions.report({world.functions.tasks().at(0).id, ended});
  world.run_until_idle();
  EXPECT_EQ(caught(calls), kBytesQuota);
  EXPECT_EQ(world.rows_of("variables"), 1U) << "the one that has filled the namespace";
}

TEST_F(BytesWorld, StoresMoreAgainWhenItsLimitIsRaised) {
  fill(kFullKiB);
  EXPECT_EQ(world.refusal(variable("new", 1)).code, kBytesQuota);
  set_settings({{"quotas", {{"storeBytes", "1MiB"}}}});
  world.must(variable("new", 1));
}

TEST_F(BytesWorld, ShowsAllItsBytesAsUsed) {
  world.apply(kOnlyEnds);
  world.start("ends");
  world.must(variable("k", kValueBytes));
  const Snapshot view = *Snapshot::take(world.environment());
  const Usage usage = read_usage(view, NamespaceNumber(1)).value();
  EXPECT_THAT(usage.counted_bytes, Ge(kValueBytes));
  EXPECT_EQ(usage.all_bytes(), usage.row_bytes + usage.history_bytes + usage.counted_bytes);
  const Json shown = world.queries().one_namespace(view, "default").value();
  EXPECT_EQ(shown["quotas"]["storeBytes"]["used"], usage.all_bytes());
}

}  // namespace
}  // namespace millrace
