// LocalWhyDesk: why an event had an effect or none, on a broker in memory and rows that the test
// writes in the form that a batch writes.
#include "orchestrator/service/local_why_desk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "broker/memory_stored_events.h"
#include "cloudevents/subject.h"
#include "matchers/correlation.h"
#include "model/event_target.h"
#include "orchestrator/store/rows/group_rows.h"
#include "orchestrator/store/rows/history_rows.h"
#include "orchestrator/store/rows/meta_rows.h"
#include "orchestrator/store/rows/secret_rows.h"
#include "orchestrator/store/rows/stream_rows.h"
#include "tests/unit/service/query_fixture.h"

namespace millrace {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class WhyClock final : public Clock {
 public:
  TimePoint now() const override { return time; }
  Duration elapsed() const override { return Duration(0); }
  TimePoint time = from_millis(1'700'000'000'000);
};

class LocalWhyDeskTest : public QueryTest {
 protected:
  static constexpr const char* kOrder = R"(
id: order
states:
- {id: pay, type: consumeEvent, event: {type: paid}, transition: ship}
- {id: ship, type: noop}
)";
  static constexpr const char* kBoth = R"(
id: both
states:
- {id: collect, type: eventAnd, events: [{type: paid}, {type: packed}]}
)";
  static constexpr const char* kStart = R"(
id: shop
start: {type: event, event: {type: paid, context: {source: '^bank'}}}
states:
- {id: end, type: noop}
)";
  static constexpr const char* kPair = R"(
id: pair
start: {type: eventsAnd, correlate: [orderid], events: [{type: paid}, {type: packed}]}
states:
- {id: end, type: noop}
)";

  /// An instance that waits in the first state of the workflow, since the event `from`, for an
  /// event of the type `paid` with that order.
  Instance waiting(WorkflowNumber workflow, uint8_t number, const std::string& order,
                   uint64_t from = 0) {
    Instance instance = waiting_instance(workflow, number);
    instance.listen_from.event = {stream(), from};
    instance.listeners = {
        {.entry = 0,
         .filter = {.type = "paid", .predicates = {{"orderid", Predicate::Kind::kEquals, order}}}}};
    return instance;
  }
  /// Stores the instance and adds its listeners to the index, as the engine does.
  void add(const Instance& instance) {
    store(instance);
    ASSERT_TRUE(index.update("default", instance));
  }
  uint32_t stream() { return number_stream(*tx, broker.created()).value(); }

  /// Stores an event a second after the one before; `more` are further members of its JSON.
  void send(const std::string& more = "", const std::string& type = "paid",
            const std::string& space = "default") {
    clock.time += seconds(1);
    broker.inject({event_subject(space, type), {}, event_text(more, type)});
  }
  static std::string event_text(const std::string& more, const std::string& type = "paid") {
    return R"({"specversion":"1.0","id":"e","source":"bank.eu","type":")" + type + "\"" + more +
           "}";
  }
  /// The stream is applied up to the event, which had these effects.
  void apply_event(uint64_t sequence, const std::vector<EventEffect>& effects = {}) {
    EffectRow row{.at = {stream(), sequence}, .number = sequence};
    for (const EventEffect& effect : effects) row.effects.push_back({row.at, effect});
    if (!effects.empty()) write_effects(*tx, row);
    write_cursor(*tx,
                 {.stream_created = broker.created(), .sequence = sequence, .stamped = clock.time});
    commit();
  }

  LocalWhyDesk desk(const JudgingBounds& bounds = {}) {
    return LocalWhyDesk({.environment = *environment,
                         .clock = clock,
                         .definitions = definitions,
                         .events = events,
                         .ask_index = [this](const auto& question) -> Status {
                           if (index_is_busy) return fail("busy", "no answer");
                           question(index);
                           return {};
                         },
                         .reads_events = [this] { return reads; },
                         .bounds = bounds});
  }
  Json of_event(uint64_t sequence, const WhyFilter& filter = {}) {
    return shown(desk().of_event("default", sequence, filter));
  }
  Json of_test(const std::string& more, const WhyFilter& filter = {}) {
    auto event = decode_nats({.data = event_text(more)});
    EXPECT_TRUE(event) << event.error().message;
    return shown(desk().of_test_event("default", *std::move(event), filter));
  }
  Json of_instance(uint8_t number, std::optional<uint64_t> sequence = std::nullopt) {
    return shown(desk().of_instance("default", numbered_id(number), sequence, {}));
  }
  static Json shown(Result<Json> answer) {
    EXPECT_TRUE(answer) << answer.error().code << ": " << answer.error().message;
    return std::move(answer).value_or(Json::object());
  }
  /// Each listener as `instance 7 predicate`, or `start shop woke`.
  static std::vector<std::string> verdicts(const Json& answer) {
    std::vector<std::string> all;
    for (const Json& one : answer["near"]) {
      const std::string id = one.value("instance", "");
      const bool is_start = one["kind"] == "start";
      all.push_back(one["kind"].get<std::string>() + " " +
                    (is_start ? one["workflow"].get<std::string>()
                              : std::to_string(parse_instance_id(id).value().bytes.back())) +
                    " " + one["verdict"].get<std::string>());
    }
    return all;
  }
  static std::string code_of(const Result<Json>& answer) {
    return answer ? "found" : answer.error().code;
  }

  WhyClock clock;
  MemoryBroker broker{clock};
  MemoryStoredEvents events{broker};
  WaitIndex index{batches};
  bool index_is_busy = false;
  Status reads;
};

TEST_F(LocalWhyDeskTest, ShowAPredicateThatDiffersInCaseWithBothValues) {
  const WorkflowNumber order = apply(kOrder);
  send(R"(,"orderid":"O-1")");
  apply_event(1);
  add(waiting(order, 1, "o-1"));
  add(waiting(order, 2, "o-2"));
  const Json why = of_event(1);
  EXPECT_THAT(verdicts(why), ElementsAre("instance 1 predicate", "instance 2 predicate"));
  EXPECT_EQ(why["near"][0]["predicates"], Json::parse(R"([
    {"attribute": "orderid", "kind": "equals", "asks": "o-1", "got": "O-1", "holds": false,
     "hint": "case", "says": "the two differ in upper and lower case only"}])"));
  EXPECT_EQ(why["near"][0]["workflow"], "order");
  EXPECT_EQ(why["near"][0]["state"], "pay");
  EXPECT_EQ(why["near"][0]["says"], "its predicate does not hold for the event");
  EXPECT_EQ(why["event"]["type"], "paid");
  EXPECT_EQ(why["effects"], Json::array());
  EXPECT_EQ(why["looked"], 2);
  EXPECT_EQ(why["of"], 2);
  EXPECT_EQ(why["complete"], true);
  EXPECT_EQ(why["asOf"]["cursor"], 1);
}

TEST_F(LocalWhyDeskTest, HintAtAMemberOfTheDataForAMissingAttribute) {
  const WorkflowNumber order = apply(kOrder);
  send(R"(,"data":{"orderId":"o-1"})");
  apply_event(1);
  add(waiting(order, 1, "o-1"));
  const Json predicate = of_event(1)["near"][0]["predicates"][0];
  EXPECT_EQ(predicate["hint"], "data");
  EXPECT_EQ(predicate["got"], nullptr);
  EXPECT_THAT(predicate["says"].get<std::string>(), HasSubstr("a member `orderId`"));
}

TEST_F(LocalWhyDeskTest, SayThatTheEventCameBeforeTheWait) {
  const WorkflowNumber order = apply(kOrder);
  send(R"(,"orderid":"o-1")");
  send();
  apply_event(2);
  add(waiting(order, 1, "o-1", 2));
  const Json why = of_event(1);
  EXPECT_THAT(verdicts(why), ElementsAre("instance 1 before"));
  EXPECT_THAT(why["near"][0]["says"].get<std::string>(), HasSubstr("after #2, and this one is #1"));
}

TEST_F(LocalWhyDeskTest, SayThatTheDefinitionIsNewerThanTheEvent) {
  send();
  apply_event(1);
  now = clock.time + seconds(5);
  apply(kStart);
  EXPECT_THAT(verdicts(of_event(1)), ElementsAre("start shop before"));
}

TEST_F(LocalWhyDeskTest, SayThatTheEventIsNotAppliedYetAndWhy) {
  const WorkflowNumber order = apply(kOrder);
  send();
  send();
  send(R"(,"orderid":"o-1")");
  apply_event(1);
  add(waiting(order, 1, "o-1", 1));
  reads = fail("broker.unreachable", "no connection to NATS");
  const Json why = of_event(3);
  EXPECT_THAT(verdicts(why), ElementsAre("instance 1 unread"));
  EXPECT_EQ(why["applied"], false);
  EXPECT_THAT(why["near"][0]["says"].get<std::string>(),
              HasSubstr("at most 1 event is before it; reading is held up: no connection to NATS"));
}

TEST_F(LocalWhyDeskTest, ShowWhatAnEventHasDone) {
  const WorkflowNumber order = apply(kOrder);
  const WorkflowNumber shop = apply(kStart);
  send(R"(,"orderid":"o-1")");
  store(ended(waiting_instance(order, 1), InstanceStatus::kComplete));
  store(waiting_instance(shop, 2));
  apply_event(1, {{.kind = EventEffect::Kind::kStarted, .instance = numbered_id(2)},
                  {.kind = EventEffect::Kind::kWoken, .instance = numbered_id(1)}});
  const Json why = of_event(1);
  EXPECT_THAT(verdicts(why), ElementsAre("start shop started", "instance 1 woke"));
  EXPECT_EQ(why["near"][0]["instance"], to_string(numbered_id(2)));
  EXPECT_EQ(why["near"][1]["says"], "the event woke the instance");
  EXPECT_EQ(why["effectCount"], 2);
}

TEST_F(LocalWhyDeskTest, ShowADuplicate) {
  const WorkflowNumber order = apply(kOrder);
  send(R"(,"orderid":"o-1")");
  apply_event(1, {{.kind = EventEffect::Kind::kDuplicate}});
  add(waiting(order, 1, "o-1"));
  EXPECT_THAT(verdicts(of_event(1)), ElementsAre("instance 1 duplicate"));
}

TEST_F(LocalWhyDeskTest, ShowAnEventThatBecameADeadLetter) {
  apply(kStart);
  send();
  apply_event(1, {{.kind = EventEffect::Kind::kRefused}});
  EXPECT_THAT(verdicts(of_event(1)), ElementsAre("start shop dead"));
}

TEST_F(LocalWhyDeskTest, ShowThatAReplayedEventIsForAnotherTarget) {
  const WorkflowNumber order = apply(kOrder);
  apply(kStart);
  add(waiting(order, 1, "o-1"));
  add(waiting(order, 2, "o-1"));
  const Json why =
      of_test(R"(,"orderid":"o-1","millraceonly":")" + instance_target(numbered_id(2)) + "\"");
  EXPECT_THAT(verdicts(why),
              ElementsAre("instance 2 woke", "start shop predicate", "instance 1 predicate"));
  EXPECT_EQ(why["near"][2]["predicates"][1]["attribute"], "millraceonly");
}

TEST_F(LocalWhyDeskTest, ShowHowAStartMissed) {
  struct Row {
    EventEffect::Kind kind;
    std::string verdict;
  };
  const WorkflowNumber pair = apply(kPair);
  uint64_t sequence = 0;
  for (const auto& [kind, verdict] :
       {Row{EventEffect::Kind::kSkipped, "skipped"}, Row{EventEffect::Kind::kExpired, "lifespan"},
        Row{EventEffect::Kind::kClosed, "lifespan"}, Row{EventEffect::Kind::kGrouped, "grouped"}}) {
    send(R"(,"orderid":"o-1")");
    apply_event(++sequence, {{.kind = kind, .workflow = pair}});
    EXPECT_THAT(verdicts(of_event(sequence)), ElementsAre("start pair " + verdict));
  }
  send();
  apply_event(++sequence, {{.kind = EventEffect::Kind::kUncorrelated, .workflow = pair}});
  const Json why = of_event(sequence);
  EXPECT_THAT(verdicts(why), ElementsAre("start pair correlation"));
  EXPECT_THAT(why["near"][0]["says"].get<std::string>(), HasSubstr("`orderid`"));
}

TEST_F(LocalWhyDeskTest, SayWhatAGroupStillWaitsFor) {
  const WorkflowNumber pair = apply(kPair);
  send(R"(,"orderid":"o-1")");
  apply_event(1, {{.kind = EventEffect::Kind::kGrouped, .workflow = pair}});
  const auto record = read_workflow(*tx, ns, "pair").value().value();
  Event event{.id = "e", .source = "bank.eu", .type = "paid"};
  event.extensions["orderid"] = std::string("o-1");
  const std::string key = correlation_key(Attributes(event), {"orderid"}).value();
  const Fingerprint group = record.groups_from == 0
                                ? fingerprint({key})
                                : fingerprint({key, std::to_string(record.groups_from)});
  write_counts(*tx, pair, group, {1, 0});
  commit();
  const Json why = of_event(1);
  EXPECT_EQ(why["near"][0]["waitsFor"], Json::array({"packed"}));
  EXPECT_EQ(why["near"][0]["says"], "the event waits in a group for `packed`");
  EXPECT_THAT(verdicts(of_test(R"(,"orderid":"o-1")")), ElementsAre("start pair grouped"));
  write_counts(*tx, pair, group, {0, 1});
  commit();
  EXPECT_THAT(verdicts(of_test(R"(,"orderid":"o-1")")), ElementsAre("start pair started"));
  EXPECT_THAT(verdicts(of_test("")), ElementsAre("start pair correlation"));
}

TEST_F(LocalWhyDeskTest, SayWhatAnEventWouldDoAndSendNothing) {
  const WorkflowNumber order = apply(kOrder);
  apply(kStart);
  add(waiting(order, 1, "o-1"));
  Instance paused = waiting(order, 2, "o-1");
  paused.paused = true;
  paused.status = InstanceStatus::kPaused;
  add(paused);
  const Json why = of_test(R"(,"orderid":"o-1")");
  EXPECT_THAT(verdicts(why),
              ElementsAre("start shop started", "instance 1 woke", "instance 2 paused"));
  EXPECT_EQ(why["near"][1]["says"], "the event would wake the instance");
  EXPECT_FALSE(why.contains("effects"));
  EXPECT_FALSE(why["event"].contains("sequence"));
  EXPECT_EQ(events.span().value().last, 0U);
}

TEST_F(LocalWhyDeskTest, SayThatASingularStartWouldBeSkipped) {
  const WorkflowNumber one = apply(
      "id: one\nsingular: true\nstart: {type: event, event: {type: paid}}\n"
      "states:\n- {id: end, type: noop}\n");
  EXPECT_THAT(verdicts(of_test("")), ElementsAre("start one started"));
  store(waiting_instance(one, 1));
  EXPECT_THAT(verdicts(of_test("")), ElementsAre("start one skipped"));
}

TEST_F(LocalWhyDeskTest, SayThatAnEventFillsOneEntryOfAnEventAndState) {
  const WorkflowNumber both = apply(kBoth);
  Instance instance = waiting(both, 1, "o-1");
  instance.listeners.push_back({.entry = 1, .filter = {.type = "packed"}});
  add(instance);
  const Json would = of_test(R"(,"orderid":"o-1")");
  EXPECT_THAT(verdicts(would), ElementsAre("instance 1 filled"));
  EXPECT_EQ(would["near"][0]["waitsFor"], Json::array({"packed"}));

  send(R"(,"orderid":"o-1")");
  instance.listeners.erase(instance.listeners.begin());
  instance.listen_from.event = {stream(), 1};
  write_history(*tx, 1,
                {.ns = ns,
                 .instance = instance.id,
                 .records = {{.time = now,
                              .kind = HistoryKind::kEntered,
                              .state = "collect",
                              .event = {stream(), 0}}}});
  instance.last_history = instance.history_count = 1;
  store(instance);
  apply_event(1, {{.kind = EventEffect::Kind::kWoken, .instance = instance.id}});
  const Json why = of_event(1);
  EXPECT_THAT(verdicts(why), ElementsAre("instance 1 filled"));
  EXPECT_EQ(why["near"][0]["waitsFor"], Json::array({"packed"}));

  const Json half = of_instance(1);
  EXPECT_EQ(half["instance"]["arrived"], Json::array({"paid"}));
  EXPECT_EQ(half["instance"]["waits"][0]["type"], "packed");
}

TEST_F(LocalWhyDeskTest, SayThatTheWaitHadEnded) {
  const WorkflowNumber order = apply(kOrder);
  send();
  send(R"(,"orderid":"o-1")");
  apply_event(2);
  Instance instance = waiting_instance(order, 1);
  instance.state = 1;
  instance.listen_from.event = {stream(), 1};
  HistoryRow row{.ns = ns, .instance = instance.id};
  row.records = {
      {.time = now, .kind = HistoryKind::kEntered, .state = "pay", .event = {stream(), 0}},
      {.time = now + seconds(3),
       .kind = HistoryKind::kRaised,
       .state = "pay",
       .detail = Json{{"code", "direktiv.stateTimeout"}, {"msg", "late"}}},
      {.time = now + seconds(3),
       .kind = HistoryKind::kEntered,
       .state = "ship",
       .event = {stream(), 1}}};
  write_history(*tx, 1, row);
  instance.last_history = 1;
  instance.history_count = 3;
  store(instance);
  const Json why = of_event(2, {.instance = numbered_id(1)});
  EXPECT_THAT(verdicts(why), ElementsAre("instance 1 after"));
  EXPECT_EQ(why["near"][0]["state"], "pay");
  EXPECT_THAT(why["near"][0]["says"].get<std::string>(), HasSubstr("it timed out"));
  EXPECT_THAT(verdicts(of_event(1, {.instance = numbered_id(1)})),
              ElementsAre("instance 1 predicate"))
      << "the event was applied during the wait";
  const Json of_it = of_instance(1);
  ASSERT_EQ(of_it["events"].size(), 2U);
  EXPECT_EQ(of_it["events"][0]["verdict"], "after");
  EXPECT_EQ(of_it["events"][1]["verdict"], "predicate");
}

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

TEST_F(LocalWhyDeskTest, CountTheListenersThatAreNotShown) {
  const WorkflowNumber order = apply(kOrder);
  for (uint8_t i = 1; i <= 5; ++i) add(waiting(order, i, "o-" + std::to_string(i)));
  send(R"(,"orderid":"x")");
  apply_event(1);
  const Json why = of_event(1, {.limit = 2});
  EXPECT_EQ(why["near"].size(), 2U);
  EXPECT_EQ(why["others"], Json::parse(R"([{"what": "`orderid` has another value", "count": 3}])"));
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
  EXPECT_EQ(predicate["holds"], false);
  EXPECT_FALSE(predicate.contains("hint")) << "a hint would show something of the value";
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
  const Json one = of_instance(1, 3);
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
