// The answers of a server on which something of each kind has happened. MillraceServer::ask holds
// each of them against the OpenAPI document, which unit tests do only with the answers of a service
// in memory.
#include <gtest/gtest.h>

#include "tests/support/millrace_server.h"

namespace millrace {
namespace {

constexpr const char* kEventType = "application/cloudevents+json";

constexpr std::string_view kDefinitions[] = {
    R"(id: booking
timeouts: {interrupt: P1D, kill: P2D}
states:
  - id: wait
    type: consumeEvent
    timeout: PT1H
    event: {type: paid, context: {source: '^bank', orderid: jq(.order)}}
    catch: [{error: direktiv.stateTimeout, transition: late}]
    transition: done
  - {id: done, type: noop}
  - {id: late, type: noop}
)",
    R"(id: both
states:
  - id: collect
    type: eventAnd
    events: [{event: {type: paid}}, {event: {type: packed}}]
)",
    R"(id: pair
start:
  type: eventsAnd
  lifespan: PT10M
  correlate: [orderid]
  events: [{type: paid}, {type: packed}]
states:
  - {id: end, type: noop}
)",
    R"(id: ticks
start: {type: scheduled, cron: "0 7 * * *"}
states:
  - {id: end, type: noop}
)",
    R"(id: pay
functions:
  - {id: charge, type: service, service: charge}
states:
  - {id: pay, type: action, action: {function: charge}}
)",
    R"(id: fails
states:
  - {id: stop, type: error, error: sold.out, message: nothing is left}
)",
    R"(id: family
functions:
  - {id: book, type: subflow, workflow: booking}
  - {id: fail, type: subflow, workflow: fails}
states:
  - id: calls
    type: parallel
    mode: and
    actions:
      - {function: book, input: 'jq({order: "o-7"})'}
      - {function: fail, retries: {max_attempts: 3, delay: PT1H, codes: [".*"]}}
)",
    R"(id: later
states:
  - {id: generate, type: generateEvent, delay: PT1H, event: {type: later, source: here}}
)",
    R"(id: pauses
states:
  - {id: rest, type: delay, duration: PT1H, transition: end}
  - {id: end, type: noop}
)"};

class Answers : public MillraceTest {
 protected:
  void send(const std::string& id, std::string_view type, std::string_view order) const {
    const Json event{{"specversion", "1.0"}, {"id", id},         {"source", "bank.eu"},
                     {"type", type},         {"orderid", order}, {"data", {{"orderid", "o-1"}}}};
    EXPECT_EQ(
        millrace_.ask("POST", "events", dump_json(event), {{"Content-Type", kEventType}}).status,
        202);
  }

  /// Reads each of the lists and figures of the namespace and of the server.
  void read_lists() const {
    for (const char* const path : {"/v1/info",
                                   "/v1/ns",
                                   "/v1/series",
                                   "/v1/schema",
                                   "/v1/ns/default",
                                   "overview",
                                   "next",
                                   "functions",
                                   "groups",
                                   "listeners",
                                   "dlq",
                                   "events",
                                   "workflows",
                                   "schedules",
                                   "schedules/ticks",
                                   "secrets",
                                   "variables",
                                   "replays",
                                   "instances",
                                   "instances/count?by=workflow,revision,state,status",
                                   "find?q=o",
                                   "find?q=first"}) {
      millrace_.get(path);
    }
  }

  /// Reads whatever the parts of an item are; `paths` begin behind the path of the item.
  void read_parts(const std::string& item, std::initializer_list<const char*> paths) const {
    for (const char* const path : paths) millrace_.get(item + path);
  }
};

TEST_F(Answers, FitTheDocument) {
  const std::string_view settings =
      R"({"services": {"charge": {"queue": "millrace.tasks.default.charge"},
                       "web": {"url": "http://127.0.0.1:1/x"}}, "paused": ["web"]})";
  EXPECT_EQ(millrace_.ask("PUT", "/v1/ns/default", settings).status, 200);
  EXPECT_EQ(millrace_.ask("PUT", "secrets/door", "1234").status, 201);
  EXPECT_EQ(
      millrace_.ask("PUT", "variables/rate", "1", {{"Content-Type", "application/json"}}).status,
      200);
  for (const std::string_view definition : kDefinitions) millrace_.apply(definition);
  for (const char* const order : {"o-1", "o-2"}) {
    millrace_.start_instance("booking", {{"order", order}});
  }
  for (const char* const workflow : {"both", "pay", "fails", "family", "later", "pauses"}) {
    millrace_.start_instance(workflow, Json::object());
  }
  ASSERT_TRUE(millrace_.has_instances("workflow=booking&status=waiting", 3));
  ASSERT_TRUE(millrace_.has_instances("workflow=both&status=waiting", 1));
  send("first", "paid", "O-1");
  send("second", "packed", "o-9");
  const auto client = nats_.client();
  client->publish("millrace.events.default.paid",
                  R"({"specversion":"1.0","id":"3","type":"paid"})");
  client->flush();
  ASSERT_TRUE(eventually([&] { return millrace_.items("dlq").size() == 1; }));
  EXPECT_EQ(millrace_.ask("POST", "replays", R"({"first":1,"type":"paid","dryRun":true})").status,
            202);

  read_lists();
  for (const Json& letter : millrace_.items("dlq")) {
    read_parts("dlq/" + letter.at("id").get<std::string>(), {""});
  }
  for (const Json& event : millrace_.items("events")) {
    read_parts("events/" + dump_json(event.at("sequence")),
               {"", "/why", "/why?attribute=orderid&value=o-1"});
  }
  for (const Json& workflow : millrace_.items("workflows")) {
    read_parts(
        "workflows/" + workflow.at("id").get<std::string>(),
        {"", "/graph", "/input", "/revisions", "/revisions?texts=0", "/revisions/1", "/variables"});
  }
  for (const Json& instance : millrace_.items("instances")) {
    const std::string path = "instances/" + instance.at("id").get<std::string>();
    read_parts(path, {"", "/history", "/history?order=newest&data=0", "/calls", "/children",
                      "/variables", "/why", "/why?event=1"});
    millrace_.ask("GET", path + "/scenario");
  }
}

}  // namespace
}  // namespace millrace
