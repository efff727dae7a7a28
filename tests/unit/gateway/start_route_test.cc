// The route that starts an instance, and may wait for its end.
#include <gtest/gtest.h>

#include "tests/unit/gateway/api_fixture.h"

namespace millrace {
namespace {

class StartRoute : public ApiTest {};

TEST_F(StartRoute, TakesABodyOfAnyTypeAsInputAndRefusesMalformedJson) {
  put_order();
  struct Input {
    std::string body;
    Json input;
  };
  const Input rows[] = {
      {"", Json::object()},
      {R"({"a":9007199254740993})", Json::parse(R"({"a":9007199254740993})")},
      {"[1]", Json::array({1})},
      {"\"text\"", "text"},
      {"null", nullptr},
      {"no json", "bm8ganNvbg=="},
      {std::string("\0\xff\x10", 3), "AP8Q"},
  };
  for (const Input& row : rows) {
    EXPECT_EQ(call("POST", "/v1/ns/default/workflows/order/start", {}, row.body).status, 201);
    EXPECT_EQ(service_.starts().back().input, row.input) << row.body;
  }
  const Headers json = {{"Content-Type", "application/json; charset=utf-8"}};
  for (const char* wrong : {"{", "{a: 1}", "no json", "[1,]"}) {
    const HttpReply answer = call("POST", "/v1/ns/default/workflows/order/start", json, wrong);
    EXPECT_EQ(answer.status, 400) << wrong;
    EXPECT_EQ(answer.code(), "json.malformed") << wrong;
  }
  EXPECT_EQ(call("POST", "/v1/ns/default/workflows/order/start", json, R"({"a":1})").status, 201);
  EXPECT_EQ(service_.starts().back().input, (Json{{"a", 1}}));
  EXPECT_EQ(service_.starts().size(), std::size(rows) + 1);
  const std::string deep = std::string(200, '[') + std::string(200, ']');
  const HttpReply refused = call("POST", "/v1/ns/default/workflows/order/start", {}, deep);
  EXPECT_EQ(refused.status, 400);
  EXPECT_EQ(refused.code(), "json.depth");
}

TEST_F(StartRoute, StartsOneInstanceForAnIdempotencyKey) {
  put_order();
  const std::string start = "/v1/ns/default/workflows/order/start";
  const Headers key = {{"Idempotency-Key", "k-1"}};
  const HttpReply first = call("POST", start, key, R"({"a":1})");
  EXPECT_EQ(first.status, 201);
  EXPECT_EQ(first.header("Location"),
            std::string("/v1/ns/default/instances/") + FakeService::kInstance);
  const HttpReply again = call("POST", start, key, R"({"a":1})");
  EXPECT_EQ(again.status, 200);
  EXPECT_EQ(again.json(), first.json());
  const HttpReply other = call("POST", start, key, R"({"a":2})");
  EXPECT_EQ(other.status, 409);
  EXPECT_EQ(other.code(), "start.conflict");
  EXPECT_EQ(call("POST", start, {{"Idempotency-Key", ""}}).status, 400);
  EXPECT_EQ(call("POST", start, {{"Idempotency-Key", std::string(300, 'k')}}).status, 400);
  EXPECT_EQ(service_.starts().size(), 1);
}

TEST_F(StartRoute, RefusesInvalidRequestsForAStart) {
  put_order();
  const std::string start = "/v1/ns/default/workflows/order/start";
  const Row rows[] = {
      {"POST", "/v1/ns/default/workflows/none/start", {}, "", 404, "workflow.not_found"},
      {"POST", "/v1/ns/default/workflows/a b/start", {}, "", 400, "request.malformed"},
      {"POST", "/v1/ns/default/workflows/a%2fb/start", {}, "", 400, "request.identifier"},
      {"POST", start + "?wait=soon", {}, "", 400, "duration.malformed"},
      {"POST", start + "?wait=PT61M", {}, "", 400, "request.parameter"},
      {"POST", start + "?wait=P1M", {}, "", 400, "request.parameter"},
      {"POST", start + "?waiting=1&x=2", {}, "", 400, "request.unknown_parameter"},
      {"GET", start, {}, "", 405, "request.method_not_allowed"},
  };
  for (const Row& row : rows) expect(row, call(row.method, row.target, row.headers, row.body));
  service_.command_error = Error{"busy", "the outbox is full"};
  const HttpReply busy = call("POST", start);
  EXPECT_EQ(busy.status, 503);
  EXPECT_EQ(busy.header("Retry-After"), "1");
}

TEST_F(StartRoute, AnswersAWaitWithTheEndedInstance) {
  put_order();
  service_.instance_status = "failed";
  service_.wait_outcome = Status();
  // The engine is asked for 10 s at a time.
  for (const auto& [wait, expected] :
       {std::pair("PT10S", 10'000), std::pair("1h", 10'000), std::pair("500", 500)}) {
    const HttpReply reply =
        call("POST", std::string("/v1/ns/default/workflows/order/start?wait=") + wait);
    EXPECT_EQ(reply.status, 200);
    EXPECT_EQ(reply.json(), FakeService::instance_json(FakeService::kInstance, "failed"));
    EXPECT_EQ(service_.last_wait(), Duration(expected));
  }
}

TEST_F(StartRoute, AnswersATimedOutWaitWithTheIdOfTheInstance) {
  put_order();
  service_.wait_outcome = fail("wait.timeout", "it has not ended");
  const HttpReply reply = call("POST", "/v1/ns/default/workflows/order/start?wait=PT0S");
  EXPECT_EQ(reply.status, 202);
  EXPECT_EQ(reply.json(), (Json{{"id", FakeService::kInstance}}));
  EXPECT_EQ(reply.header("Millrace-Wait"), "timeout");
  EXPECT_EQ(reply.header("Location"),
            std::string("/v1/ns/default/instances/") + FakeService::kInstance);
}

TEST_F(StartRoute, AsksTheEngineAgainUntilTheWaitHasEnded) {
  put_order();
  service_.wait_outcome = fail("wait.timeout", "it has not ended");
  const HttpReply reply = call("POST", "/v1/ns/default/workflows/order/start?wait=PT25S");
  EXPECT_EQ(reply.status, 202);
  EXPECT_EQ(reply.header("Millrace-Wait"), "timeout");
  EXPECT_EQ(service_.waits(),
            (std::vector<Duration>{Duration(10'000), Duration(10'000), Duration(5'000)}));
}

TEST_F(StartRoute, AnswersOtherRequestsWhileOneWaitsForTheEndOfAnInstance) {
  put_order();
  RawClient waiting(server_->port());
  waiting.send(
      "POST /v1/ns/default/workflows/order/start?wait=1h HTTP/1.1\r\nHost: localhost\r\n\r\n");
  service_.await_waiters(1);
  EXPECT_EQ(call("GET", "/v1/ns").status, 200);
  service_.end_instances("complete");
  const auto reply = waiting.read_reply();
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->status, 200);
  EXPECT_EQ(reply->json()["status"], "complete");
}

}  // namespace
}  // namespace millrace
