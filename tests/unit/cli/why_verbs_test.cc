// The verbs that say why an event had an effect or none.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "cli/why_text.h"
#include "tests/unit/cli/cli_fixture.h"
#include "tests/unit/gateway/fake_service.h"

namespace millrace {
namespace {

class WhyVerbs : public CliTest {
 protected:
  static constexpr const char* kListener =
      "  1. Instance 0190b5a4-7c1e-7f2a-8000-0123456789ab of order, state pay, since "
      "2021-09-01T12:00:00.000Z\n"
      "     Predicate: the event does not fit what is asked for: `orderid` has another value\n";
  static constexpr const char* kPredicates =
      "     \u2713 source   matches ^bank  the event has \"bank.eu\"\n"
      "     \u2717 orderid  is \"o-1742\"    the event has \"O-1742\"\n"
      "       The two differ in upper and lower case only\n";
  static std::string corrected(const std::string& event) {
    return "     Send it again, corrected: millrace -n default event replay " + event +
           " --attr orderid=o-1742\n";
  }
  static std::string others() { return "\nThe others:\n  1 `orderid` has another value\n"; }
};

TEST_F(WhyVerbs, ShowAskedAndActualValuesSideBySide) {
  const CommandOutput why = run({"event", "why", "18"});
  EXPECT_EQ(why.code, 0) << why.err;
  EXPECT_EQ(why.out,
            "Event #18  type paid  source bank.eu  id e-1  stored 2021-09-01T12:00:01.000Z\n"
            "The whole event: millrace -n default event get 18\n"
            "What came of it: nothing.\n"
            "Judged 2 of 3 listeners for this type.\n\n" +
                std::string(kListener) + kPredicates + corrected("18") + others());
  EXPECT_EQ(run({"event", "why", "18", "-o", "name"}).out, "18\n");
  EXPECT_NE(run({"event", "why", "18", "-o", "json"}).out.find("\"hint\""), std::string::npos);
  EXPECT_EQ(run({"event", "why", "9"}).code, 3);
  EXPECT_EQ(run({"event", "why"}).code, 2);
}

TEST_F(WhyVerbs, PassOnWhatTheUserExpected) {
  ASSERT_EQ(run({"event", "why", "18", "--instance", FakeService::kInstance, "--attribute",
                 "orderid", "--value", "o-1742", "--limit", "7"})
                .code,
            0);
  const WhyFilter filter = service_.whys.last_filter();
  EXPECT_EQ(filter.instance, parse_instance_id(FakeService::kInstance).value());
  EXPECT_EQ(filter.attribute, "orderid");
  EXPECT_EQ(filter.value, "o-1742");
  EXPECT_EQ(filter.limit, 7U);
}

TEST_F(WhyVerbs, SayWhereToLookIfNothingListens) {
  EXPECT_EQ(run({"event", "why", "17"}).out,
            "Event #17  type paid  source bank.eu  id e-1  stored 2021-09-01T12:00:01.000Z\n"
            "The whole event: millrace -n default event get 17\n"
            "What came of it: nothing.\n"
            "No start and no instance of this namespace listens for this type.\n"
            "  Workflows listen for a similar type: payd. Correct the type:\n"
            "    millrace -n default event replay 17 --attr type=payd\n"
            "  Other namespaces listen for this type: shop. Send the event there:\n"
            "    millrace -n default event replay 17 --to-namespace shop\n");
}

TEST_F(WhyVerbs, TryAnEventAndSendNothing) {
  const CommandOutput tried = run({"event", "try", "--type", "paid", "--source", "bank.eu", "--id",
                                   "e-2", "--attr", "orderid=O-1742", "--limit", "4"});
  EXPECT_EQ(tried.code, 0) << tried.err;
  EXPECT_EQ(tried.out,
            "Event  type paid  source bank.eu  id e-2\n"
            "Not sent: this is what it would do.\n"
            "Judged 2 of 3 listeners for this type.\n\n" +
                std::string(kListener) + kPredicates + others());
  EXPECT_EQ(service_.whys.last_filter().limit, 4U);
  const std::string whole = R"({"specversion":"1.0","id":"8","source":"s","type":"t"})";
  EXPECT_EQ(run({"event", "try", "-f", "-", "-o", "name"}, whole).out, "8\n");
  EXPECT_EQ(run({"event", "try", "-", "-o", "name"}, whole).out, "8\n");
  EXPECT_EQ(run({"event", "try", "-", "--limit", "4", "-o", "name"}, whole).out, "8\n");
  EXPECT_EQ(run({"event", "try", "-f", "-", "--type", "t"}, whole).code, 2);
  EXPECT_EQ(run({"event", "try", "-", "--type", "t"}, whole).code, 2);
  EXPECT_EQ(run({"event", "try", "--type", "t"}).code, 2);
  EXPECT_TRUE(service_.published().empty());
}

TEST_F(WhyVerbs, SayWhatTheLimitsWouldDoWithTheStart) {
  EXPECT_EQ(run({"event", "try", "--type", "placed", "--source", "shop", "--id", "e-2"}).out,
            "Event  type placed  source shop  id e-2\n"
            "Not sent: this is what it would do.\n"
            "Judged 2 of 3 listeners for this type.\n\n"
            "  1. Start of ship, applied 2021-09-01T11:00:00.000Z\n"
            "     Started: the event would start an instance, which would wait for a slot\n"
            "     Limits: waits for concurrency (limit 2, key \"a\"), 3 starts before it\n" +
                others());
}

TEST_F(WhyVerbs, ShowWhatAnInstanceWaitsForAndTheNearestEvents) {
  const CommandOutput why = run({"instance", "why", FakeService::kInstance});
  EXPECT_EQ(why.code, 0) << why.err;
  EXPECT_EQ(
      why.out,
      "Instance 0190b5a4-7c1e-7f2a-8000-0123456789ab of order: waiting, state pay, since "
      "2021-09-01T12:00:00.000Z\n"
      "  waits for paid\n"
      "    orderid is \"o-1742\"\n"
      "  has got packed\n"
      "  Of the other namespaces, only shop were looked at; there, the events that are older than "
      "2021-09-01T12:00:00.000Z were not looked at.\n"
      "The nearest 1 of 1 events of these types; the newest 1 messages of the namespace were "
      "read.\n\n"
      "  1. Event #18  type paid  source bank.eu  id e-1  stored 2021-09-01T12:00:01.000Z\n"
      "     Predicate: the event does not fit what is asked for: `orderid` has another value\n" +
          (kPredicates + corrected("18")));
  for (const char* const option : {"--limit", "--since", "--until", "--cursor"}) {
    EXPECT_EQ(run({"instance", "why", kId, "--event", "9", option, "3m"}).code, 2) << option;
  }
  ASSERT_EQ(run({"instance", "why", FakeService::kInstance, "--since", "2021-09-01T12:00:00Z",
                 "--until", "2021-09-01T13:00:00Z", "--cursor", "18"})
                .code,
            0);
  const WhyWindow window = service_.whys.last_filter().window;
  EXPECT_EQ(window.since, parse_rfc3339("2021-09-01T12:00:00Z").value());
  EXPECT_EQ(window.until, parse_rfc3339("2021-09-01T13:00:00Z").value());
  EXPECT_EQ(window.before, 18U);
  const CommandOutput empty =
      run({"instance", "why", FakeService::kInstance, "--since", "1h", "--until", "2h"});
  EXPECT_EQ(empty.code, 1) << "as of a replay of such a range";
  EXPECT_NE(empty.err.find("is not later than since"), std::string::npos) << empty.err;
  ASSERT_EQ(run({"instance", "why", FakeService::kInstance, "--event", "9"}).code, 0);
  EXPECT_EQ(service_.whys.last_sequence(), 9U);
  EXPECT_EQ(run({"instance", "why", FakeService::kInstance, "-o", "name"}).out,
            std::string(FakeService::kInstance) + "\n");
}

TEST_F(WhyVerbs, ShowTheNearestThreeMissesWholeAndALineForEachOther) {
  const std::string whole = std::string(kListener).substr(5) + kPredicates + corrected("16");
  const std::string head =
      "Event #16  type paid  source bank.eu  id e-1  stored 2021-09-01T12:00:01.000Z\n"
      "The whole event: millrace -n default event get 16\n"
      "What came of it: nothing.\n"
      "Judged 2 of 3 listeners for this type.\n"
      "Nearest first:\n\n";
  const std::string line =
      " Instance 0190b5a4-7c1e-7f2a-8000-0123456789ab of order, state pay: `orderid` is "
      "\"o-1742\", the event has \"O-1742\"\n";
  const std::string three = "  1. " + whole + "\n  2. " + whole + "\n  3. " + whole;
  EXPECT_EQ(run({"event", "why", "16"}).out, head + three + "\n  4." + line + "  5." + line +
                                                 "`--all` shows each of them whole.\n" + others());
  EXPECT_EQ(run({"event", "why", "16", "--all"}).out,
            head + three + "\n  4. " + whole + "\n  5. " + whole + others());
  EXPECT_EQ(run({"instance", "why", kId, "--all"}).code, 0);
  EXPECT_EQ(run({"event", "try", "--type", "paid", "--source", "s", "--all"}).code, 0);
}

TEST(WhyText, ShowsAFewMissesOnALineEachAndCountsTheOthers) {
  Json answer = Json::parse(R"({"event": {"sequence": 7}, "looked": 9, "near": []})");
  for (int i = 1; i <= 9; ++i) {
    answer["near"].push_back(
        {{"kind", "start"}, {"workflow", "w" + std::to_string(i)}, {"verdict", "dead"}});
  }
  const std::string text = why_of_event_text(answer);
  EXPECT_NE(text.find("\n  7. Start of w7"), std::string::npos) << text;
  EXPECT_EQ(text.find("Start of w8"), std::string::npos) << text;
  EXPECT_NE(text.find("\n     2 more; `--all` shows all of them whole.\n"), std::string::npos)
      << text;
}

TEST(WhyText, SaysWhatCameOfTheReplaysOfTheEventAndThenProposesNoCorrection) {
  Json answer = Json::parse(R"({"event": {"sequence": 7}, "looked": 1, "near": [
    {"kind": "start", "workflow": "w", "verdict": "predicate", "says": "no", "predicates": [
      {"attribute": "a", "kind": "pattern", "asks": ".", "got": null, "holds": false, "fits": "x"}]}],
    "replays": [{"namespace": "shop", "sequence": 9, "applied": true, "effects": []},
                {"namespace": "default", "sequence": 8, "applied": false, "effects": []}]})");
  const std::string correction =
      "     Send it again, corrected: millrace -n default event replay 7 --attr a=x\n";
  const std::string before = why_of_event_text(answer);
  EXPECT_NE(before.find("It was sent again as #9 of the namespace shop. What came of that: "
                        "nothing.\n"
                        "It was sent again as #8. What came of that: not applied yet.\n"),
            std::string::npos)
      << before;
  EXPECT_NE(before.find("a  has a value  the event has no such attribute\n"), std::string::npos)
      << before;
  EXPECT_NE(before.find(correction), std::string::npos) << before;
  answer["replays"][0]["effects"] = Json::array({{{"what", "started"}, {"workflow", "w"}}});
  const std::string after = why_of_event_text(answer);
  EXPECT_NE(after.find("as #9 of the namespace shop. What came of that: started w.\n"),
            std::string::npos)
      << after;
  EXPECT_EQ(after.find(correction), std::string::npos) << "it would do the work twice: " << after;
}

TEST(WhyText, LeavesTheCommandThatSendsAnEarlyEventAgainToTheSentence) {
  const std::string text = why_of_event_text(Json::parse(R"({"event": {"sequence": 7}, "looked": 1,
    "near": [{"kind": "instance", "workflow": "w", "instance": "i", "verdict": "before",
     "says": "early; send it to this instance only: `millrace -n s event replay 7 --to-instance i`",
     "early": {"seconds": 3.3}}]})"));
  EXPECT_EQ(text.find("event replay"), text.rfind("event replay")) << text;
  EXPECT_NE(text.find("     Before: early; send it to this instance only: `millrace -n s event "
                      "replay 7 --to-instance i`\n"),
            std::string::npos)
      << text;
}

TEST(WhyText, NamesTheCommandThatCorrectsAnEvent) {
  struct Row {
    std::string what;
    std::string predicates;
    std::string options;  ///< empty: no command
  };
  const Row rows[] = {
      {"one value", R"({"attribute": "a", "asks": "x", "holds": false, "fits": "x y"})",
       "--attr 'a=x y'"},
      {"two values", R"({"attribute": "a", "asks": "x", "holds": false, "fits": "x"},
        {"attribute": "b", "asks": "1", "holds": true},
        {"attribute": "source", "asks": "^s", "holds": false, "fits": "s"})",
       "--attr a=x --attr source=s"},
      {"one of two values is not known", R"({"attribute": "a", "holds": false, "fits": "x"},
        {"attribute": "b", "asks": "1", "holds": false})",
       ""},
      {"an attribute that stays", R"({"attribute": "id", "holds": false, "fits": "x"})", ""},
      {"a value with a control character",
       R"({"attribute": "a", "holds": false, "fits": "x\u001b"})", ""},
      {"nothing is wrong", R"({"attribute": "a", "holds": true})", ""},
      {"the wait is over", R"({"attribute": "a", "holds": false, "fits": "x"}],
        "wouldFit": false, "waitsFor": ["paid")",
       ""},
  };
  for (const Row& row : rows) {
    Json why = Json::parse(R"({"event": {"sequence": 7}, "looked": 1, "near": [{"kind": "instance",
      "workflow": "w", "instance": "i", "verdict": "predicate", "predicates": [)" +
                           row.predicates + "]}]}");
    const std::string text = why_of_event_text(why, {.ns = "my shop"});
    const std::string line = "     Send it again, corrected: millrace -n 'my shop' event replay 7 ";
    EXPECT_EQ(text.find(line) != std::string::npos, !row.options.empty()) << row.what << text;
    EXPECT_EQ(text.ends_with(line + row.options + "\n"), !row.options.empty()) << row.what << text;
    why["event"].erase("sequence");
    EXPECT_EQ(why_of_event_text(why).find("Send it again"), std::string::npos) << "a test event";
  }
}

TEST(WhyText, NamesTheCommandsThatSendAnEventToItsNamespace) {
  const std::string text = why_of_event_text(Json::parse(R"({"event": {"sequence": 7}, "looked": 0,
    "near": [], "elsewhere": ["a", "b", "c", "d"]})"));
  EXPECT_TRUE(
      text.ends_with("Send the event there:\n"
                     "    millrace -n default event replay 7 --to-namespace a\n"
                     "    millrace -n default event replay 7 --to-namespace b\n"
                     "    millrace -n default event replay 7 --to-namespace c\n"))
      << text;
  const std::string test = why_of_event_text(Json::parse(R"({"event": {"type": "Paid"},
    "looked": 0, "near": [], "similarTypes": ["paid"], "elsewhere": ["a"]})"));
  EXPECT_TRUE(
      test.ends_with("  Workflows listen for a similar type: paid. Correct the type.\n"
                     "  Other namespaces listen for this type: a. Send the event there.\n"))
      << test;
  const std::string instance =
      why_of_instance_text(Json::parse(R"({"instance": {"id": "i"}, "events": [], "looked": 3,
    "elsewhere": ["shop", "old"], "elsewhereEvents": [{"namespace": "shop", "sequence": 54,
    "type": "paid", "source": "bank", "id": "e-4", "time": "T"}]})"),
                           {.ns = "stock"});
  EXPECT_TRUE(instance.ends_with(
      "  Other namespaces got events that fit, and this one got none: shop. If they were meant for "
      "this namespace, send them here:\n    Event #54  type paid  source bank  id e-4  stored T\n"
      "      millrace -n shop event replay 54 --to-namespace stock\n"
      "  Other namespaces got events of these types: old.\n"))
      << instance;
}

TEST(WhyText, SaysHowFarTheEventsOfAnInstanceWereRead) {
  struct Row {
    std::string what;
    std::string members;
    WhyTextOptions options;
    std::string lines;
  };
  const std::string none =
      "Among the newest 7 messages of the namespace is no event of these types; "
      "`millrace event list` shows the events.\n";
  const Row rows[] = {
      {"all were read", R"("complete": true, "next": null, "lookedFrom": "T")", {}, none},
      {"a window",
       R"("complete": true, "next": null)",
       {.has_window = true},
       "Among the 7 messages of the namespace in this window of time is no event of these types; "
       "`millrace event list` shows the events.\n"},
      {"a window that was cut",
       R"("complete": false, "next": "17", "lookedFrom": "T")",
       {.ns = "my shop", .has_window = true, .since = "S"},
       "Among the 7 messages of the namespace in this window of time is no event of these types; "
       "`millrace event list` shows the events.\n"
       "There are older messages, which were not read (before T):\n"
       "    millrace -n 'my shop' instance why i --cursor 17 --since S\n"},
      {"events of other namespaces",
       R"("complete": true, "elsewhereLook": {"from": "T"})",
       {},
       none + "  In other namespaces, the events that are older than T were not looked at.\n"},
      {"too many namespaces",
       R"("complete": true, "elsewhereLook": {"namespaces": ["a", "b"]})",
       {},
       none + "  Of the other namespaces, only a, b were looked at.\n"},
      {"both",
       R"("complete": true, "elsewhereLook": {"namespaces": ["a"], "from": "T"})",
       {},
       none + "  Of the other namespaces, only a were looked at; there, the events that are older "
              "than T were not looked at.\n"},
  };
  for (const Row& row : rows) {
    const std::string text = why_of_instance_text(
        Json::parse(R"({"instance": {"id": "i", "waits": [{"type": "paid"}]}, "looked": 7,
          "events": [], )" +
                    row.members + "}"),
        row.options);
    EXPECT_TRUE(text.ends_with("  waits for paid\n" + row.lines)) << row.what << ": " << text;
  }
}

TEST(WhyText, ProposesOneCorrectionOfAGroupAndNamesTheOthersAsAlternatives) {
  const std::string text = why_of_event_text(Json::parse(R"({"event": {"sequence": 7}, "looked": 1,
    "near": [{"kind": "start", "workflow": "w", "verdict": "grouped", "says": "it waits",
    "corrections": [
      {"sequence": 7, "namespace": "shop", "attributes": {"a": "x y", "b": "1"}, "says": "first"},
      {"sequence": 3, "namespace": "shop", "attributes": {"type": "packed"}, "says": "second"},
      {"sequence": 5, "namespace": "old", "toNamespace": "shop", "attributes": {}, "says": "third"}
    ]}]})"),
                                             {.ns = "shop"});
  EXPECT_TRUE(
      text.ends_with("     One correction is enough for a group. The best one: first:\n"
                     "       millrace -n shop event replay 7 --attr 'a=x y' --attr b=1\n"
                     "     Or one of these instead; each starts an instance of its own:\n"
                     "     - second:\n"
                     "       millrace -n shop event replay 3 --attr type=packed\n"
                     "     - third:\n"
                     "       millrace -n old event replay 5 --to-namespace shop\n"))
      << text;
}

TEST(WhyText, ProposesToSendOnlyAnEventThatFits) {
  const std::string text = why_of_instance_text(Json::parse(R"({"instance": {"id": "i",
    "waits": [{"type": "paid"}]}, "events": [], "looked": 3, "elsewhere": ["shop"]})"));
  EXPECT_TRUE(
      text.ends_with("  Other namespaces got events of these types, but none that fits: "
                     "shop.\n"))
      << text;
  EXPECT_EQ(text.find("Send"), std::string::npos) << text;
}

TEST(WhyText, SaysThatATestEventIsADuplicate) {
  const std::string text = why_of_event_text(
      Json::parse(R"({"event": {"id": "7"}, "looked": 1, "duplicate": true, "near": []})"));
  EXPECT_EQ(text,
            "Event  id 7\n"
            "Not sent: this is what it would do.\n"
            "It would be dropped as a duplicate: an event with this source and id had an effect "
            "before. Give it another id.\n"
            "Judged 1 listeners for this type.\n");
}

TEST(WhyText, GivesTheReasonOfAMissOnOneLine) {
  struct Row {
    std::string one;  ///< members of the listener
    std::string reason;
  };
  const Row rows[] = {
      {R"("verdict": "predicate", "predicates": [
        {"attribute": "a", "kind": "equals", "asks": "1", "got": "1", "holds": true},
        {"attribute": "b", "kind": "pattern", "asks": "^x", "got": null, "holds": false}])",
       "`b` matches \"^x\", the event has no such attribute"},
      {R"("verdict": "before", "says": "the event came before the wait began: at noon; send it")",
       "before: the event came before the wait began"},
      {R"("verdict": "duplicate", "says": "an event had an effect before; give it another id")",
       "duplicate: an event had an effect before"},
      {R"("verdict": "after", "says": "the wait had ended")", "after: the wait had ended"},
  };
  for (const Row& row : rows) {
    Json near = Json::array();
    const Json one =
        Json::parse(R"({"kind": "instance", "workflow": "w", "instance": "i", )" + row.one + "}");
    for (int i = 0; i < 4; ++i) near.push_back(one);
    const std::string text = why_of_event_text({{"looked", 4}, {"near", near}});
    EXPECT_NE(text.find("\n  4. Instance i of w: " + row.reason + "\n`--all`"), std::string::npos)
        << text;
  }
}

TEST(WhyText, ShowsNoControlCharacterOfAnEvent) {
  const std::string text = why_of_event_text(Json::parse(R"({
    "event": {"type": "a\u001b[2J", "id": "1"}, "looked": 1, "complete": false, "near": [
    {"kind": "start", "workflow": "w", "verdict": "predicate", "says": "s", "predicates": [
     {"attribute": "a", "kind": "pattern", "asks": "\u0007", "got": null, "holds": false}]}]})"));
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_EQ(text.find('\x07'), std::string::npos);
  EXPECT_NE(text.find("the event has no such attribute"), std::string::npos) << text;
  EXPECT_NE(text.find("--instance"), std::string::npos) << text;
}

TEST(WhyText, ShowsFromWhenOnAStateTakesEarlierEvents) {
  const std::string text = why_of_instance_text(Json::parse(R"({"instance": {
    "id": "1", "workflow": "w", "status": "running", "state": "pay", "since": "S", "waits": [],
    "entering": [{"type": "paid", "lookbackFrom": "T"}, {"type": "sent"}]}, "events": []})"));
  EXPECT_EQ(text.find("It waits for no event now"), std::string::npos) << text;
  EXPECT_NE(text.find("  will wait for paid, also for events since T\n  will wait for sent\n"),
            std::string::npos)
      << text;
  const std::string waiting = why_of_instance_text(Json::parse(R"({"instance": {
    "waits": [{"type": "paid", "context": {}, "lookbackFrom": "T"}]}, "events": []})"));
  EXPECT_NE(waiting.find("  waits for paid, also for events since T\n"), std::string::npos)
      << waiting;
}

TEST(WhyText, ShowsTheDeadLetterThatAnEventBecame) {
  const std::string text = why_of_event_text(Json::parse(R"({"event": {"sequence": 3}, "near": [],
    "effects": [{"what": "refused"}], "deadLetter": {"id": "7", "reason": "r", "detail": "d"}})"));
  EXPECT_NE(text.find("It became dead letter 7, r: d\n"), std::string::npos) << text;
}

TEST(WhyText, LeavesOutACorrectionThatAReplayCannotMake) {
  for (const std::string attributes : {R"({"id": "7"})", R"({"a": "1\u001b"})"}) {
    const std::string text = why_of_event_text(
        Json::parse(R"({"event": {"sequence": 7}, "looked": 1, "near": [{"kind": "start",
          "workflow": "w", "verdict": "grouped", "says": "it waits", "corrections": [
          {"sequence": 7, "namespace": "shop", "says": "no", "attributes": )" +
                    attributes + R"(},
          {"sequence": 8, "namespace": "shop", "says": "yes", "attributes": {"a": "1"}}]}]})"),
        {.ns = "shop"});
    EXPECT_TRUE(
        text.ends_with("     One correction is enough for a group. The best one: yes:\n"
                       "       millrace -n shop event replay 8 --attr a=1\n"))
        << text;
    EXPECT_EQ(text.find("replay 7"), std::string::npos) << text;
  }
}

TEST(WhyText, NamesTheNewestMessagesOnlyForAnInstanceThatWaits) {
  const std::string waits = why_of_instance_text(
      Json::parse(R"({"instance": {"waits": [{"type": "paid"}]}, "looked": 7, "events": []})"));
  EXPECT_TRUE(
      waits.ends_with("Among the newest 7 messages of the namespace is no event of these types; "
                      "`millrace event list` shows the events.\n"))
      << waits;
  const std::string calls = why_of_instance_text(
      Json::parse(R"({"instance": {"waits": []}, "looked": 0, "events": []})"));
  EXPECT_TRUE(calls.ends_with("It waits for no event now.\n")) << calls;
}

TEST(WhyText, ShowsWhatElseCameOfAnEvent) {
  struct Row {
    std::string effects;
    std::string line;
  };
  const Row rows[] = {
      {R"("effects": [{"what": "woke", "instance": "i"}], "effectCount": 1)", ""},
      {R"("effects": [{"what": "kept"}], "effectCount": 1)", ""},
      {R"("effects": [{"what": "woke", "instance": "i"}, {"what": "started", "instance": "k"},
        {"what": "grouped", "workflow": "w"}], "effectCount": 3)",
       "     What else came of it: started k, grouped w.\n"},
      {R"("effects": [{"what": "woke", "instance": "a"}, {"what": "woke", "instance": "b"},
        {"what": "woke", "instance": "c"}, {"what": "woke", "instance": "d"}], "effectCount": 30)",
       "     What else came of it: woke a, woke b, woke c, and 27 more.\n"},
  };
  for (const Row& row : rows) {
    const std::string text = why_of_instance_text(Json::parse(R"({"instance": {"id": "i",
      "waits": [{"type": "paid"}]},
      "events": [{"sequence": 3, "verdict": "after", "says": "late", )" +
                                                              row.effects + "}]}"));
    EXPECT_TRUE(text.ends_with("     After: late\n" + row.line)) << text;
  }
}

TEST(WhyText, SaysWhatAnEffectWithoutAListenerMeans) {
  for (const char* const what : {"duplicate", "skipped", "uncorrelated", "kept", "refused",
                                 "expired", "closed", "rateLimited", "debounced", "batched"}) {
    const Json one = {{"what", what}};
    const std::string text = why_of_event_text({{"looked", 1}, {"effects", {one, one}}});
    const std::string begin = fmt::format("What came of it: {0}, {0}.\n  {0}: ", what);
    EXPECT_NE(text.find(begin), std::string::npos) << text;
    EXPECT_EQ(text.find(fmt::format("  {}: ", what)), text.rfind(fmt::format("  {}: ", what)))
        << "each meaning once: " << text;
  }
  const std::string woke = why_of_event_text(
      Json::parse(R"({"looked": 1, "effects": [{"what": "woke", "instance": "i"}]})"));
  EXPECT_NE(woke.find("What came of it: woke i.\nJudged"), std::string::npos) << woke;
}

}  // namespace
}  // namespace millrace
