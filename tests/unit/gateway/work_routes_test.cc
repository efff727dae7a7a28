// The routes that show the work of a namespace as a whole.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/gateway/api_fixture.h"

namespace millrace {
namespace {

class WorkRoutes : public ApiTest {};

TEST_F(WorkRoutes, ShowWhatWillFire) {
  const Row rows[] = {
      {"GET",
       "/v1/ns/default/next",
       {},
       "",
       200,
       R"({"items":[{"at":"2021-09-01T12:00:00.000Z","kind":"stateTimeout",
           "instance":"0190b5a4-7c1e-7f2a-8000-0123456789ab","workflow":"order","state":"wait",
           "causes":"state","then":"late","error":"direktiv.stateTimeout"},
           {"at":"2021-09-01T12:00:01.000Z","kind":"stateTimeout",
           "instance":"0190b5a4-7c1e-7f2a-8000-0123456789ab","workflow":"book-leg","state":"wait",
           "causes":"end","ends":"failed","error":"direktiv.stateTimeout","compensates":true,
           "caller":{"instance":"0190b5a4-7c1e-7f2a-8000-0123456789ab","retries":true}}],
           "next":null,"complete":true,"looked":1})"},
      {"GET", "/v1/ns/none/next", {}, "", 404, "namespace.not_found"},
      {"GET", "/v1/ns/default/next?until=tomorrow", {}, "", 400, "time.malformed"},
      {"GET", "/v1/ns/default/next?kind=alarm", {}, "", 400, "request.parameter"},
      {"GET", "/v1/ns/default/next?limit=0", {}, "", 400, "request.parameter"},
  };
  for (const Row& row : rows) expect(row, call(row.method, row.target, row.headers, row.body));
}

TEST_F(WorkRoutes, ShowTheServices) {
  const Row rows[] = {
      {"GET",
       "/v1/ns/default/functions",
       {},
       "",
       200,
       R"({"items":[{"service":"charge","target":{"kind":"workers",
           "at":"millrace.tasks.default.charge"},"paused":false,"waiting":2,"running":1,
           "oldest":"2021-09-01T12:00:00.000Z","scheduleToStart":{"p50":0.25,"p99":2.5},
           "asking":3,"lastError":{"code":"card.declined","at":"2021-09-01T12:00:00.000Z"}}],
           "next":null,"complete":true,"looked":3})"},
      {"GET", "/v1/ns/none/functions", {}, "", 404, "namespace.not_found"},
      {"GET", "/v1/ns/default/functions?limit=1", {}, "", 400, "request.unknown_parameter"},
  };
  for (const Row& row : rows) expect(row, call(row.method, row.target, row.headers, row.body));
}

TEST_F(WorkRoutes, ShowAnOverviewAndSeries) {
  const Row rows[] = {
      {"GET",
       "/v1/ns/default/overview",
       {},
       "",
       200,
       R"({"counts":[["order","failed",3]],
           "attention":[{"kind":"failed","workflow":"order","count":3},
               {"kind":"retrying","at":"2021-09-01T12:00:00.000Z",
                "since":"2021-09-01T12:00:00.000Z",
                "instance":"0190b5a4-7c1e-7f2a-8000-0123456789ab","workflow":"order","state":"pay"},
               {"kind":"deadline","at":"2021-09-01T12:00:00.000Z",
                "since":"2021-09-01T12:00:00.000Z",
                "instance":"0190b5a4-7c1e-7f2a-8000-0123456789ab","workflow":"order","state":"wait",
                "causes":"state","then":"late","error":"direktiv.stateTimeout"},
               {"kind":"noWorkers","service":"charge","count":2,"running":0,
                "since":"2021-09-01T12:00:00.000Z"},
               {"kind":"sourceWaits","source":"orders","detail":"no stream"},
               {"kind":"compensationStopped","workflow":"pay","count":1},
               {"kind":"incompleteGroups","workflow":"ship","count":2},
               {"kind":"unknownNamespace","namespace":"shopp","count":4}],
           "cut":[{"kind":"retrying","exactUntil":"2021-09-01T12:00:00.000Z"},
               {"kind":"noWorkers","detail":"no answer"}],
           "levels":{"readsEvents":true,"sendsEvents":true,"runsTasks":true,"tasksUnsent":0,
               "httpRunning":0,"httpWaiting":0,"evaluationsWaiting":0,"evaluationsRunning":0,
               "jqWorkers":2},"broker":{"reading":true,"losses":0},
           "store":{"dataBytes":8192,"usedBytes":4096},"asOf":"2021-09-01T12:00:00.000Z"})"},
      {"GET", "/v1/ns/none/overview", {}, "", 404, "namespace.not_found"},
      {"GET",
       "/v1/series?names=events&since=2021-09-01T12:00:00Z",
       {},
       "",
       200,
       R"({"step":10,"from":"2021-09-01T12:00:00.000Z","series":{"events":[1,2]}})"},
      {"GET", "/v1/series?names=events,weather", {}, "", 400, "request.parameter"},
      {"GET", "/v1/series?since=now", {}, "", 400, "time.malformed"},
  };
  for (const Row& row : rows) expect(row, call(row.method, row.target, row.headers, row.body));
}

TEST_F(WorkRoutes, PassTheFilterOfWhatWillFire) {
  EXPECT_EQ(
      call("GET", "/v1/ns/default/next?kind=tick,delay,tick&limit=7&until=2021-09-01T12:00:00Z")
          .status,
      200);
  const NextFilter filter = service_.last_next_filter();
  EXPECT_THAT(filter.kinds, testing::ElementsAre(FiringKind::kTick, FiringKind::kDelay));
  EXPECT_EQ(filter.limit, 7U);
  ASSERT_TRUE(filter.until);
  EXPECT_EQ(format_rfc3339(*filter.until), "2021-09-01T12:00:00.000Z");
}

}  // namespace
}  // namespace millrace
