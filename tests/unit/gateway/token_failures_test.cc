// Requests without a valid token: what is counted and logged, and how a connection ends.
#include "gateway/token_failures.h"

#include <condition_variable>
#include <mutex>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gateway/http_server.h"
#include "tests/support/patience.h"
#include "tests/unit/gateway/fake_service.h"
#include "tests/unit/gateway/patient_limits.h"
#include "tests/unit/gateway/raw_client.h"

namespace millrace {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;

constexpr const char* kRightToken = "correct-horse-battery-staple-and-more";

TokenFailure failure(const char* code, const char* peer = "192.0.2.1") {
  return {.error = {code, "refused"}, .peer = peer};
}

TEST(TokenFailures, AreLoggedOnceAMinuteWithTheirNumber) {
  TokenFailures failures;
  const auto first = failures.note(failure("token.wrong"), seconds(0));
  ASSERT_TRUE(first);
  EXPECT_THAT(*first, HasSubstr("1 requests with a wrong token and 0 without a token"));
  EXPECT_THAT(*first, HasSubstr("192.0.2.1"));
  for (int i = 1; i < 60; ++i) {
    EXPECT_FALSE(failures.note(failure("token.wrong"), seconds(i)));
    EXPECT_FALSE(failures.note(failure("token.missing"), seconds(i)));
  }
  const auto next = failures.note(failure("token.missing", "192.0.2.7"), seconds(60));
  ASSERT_TRUE(next);
  EXPECT_THAT(*next, HasSubstr("59 requests with a wrong token and 60 without a token"));
  EXPECT_THAT(*next, HasSubstr("192.0.2.7"));
  EXPECT_FALSE(failures.note(failure("token.wrong"), seconds(61)));
}

class RefusedTokenTest : public testing::Test {
 protected:
  void start(TransportLimits transport) {
    server_ = *HttpServer::start({.listen = "127.0.0.1:0",
                                  .token = BearerToken(kRightToken),
                                  .transport = patient_limits(transport),
                                  .on_token_failure =
                                      [this](const TokenFailure& one) {
                                        const std::lock_guard lock(mutex_);
                                        seen_.push_back(one.error.code + " " + one.peer);
                                        changed_.notify_all();
                                      }},
                                 service_);
  }
  /// The reported failures, once there are that many.
  std::vector<std::string> seen(size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, kPatience, [&] { return seen_.size() >= count; });
    return seen_;
  }
  /// Sends a request with this token on the connection.
  static void send(RawClient& client, const std::string& token) {
    client.send(fmt::format(
        "GET /v1/ns HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\n\r\n", token));
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> seen_;
  FakeService service_;
  std::unique_ptr<HttpServer> server_;
};

TEST_F(RefusedTokenTest, EndsTheConnectionAndIsReported) {
  start({});
  RawClient client(server_->port());
  client.send("GET /v1/ns HTTP/1.1\r\nHost: localhost\r\n\r\n");
  auto reply = client.read_reply();
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->code(), "token.missing");
  send(client, "a-guess");
  reply = client.read_reply();
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->code(), "token.wrong");
  EXPECT_EQ(reply->header("Connection"), "close");
  EXPECT_THAT(seen(2), testing::ElementsAre("token.missing 127.0.0.1", "token.wrong 127.0.0.1"));
  RawClient right(server_->port());
  send(right, kRightToken);
  ASSERT_TRUE(reply = right.read_reply());
  EXPECT_EQ(reply->status, 200);
}

TEST_F(RefusedTokenTest, HasNoAnswerWhileTooManyAnswersAreHeldBack) {
  // The held answer ends with the server, long before its time.
  start({.stop_grace = Duration(0), .wrong_token = std::chrono::hours(1), .held_answers = 1});
  RawClient first(server_->port());
  send(first, "a-guess");
  ASSERT_EQ(seen(1).size(), 1U);
  RawClient second(server_->port());
  send(second, "another-guess");
  EXPECT_FALSE(second.read_reply()) << "the connection is closed without an answer";
  RawClient right(server_->port());
  send(right, kRightToken);
  const auto reply = right.read_reply();
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->status, 200) << "a right token is never held back";
  server_->stop();
}

}  // namespace
}  // namespace millrace
