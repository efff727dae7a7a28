// The verbs of `event` for stored events.
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "cli/output.h"
#include "orchestrator/service/live_sink.h"
#include "tests/unit/cli/cli_fixture.h"
#include "tests/unit/gateway/fake_service.h"

namespace millrace {
namespace {

class EventDeskVerbs : public CliTest {};

TEST_F(EventDeskVerbs, ListEvents) {
  expect_outputs({
      {{"event", "list"},
       "SEQUENCE  AGE  TYPE          SOURCE  ID    ATTRIBUTES   EFFECTS\n"
       "18        5m   order.placed  shop    e-18  orderid=o-1  started "
       "0190b5a4-7c1e-7f2a-8000-0123456789ab\n"
       "17        5m   order.placed  shop    e-17  orderid=o-1  -\n"},
      {{"event", "list", "-o", "name"}, "18\n17\n"},
  });
  const std::string replayed = run({"event", "list", "--id", "replayed"}).out;
  for (const char* const target : {"orderid=o-1, only for workflow ship ",
                                   "orderid=o-1, only for workflow 6, which was deleted",
                                   "orderid=o-1, only for instance 0190b5a4"}) {
    EXPECT_NE(replayed.find(target), std::string::npos) << target << " in " << replayed;
  }
  EXPECT_EQ(replayed.find("millraceonly"), std::string::npos) << replayed;
  ASSERT_EQ(run({"event", "list", "--type", "order.*", "--source", "shop", "--id", "7", "--since",
                 "2021-09-01T12:00:00Z", "--until", "2021-09-01T13:00:00Z", "--with-effect",
                 "--limit", "3", "--cursor", "9"})
                .code,
            0);
  const EventListFilter filter = service_.stored_events.last_filter();
  EXPECT_EQ(filter.type, "order.*");
  EXPECT_EQ(filter.source, "shop");
  EXPECT_EQ(filter.id, "7");
  EXPECT_EQ(filter.since, parse_rfc3339("2021-09-01T12:00:00Z").value());
  EXPECT_EQ(filter.until, parse_rfc3339("2021-09-01T13:00:00Z").value());
  EXPECT_EQ(filter.effect, true);
  EXPECT_EQ(filter.limit, 3U);
  EXPECT_EQ(filter.before, 9U);
  ASSERT_EQ(run({"event", "list", "--without-effect"}).code, 0);
  EXPECT_EQ(service_.stored_events.last_filter().effect, false);
  EXPECT_EQ(service_.stored_events.last_filter().generated, std::nullopt);
  ASSERT_EQ(run({"event", "list", "--not-generated"}).code, 0);
  EXPECT_EQ(service_.stored_events.last_filter().generated, false);
  EXPECT_EQ(run({"event", "list", "--without-effect", "--with-effect"}).code, 2);
}

TEST_F(EventDeskVerbs, ListEventsByTheirAttributes) {
  using Attributes = std::vector<std::pair<std::string, std::string>>;
  ASSERT_EQ(run({"event", "list", "--attr", "orderid=o=1", "--attr", "region="}).code, 0);
  EXPECT_EQ(service_.stored_events.last_filter().attributes,
            (Attributes{{"orderid", "o=1"}, {"region", ""}}));
  EXPECT_EQ(run({"event", "list", "--attr", "orderid"}).code, 2);
  EXPECT_EQ(run({"event", "list", "--attr", "=o-1"}).code, 2);
  EXPECT_EQ(run({"event", "list", "--attr", "orderid=a", "--attr", "orderid=b"}).code, 2);
  const std::string advice =
      "millrace: --attr orderId=o-1: attribute name \"orderId\" is not valid; expected lower-case "
      "letters and digits only, and not `data`: write orderid\n";
  const std::vector<std::vector<std::string>> with_attributes = {
      {"event", "list"},
      {"event", "replay", "18"},
      {"event", "try", "--type", "paid", "--source", "shop"},
      {"event", "send", "--type", "paid", "--source", "shop"},
  };
  for (std::vector<std::string> arguments : with_attributes) {
    arguments.insert(arguments.end(), {"--attr", "orderId=o-1"});
    const CommandOutput refused = run(arguments);
    EXPECT_EQ(refused.code, 2) << arguments[1];
    EXPECT_TRUE(refused.err.starts_with(advice)) << refused.err;
  }
}

TEST_F(EventDeskVerbs, SayThatAnEventDiffersInCaseOnly) {
  const CommandOutput none = run({"event", "list", "--attr", "orderid=O-1"});
  EXPECT_EQ(none.code, 0) << none.err;
  EXPECT_TRUE(none.err.starts_with("no such events in namespace default")) << none.err;
  EXPECT_TRUE(none.err.ends_with(
      "\nevent 18 differs in upper and lower case only; write --attr orderid=o-1\n"))
      << none.err;
  const Json json = Json::parse(run({"event", "list", "--attr", "orderid=O-1", "-o", "json"}).out);
  EXPECT_EQ(json["inOtherCase"]["sequence"], 18);
  const CommandOutput some = run({"event", "list", "--attr", "orderid=o-1"});
  EXPECT_EQ(some.err.find("upper and lower case"), std::string::npos) << some.err;
}

TEST_F(EventDeskVerbs, ShowOneEvent) {
  const CommandOutput shown = run({"event", "get", "18"});
  EXPECT_EQ(shown.code, 0) << shown.err;
  EXPECT_NE(shown.out.find("\"total\": 7"), std::string::npos) << shown.out;
  EXPECT_EQ(run({"event", "get", "18", "-o", "name"}).out, "18\n");
  EXPECT_EQ(run({"event", "get", "17"}).code, 3);
  EXPECT_EQ(run({"event", "get"}).code, 2);
}

TEST_F(EventDeskVerbs, ReplayOneEvent) {
  expect_outputs({{{"event", "replay", "18"}, "id        replay-1\nsequence  19\n"}});
  EXPECT_EQ(run({"event", "replay", "18", "--to-workflow", "order", "-o", "name"}).out, "19\n");
  EXPECT_EQ(service_.stored_events.last_replay().target.workflow, "order");
  EXPECT_EQ(run({"event", "replay", "18", "--to-instance", kId}).code, 0);
  EXPECT_EQ(service_.stored_events.last_replay().target.instance, parse_instance_id(kId).value());
  EXPECT_EQ(run({"event", "replay", "18", "--same-id"}).code, 6);
  EXPECT_EQ(run({"event", "replay", "17"}).code, 3);
  EXPECT_EQ(run({"event", "replay", "18", "--to-workflow", "a", "--to-instance", kId}).code, 2);
}

TEST_F(EventDeskVerbs, ShowWhatAReplayWouldDoAndPublishNothing) {
  const CommandOutput dry = run({"event", "replay", "18", "--dry-run"});
  EXPECT_EQ(dry.code, 0) << dry.err;
  const std::string tried =
      run({"event", "try", "--type", "order.placed", "--source", "shop", "--id", "replay-1"}).out;
  EXPECT_EQ(dry.out, tried) << "the text of `event try` of the same event";
  EXPECT_NE(dry.out.find("Not sent: this is what it would do.\n"), std::string::npos) << dry.out;
  EXPECT_EQ(run({"event", "replay", "e-18", "--dry-run", "-o", "name"}).out, "replay-1\n");
  EXPECT_EQ(run({"event", "replay", "18", "--dry-run", "--to-instance", kId}).code, 0);
  EXPECT_EQ(service_.stored_events.last_plan().target.instance, parse_instance_id(kId).value());
  EXPECT_EQ(run({"event", "replay", "17", "--dry-run"}).code, 3);
  EXPECT_EQ(run({"event", "replay", "18", "--dry-run", "--same-id"}).code, 6);
  EXPECT_EQ(service_.stored_events.last_replay().sequence, 0U) << "nothing was published";
}

TEST_F(EventDeskVerbs, ReplayACorrectedEvent) {
  ASSERT_EQ(run({"event", "replay", "18", "--attr", "rma=RMA-2207", "--attr", "note=a=b",
                 "--to-namespace", "stock"})
                .code,
            0);
  const EventReplay corrected = service_.stored_events.last_replay();
  EXPECT_EQ(corrected.attributes,
            (std::map<std::string, AttributeValue>{{"rma", "RMA-2207"}, {"note", "a=b"}}));
  EXPECT_EQ(corrected.to_ns, "stock");
  EXPECT_FALSE(corrected.same_id);
  EXPECT_EQ(run({"event", "replay", "18", "--attr", "rma=1", "--dry-run"}).code, 0);
  EXPECT_EQ(service_.stored_events.last_plan().attributes,
            (std::map<std::string, AttributeValue>{{"rma", "1"}}));
  EXPECT_EQ(run({"event", "replay", "18", "--attr", "rma"}).code, 2);
  EXPECT_EQ(run({"event", "replay", "18", "--attr", "a=1", "--attr", "a=2"}).code, 2);
  EXPECT_EQ(run({"event", "replay", "18", "--attr", "a=1", "--same-id"}).code, 2);
  EXPECT_EQ(run({"event", "replay", "18", "--to-namespace", "stock", "--same-id"}).code, 2);
  const CommandOutput range =
      run({"event", "replay", "--first", "1", "--attr", "a=1", "--to-namespace", "stock"});
  EXPECT_EQ(range.code, 2);
  EXPECT_TRUE(range.err.starts_with("millrace: --attr, --to-namespace: only for one event"))
      << range.err;
}

TEST_F(EventDeskVerbs, SayThatACorrectedEventStillWaitsInAGroup) {
  const CommandOutput corrected = run({"event", "replay", "79", "--attr", "order=o-2"});
  EXPECT_EQ(corrected.code, 0);
  EXPECT_EQ(corrected.out, "id        replay-1\nsequence  19\n");
  const std::string next = "`millrace -n default event why 19` shows what comes of it\n";
  EXPECT_EQ(corrected.err,
            next +
                "event 79 still waits in a group of workflow ship; if the group will never be "
                "complete, `millrace -n default group drop ship:6f1ed002ab5595859014ebf0951522d9` "
                "removes it\n");
  EXPECT_EQ(run({"event", "replay", "79"}).err, next) << "it is the same event again";
  EXPECT_EQ(run({"event", "replay", "18", "--attr", "order=o-2"}).err, next);
  EXPECT_EQ(run({"event", "replay", "18", "--to-namespace", "stock"}).err,
            "`millrace -n stock event why 19` shows what comes of it\n");
  EXPECT_EQ(run({"event", "replay", "18", "-o", "json"}).err, "") << "a script needs no command";
}

TEST_F(EventDeskVerbs, RefuseTheOptionsOfARangeTogetherWithAnEvent) {
  const std::vector<std::vector<std::string>> rows = {
      {"--since", "2021-09-01T12:00:00Z"},
      {"--first", "1"},
      {"--until", "2021-09-01T12:00:00Z"},
      {"--last", "9"},
      {"--type", "order.*"},
      {"--source", "shop"},
      {"--rate", "50"},
  };
  for (const auto& row : rows) {
    const CommandOutput refused = run({"event", "replay", "18", "--dry-run", row[0], row[1]});
    EXPECT_EQ(refused.code, 2) << row[0];
    EXPECT_TRUE(refused.err.starts_with("millrace: " + row[0] + ": only for a range of events"))
        << refused.err;
  }
  EXPECT_EQ(run({"event", "replay", "18", "--type", "a", "--rate", "5"}).err,
            "millrace: --type, --rate: only for a range of events, and the command line names the "
            "event 18; leave out one of the two\nrun `millrace COMMAND --help` for usage\n");
  EXPECT_NE(run({"event", "replay", "--first", "1", "--same-id"}).err.find("--same-id: only for"),
            std::string::npos);
  EXPECT_EQ(service_.stored_events.last_replay().sequence, 0U);
}

TEST_F(EventDeskVerbs, TakeTheIdOfAnEventInPlaceOfItsSequence) {
  EXPECT_EQ(run({"event", "get", "e-18", "-o", "name"}).out, "18\n");
  EXPECT_EQ(run({"event", "replay", "e-18", "--to-workflow", "order", "-o", "name"}).out, "19\n");
  EXPECT_EQ(service_.stored_events.last_replay().sequence, 18U);
  EXPECT_EQ(run({"event", "why", "e-18", "-o", "name"}).out, "18\n");
  EXPECT_EQ(run({"instance", "why", kId, "--event", "e-17"}).code, 0);
  EXPECT_EQ(service_.whys.last_sequence(), 17U);
  EXPECT_EQ(run({"event", "get", ""}).code, 2);
}

TEST_F(EventDeskVerbs, RefuseAnIdThatSeveralEventsHave) {
  const CommandOutput refused = run({"event", "replay", "twice"});
  EXPECT_EQ(refused.code, 1);
  EXPECT_EQ(refused.err,
            "millrace: 2 events in namespace default have the id \"twice\"; name one by its "
            "sequence:\n"
            "  16  2021-09-01T12:00:00.000Z  order.placed  shop\n"
            "  15  2021-09-01T12:00:00.000Z  order.placed  shop\n");
}

TEST_F(EventDeskVerbs, SayWhereAnIdWasNotFoundAndWhereItIs) {
  ASSERT_EQ(run({"namespace", "create", "empty"}).code, 0);
  const CommandOutput lost = run({"-n", "empty", "event", "get", "e-18"});
  EXPECT_EQ(lost.code, 3);
  EXPECT_EQ(
      lost.err,
      "millrace: no event in namespace empty has the id \"e-18\" (all 2 messages were looked "
      "at); other namespaces have some: default (-n default); `millrace -n empty event list` lists "
      "the events, `millrace -n empty dlq list` the messages that could not be used, and "
      "`millrace -n empty overview` names to which events were sent and which no namespace has\n");
  const std::string neither = run({"event", "why", "9"}).err;
  EXPECT_TRUE(
      neither.starts_with("millrace: there is none; no event in namespace default has the "
                          "id \"9\" ("))
      << neither;
}

TEST_F(EventDeskVerbs, QuoteAWordForAShellIfItNeedsQuotes) {
  EXPECT_EQ(shell_word("order-7.eu:/a"), "order-7.eu:/a");
  EXPECT_EQ(shell_word("a b"), "'a b'");
  EXPECT_EQ(shell_word("it's"), R"('it'\''s')");
  EXPECT_EQ(shell_word(""), "''");
}

TEST_F(EventDeskVerbs, SayThatThereAreNoEventsAndWhereSomeAre) {
  ASSERT_EQ(run({"namespace", "create", "empty"}).code, 0);
  const CommandOutput none = run({"-n", "empty", "event", "list"});
  EXPECT_EQ(none.code, 0);
  EXPECT_EQ(none.out, "SEQUENCE  AGE  TYPE  SOURCE  ID  ATTRIBUTES  EFFECTS\n");
  EXPECT_EQ(none.err,
            "no events in namespace empty; other namespaces have some: default (-n default)\n");
  EXPECT_EQ(run({"event", "list", "--id", "none"}).err,
            "no such events in namespace default; without the conditions there are some\n");
  EXPECT_EQ(run({"-n", "empty", "event", "list", "--cursor", "7"}).err,
            "no further events in namespace empty\n");
  EXPECT_EQ(run({"-n", "empty", "event", "list", "-o", "json"}).err, "");
  EXPECT_EQ(run({"-n", "empty", "event", "list", "-o", "name"}).err, "");
}

TEST_F(EventDeskVerbs, ContinueATableBehindPagesWithoutAResult) {
  const CommandOutput found = run({"event", "list", "--id", "deep"});
  EXPECT_EQ(found.code, 0);
  EXPECT_NE(found.out.find("\n96  "), std::string::npos) << found.out;
  EXPECT_EQ(found.err, "");
  const CommandOutput none = run({"event", "list", "--id", "endless"});
  EXPECT_EQ(none.code, 0);
  EXPECT_EQ(none.out, "SEQUENCE  AGE  TYPE  SOURCE  ID  ATTRIBUTES  EFFECTS\n");
  EXPECT_EQ(none.err,
            "nothing was found among the 20000 messages that were looked at; continue with "
            "--cursor 80\n");
  EXPECT_EQ(run({"event", "list", "--id", "endless", "--cursor", "50"}).err,
            "nothing was found among the 20000 messages that were looked at; continue with "
            "--cursor 30\n");
}

TEST_F(EventDeskVerbs, TakeTimesAndHowLongAgo) {
  // The clock of the fixture is at 12:05.
  const TimePoint noon = parse_rfc3339("2021-09-01T12:00:00Z").value();
  ASSERT_EQ(run({"event", "list", "--since", "5m", "--until", "1m"}).code, 0);
  EXPECT_EQ(service_.stored_events.last_filter().since, noon);
  EXPECT_EQ(service_.stored_events.last_filter().until, noon + Duration(240'000));
  pauses_ = 5;
  ASSERT_EQ(run({"event", "replay", "--since", "5m", "--until", "1m"}).code, 0);
  EXPECT_EQ(service_.stored_events.last_range().since, noon);
  EXPECT_EQ(service_.stored_events.last_range().until, noon + Duration(240'000));
  const std::vector<std::vector<std::string>> wrong = {
      {"event", "list", "--since", "yesterday"},  {"event", "list", "--until", "P1M"},
      {"event", "tail", "--since", "yesterday"},  {"event", "replay", "--since", "noon"},
      {"instance", "list", "--until", "someday"}, {"next", "--until", "soon"},
  };
  for (const auto& arguments : wrong) {
    const CommandOutput refused = run(arguments);
    EXPECT_EQ(refused.code, 2) << arguments[0] << " " << arguments[1];
    const std::string& flag = arguments[arguments.size() - 2];
    EXPECT_TRUE(refused.err.starts_with("millrace: " + flag + " " + arguments.back() + ": "))
        << refused.err;
  }
}

TEST_F(EventDeskVerbs, NameTheValueThatANumberMayHave) {
  const std::vector<std::vector<std::string>> rows = {
      {"event", "replay", "--first", "1", "--rate", "0"},
      {"event", "replay", "--first", "0"},
      {"event", "replay", "--first", "1", "--last", "10GiB"},
      {"event", "tail", "--count", "0"},
  };
  for (const std::vector<std::string>& arguments : rows) {
    const std::string& flag = arguments[arguments.size() - 2];
    const CommandOutput refused = run(arguments);
    EXPECT_EQ(refused.code, 2) << flag;
    EXPECT_TRUE(refused.err.starts_with(
        fmt::format("millrace: {}: \"{}\" is not a whole number from 1; write one like 10\n", flag,
                    arguments.back())))
        << refused.err;
  }
}

TEST_F(EventDeskVerbs, TakeATextThatIsNoInstanceIdForAnInstanceThatIsNotThere) {
  EXPECT_EQ(run({"event", "replay", "18", "--to-instance", "zz"}).code, 3);
  EXPECT_EQ(run({"event", "replay", "--first", "1", "--to-instance", "zz"}).err,
            "millrace: --to-instance: \"zz\" is not an instance id; expected a UUID\n");
  EXPECT_EQ(run({"instance", "why", "zz"}).code, 3);
}

TEST_F(EventDeskVerbs, RefuseAnUnclearReplay) {
  EXPECT_EQ(run({"event", "replay"}).code, 2);
  EXPECT_EQ(run({"event", "replay", "18", "--since", "2021-09-01T12:00:00Z"}).code, 2);
  EXPECT_EQ(run({"event", "replay", "--first", "1", "--same-id"}).code, 2);
  EXPECT_EQ(run({"event", "replay", "--first", "x"}).code, 2);
}

class EventTailVerb : public CliTest {
 protected:
  /// Runs `event tail`, while `serve` sends messages to its streams.
  CommandOutput tail(std::vector<std::string> options, const std::function<void()>& serve) {
    std::thread server(serve);
    std::vector<std::string> arguments = {"event", "tail"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    CommandOutput printed = run(arguments);
    server.join();
    return printed;
  }
  static void say_hello(LiveSink& sink, uint64_t applied) {
    sink.send(std::make_shared<const std::string>(
        live_message("hello", "", dump_json({{"applied", applied}}))));
  }
  /// The events up to that one are applied.
  static void send_events(LiveSink& sink, uint64_t applied, const std::string& data) {
    sink.send(std::make_shared<const std::string>(
        live_message("events", "b1-3." + std::to_string(applied), data)));
  }
};

TEST_F(EventTailVerb, PrintsEventsOnceTheyAreApplied) {
  const CommandOutput two = tail({"--count", "2", "--type", "order.*", "--source", "shop"}, [&] {
    const auto sink = service_.await_watcher();
    say_hello(*sink, 17);
    send_events(*sink, 18, R"({"items":[],"more":1})");
  });
  EXPECT_EQ(two.code, 0) << two.err;
  EXPECT_EQ(two.out,
            "SEQUENCE  TIME                      TYPE          SOURCE  ID    ATTRIBUTES   EFFECTS\n"
            "17        2021-09-01T12:00:00.000Z  order.placed  shop    e-17  orderid=o-1  -\n"
            "18        2021-09-01T12:00:00.000Z  order.placed  shop    e-18  orderid=o-1  started "
            "0190b5a4-7c1e-7f2a-8000-0123456789ab\n");
  EXPECT_TRUE(service_.last_watch().events);
  EXPECT_EQ(service_.last_watch().type, "order.*");
  const EventListFilter filter = service_.stored_events.last_filter();
  EXPECT_EQ(filter.after, 17U);
  EXPECT_EQ(filter.before, 19U) << "later ones are not applied yet";
  EXPECT_EQ(filter.type, "order.*");
  EXPECT_EQ(filter.source, "shop");
}

TEST_F(EventTailVerb, PrintsTheNewestStoredEventsOfTheNumberAndEnds) {
  const auto serve = [&] { say_hello(*service_.await_watcher(), 18); };
  EXPECT_EQ(tail({"--count", "1", "-o", "name"}, serve).out, "18\n");
  EXPECT_EQ(tail({"--count", "2", "-o", "name"}, serve).out, "17\n18\n");
  EXPECT_EQ(run({"event", "tail", "--count", "x"}).code, 2);
  EXPECT_EQ(run({"event", "tail", "--with-effect", "--without-effect"}).code, 2);
}

TEST_F(EventTailVerb, PrintsAllStoredEventsOfATimeAndEndsIfItHasPassed) {
  const auto serve = [&] { say_hello(*service_.await_watcher(), 18); };
  const CommandOutput past = tail({"--since", "30m", "--until", "1m", "-o", "name"}, serve);
  EXPECT_EQ(past.code, 0) << past.err;
  EXPECT_EQ(past.out, "17\n18\n");
  EXPECT_EQ(past.err, "");
  EXPECT_EQ(service_.stored_events.last_filter().limit, 1U) << "the last event before that time";
  const CommandOutput cut = tail({"--id", "endless", "--until", "1m", "-o", "name"}, serve);
  EXPECT_EQ(cut.code, 0) << cut.err;
  EXPECT_EQ(cut.out, "");
  EXPECT_EQ(
      cut.err,
      "no stored event that fits was found among the newest; `millrace -n default event list` "
      "with the same conditions also lists older ones\n");
}

TEST_F(EventTailVerb, ContinuesWithAnotherStreamAndPrintsEachEventOnce) {
  const CommandOutput ended = tail({"-o", "name"}, [&] {
    const auto first = service_.await_watcher();
    say_hello(*first, 16);
    send_events(*first, 17, R"({"items":[{"sequence":17}],"more":0})");
    first->end(reset_message("overrun"));
    const auto second = service_.await_watcher();
    say_hello(*second, 18);
    second->end(reset_message("deleted"));
  });
  EXPECT_EQ(ended.code, 3) << ended.err;
  EXPECT_EQ(ended.out, "17\n18\n");
  EXPECT_NE(ended.err.find("was deleted"), std::string::npos) << ended.err;
}

TEST_F(EventTailVerb, PrintsTheEventsOfAStreamThatReplacesAnother) {
  const CommandOutput printed = tail({"-o", "name", "--count", "3"}, [&] {
    const auto sink = service_.await_watcher();
    say_hello(*sink, 18);
    send_events(*sink, 17, R"({"items":[{"sequence":17}],"more":0})");
  });
  EXPECT_EQ(printed.code, 0) << printed.err;
  EXPECT_EQ(printed.out, "17\n18\n17\n");
}

TEST_F(EventTailVerb, EndsIfTheServerEndsTheStreamWithoutAnEvent) {
  const CommandOutput ended = tail({}, [&] {
    const auto sink = service_.await_watcher();
    say_hello(*sink, 0);
    sink->end(reset_message("stopping"));
  });
  EXPECT_EQ(ended.code, 5);
  EXPECT_EQ(ended.out, "SEQUENCE  TIME  TYPE  SOURCE  ID  ATTRIBUTES  EFFECTS\n");
  EXPECT_NE(ended.err.find("ended the stream"), std::string::npos) << ended.err;
}

TEST_F(EventTailVerb, ReportsAnErrorOfTheList) {
  const CommandOutput failed =
      tail({"--id", "lost"}, [&] { say_hello(*service_.await_watcher(), 18); });
  EXPECT_EQ(failed.code, 1);
  EXPECT_NE(failed.err.find("the broker does not answer"), std::string::npos) << failed.err;
}

}  // namespace
}  // namespace millrace
