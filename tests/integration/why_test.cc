// Why nothing happened, as a user of the command line and of HTTP finds out on a running server.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "tests/support/millrace_server.h"

namespace millrace {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr std::string_view kBooking = R"(id: booking
states:
  - id: wait
    type: consumeEvent
    event:
      type: paid
      context:
        orderid: jq(.order)
)";

constexpr std::string_view kBoth = R"(id: both
states:
  - id: collect
    type: eventAnd
    events:
      - event: {type: paid}
      - event: {type: packed}
)";

constexpr std::string_view kPair = R"(id: pair
start:
  type: eventsAnd
  correlate: [orderid]
  events:
    - type: paid
    - type: packed
states:
  - id: end
    type: noop
)";

class Why : public MillraceTest {
 protected:
  /// Sends an event with the command line, and waits until it is applied.
  void send(std::vector<std::string> more, std::string_view type = "paid") {
    std::vector<std::string> arguments = {"event",           "send",     "--type",
                                          std::string(type), "--source", "bank.eu"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const ProcessEnd sent = millrace_.cli(arguments);
    ASSERT_EQ(sent.code, 0) << sent.errors;
    ++sequence_;
    EXPECT_TRUE(eventually([&] { return why_json()["applied"] == true; }));
  }
  /// The answer about the event that was sent last.
  Json why_json() const { return millrace_.get(fmt::format("events/{}/why", sequence_)); }
  std::string why_text(std::vector<std::string> arguments) const {
    arguments.insert(arguments.end(), {"-o", "table"});
    const ProcessEnd end = millrace_.cli(arguments);
    EXPECT_EQ(end.code, 0) << end.errors;
    return end.output;
  }
  std::string why_last() const { return why_text({"event", "why", std::to_string(sequence_)}); }
  std::string start_booking() {
    millrace_.apply(kBooking);
    const std::string id = millrace_.start_instance("booking", {{"order", "o-42"}});
    millrace_.instance_once(id, "waiting");
    return id;
  }

  uint64_t sequence_ = 0;  ///< of the last event
};

TEST_F(Why, NamesANamespaceThatDoesNotExistAndTheCommandsThatBringItsEventHere) {
  const std::string id = start_booking();
  const std::string path = "instances/" + id + "/why";
  EXPECT_FALSE(millrace_.get(path).contains("unknownNamespaces"));
  const auto client = nats_.client();
  client->publish("millrace.events.nowhere3.paid",
                  R"({"specversion":"1.0","id":"1","source":"bank","type":"paid",)"
                  R"("orderid":"o-42"})");
  client->flush();
  ASSERT_TRUE(eventually([&] { return millrace_.get(path).contains("unknownNamespaces"); }));
  const Json found = millrace_.get(path)["unknownNamespaces"].at(0);
  EXPECT_EQ(found["namespace"], "nowhere3");
  EXPECT_EQ(found["fits"], true);
  const std::string letter = found["deadLetter"];
  EXPECT_THAT(why_text({"instance", "why", id}),
              HasSubstr("millrace namespace create nowhere3\n"
                        "      millrace -n nowhere3 dlq replay " +
                        letter + "\n"));
  ASSERT_EQ(millrace_.cli({"namespace", "create", "nowhere3"}).code, 0);
  const ProcessEnd replayed = millrace_.cli({"-n", "nowhere3", "dlq", "replay", letter});
  ASSERT_EQ(replayed.code, 0) << replayed.errors;
  const Json existing = millrace_.get(path);
  EXPECT_FALSE(existing.contains("unknownNamespaces"));
  ASSERT_TRUE(existing.contains("elsewhereEvents")) << existing;
  const std::string sequence = dump_json(existing["elsewhereEvents"].at(0)["sequence"]);
  const ProcessEnd sent =
      millrace_.cli({"-n", "nowhere3", "event", "replay", sequence, "--to-namespace", "default"});
  EXPECT_EQ(sent.code, 0) << sent.errors;
  millrace_.instance_once(id, "complete");
}

TEST_F(Why, ShowsACaseErrorInAnAttribute) {
  const std::string id = start_booking();
  send({"--attr", "orderid=O-42"});
  const std::string text = why_last();
  EXPECT_THAT(text, HasSubstr("What came of it: nothing"));
  EXPECT_THAT(text, HasSubstr("Instance " + id + " of booking, state wait"));
  EXPECT_THAT(text, HasSubstr("is \"o-42\""));
  EXPECT_THAT(text, HasSubstr("the event has \"O-42\""));
  EXPECT_THAT(text, HasSubstr("The two differ in upper and lower case only"));
  EXPECT_THAT(why_text({"instance", "why", id}),
              HasSubstr("The two differ in upper and lower case only"));
  EXPECT_EQ(why_json()["of"], 1);
}

TEST_F(Why, LeadsFromAListToTheOneInstanceThatWasExpected) {
  const std::string first = start_booking();
  const std::string second = millrace_.start_instance("booking", {{"order", "o-43"}});
  millrace_.instance_once(second, "waiting");
  send({"--attr", "orderid=O-42"});
  const std::string all = why_last();
  EXPECT_THAT(all, HasSubstr("event get 1\n"));
  EXPECT_THAT(all, HasSubstr("Instance " + second));
  const std::string one = why_text({"event", "why", "1", "--instance", first});
  EXPECT_THAT(one, HasSubstr("Judged 2 of 2 listeners for this type; only the instance that you "
                             "named is shown.\n"));
  EXPECT_THAT(one, HasSubstr("Instance " + first));
  EXPECT_THAT(one, Not(HasSubstr(second)));
  EXPECT_THAT(one, HasSubstr("The others:\n  1 `orderid` has another value\n"));

  const ProcessEnd none = millrace_.cli({"event", "list", "--attr", "orderid=o-42", "-o", "table"});
  EXPECT_EQ(none.code, 0);
  EXPECT_THAT(none.errors,
              HasSubstr("event 1 differs in upper and lower case only; write --attr orderid=O-42"));
  const std::string waiting = why_text({"instance", "list", "--waits-for", "paid"});
  EXPECT_THAT(waiting, HasSubstr("paid orderid=o-42"));
  EXPECT_THAT(waiting, HasSubstr("paid orderid=o-43"));
  EXPECT_THAT(why_text({"instance", "list", "--waits-for", "Paid"}), Not(HasSubstr(first)));
}

TEST_F(Why, ShowsAnIdThatIsInTheDataOnly) {
  const std::string id = start_booking();
  send({"--data", R"({"orderId":"o-42"})"});
  EXPECT_THAT(why_last(), HasSubstr("has the member `orderId` with the value \"o-42\""));
  EXPECT_THAT(why_text({"instance", "why", id, "--event", "1"}),
              HasSubstr("event replay 1 --attr orderid=o-42\n"));
  const std::vector<std::string> mended = {"event", "replay", "1", "--attr", "orderid=o-42"};
  std::vector<std::string> dry = mended;
  dry.emplace_back("--dry-run");
  EXPECT_THAT(why_text(dry), HasSubstr("would wake the instance"));
  EXPECT_EQ(millrace_.cli(mended).code, 0);
  millrace_.instance_once(id, "complete");
}

TEST_F(Why, ShowsAnEventThatCameTooEarly) {
  send({"--attr", "orderid=o-42"});
  const std::string id = start_booking();
  EXPECT_EQ(why_json()["near"][0]["verdict"], "before");
  EXPECT_THAT(why_text({"instance", "why", id}), HasSubstr("before the wait began"));
  EXPECT_THAT(why_text({"event", "why", "1"}),
              HasSubstr("also take earlier events; send it to this instance only: `millrace -n "
                        "default event replay 1 --to-instance " +
                        id + "`"));
}

TEST_F(Why, ShowsAnEventOfAnotherNamespace) {
  const std::string id = start_booking();
  ASSERT_LT(millrace_.ask("PUT", "/v1/ns/other").status, 300);
  ASSERT_EQ(millrace_
                .cli({"-n", "other", "event", "send", "--type", "paid", "--source", "bank.eu",
                      "--attr", "orderid=o-42"})
                .code,
            0);
  EXPECT_TRUE(
      eventually([&] { return millrace_.get("/v1/ns/other/events/1/why")["applied"] == true; }));
  EXPECT_THAT(why_text({"instance", "why", id}),
              HasSubstr("Other namespaces got events that fit, and this one got none: other"));
  EXPECT_THAT(why_text({"-n", "other", "event", "why", "1"}),
              HasSubstr("Other namespaces listen for this type: default"));
  EXPECT_THAT(millrace_.cli({"event", "why", "1"}).errors, HasSubstr("namespace \"other\""));
}

TEST_F(Why, ShowsHalfAnEventAnd) {
  millrace_.apply(kBoth);
  const std::string id = millrace_.start_instance("both", Json::object());
  millrace_.instance_once(id, "waiting");
  send({});
  EXPECT_EQ(why_json()["near"][0]["verdict"], "filled");
  EXPECT_THAT(why_last(), HasSubstr("which then waits for `packed`"));
  const std::string text = why_text({"instance", "why", id});
  EXPECT_THAT(text, HasSubstr("waits for packed"));
  EXPECT_THAT(text, HasSubstr("has got paid"));
}

TEST_F(Why, ShowsHalfAnEventsAndStart) {
  millrace_.apply(kPair);
  send({"--attr", "orderid=o-42"});
  EXPECT_THAT(why_last(), HasSubstr("Grouped: the event waits in a group for `packed` with "
                                    "`orderid` \"o-42\"; `millrace -n default group list`"));
  send({"--attr", "orderid=O-42"}, "packed");
  EXPECT_THAT(why_last(), HasSubstr("Grouped: the event waits in a group for `paid` with `orderid` "
                                    "\"O-42\"; another group, with `orderid` \"o-42\", has `paid` "
                                    "(#1; the two differ in upper and lower case only)"));
  EXPECT_THAT(why_last(),
              HasSubstr("The best one: event #2 waits in this group: sent again with `orderid` "
                        "\"o-42\", it completes another incomplete group of this workflow:\n"
                        "       millrace -n default event replay 2 --attr orderid=o-42\n"));
  send({}, "packed");
  EXPECT_THAT(why_last(), HasSubstr("Correlation: the event lacks an attribute by which the events "
                                    "of a group are found: `orderid`"));
  // From "the workflow did not start" to its groups.
  const std::string groups = "`millrace -n default group list --workflow pair`";
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"workflow", "get", "pair", "-o", "table"},
        {"instance", "list", "--workflow", "pair", "-o", "table"}}) {
    EXPECT_THAT(millrace_.cli(command).errors, HasSubstr(groups)) << command.front();
  }
  EXPECT_THAT(why_text({"overview"}), HasSubstr("! incompleteGroups pair: 2; see " + groups));
}

TEST_F(Why, TriesAnEventAndSendsNothing) {
  const std::string id = start_booking();
  const std::vector<std::string> event = {"--type",  "paid",   "--source",
                                          "bank.eu", "--attr", "orderid=o-42"};
  std::vector<std::string> tries = {"event", "try"};
  tries.insert(tries.end(), event.begin(), event.end());
  EXPECT_THAT(why_text(tries), HasSubstr("the event would wake the instance"));
  EXPECT_EQ(millrace_.instance(id)["status"], "waiting");
  EXPECT_EQ(millrace_.get("events")["items"].size(), 0U);
  send({"--attr", "orderid=o-42"});
  millrace_.instance_once(id, "complete");
  EXPECT_EQ(why_json()["near"][0]["verdict"], "woke");
  EXPECT_THAT(why_last(), HasSubstr("What came of it: woke " + id));
  send({"--attr", "orderid=o-42"});
  EXPECT_THAT(why_text({"instance", "why", id}), HasSubstr("After: the wait for this type"));
  EXPECT_THAT(why_text({"instance", "why", id}), Not(HasSubstr("Before:")));
}

}  // namespace
}  // namespace millrace
