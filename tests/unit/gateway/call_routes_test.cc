// The routes of tasks that a service has accepted.
#include <string>
#include <variant>

#include <fmt/format.h>

#include "tests/unit/gateway/api_fixture.h"

namespace millrace {
namespace {

constexpr const char* kAcceptedCalls = "/v1/ns/default/calls";

class CallRoutes : public ApiTest {};

TEST_F(CallRoutes, ListTheTasksThatWaitForAnAnswer) {
  const Row rows[] = {
      {"GET",
       kAcceptedCalls,
       {},
       "",
       200,
       R"({"items":[{"task":"0190b5a4-7c1e-7f2a-8000-0123456789ac","namespace":"default",
           "instance":"0190b5a4-7c1e-7f2a-8000-0123456789ab","state":"ask","function":"approve",
           "attempt":1,"since":"2021-09-01T12:00:00.000Z",
           "deadline":"2021-09-03T12:00:00.000Z","progress":{"done":3},
           "progressAt":"2021-09-01T12:00:00.000Z"}],"next":null,"complete":true,"looked":1})"},
      {"GET", "/v1/ns/none/calls", {}, "", 404, "namespace.not_found"},
      {"GET", "/v1/ns/default/calls?instance=12", {}, "", 400, "request.parameter"},
      {"GET", "/v1/ns/default/calls?limit=0", {}, "", 400, "request.parameter"},
      {"GET",
       "/v1/ns/default/calls?instance=0190b5a4-7c1e-7f2a-8000-000000000000",
       {},
       "",
       404,
       "instance.not_found"},
  };
  for (const Row& row : rows) expect(row, call(row.method, row.target, row.headers, row.body));
}

TEST_F(CallRoutes, ReadTheFilterFromTheParameters) {
  const std::string target =
      fmt::format("{}?instance={}&limit=7&cursor=c", kAcceptedCalls, FakeService::kInstance);
  EXPECT_EQ(call("GET", target).status, 200);
  const AcceptedFilter filter = service_.last_accepted_filter();
  ASSERT_TRUE(filter.instance);
  EXPECT_EQ(to_string(*filter.instance), FakeService::kInstance);
  EXPECT_EQ(filter.limit, 7U);
  EXPECT_EQ(filter.cursor, "c");
  EXPECT_EQ(call("GET", kAcceptedCalls).status, 200);
  EXPECT_EQ(service_.last_accepted_filter().limit, 50U);
  EXPECT_FALSE(service_.last_accepted_filter().instance);
}

TEST_F(CallRoutes, AnswerATaskInPlaceOfTheService) {
  const std::string task = fmt::format("{}/{}", kAcceptedCalls, FakeService::kTask);
  const HttpReply reply = call("POST", task + "/complete", {}, R"({"approved": true})");
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.json(), (Json{{"accepted", true}}));
  EXPECT_EQ(call("POST", task + "/fail", {}, R"({"code": "refused", "message": "no"})").status,
            200);
  const auto answers = service_.answers();
  ASSERT_EQ(answers.size(), 2U);
  for (const AnswerTask& answer : answers) {
    EXPECT_EQ(answer.ns, "default");
    EXPECT_EQ(to_string(answer.task), FakeService::kTask);
    EXPECT_EQ(answer.by, AnsweredBy::kOperator);
  }
  EXPECT_EQ(std::get<TaskEnded>(answers[0].what).result.value(), R"({"approved": true})");
  EXPECT_EQ(std::get<TaskEnded>(answers[1].what).result.error(), (Error{"refused", "no"}));
}

TEST_F(CallRoutes, RefuseAnAnswerThatIsWrongOrStale) {
  const std::string task = fmt::format("{}/{}", kAcceptedCalls, FakeService::kTask);
  const Row rows[] = {
      {"GET", task + "/complete", {}, "", 405, "request.method_not_allowed"},
      {"POST", "/v1/ns/default/calls/12/complete", {}, "", 400, "request.parameter"},
      {"POST", task + "/fail", {}, R"({"code": "a b"})", 400, "request.parameter"},
      {"POST",
       task + "/complete",
       {{"Content-Type", "application/json"}},
       "{approved: true}",
       400,
       "json.malformed"},
      {"POST",
       fmt::format("/v1/ns/none/calls/{}/complete", FakeService::kTask),
       {},
       "",
       404,
       "namespace.not_found"},
  };
  for (const Row& row : rows) expect(row, call(row.method, row.target, row.headers, row.body));
  for (const char* const code : {"callback.ended", "call.not_accepted"}) {
    service_.callback_answer = fail(code, "why");
    const HttpReply reply = call("POST", task + "/complete");
    EXPECT_EQ(reply.status, 409);
    EXPECT_EQ(reply.code(), code);
  }
}

}  // namespace
}  // namespace millrace
