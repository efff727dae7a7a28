// ApiTest: the routes over a real socket, with a service in memory. Each answer is held against the
// OpenAPI document.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "gateway/http_server.h"
#include "gateway/routes.h"
#include "tests/support/answer_check.h"
#include "tests/unit/gateway/fake_service.h"
#include "tests/unit/gateway/patient_limits.h"
#include "tests/unit/gateway/raw_client.h"

namespace millrace {

inline constexpr const char* kEvent =
    R"({"specversion":"1.0","id":"1","source":"shop","type":"order.placed","data":{"a":1}})";
inline constexpr const char* kStructured = "application/cloudevents+json";
inline constexpr const char* kBatch = "application/cloudevents-batch+json";
inline constexpr const char* kOrder = "id: order\nstates: []\n";

class ApiTest : public testing::Test {
 protected:
  void SetUp() override {
    auto started =
        HttpServer::start({.listen = "127.0.0.1:0", .transport = patient_limits()}, service_);
    ASSERT_TRUE(started) << started.error().message;
    server_ = std::move(*started);
  }

  /// Sends a request. An answer that the OpenAPI document does not describe fails the test.
  HttpReply call(std::string_view method, std::string_view target, const Headers& headers = {},
                 std::string_view body = "") {
    HttpReply reply = request(server_->port(), method, target, headers, body);
    EXPECT_EQ(answer_check_.fault_of(method, target, reply), "")
        << method << " " << target << " → " << reply.status << " " << reply.body;
    return reply;
  }

  void put_order() {
    ASSERT_EQ(call("PUT", "/v1/ns/default/workflows/order", {}, kOrder).status, 200);
  }

  /// The service is destroyed after the server, because its thread may still send answers to the
  /// server.
  FakeService service_;
  std::unique_ptr<HttpServer> server_;
  AnswerCheck answer_check_{api_document()};
};

/// A call and its expected answer.
struct Row {
  const char* method;
  std::string target;
  Headers headers;
  std::string body;
  int status;
  std::string expected;  ///< the JSON of the answer, or the code of a problem
};

inline void expect(const Row& row, const HttpReply& reply) {
  const std::string what = std::string(row.method) + " " + row.target + " → " + reply.body;
  EXPECT_EQ(reply.status, row.status) << what;
  if (row.status < 400) {
    EXPECT_EQ(reply.header("Content-Type"), "application/json") << what;
    EXPECT_EQ(reply.json(), Json::parse(row.expected)) << what;
  } else {
    EXPECT_EQ(reply.header("Content-Type"), "application/problem+json") << what;
    EXPECT_EQ(reply.code(), row.expected) << what;
    EXPECT_EQ(reply.json()["status"], row.status) << what;
  }
}

}  // namespace millrace
