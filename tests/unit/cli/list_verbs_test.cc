// The verbs of `schedule`, `listener` and `group`, most of which list items.
#include <gtest/gtest.h>

#include "tests/unit/cli/cli_fixture.h"

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

TEST_F(ListVerbs, ShowsListeners) {
  expect_outputs({
      {{"listener", "list", "--limit", "3"},
       "KIND   WORKFLOW  INSTANCE  STATE  TYPE          CONTEXT\n"
       "start  order     -         -      order.placed  {\"source\":{\"equals\":\"shop\"}}\n"},
  });
}

TEST_F(ListVerbs, ShowsGroups) {
  expect_outputs({
      {{"group", "list", "--limit", "3"},
       "WORKFLOW  CORRELATE        WAITING           EXPIRES\n"
       "ship      {\"order\":\"o-1\"}  paid 1, packed 0  2021-09-01T12:00:00.000Z\n"},
  });
}

}  // namespace
}  // namespace millrace
