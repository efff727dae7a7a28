// The verbs of `schedule`, `listener` and `group`, most of which list items, and `find`.
#include <iterator>
#include <map>
#include <sstream>
#include <string>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/json.h"
#include "tests/unit/cli/cli_fixture.h"
#include "tests/unit/gateway/fake_service.h"

namespace millrace {
namespace {

class ListVerbs : public CliTest {};

TEST_F(ListVerbs, ShowsSchedulesAndTheirTicks) {
  expect_outputs({
      {{"schedule", "list"},
       "WORKFLOW  CRON                             ZONE           NEXT                      "
       "LAST  PAUSED\n"
       "report    CRON_TZ=Europe/Vienna 0 7 * * *  Europe/Vienna  2021-09-01T05:00:00.000Z  "
       "-     -\n"},
      {{"schedule", "next", "report"},
       "TICK\n2021-09-01T05:00:00.000Z\n2021-09-02T05:00:00.000Z\n"},
      {{"schedule", "trigger", "report"}, "id  " + std::string(kId) + "\n"},
      {{"schedule", "trigger", "report", "-o", "name"}, std::string(kId) + "\n"},
  });
}

TEST_F(ListVerbs, ShowsWhatWillFire) {
  const std::string id = kId;
  expect_outputs({
      {{"next", "--kind", "stateTimeout", "--limit", "3"},
       "AT                        KIND          WORKFLOW OR SERVICE  STATE  INSTANCE" +
           std::string(30, ' ') +
           "PAUSED  THEN\n"
           "2021-09-01T12:00:00.000Z  stateTimeout  order                wait   " +
           id +
           "  -       late\n"
           "2021-09-01T12:00:01.000Z  stateTimeout  book-leg             wait   " +
           id +
           "  -       fails with direktiv.stateTimeout after its compensations; its caller calls "
           "again\n"},
      {{"next", "-o", "name"}, id + "\n" + id + "\n"},
      {{"next", "--kind", "tick", "-o", "name"}, "report\n"},
      {{"next", "--kind", "tick", "-o", "jsonl"},
       R"({"at":"2021-09-01T12:00:00.000Z","causes":"start","kind":"tick","workflow":"report"})"
       "\n"},
  });
  EXPECT_EQ(run({"next", "--kind", "alarm"}).code, 1);
  ASSERT_EQ(run({"next", "--until", "2h"}).code, 0);
  EXPECT_EQ(service_.last_next_filter().until, parse_rfc3339("2021-09-01T14:05:00Z").value());
  const CommandOutput limited = run({"next", "--limit", "1", "-o", "json"});
  EXPECT_EQ(limited.code, 0) << "as that of other lists that continue";
  EXPECT_EQ(limited.err,
            "more follows: the list has all that fires before 2021-09-01T12:00:00.000Z; --limit, "
            "up to 1000, shows more\n");
  EXPECT_EQ(run({"next", "--limit", "2"}).err,
            "there are more timers than the server looks at in one call: the list is exact until "
            "2021-09-01T11:00:00.000Z, and something that fires later may be missing\n");
  EXPECT_EQ(Json::parse(run({"next", "-o", "json"}).out)["complete"], true);
}

TEST_F(ListVerbs, ShowsAnOverview) {
  const std::string id = kId;
  expect_outputs({
      {{"overview"},
       "WORKFLOW  STATUS  INSTANCES\n"
       "order     \x1b[31mfailed  \x1b[0m3\n"
       "! failed order: 3\n"
       "! retrying order pay: since 2021-09-01T12:00:00.000Z, due 2021-09-01T12:00:00.000Z; see "
       "`millrace -n default instance "
       "history " +
           id +
           "`\n"
           "! deadline order wait: since 2021-09-01T12:00:00.000Z, due 2021-09-01T12:00:00.000Z, "
           "then late; see `millrace -n "
           "default instance why " +
           id +
           "`\n"
           "! noWorkers charge: 2 waiting, 0 running, the oldest since 2021-09-01T12:00:00.000Z; "
           "see `millrace -n default function describe charge`\n"
           "! sourceWaits orders no stream; see `millrace -n default source describe orders`\n"
           "! compensationStopped pay: 1; see `millrace -n default instance list --has "
           "compensations --workflow pay`\n"
           "! incompleteGroups ship: 2; see `millrace -n default group list --workflow ship`\n"
           "! unknownNamespace shopp: 4; see `millrace -n shopp dlq list`\n"
           "! retrying: there may be more that are due at 2021-09-01T12:00:00.000Z or later\n"
           "! noWorkers: there may be more: no answer\n"},
  });
  EXPECT_EQ(Json::parse(run({"overview", "-o", "json"}).out)["levels"]["jqWorkers"], 2);
}

TEST_F(ListVerbs, ShowsServices) {
  expect_outputs({
      {{"function", "list"},
       "SERVICE  KIND     PAUSED  WAITING  QUEUED  RUNNING  ASKING  OLDEST  P99 START  LAST "
       "ERROR\n"
       "charge   workers  -       2        -       1        3       5m      2.5        "
       "card.declined\n"},
      {{"function", "list", "-o", "name"}, "charge\n"},
      {{"function", "describe", "charge", "-o", "name"}, "charge\n"},
  });
  EXPECT_EQ(run({"function", "describe", "none"}).code, 3);
}

TEST_F(ListVerbs, ShowsListeners) {
  expect_outputs({
      {{"listener", "list", "--limit", "3"},
       "KIND   WORKFLOW  INSTANCE  STATE  TYPE          CONTEXT\n"
       "start  order     -         -      order.placed  {\"source\":{\"equals\":\"shop\"}}\n"},
  });
}

TEST_F(ListVerbs, PassesTheConditionsOnListenersToTheServer) {
  EXPECT_EQ(run({"listener", "list", "--kind", "instance", "--type", "paid", "--workflow", "order",
                 "--attribute", "orderid", "--value", "o 1"})
                .code,
            0);
  const ListenerFilter filter = service_.last_listener_filter();
  EXPECT_EQ(filter.kind, ListenerFilter::Kind::kInstance);
  EXPECT_EQ(filter.type, "paid");
  EXPECT_EQ(filter.workflow, "order");
  EXPECT_EQ(filter.attribute, "orderid");
  EXPECT_EQ(filter.value, "o 1");
  EXPECT_EQ(run({"listener", "list"}).code, 0);
  EXPECT_EQ(service_.last_listener_filter().value, std::nullopt);
  EXPECT_EQ(run({"listener", "list", "--value", "o1"}).code, 0);
  EXPECT_EQ(service_.last_listener_filter().attribute, "");
  EXPECT_EQ(service_.last_listener_filter().value, "o1");
  EXPECT_EQ(run({"listener", "list", "--attribute", "orderid", "--value", ""}).code, 2);
}

TEST_F(ListVerbs, ShowsStartsThatWait) {
  const std::string instance = FakeService::kInstance;
  const CommandOutput shown = run({"queue", "list", "--workflow", "ship"});
  EXPECT_EQ(shown.code, 0) << shown.err;
  EXPECT_NE(shown.out.find("KIND    WORKFLOW OR SERVICE  KEY"), std::string::npos) << shown.out;
  EXPECT_NE(shown.out.find("1 of 1 held  workflow, holders  " + instance + "  -1 "),
            std::string::npos)
      << shown.out;
  EXPECT_NE(shown.out.find(instance), std::string::npos) << shown.out;
  EXPECT_EQ(run({"queue", "list", "--workflow", "none"}).code, 3);
}

TEST_F(ListVerbs, ShowsTheHoldersOfSlots) {
  const std::string instance = FakeService::kInstance;
  const std::string pad(36 - std::string("INSTANCE").size(), ' ');
  const std::string since = "2021-09-01T11:00:00.000Z";
  expect_outputs({
      {{"queue", "holders", "--workflow", "ship", "--limit", "3"},
       "KEY   INSTANCE" + pad + "  TASK  SINCE                     PAUSED  WAITS FOR\nnull  " +
           instance + "  -     " + since + "  yes     throttle\n"},
      {{"queue", "holders", "--service", "bank", "-o", "name"}, instance + "\n"},
  });
  ASSERT_EQ(run({"queue", "holders", "--image", "tool:1", "--key", "\"c-1\""}).code, 0);
  EXPECT_EQ(service_.last_holder_filter().image, "tool:1");
  EXPECT_EQ(service_.last_holder_filter().key, Json("c-1"));
  EXPECT_EQ(service_.last_holder_filter().workflow, "");
  EXPECT_EQ(run({"queue", "holders", "--workflow", "none"}).code, 3);
  EXPECT_EQ(run({"queue", "holders"}).code, 2);
  EXPECT_EQ(run({"queue", "holders", "--workflow", "ship", "--service", "bank"}).code, 2);
}

TEST_F(ListVerbs, ShowsCallsThatWait) {
  const CommandOutput shown = run({"queue", "list"});
  EXPECT_EQ(shown.code, 0) << shown.err;
  EXPECT_NE(shown.out.find("calls   bank"), std::string::npos) << shown.out;
  EXPECT_NE(
      shown.out.find("3 of 3 held  service, 2 calls   " + std::string(FakeService::kInstance) +
                     "  0         2021-09-01T12:00:00.000Z"),
      std::string::npos)
      << shown.out;
}

TEST_F(ListVerbs, ShowsPendingStarts) {
  const CommandOutput shown = run({"queue", "list"});
  EXPECT_EQ(shown.code, 0) << shown.err;
  const size_t begin = shown.out.find("starts  book");
  ASSERT_NE(begin, std::string::npos) << shown.out;
  const std::string line = shown.out.substr(begin, shown.out.find('\n', begin) - begin);
  std::istringstream words(line);
  const std::vector<std::string> cells{std::istream_iterator<std::string>(words), {}};
  const std::vector<std::string> expected{"starts",
                                          "book",
                                          "acme",
                                          "batch",
                                          "(direktiv.mutex)",
                                          "7",
                                          "9",
                                          "inputs",
                                          "-",
                                          FakeService::kInstance,
                                          "-",
                                          "2021-09-01T12:00:00.000Z",
                                          "2021-09-01T12:05:00.000Z",
                                          FakeService::kInstance};
  EXPECT_EQ(cells, expected) << line;
}

TEST_F(ListVerbs, ShowsGroups) {
  expect_outputs({
      {{"group", "list", "--limit", "3"},
       "WORKFLOW  CORRELATE        HAS           LACKS   EXPIRES                   GROUP\n"
       "ship      {\"order\":\"o-1\"}  paid 1 (#79)  packed  2021-09-01T12:00:00.000Z  "
       "ship:6f1ed002ab5595859014ebf0951522d9\n"},
      {{"group", "list", "-o", "name"}, "ship:6f1ed002ab5595859014ebf0951522d9\n"},
      {{"group", "drop", "ship:6f1ed002ab5595859014ebf0951522d9", "--dry-run"},
       "Not dropped: the group has paid 1 (#79) and lacks packed; its events would become dead "
       "letters.\n"},
      {{"group", "drop", "ship:6f1ed002ab5595859014ebf0951522d9"},
       "dropped  1\nid       ship:6f1ed002ab5595859014ebf0951522d9\n"},
  });
  EXPECT_EQ(run({"group", "drop", "ship", "--dry-run"}).code, 3);
  ASSERT_EQ(run({"group", "list", "--workflow", "ship", "--attr", "order=o-1"}).code, 0);
  EXPECT_EQ(service_.last_group_filter().workflow, "ship");
  EXPECT_EQ(service_.last_group_filter().correlate,
            (std::map<std::string, std::string>{{"order", "o-1"}}));
  EXPECT_EQ(run({"group", "list", "--attr", "order"}).code, 2);
  EXPECT_EQ(run({"group", "drop", "ship"}).code, 3);
  EXPECT_EQ(run({"group", "drop"}).code, 2);
}

TEST_F(ListVerbs, ShowsTheCallsThatWaitForAnAnswer) {
  const std::string task = FakeService::kTask;
  const std::string pad(36 - std::string("INSTANCE").size(), ' ');
  expect_outputs({
      {{"call", "list", "--limit", "3"},
       "INSTANCE" + pad +
           "  STATE  FUNCTION  SINCE  DEADLINE                  PROGRESS    ATTEMPT\n" + kId +
           "  ask    approve   5m     2021-09-03T12:00:00.000Z  {\"done\":3}  " + task + "\n"},
      {{"call", "list", "-o", "name"}, task + "\n"},
  });
  EXPECT_FALSE(service_.last_accepted_filter().instance);
  ASSERT_EQ(run({"call", "list", "--instance", kId}).code, 0);
  ASSERT_TRUE(service_.last_accepted_filter().instance);
  EXPECT_EQ(to_string(*service_.last_accepted_filter().instance), kId);
  EXPECT_EQ(run({"call", "list", "--instance", "12"}).code, 1);
}

TEST_F(ListVerbs, AnswersACallThatWaits) {
  const std::string task = FakeService::kTask;
  const std::string approved = file("approved.json", R"({"approved": true})");
  expect_outputs({
      {{"call", "complete", kId, "-f", approved}, "accepted  true\ntask      " + task + "\n"},
      {{"call", "complete", task, "-o", "name"}, task + "\n"},
      {{"call", "fail", kId, "--code", "approval.refused", "--message", "no", "-o", "name"},
       task + "\n"},
  });
  const auto answers = service_.answers();
  ASSERT_EQ(answers.size(), 3U);
  for (const AnswerTask& answer : answers) EXPECT_EQ(to_string(answer.task), task);
  EXPECT_EQ(std::get<TaskEnded>(answers[0].what).result.value(), R"({"approved": true})");
  EXPECT_EQ(std::get<TaskEnded>(answers[1].what).result.value(), "");
  EXPECT_EQ(std::get<TaskEnded>(answers[2].what).result.error(), (Error{"approval.refused", "no"}));
}

TEST_F(ListVerbs, DoesNotAnswerACallThatIsNotTheOnlyOne) {
  for (const size_t count : {size_t{0}, size_t{2}}) {
    service_.accepted_calls = count;
    const CommandOutput output = run({"call", "complete", kId});
    EXPECT_EQ(output.code, count == 0 ? 6 : 2) << output.err;
  }
  EXPECT_TRUE(service_.answers().empty());
  EXPECT_EQ(run({"call", "complete", kId, "-f", "/none"}).code, 2);
  EXPECT_EQ(run({"call", "fail", kId}).code, 2) << "an error has a code";
  service_.accepted_calls = 1;
  service_.callback_answer = fail("callback.ended", "the attempt has ended");
  EXPECT_EQ(run({"call", "complete", kId}).code, 6);
}

TEST_F(ListVerbs, ShowsWhatATextNames) {
  expect_outputs({
      {{"find", "order"}, "KIND      ID     IS\nworkflow  order  revision 1\n"},
      {{"find", "a b", "-o", "name"}, "a b\n"},
      {{"find", "18", "-n", "default"},
       "KIND   ID  IS\n"
       "event  18  paid of bank.eu, 2021-09-01T12:00:01.000Z; see `millrace -n default event why "
       "18`\n"},
  });
  const std::pair<std::string, std::string> rows[] = {
      {"task", "; see `millrace -n default instance calls " + std::string(kId) + "`"},
      {"source", "; see `millrace -n default source describe source`"},
      {"webhook", "; see `millrace -n default webhook describe webhook`"},
      {"service", "; see `millrace -n default function describe service`"},
      {"replay", ""},
  };
  for (const auto& [kind, command] : rows) {
    EXPECT_TRUE(run({"find", kind}).out.ends_with(" what it is" + command + "\n")) << kind;
  }
  EXPECT_EQ(run({"find", "nothing"}).code, 3);
  EXPECT_EQ(run({"find"}).code, 2);
}

TEST_F(ListVerbs, SayOfAnEmptyTableWhichNamespacesHaveSome) {
  ASSERT_EQ(run({"namespace", "create", "empty"}).code, 0);
  const std::string others = "; other namespaces have some: default (-n default)\n";
  struct Row {
    std::vector<std::string> arguments;
    std::string none;  ///< what there are none of
  };
  const std::vector<Row> rows = {
      {{"next"}, "timers"},
      {{"next", "--kind", "tick"}, "such timers"},
      {{"function", "list"}, "services"},
      {{"overview"}, "instances"},
      {{"instance", "count"}, "instances"},
      {{"instance", "count", "--status", "failed"}, "such instances"},
  };
  for (const Row& row : rows) {
    std::vector<std::string> arguments = {"-n", "empty"};
    arguments.insert(arguments.end(), row.arguments.begin(), row.arguments.end());
    EXPECT_EQ(run(arguments).err, "no " + row.none + " in namespace empty" + others);
    arguments.insert(arguments.end(), {"-o", "json"});
    EXPECT_EQ(run(arguments).err, "") << row.none;
  }
}

TEST_F(ListVerbs, SayThatAWorkflowWithoutInstancesHasIncompleteGroups) {
  service_.instance_count = 0;
  const std::string groups =
      "; events wait in incomplete groups of ship, which start no instance before the events of "
      "the other types come: `millrace -n default group list --workflow ship` lists them\n";
  const std::vector<std::string> list = {"instance", "list", "--workflow", "ship"};
  EXPECT_TRUE(run(list).err.ends_with(groups)) << run(list).err;
  service_.group_count = 0;
  EXPECT_EQ(run(list).err.find("groups"), std::string::npos) << run(list).err;
}

TEST_F(ListVerbs, SayOfAnEmptyTableHowToGetTheFirstItem) {
  EXPECT_EQ(run({"workflow", "list"}).err,
            "no workflows in namespace default; `millrace workflow apply FILE` stores one\n");
  ASSERT_EQ(run({"namespace", "create", "empty"}).code, 0);
  ASSERT_EQ(run({"namespace", "delete", "default"}).code, 0);
  EXPECT_EQ(run({"-n", "empty", "function", "list"}).err,
            "no services in namespace empty; the settings of a namespace name them: `millrace "
            "namespace create NAME --settings @FILE`\n");
  EXPECT_EQ(run({"-n", "empty", "next"}).err, "no timers in namespace empty\n");
}

TEST_F(ListVerbs, SayWhereFindHasLookedAndForWhat) {
  const auto expected = [](const std::string& text, const std::string& ns,
                           const std::string& others) {
    return fmt::format(
        "nothing in namespace {0} has this id, key or name{1}\n"
        "`find` looks for the beginning of the id of an instance or a workflow, for the whole id "
        "of "
        "an instance that `debounce` or `batch` has put off, for an idempotency "
        "key, for the id of a group, for the id of a task that has not ended, for the id of a "
        "replay of a range, for the name of a source, an inbound webhook or a service, for the "
        "sequence or the id of an event, and for the id, the reason or the event id of a dead "
        "letter; `millrace -n {0} listener list --value {2}` shows the instances that "
        "wait for an event with this value of an attribute; values of events and groups are found "
        "by `millrace -n {0} event list --attr NAME=VALUE`, `millrace -n {0} instance list "
        "--correlation VALUE` and `millrace -n {0} group list`\n",
        ns, others, text);
  };
  EXPECT_EQ(run({"find", "nothing"}).err, expected("nothing", "default", ""));
  EXPECT_EQ(run({"find", "older"}).err,
            expected("older", "default", "") +
                "not all events and dead letters were looked at: `millrace -n default event list "
                "--id older` also finds older events\n");
  ASSERT_EQ(run({"namespace", "create", "empty"}).code, 0);
  EXPECT_EQ(run({"-n", "empty", "find", "order"}).err,
            expected("order", "empty", "; other namespaces have some: default (-n default)"));
  EXPECT_EQ(run({"-n", "empty", "find", "nothing"}).err, expected("nothing", "empty", ""))
      << "the other namespaces have nothing of this name either";
  EXPECT_EQ(run({"find", "unread"}).err,
            expected("unread", "default", "") +
                "the broker did not answer, so not all events and dead letters were looked at: not "
                "connected\n");
  const CommandOutput json = run({"-n", "empty", "find", "nothing", "-o", "json"});
  EXPECT_EQ(json.code, 3);
  EXPECT_EQ(json.err, expected("nothing", "empty", ""));
  EXPECT_EQ(Json::parse(json.out)["items"], Json::array());
}

}  // namespace
}  // namespace millrace
