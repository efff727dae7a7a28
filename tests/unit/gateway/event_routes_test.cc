// The routes of events: content modes, batches, and the handshake of webhooks.
#include <gtest/gtest.h>

#include "tests/unit/gateway/api_fixture.h"

namespace millrace {
namespace {

class EventRoutes : public ApiTest {};

TEST_F(EventRoutes, AcceptsEventsInAllContentModesAndRefusesMalformedEvents) {
  const std::string events = "/v1/ns/default/events";
  const Headers structured = {{"Content-Type", kStructured}};
  const Headers batch = {{"Content-Type", kBatch}};
  const Headers binary = {{"ce-specversion", "1.0"},
                          {"ce-id", "2"},
                          {"ce-source", "shop"},
                          {"ce-type", "order.placed"},
                          {"Content-Type", "text/plain"}};
  const std::string one = kEvent;
  const Row rows[] = {
      {"POST", events, structured, one, 202, R"({"accepted":1,"duplicates":0})"},
      {"POST", events, structured, one, 202, R"({"accepted":1,"duplicates":1})"},
      {"POST", events, {}, one, 202, R"({"accepted":1,"duplicates":1})"},
      {"POST", events, binary, "hello", 202, R"({"accepted":1,"duplicates":0})"},
      {"POST", events, batch, "[" + one + "," + one + "]", 202, R"({"accepted":2,"duplicates":2})"},
      {"POST", events, batch, "[]", 202, R"({"accepted":0,"duplicates":0})"},
      {"POST", events, structured, "{", 400, "event.malformed_json"},
      {"POST", events, structured, "{}", 400, "event.missing_attribute"},
      {"POST",
       events,
       {{"Content-Type", "application/cloudevents+avro"}},
       "x",
       415,
       "event.unsupported_format"},
      {"POST", events, structured, std::string(1100000, ' '), 413, "event.too_large"},
      {"POST", "/v1/ns/other/events", structured, one, 404, "namespace.not_found"},
      {"POST", "/v1/ns/a.b/events", structured, one, 400, "request.identifier"},
      {"POST", "/v1/ns/a%20b/events", structured, one, 400, "request.identifier"},
  };
  for (const Row& row : rows) expect(row, call(row.method, row.target, row.headers, row.body));
  EXPECT_EQ(service_.published().size(), 6);
}

TEST_F(EventRoutes, PublishesNothingOfABatchWithAMalformedEvent) {
  const HttpReply reply = call("POST", "/v1/ns/default/events", {{"Content-Type", kBatch}},
                               "[" + std::string(kEvent) + R"(,{"specversion":"1.0"}])");
  EXPECT_EQ(reply.status, 400);
  EXPECT_EQ(reply.code(), "event.missing_attribute");
  EXPECT_TRUE(reply.json()["detail"].get<std::string>().starts_with("[1]: ")) << reply.body;
  EXPECT_TRUE(service_.published().empty());
}

TEST_F(EventRoutes, SendsRetryAfterWhenTheBrokerIsUnreachable) {
  service_.publish_error = Error{"broker.unreachable", "no connection to nats://127.0.0.1:4222"};
  const HttpReply reply = call("POST", "/v1/ns/default/events", {}, kEvent);
  EXPECT_EQ(reply.status, 503);
  EXPECT_EQ(reply.code(), "broker.unreachable");
  EXPECT_EQ(reply.header("Retry-After"), "1");
}

TEST_F(EventRoutes, AnswersTheHandshakeOfAWebhook) {
  const HttpReply handshake =
      call("OPTIONS", "/v1/ns/default/events",
           {{"WebHook-Request-Origin", "emitter.example"}, {"WebHook-Request-Rate", "120"}});
  EXPECT_EQ(handshake.status, 200);
  EXPECT_EQ(handshake.header("WebHook-Allowed-Origin"), "emitter.example");
  EXPECT_EQ(handshake.header("WebHook-Allowed-Rate"), "*");
  EXPECT_EQ(handshake.header("Allow"), "POST, OPTIONS");

  const HttpReply plain = call("OPTIONS", "/v1/ns/default/events");
  EXPECT_EQ(plain.status, 200);
  EXPECT_EQ(plain.header("WebHook-Allowed-Origin"), "");
}

}  // namespace
}  // namespace millrace
