// The verbs of `schedule`, `listener` and `group`, most of which list items, and `find`.
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
       "AT                        KIND          WORKFLOW  STATE  INSTANCE" + std::string(30, ' ') +
           "PAUSED\n"
           "2021-09-01T12:00:00.000Z  stateTimeout  order     wait   " +
           id + "  -\n"},
      {{"next", "-o", "name"}, id + "\n"},
  });
  EXPECT_EQ(run({"next", "--kind", "alarm"}).code, 1);
  EXPECT_EQ(Json::parse(run({"next", "-o", "json"}).out)["complete"], true);
}

TEST_F(ListVerbs, ShowsAnOverview) {
  expect_outputs({
      {{"overview"},
       "WORKFLOW  STATUS  INSTANCES\n"
       "order     \x1b[31mfailed  \x1b[0m3\n"
       "! failed order: 3\n"},
  });
  EXPECT_EQ(Json::parse(run({"overview", "-o", "json"}).out)["levels"]["jqWorkers"], 2);
}

TEST_F(ListVerbs, ShowsServices) {
  expect_outputs({
      {{"function", "list"},
       "SERVICE  KIND     PAUSED  WAITING  RUNNING  ASKING  OLDEST  P99 START  LAST ERROR\n"
       "charge   workers  -       2        1        3       5m      2.5        card.declined\n"},
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
  EXPECT_EQ(run({"listener", "list", "--value", "o1"}).code, 1);
  EXPECT_EQ(run({"listener", "list", "--attribute", "orderid", "--value", ""}).code, 2);
}

TEST_F(ListVerbs, ShowsGroups) {
  expect_outputs({
      {{"group", "list", "--limit", "3"},
       "WORKFLOW  CORRELATE        HAS     LACKS   EXPIRES\n"
       "ship      {\"order\":\"o-1\"}  paid 1  packed  2021-09-01T12:00:00.000Z\n"},
  });
}

TEST_F(ListVerbs, ShowsWhatATextNames) {
  expect_outputs({
      {{"find", "order"}, "KIND      ID     IS\nworkflow  order  revision 1\n"},
      {{"find", "a b", "-o", "name"}, "a b\n"},
  });
  EXPECT_EQ(run({"find", "nothing"}).code, 3);
  EXPECT_EQ(run({"find"}).code, 2);
}

}  // namespace
}  // namespace millrace
