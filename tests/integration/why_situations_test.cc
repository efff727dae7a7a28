// The situations in which an event wakes nothing, or not what was expected, over HTTP on a running
// server: the verdict and the hint are the same from the event, from the instance and for an event
// that is tried before it is sent.
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "tests/support/millrace_server.h"

namespace millrace {
namespace {

using testing::HasSubstr;
using testing::Not;

/// The verdict and the hint of the first predicate that does not hold: `predicate case`.
std::string summary(const Json& judged) {
  std::string text = judged.at("verdict");
  for (const Json& one : judged.at("predicates")) {
    if (one.at("holds") == false) return text + " " + one.value("hint", "-");
  }
  return text;
}

/// What an answer has about the listener with that member; null: nothing.
Json near_with(const Json& answer, const char* member, const std::string& value) {
  for (const Json& one : answer.at("near")) {
    if (one.value(member, "") == value) return one;
  }
  return nullptr;
}

class WhySituations : public MillraceTest {
 protected:
  static constexpr const char* kDefinition = R"(id: {0}
states:
  - {{id: wait, type: consumeEvent, event: {{type: {0}, context: {{{1}}}}}, transition: end}}
  - {{id: end, type: noop}}
)";

  /// An instance of a new workflow `type`, which waits for events of that type with that context.
  std::string start_waiting(const std::string& type, std::string_view context,
                            const std::string& order = "o-1") {
    millrace_.apply(fmt::format(kDefinition, type, context));
    return start_until_it_waits(type, {{"order", order}});
  }
  std::string start_until_it_waits(const std::string& workflow, const Json& input) {
    std::string id = millrace_.start_instance(workflow, input);
    millrace_.instance_once(id, "waiting");
    return id;
  }

  /// An event of that type; `more`: further members.
  Json event(std::string_view type, const Json& more) {
    Json made = {{"specversion", "1.0"},
                 {"id", fmt::format("e-{}", ++events_)},
                 {"source", "bank.eu"},
                 {"type", type}};
    made.update(more);
    return made;
  }
  /// Sends the event, and returns its sequence when it is applied.
  uint64_t send(const Json& made) {
    const HttpReply reply = millrace_.ask("POST", "events", dump_json(made), headers_);
    EXPECT_EQ(reply.status, 202) << reply.body;
    return newest_when_applied();
  }
  /// Publishes bytes as a NATS client, and returns the sequence when they are applied.
  uint64_t publish(std::string_view type, const std::string& bytes) {
    client_->publish(fmt::format("millrace.events.default.{}", type), bytes);
    client_->flush();
    return newest_when_applied();
  }
  uint64_t newest_when_applied() {
    ++sequence_;
    EXPECT_TRUE(eventually([&] {
      return millrace_.get("events?limit=1")["newest"] == sequence_ &&
             answer_about(sequence_)["applied"] == true;
    }));
    return sequence_;
  }

  Json answer_about(uint64_t sequence, const std::string& query = "") const {
    return millrace_.get(fmt::format("events/{}/why?limit=100{}", sequence, query));
  }
  /// What is said about the instance, from the event and from the instance.
  Json why(uint64_t sequence, const std::string& instance, const std::string& expected) const {
    const Json near =
        near_with(answer_about(sequence, "&instance=" + instance), "instance", instance);
    const Json from_instance =
        millrace_.get(fmt::format("instances/{}/why?event={}", instance, sequence));
    EXPECT_TRUE(near.is_object()) << expected;
    EXPECT_EQ(near.is_object() ? summary(near) : "", expected) << near;
    EXPECT_EQ(summary(from_instance.at("events").at(0)), expected) << from_instance;
    return near;
  }
  /// What is said about the start of the workflow.
  Json why_start(uint64_t sequence, const std::string& workflow) const {
    const Json answer = answer_about(sequence);
    for (const Json& one : answer.at("near")) {
      if (one.at("kind") == "start" && one.at("workflow") == workflow) return one;
    }
    return {{"verdict", "none"}};
  }
  Json tried(const Json& made, const std::string& instance) const {
    const HttpReply reply = millrace_.ask("POST", "events/try?limit=100&instance=" + instance,
                                          dump_json(made), headers_);
    EXPECT_EQ(reply.status, 200) << reply.body;
    return near_with(reply.json(), "instance", instance);
  }

  const Headers headers_ = {{"Content-Type", "application/cloudevents+json"}};
  std::unique_ptr<RawNatsClient> client_ = nats_.client();
  uint64_t sequence_ = 0;  ///< of the newest event
  int events_ = 0;
};

TEST_F(WhySituations, HaveAHintForAPredicateThatDoesNotHold) {
  struct Row {
    std::string type;  ///< also what is wrong
    std::string context;
    std::string order;
    Json event;  ///< further members
    std::string expected;
  };
  const Row rows[] = {
      {"case", "orderid: jq(.order)", "o-1", {{"orderid", "O-1"}}, "predicate case"},
      {"space", "orderid: jq(.order)", "o-1", {{"orderid", " o-1"}}, "predicate space"},
      {"spacebehind", "orderid: jq(.order)", "o-1", {{"orderid", "o-1 "}}, "predicate space"},
      {"zeros", "orderid: jq(.order)", "7", {{"orderid", "007"}}, "predicate zeros"},
      {"zerosasked", "orderid: jq(.order)", "007", {{"orderid", "7"}}, "predicate zeros"},
      {"typo", "orderid: jq(.order)", "A-1031", {{"orderid", "A-1301"}}, "predicate typo"},
      {"data", "orderid: jq(.order)", "o-1", {{"data", {{"orderid", "o-1"}}}}, "predicate data"},
      {"datacase",
       "orderid: jq(.order)",
       "o-1",
       {{"data", {{"orderId", "o-1"}}}},
       "predicate data"},
      {"anchored", "orderid: '^o-1$'", "", {{"orderid", "x-o-1-y"}}, "predicate anchored"},
      {"attribute",
       "orderid: jq(.order)",
       "o-1",
       {{"orderid", "x"}, {"subject", "o-1"}},
       "predicate attribute"},
      {"absent", "orderid: jq(.order)", "o-1", Json::object(), "predicate -"},
      {"value", "orderid: jq(.order)", "o-1", {{"orderid", "o-9"}}, "predicate -"},
      {"source", "source: '^shop'", "", Json::object(), "predicate -"},
      {"limit",
       "orderid: '^(?=(a+)+$)'",
       "",
       {{"orderid", std::string(200, 'a') + "!"}},
       "limit -"},
      {"fits", "orderid: jq(.order)", "o-1", {{"orderid", "o-1"}}, "woke"},
  };
  for (const Row& row : rows) {
    const std::string id = start_waiting(row.type, row.context, row.order);
    const Json made = event(row.type, row.event);
    const Json near = tried(made, id);
    ASSERT_TRUE(near.is_object()) << row.type;
    EXPECT_EQ(summary(near), row.expected) << row.type;
    why(send(made), id, row.expected);
  }
}

TEST_F(WhySituations, SayThatTheTimeWasWrong) {
  const uint64_t early = send(event("early", {{"orderid", "o-1"}}));
  EXPECT_THAT(why(early, start_waiting("early", "orderid: jq(.order)"), "before")
                  .at("says")
                  .get<std::string>(),
              HasSubstr("before the wait began"));

  const std::string cancelled = start_waiting("cancelled", "orderid: jq(.order)");
  EXPECT_EQ(millrace_.ask("POST", "instances/" + cancelled + "/cancel").status, 200);
  EXPECT_THAT(why(send(event("cancelled", {{"orderid", "o-1"}})), cancelled, "after")
                  .at("says")
                  .get<std::string>(),
              HasSubstr("the instance was cancelled"));

  const std::string woken = start_waiting("woken", "orderid: jq(.order)");
  const Json waker = event("woken", {{"orderid", "o-1"}});
  send(waker);
  millrace_.instance_once(woken, "complete");
  EXPECT_THAT(
      why(send(event("woken", {{"orderid", "o-1"}})), woken, "after").at("says").get<std::string>(),
      HasSubstr(fmt::format("the event {} of \"bank.eu\" woke it", waker["id"].dump())));

  millrace_.apply(R"(id: moved
states:
  - id: wait
    type: consumeEvent
    event: {type: moved, context: {orderid: jq(.order)}}
    transition: hold
  - {id: hold, type: delay, duration: PT1H}
)");
  const uint64_t sent = send(event("moved", {{"orderid", "o-1"}}));
  const std::string moved = start_until_it_waits("moved", {{"order", "o-1"}});
  send(event("moved", {{"orderid", "o-1"}}));
  EXPECT_TRUE(eventually([&] { return millrace_.instance(moved)["state"] == "hold"; }));
  const std::string says = why(sent, moved, "before").at("says");
  EXPECT_THAT(says, HasSubstr("; the instance does not wait for this type now; it is in `hold`"));
  EXPECT_THAT(says, Not(HasSubstr("after the instance started")));
  EXPECT_THAT(says, Not(HasSubstr("event replay")));

  millrace_.apply(R"(id: late
states:
  - id: wait
    type: consumeEvent
    timeout: PT0.1S
    event: {type: late}
    catch: [{error: direktiv.stateTimeout, transition: rest}]
  - {id: rest, type: delay, duration: PT1H}
)");
  const std::string late = millrace_.start_instance("late", Json::object());
  EXPECT_TRUE(eventually([&] { return millrace_.instance(late)["state"] == "rest"; }));
  EXPECT_THAT(why(send(event("late", Json::object())), late, "after").at("says").get<std::string>(),
              HasSubstr("it timed out"));

  millrace_.apply(R"(id: notyet
states:
  - {id: rest, type: delay, duration: PT1H, transition: wait}
  - {id: wait, type: consumeEvent, event: {type: notyet}}
)");
  const std::string resting = start_until_it_waits("notyet", Json::object());
  EXPECT_THAT(
      why(send(event("notyet", Json::object())), resting, "before").at("says").get<std::string>(),
      HasSubstr("the instance is not in a state that waits for this type, such as `wait`"));
}

TEST_F(WhySituations, SayWhatHoldsAnInstanceBack) {
  millrace_.apply(R"(id: both
states:
  - id: collect
    type: eventAnd
    events: [{event: {type: first}}, {event: {type: second}}]
    transition: rest
  - {id: rest, type: delay, duration: PT1H}
)");
  const std::string both = start_until_it_waits("both", Json::object());
  const Json filled = why(send(event("first", Json::object())), both, "filled");
  EXPECT_EQ(filled.at("waitsFor"), Json::array({"second"}));
  why(send(event("second", Json::object())), both, "woke");

  const std::string paused = start_waiting("paused", "orderid: jq(.order)");
  EXPECT_EQ(millrace_.ask("POST", "instances/" + paused + "/pause").status, 200);
  why(send(event("paused", {{"orderid", "o-1"}})), paused, "paused");

  // A copy of an event that woke another instance, by a publisher that names no message id.
  const std::string first = start_waiting("copy", "orderid: jq(.order)");
  const Json original = event("copy", {{"orderid", "o-1"}});
  send(original);
  millrace_.instance_once(first, "complete");
  const std::string second = start_until_it_waits("copy", {{"order", "o-1"}});
  why(publish("copy", dump_json(original)), second, "duplicate");
  EXPECT_EQ(summary(tried(original, second)), "duplicate");
}

TEST_F(WhySituations, SayWhyNothingStarted) {
  millrace_.apply(R"(id: pair
start:
  type: eventsAnd
  correlate: [orderid]
  events: [{type: left}, {type: right}]
states:
  - {id: end, type: noop}
)");
  EXPECT_EQ(why_start(send(event("left", {{"orderid", "a"}})), "pair")["verdict"], "grouped");
  Json near = why_start(send(event("right", {{"orderid", "A"}})), "pair");
  EXPECT_EQ(near["verdict"], "grouped");
  EXPECT_EQ(near["nearGroups"][0]["hint"], "case") << near;
  EXPECT_EQ(why_start(send(event("left", Json::object())), "pair")["verdict"], "correlation");

  millrace_.apply(R"(id: alone
singular: true
start: {type: event, event: {type: single}}
states:
  - {id: rest, type: delay, duration: PT1H}
)");
  const Json started = why_start(send(event("single", Json::object())), "alone");
  EXPECT_EQ(started["verdict"], "started");
  const Json skipped = why_start(send(event("single", Json::object())), "alone");
  EXPECT_EQ(skipped["verdict"], "skipped");
  EXPECT_EQ(skipped.at("instance"), started.at("instance"));

  millrace_.apply(R"(id: held
start: {type: event, event: {type: hold}}
states:
  - {id: end, type: noop}
)");
  EXPECT_EQ(millrace_.ask("POST", "workflows/held/pause").status, 200);
  const Json held = why_start(send(event("hold", Json::object())), "held");
  EXPECT_EQ(held["verdict"], "paused") << held;
  EXPECT_THAT(held.value("says", ""), HasSubstr("`millrace -n default workflow resume held`"));

  const uint64_t bad = publish("single", "not an event");
  EXPECT_TRUE(eventually([&] { return answer_about(bad).contains("deadLetter"); }));
  EXPECT_EQ(answer_about(bad)["deadLetter"]["reason"], "event.malformed_json");
}

TEST_F(WhySituations, SayThatAnEventAndItsPartnerLeftTheirGroup) {
  millrace_.apply(R"(id: duo
start:
  type: eventsAnd
  lifespan: PT0.1S
  correlate: [orderid]
  events: [{type: upper}, {type: lower}]
states:
  - {id: end, type: noop}
)");
  const auto send_until_it_left = [&](const char* type) {
    const uint64_t sequence = send(event(type, {{"orderid", "a"}}));
    EXPECT_TRUE(eventually([&] { return why_start(sequence, "duo")["verdict"] == "lifespan"; }));
    return sequence;
  };
  const uint64_t first = send_until_it_left("upper");
  EXPECT_FALSE(why_start(first, "duo").contains("leftPartner"));
  const Json near = why_start(send_until_it_left("lower"), "duo");
  EXPECT_THAT(near.value("says", ""), HasSubstr("its lifespan ended"));
  EXPECT_EQ(near["leftPartner"]["sequence"], first) << near;
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
  const Json near = why(send(event("knock", {{"code", "OPEN-SESAME"}})), door, "predicate -");
  EXPECT_EQ(near.at("predicates")[0]["asks"], "***");
  EXPECT_THAT(near.dump(), Not(HasSubstr("open-sesame")));
}

}  // namespace
}  // namespace millrace
