// A guarded HttpClient: it sends only while it is allowed to.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "http/http_client.h"
#include "tests/support/process.h"
#include "tests/unit/http/http_peer.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class GuardedClientTest : public testing::Test {
 protected:
  static Permission::Time in_an_hour() {
    return std::chrono::steady_clock::now() + std::chrono::hours(1);
  }

  HttpClient::Ticket send(const std::string& path, HttpRequest request = {}) {
    request.url = peer_.url(path);
    return client_.send(std::move(request), {.done = [this, path](Result<HttpAnswer> answer) {
                          if (!answer) message_ = answer.error().message;
                          ended_.add(path + (answer ? "" : ": " + answer.error().code));
                        }});
  }

  /// Another client sends a request, which is answered, and the guarded one has taken its orders.
  void pass_time() {
    Heard<bool> passed;
    HttpClient other;
    other.send({.url = peer_.url("/other")},
               {.done = [&](Result<HttpAnswer> answer) { passed.add(answer.has_value()); }});
    EXPECT_THAT(passed.wait_for(1), ElementsAre(true));
    // A request that cannot be sent ends when the orders before it are taken.
    client_.send({.url = "none"},
                 {.done = [&](Result<HttpAnswer> answer) { passed.add(answer.has_value()); }});
    EXPECT_THAT(passed.wait_for(2), ElementsAre(true, false));
  }

  /// The targets of the requests of the guarded client, once there are `count`.
  std::vector<std::string> targets(size_t count) {
    std::vector<std::string> targets;
    for (const HttpPeer::Request& request : peer_.requests(count)) {
      if (request.target != "/other") targets.push_back(request.target);
    }
    return targets;
  }

  HttpPeer peer_{[](const HttpPeer::Request&, HttpPeer::Connection& connection) {
    return connection.answer(200, "ok");
  }};
  Heard<std::string> ended_;
  std::string message_;  ///< of the latest error; to be read after its request is in `ended_`
  HttpClient client_{{.guarded = true}};
};

TEST_F(GuardedClientTest, SendsNothingBeforeItIsAllowedTo) {
  send("/1");
  send("/2", {.urgent = true});
  pass_time();
  EXPECT_THAT(targets(0), ElementsAre());
  EXPECT_EQ(client_.load().total.waiting, 2U);
  client_.allow_until(in_an_hour());
  EXPECT_EQ(ended_.wait_for(2).size(), 2U);
  EXPECT_EQ(client_.load().total.waiting, 0U);
}

TEST_F(GuardedClientTest, SendsNothingAfterItsPermissionEnded) {
  client_.allow_until(in_an_hour());
  send("/1");
  EXPECT_THAT(ended_.wait_for(1), ElementsAre("/1"));
  client_.forbid();
  const HttpClient::Ticket cancelled = send("/2");
  send("/3");
  pass_time();
  EXPECT_THAT(targets(1), ElementsAre("/1"));
  client_.cancel(cancelled);
  EXPECT_THAT(ended_.wait_for(2), ElementsAre("/1", "/2: http.cancelled"));
  client_.allow_until(std::chrono::steady_clock::now() - Duration(1));
  pass_time();
  EXPECT_EQ(client_.load().total.waiting, 1U) << "the time has passed already";
  client_.allow_until(in_an_hour());
  EXPECT_THAT(ended_.wait_for(3), ElementsAre("/1", "/2: http.cancelled", "/3"));
}

TEST_F(GuardedClientTest, EndsAWaitingRequestWhenItsTimeoutHasPassed) {
  send("/1", {.timeout = Duration(1)});
  send("/2", {.timeout = std::chrono::hours(1)});
  send("/3");
  EXPECT_THAT(ended_.wait_for(1), ElementsAre("/1: http.timeout"));
  EXPECT_THAT(message_, HasSubstr("was not allowed to send it"));
  client_.allow_until(in_an_hour());
  EXPECT_EQ(ended_.wait_for(3).size(), 3U);
  EXPECT_THAT(targets(2), testing::UnorderedElementsAre("/2", "/3"));
}

TEST_F(GuardedClientTest, HoldsARequestBackThatIsConnectedWhenThePermissionEnds) {
  // Both requests connect while they are allowed; the first one that is about to be sent ends the
  // permission.
  Heard<std::string> heard;
  for (const bool once : {false, true}) {
    client_.send({.url = peer_.url(), .body = "x", .timeout = std::chrono::hours(1), .once = once},
                 {.sent =
                      [&] {
                        client_.forbid();
                        heard.add("sent");
                      },
                  .done =
                      [&](Result<HttpAnswer> answer) {
                        heard.add(answer ? "answered" : answer.error().message);
                      }});
  }
  pass_time();
  client_.allow_until(in_an_hour());
  EXPECT_THAT(heard.wait_for(2), ElementsAre("sent", "answered"));
  EXPECT_TRUE(eventually([&] { return client_.load().total.waiting == 1; }));
  pass_time();
  EXPECT_EQ(heard.all().size(), 2U);
  client_.allow_until(in_an_hour());
  EXPECT_THAT(heard.wait_for(4), ElementsAre("sent", "answered", "sent", "answered"));
  EXPECT_EQ(targets(2).size(), 2U) << "each is sent once";
}

TEST_F(GuardedClientTest, CancelsWhatWaitsAtItsEnd) {
  Heard<std::string> heard;
  {
    HttpClient client({.guarded = true});
    client.send({.url = peer_.url()}, {.done = [&](Result<HttpAnswer> answer) {
                  heard.add(answer ? "answered" : answer.error().code);
                }});
  }
  EXPECT_THAT(heard.all(), ElementsAre("http.cancelled"));
}

}  // namespace
}  // namespace millrace
