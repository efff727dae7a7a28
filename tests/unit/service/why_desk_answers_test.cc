// LocalWhyDesk: which listeners and events an answer shows, what it hides, and why an instance
// waits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "matchers/correlation.h"
#include "orchestrator/store/rows/catalog_rows.h"
#include "orchestrator/store/rows/group_rows.h"
#include "orchestrator/store/rows/secret_rows.h"
#include "tests/unit/service/why_desk_fixture.h"

namespace millrace {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST_F(LocalWhyDeskTest, FindTheOldestNearMissByItsValueOrItsInstance) {
  const WorkflowNumber order = apply(kOrder);
  for (uint8_t i = 1; i <= 9; ++i) add(waiting(order, i, "o-" + std::to_string(i)));
  send(R"(,"orderid":"x")");
  apply_event(1);
  const JudgingBounds few{.listeners = 3};
  const auto judged = [&](const WhyFilter& filter) {
    return shown(desk(few).of_event("default", 1, filter));
  };
  const Json newest = judged({});
  EXPECT_THAT(verdicts(newest),
              ElementsAre("instance 9 predicate", "instance 8 predicate", "instance 7 predicate"));
  EXPECT_EQ(newest["complete"], false);
  EXPECT_EQ(newest["looked"], 3);
  EXPECT_EQ(newest["of"], 9);
  EXPECT_THAT(verdicts(judged({.instance = numbered_id(1)})).front(), "instance 1 predicate");
  EXPECT_THAT(verdicts(judged({.attribute = "orderid", .value = "o-1"})).front(),
              "instance 1 predicate");

  send(R"(,"orderid":"O-1")");
  apply_event(2);
  EXPECT_EQ(verdicts(shown(desk(few).of_event("default", 2, {}))).front(), "instance 1 predicate")
      << "the variants of the values of the event are asked for, too";
  index_is_busy = true;
  EXPECT_FALSE(judged({}).contains("of"));
}

TEST_F(LocalWhyDeskTest, FindAListenerWhoseValueDiffersInATypo) {
  const WorkflowNumber order = apply(kOrder);
  add(waiting(order, 1, "A-1031"));
  for (uint8_t i = 2; i <= 9; ++i) add(waiting(order, i, "A-130" + std::to_string(i)));
  send(R"(,"orderid":"A-1301")");
  apply_event(1);
  const Json why = shown(desk({.listeners = 3}).of_event("default", 1, {}));
  EXPECT_EQ(verdicts(why).front(), "instance 1 predicate");
  EXPECT_EQ(why["near"][0]["predicates"][0]["hint"], "typo");
  EXPECT_FALSE(why["near"][1]["predicates"][0].contains("hint")) << "a replaced character";
}

TEST_F(LocalWhyDeskTest, ShowAnEventWhoseValueDiffersInATypoBeforeUnrelatedEvents) {
  const WorkflowNumber order = apply(kOrder);
  add(waiting(order, 1, "A-1031"));
  for (const char* const one : {"x", "A-1301", "A-1032", "y"}) {
    send(R"(,"orderid":")" + std::string(one) + '"');
  }
  apply_event(4);
  const Json listed = of_instance(1)["events"];
  ASSERT_EQ(listed.size(), 4U);
  EXPECT_EQ(listed[0]["sequence"], 2);
  EXPECT_EQ(listed[0]["predicates"][0]["hint"], "typo");
  EXPECT_EQ(listed[1]["sequence"], 4) << "the others, the newest first";
}

TEST_F(LocalWhyDeskTest, CountTheListenersThatAreNotShown) {
  const WorkflowNumber order = apply(kOrder);
  for (uint8_t i = 1; i <= 5; ++i) add(waiting(order, i, "o-" + std::to_string(i)));
  send(R"(,"orderid":"x")");
  apply_event(1);
  const Json why = of_event(1, {.limit = 2});
  EXPECT_EQ(why["near"].size(), 2U);
  EXPECT_EQ(why["others"], Json::parse(R"([{"what": "`orderid` has another value", "count": 3}])"));
}

TEST_F(LocalWhyDeskTest, ShowOnlyTheInstanceThatTheCallerExpectedAndCountTheOthers) {
  const WorkflowNumber order = apply(kOrder);
  for (uint8_t i = 1; i <= 5; ++i) add(waiting(order, i, "o-" + std::to_string(i)));
  const std::string near_first = R"(,"orderid":"O-1")";
  send(near_first);
  apply_event(1);
  const Json all = of_event(1);
  ASSERT_EQ(all["near"].size(), 5U);
  EXPECT_FALSE(all.contains("instance"));
  const WhyFilter third{.instance = numbered_id(3)};
  for (const Json& why : {of_event(1, third), of_test(near_first, third)}) {
    EXPECT_EQ(why["instance"], to_string(numbered_id(3)));
    EXPECT_THAT(verdicts(why), ElementsAre("instance 3 predicate"));
    EXPECT_EQ(why["others"],
              Json::parse(R"([{"what": "`orderid` has another value", "count": 4}])"));
    EXPECT_EQ(why["looked"], all["looked"]) << "the others were judged, too";
    EXPECT_EQ(why["complete"], true);
  }
  const Json first = of_event(1, {.instance = numbered_id(1)});
  EXPECT_EQ(first["near"][0]["predicates"][0]["hint"], "case");
}

TEST_F(LocalWhyDeskTest, CountTheStartThatStartedTheInstanceThatTheCallerExpected) {
  const WorkflowNumber shop = apply(kStart);
  store(waiting_instance(shop, 1));
  send();
  apply_event(1, {{.kind = EventEffect::Kind::kStarted, .instance = numbered_id(1)}});
  const Json why = of_event(1, {.instance = numbered_id(1)});
  EXPECT_THAT(verdicts(why), ElementsAre("instance 1 started"));
  EXPECT_EQ(why["others"], Json::parse(R"([{"what": "verdict started", "count": 1}])"));
  EXPECT_EQ(why["effectCount"], 1) << "the effects are those of all listeners";
}

TEST_F(LocalWhyDeskTest, HideWhatASealedInstanceAsksFor) {
  const WorkflowNumber order = apply(kOrder);
  send(R"(,"orderid":"O-1")");
  apply_event(1);
  Instance sealed = waiting(order, 1, "o-1");
  sealed.sealed = true;
  add(sealed);
  const Json predicate = of_event(1)["near"][0]["predicates"][0];
  EXPECT_EQ(predicate["asks"], "(sealed)");
  EXPECT_EQ(predicate["got"], "O-1");
  EXPECT_EQ(predicate["holds"], false) << "whether it holds is not hidden";
  EXPECT_FALSE(predicate.contains("hint"));
  EXPECT_FALSE(predicate.contains("fits"));
}

TEST_F(LocalWhyDeskTest, MaskTheValuesOfSecretsInWhatAnInstanceAsksFor) {
  const WorkflowNumber order = apply(kOrder);
  write_secret(*tx, ns, "key", "4711-0815");
  send(R"(,"orderid":"KEY-4711-0815")");
  apply_event(1);
  Instance masked = waiting(order, 1, "key-4711-0815");
  masked.sealed = Sealing::kMasked;
  add(masked);
  const Json predicate = of_event(1)["near"][0]["predicates"][0];
  EXPECT_EQ(predicate["asks"], "key-***");
  EXPECT_EQ(predicate["got"], "KEY-***") << "a value that fits would show the secret";
  EXPECT_EQ(predicate["holds"], false);
  EXPECT_FALSE(predicate.contains("hint")) << "a hint would show something of the value";
  EXPECT_FALSE(predicate.contains("fits"));
  const Json tried = of_test(R"(,"orderid":"KEY-4711-0815")")["near"][0]["predicates"][0];
  EXPECT_EQ(tried["asks"], "key-***");
  EXPECT_EQ(tried["got"], "KEY-4711-0815") << "a mask would say that the guess is right";
}

TEST_F(LocalWhyDeskTest, JudgeSomeOfManyInstancesThatAskForTheValue) {
  const WorkflowNumber order = apply(kOrder);
  for (uint8_t i = 1; i <= 5; ++i) add(waiting(order, i, "o-1"));
  send(R"(,"orderid":"O-1")");
  apply_event(1);
  const Json why = shown(desk({.listeners = 2}).of_event("default", 1, {}));
  EXPECT_EQ(why["looked"], 2);
  EXPECT_EQ(why["of"], 5);
  EXPECT_EQ(why["complete"], false);
}

TEST_F(LocalWhyDeskTest, NameSimilarTypesAndOtherNamespacesIfNothingListens) {
  apply(kOrder);
  const NamespaceNumber other = create_namespace("other");
  Instance elsewhere = waiting_instance(WorkflowNumber(1), 9);
  elsewhere.ns = other;
  elsewhere.listeners = {{.entry = 0, .filter = {.type = "Paid"}}};
  ASSERT_TRUE(index.update("other", elsewhere));
  send("", "Paid");
  apply_event(1);
  const Json why = of_event(1);
  EXPECT_THAT(verdicts(why), IsEmpty());
  EXPECT_EQ(why["similarTypes"], Json::array({"paid"}));
  EXPECT_EQ(why["elsewhere"], Json::array({"other"}));
  EXPECT_FALSE(of_event(1, {.shows_others = false}).contains("elsewhere"));
}

TEST_F(LocalWhyDeskTest, SayThatAnEventIsOfAnotherNamespace) {
  create_namespace("other");
  send("", "paid", "other");
  const auto answer = desk().of_event("default", 1, {});
  EXPECT_EQ(code_of(answer), "event.not_found");
  EXPECT_THAT(answer.error().message, HasSubstr("it is one of namespace \"other\""));
  const auto hidden = desk().of_event("default", 1, {.shows_others = false});
  EXPECT_EQ(hidden.error().message.find("other"), std::string::npos) << hidden.error().message;
}

TEST_F(LocalWhyDeskTest, SayThatTheNamespaceOfAnEventDoesNotExist) {
  send("", "paid", "typo");
  const std::string became =
      ", so the event became a dead letter: `millrace -n typo dlq list` lists it";
  const auto there = desk().of_event("typo", 1, {});
  EXPECT_EQ(code_of(there), "namespace.not_found");
  EXPECT_THAT(there.error().message, HasSubstr(became));
  EXPECT_THAT(desk().of_event("default", 1, {}).error().message,
              HasSubstr("it is one of namespace \"typo\", which does not exist" + became));
  EXPECT_EQ(desk().of_event("other", 1, {}).error().message.find("dead letter"), std::string::npos)
      << "the event is of another namespace";
}

TEST_F(LocalWhyDeskTest, SayWhyAnInstanceWasNotWoken) {
  const WorkflowNumber order = apply(kOrder);
  send(R"(,"orderid":"o-1")");
  send(R"(,"orderid":"O-1")");
  send(R"(,"orderid":"x")");
  send("", "sent");
  send(R"(,"orderid":"o-1")", "Paid");
  apply_event(5);
  add(waiting(order, 1, "o-1", 1));
  const Json why = of_instance(1);
  std::string found;
  for (const Json& event : why["events"]) {
    found += event["sequence"].dump() + " " + event["verdict"].get<std::string>() + "; ";
  }
  EXPECT_EQ(found, "1 before; 5 predicate; 2 predicate; 3 predicate; ");
  EXPECT_EQ(why["events"][1]["predicates"][0]["attribute"], "type");
  EXPECT_EQ(why["events"][1]["predicates"][0]["hint"], "case");
  EXPECT_EQ(why["instance"]["waits"][0]["context"]["orderid"]["equals"], "o-1");
  EXPECT_EQ(why["looked"], 5);
  EXPECT_EQ(why["complete"], true);
  EXPECT_EQ(why["of"], 4);
  const Json one = of_instance(1, 3);
  EXPECT_FALSE(one.contains("of"));
  ASSERT_EQ(one["events"].size(), 1U);
  EXPECT_EQ(one["events"][0]["sequence"], 3);
  const Json other = of_instance(1, 4);
  EXPECT_EQ(other["events"][0]["says"], "no state of the workflow waits for events of this type");
}

TEST_F(LocalWhyDeskTest, NameANamespaceToWhichTheEventWasSentInstead) {
  const WorkflowNumber order = apply(kOrder);
  create_namespace("other");
  send(R"(,"orderid":"o-1")", "paid", "other");
  apply_event(1);
  add(waiting(order, 1, "o-1"));
  const Json why = of_instance(1);
  EXPECT_EQ(why["events"], Json::array());
  EXPECT_EQ(why["elsewhere"], Json::array({"other"}));
  EXPECT_EQ(why["elsewhereEvents"], Json::parse(R"([{"namespace": "other", "sequence": 1,
    "id": "e", "type": "paid", "source": "bank.eu", "time": "2023-11-14T22:13:21.000Z"}])"));
}

TEST_F(LocalWhyDeskTest, FindTheFittingEventOfAnotherNamespaceBehindThoseOfOtherOrders) {
  const WorkflowNumber order = apply(kOrder);
  create_namespace("other");
  send(R"(,"orderid":"o-1")", "paid", "other");
  send(R"(,"orderid":"o-2")", "paid", "other");
  apply_event(2);
  add(waiting(order, 1, "o-1"));
  add(waiting(order, 2, "o-3"));
  const Json found = of_instance(1);
  ASSERT_EQ(found["elsewhereEvents"].size(), 1U);
  EXPECT_EQ(found["elsewhereEvents"][0]["sequence"], 1);
  const Json none = of_instance(2);
  EXPECT_EQ(none["elsewhere"], Json::array({"other"})) << "it has events of the type";
  EXPECT_FALSE(none.contains("elsewhereEvents"));
}

TEST_F(LocalWhyDeskTest, NameANamespaceWhoseEventFitsIfNoneOfThisOneDoes) {
  const WorkflowNumber order = apply(kOrder);
  create_namespace("other");
  send(R"(,"orderid":"o-2")");
  send(R"(,"orderid":"o-3")", "paid", "other");
  apply_event(2);
  add(waiting(order, 1, "o-1"));
  EXPECT_EQ(of_instance(1)["events"].size(), 1U);
  EXPECT_FALSE(of_instance(1).contains("elsewhere"))
      << "events of the other one do not fit, either";
  send(R"(,"orderid":"o-1")", "paid", "other");
  apply_event(3);
  EXPECT_EQ(of_instance(1)["elsewhere"], Json::array({"other"}));
  EXPECT_EQ(of_instance(1)["elsewhereEvents"].at(0)["namespace"], "other");
  EXPECT_EQ(of_instance(1)["elsewhereEvents"].at(0)["sequence"], 3);
  EXPECT_FALSE(of_instance(1, 1).contains("elsewhere")) << "the caller asks about one event";
  send(R"(,"orderid":"o-1")");
  EXPECT_FALSE(of_instance(1).contains("elsewhere")) << "an event fits";
}

TEST_F(LocalWhyDeskTest, NameThePartnerOfAnEventThatLeftTheGroupBefore) {
  const WorkflowNumber pair = apply(R"(
id: pair
start: {type: eventsAnd, lifespan: PT1H, correlate: [orderid], events: [{type: paid}, {type: packed}]}
states:
- {id: end, type: noop}
)");
  const EventEffect expired{.kind = EventEffect::Kind::kExpired, .workflow = pair};
  const EventEffect grouped{.kind = EventEffect::Kind::kGrouped, .workflow = pair};
  send(R"(,"orderid":"o-1")", "packed");
  apply_event(1, {expired});
  const std::string left = format_rfc3339(clock.time + std::chrono::hours(1));
  send(R"(,"orderid":"o-2")", "packed");  // of another group
  apply_event(2, {expired});
  send(R"(,"orderid":"o-1")");
  apply_event(3, {grouped});
  const auto record = read_workflow(*tx, ns, "pair").value().value();
  Event event{.id = "e", .source = "bank.eu", .type = "paid"};
  event.extensions["orderid"] = std::string("o-1");
  const std::string key = correlation_key(Attributes(event), {"orderid"}).value();
  write_counts(*tx, pair,
               record.groups_from == 0 ? fingerprint({key})
                                       : fingerprint({key, std::to_string(record.groups_from)}),
               {1, 0});
  commit();
  const Json partner = {{"sequence", 1}, {"type", "packed"}, {"time", left}};
  const std::string says =
      "its partner #1, of the type `packed`, has left the group: its lifespan "
      "ended about " +
      left;
  const Json waits = of_event(3)["near"][0];
  EXPECT_EQ(waits["verdict"], "grouped");
  EXPECT_EQ(waits["leftPartner"], partner);
  EXPECT_THAT(waits["says"].get<std::string>(), HasSubstr("with `orderid` \"o-1\"; " + says));

  apply_event(3, {expired});
  const Json gone = of_event(3)["near"][0];
  EXPECT_EQ(gone["verdict"], "lifespan");
  EXPECT_EQ(gone["leftPartner"], partner);
  EXPECT_THAT(gone["says"].get<std::string>(), HasSubstr("; " + says));
  EXPECT_EQ(of_event(1)["near"][0]["leftPartner"]["sequence"], 3) << "also one that came later";

  send(R"(,"orderid":"o-3")");
  apply_event(4, {expired});
  EXPECT_FALSE(of_event(4)["near"][0].contains("leftPartner"));
}

TEST_F(LocalWhyDeskTest, ShowAMessageThatIsNotAnEvent) {
  clock.time += seconds(1);
  broker.inject({event_subject("default", "paid"), {}, "{"});
  apply_event(1, {{.kind = EventEffect::Kind::kRefused}});
  const Json why = of_event(1);
  EXPECT_EQ(why["error"]["code"], "event.malformed_json");
  EXPECT_THAT(verdicts(why), IsEmpty());
}

TEST_F(LocalWhyDeskTest, FailForWhatDoesNotExist) {
  send();
  EXPECT_EQ(code_of(desk().of_event("none", 1, {})), "namespace.not_found");
  EXPECT_EQ(code_of(desk().of_event("default", 2, {})), "event.not_found");
  EXPECT_EQ(code_of(desk().of_event("default", 1, {.instance = numbered_id(1)})),
            "instance.not_found");
  EXPECT_EQ(code_of(desk().of_instance("default", numbered_id(1), std::nullopt, {})),
            "instance.not_found");
  EXPECT_EQ(code_of(desk().of_instance("none", numbered_id(1), std::nullopt, {})),
            "namespace.not_found");
}

}  // namespace
}  // namespace millrace
