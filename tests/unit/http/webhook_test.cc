#include "http/webhook.h"

#include <atomic>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cloudevents/http_binding.h"
#include "tests/unit/http/http_peer.h"

namespace millrace {
namespace {

using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::SizeIs;

/// The failure of a delivery; no value: the target accepted the event.
using Outcome = std::optional<WebhookFailure>;

constexpr const char* kOrigin = "orders.example.com";

Event order_event(std::string id = "1") {
  return {.id = std::move(id),
          .source = "/orders",
          .type = "order.placed",
          .subject = "n\u00b0 7",
          .datacontenttype = "application/json",
          .extensions = {{"trace", "ab"}},
          .data = R"({"total":12})"};
}

/// A target that answers deliveries with `status` and `headers`. It answers OPTIONS with
/// `allows_status` and `allows`; by default it gives permission to all origins.
HttpPeer::Handler target(int status, Headers headers = {},
                         Headers allows = {{"WebHook-Allowed-Origin", "*"}},
                         int allows_status = 200) {
  return [=](const HttpPeer::Request& request, HttpPeer::Connection& connection) {
    return request.method == "OPTIONS" ? connection.answer(allows_status, "", allows)
                                       : connection.answer(status, "", headers);
  };
}

class WebhooksTest : public testing::Test {
 protected:
  Webhooks::Done hear() {
    return [this](Outcome outcome) { heard.add(std::move(outcome)); };
  }

  /// Delivers an event and waits for the outcome.
  Outcome deliver(const std::string& url, const Event& event = order_event(),
                  const std::string& token = "") {
    const size_t before = heard.all().size();
    webhooks.deliver("shop", event, url, token, hear());
    return heard.wait_for(before + 1).at(before);
  }

  static std::string code_of(const Outcome& outcome) { return outcome ? outcome->error.code : ""; }

  /// The error code of a delivery to a new target with this handler.
  std::string code(HttpPeer::Handler handler) {
    HttpPeer peer(std::move(handler));
    return code_of(deliver(peer.url()));
  }

  HttpClient client;
  Heard<Outcome> heard;
  Webhooks webhooks{client, {.origin = kOrigin, .timeout = kPatience}};
};

TEST_F(WebhooksTest, AskTheTargetForPermissionOnceBeforeTheyDeliver) {
  HttpPeer peer(
      target(202, {}, {{"WebHook-Allowed-Origin", kOrigin}, {"WebHook-Allowed-Rate", "100"}}));
  const std::string url = peer.url("/webhook?key=1");
  EXPECT_EQ(code_of(deliver(url, order_event(), "secret")), "");
  EXPECT_EQ(code_of(deliver(url, order_event("2"), "secret")), "");

  const auto requests = peer.requests(3);
  ASSERT_EQ(requests.size(), 3u);
  EXPECT_EQ(requests[0].method, "OPTIONS");
  EXPECT_EQ(requests[0].target, "/webhook?key=1");
  EXPECT_EQ(requests[0].header("WebHook-Request-Origin"), kOrigin);
  for (const size_t delivery : {1, 2}) {
    EXPECT_EQ(requests[delivery].method, "POST");
    EXPECT_EQ(requests[delivery].target, "/webhook?key=1");
    EXPECT_EQ(requests[delivery].header("WebHook-Request-Origin"), kOrigin);
    EXPECT_EQ(requests[delivery].header("Authorization"), "Bearer secret");
  }
}

TEST_F(WebhooksTest, DeliverAnEventSoThatTheHttpBindingDecodesTheSameEvent) {
  HttpPeer peer(target(204));
  EXPECT_EQ(code_of(deliver(peer.url())), "");
  Event bare = order_event();
  bare.data.reset();
  bare.datacontenttype.reset();
  EXPECT_EQ(code_of(deliver(peer.url(), bare)), "");

  const auto requests = peer.requests(3);
  const auto event_in = [&](size_t index) {
    const HttpPeer::Request& request = requests.at(index);
    return decode_http(request.headers, request.body).value().front();
  };
  EXPECT_EQ(requests[1].header("ce-subject"), "n%C2%B0%207");
  EXPECT_EQ(requests[1].header("Content-Type"), "application/json");
  EXPECT_EQ(event_in(1), order_event());
  EXPECT_EQ(find_header(requests[2].headers, "Content-Type"), nullptr);
  EXPECT_EQ(event_in(2), bare);
}

TEST_F(WebhooksTest, DeliverNothingToATargetThatGivesNoPermission) {
  for (const Headers& headers :
       {Headers{}, Headers{{"WebHook-Allowed-Origin", "others.example.com"}},
        Headers{{"WebHook-Allowed-Origin", ""}}, Headers{{"Allow", "POST"}}}) {
    EXPECT_EQ(code(target(200, {}, headers)), kWebhookNotAllowed);
  }
  EXPECT_EQ(code(target(200, {}, {}, 405)), kWebhookNotAllowed);
  EXPECT_EQ(code(target(200, {}, {}, 500)), kWebhookStatus);
  EXPECT_EQ(code(target(200, {}, {}, 410)), kWebhookGone);
  // The header gives the permission, whatever the status is.
  EXPECT_EQ(code(target(200, {}, {{"WebHook-Allowed-Origin", "ORDERS.example.com"}}, 405)), "");
}

TEST_F(WebhooksTest, AskForPermissionAgainAfterARefusal) {
  std::atomic<bool> allows = false;
  HttpPeer peer([&](const HttpPeer::Request& request, HttpPeer::Connection& connection) {
    return target(200, {}, allows ? Headers{{"WebHook-Allowed-Origin", "*"}} : Headers{})(
        request, connection);
  });
  EXPECT_EQ(code_of(deliver(peer.url())), kWebhookNotAllowed);
  EXPECT_EQ(peer.requests(1).size(), 1u);
  allows = true;
  EXPECT_EQ(code_of(deliver(peer.url())), "");
}

TEST_F(WebhooksTest, AskForPermissionOnceForConcurrentDeliveries) {
  Gate gate;
  HttpPeer peer([&](const HttpPeer::Request& request, HttpPeer::Connection& connection) {
    if (request.method == "OPTIONS" && !gate.pass()) return false;
    return target(200)(request, connection);
  });
  for (int i = 0; i < 10; ++i) {
    webhooks.deliver("shop", order_event(std::to_string(i)), peer.url(), "", hear());
  }
  EXPECT_EQ(peer.requests(1).size(), 1u);
  gate.open();
  EXPECT_THAT(heard.wait_for(10), AllOf(SizeIs(10), Each(testing::Eq(std::nullopt))));
  const auto requests = peer.requests(11);
  EXPECT_EQ(std::count_if(requests.begin(), requests.end(),
                          [](const auto& request) { return request.method == "OPTIONS"; }),
            1);
}

TEST_F(WebhooksTest, AskForPermissionForEachNamespace) {
  // The receiver accepts the token of one namespace only.
  HttpPeer peer([](const HttpPeer::Request& request, HttpPeer::Connection& connection) {
    const bool is_known = request.header("Authorization") == "Bearer right";
    return target(200, {}, is_known ? Headers{{"WebHook-Allowed-Origin", "*"}} : Headers{}, 401)(
        request, connection);
  });
  webhooks.deliver("stranger", order_event(), peer.url(), "wrong", hear());
  EXPECT_EQ(code_of(heard.wait_for(1).at(0)), kWebhookNotAllowed);
  webhooks.deliver("shop", order_event(), peer.url(), "right", hear());
  EXPECT_EQ(code_of(heard.wait_for(2).at(1)), "");
  webhooks.deliver("stranger", order_event(), peer.url(), "wrong", hear());
  EXPECT_EQ(code_of(heard.wait_for(3).at(2)), kWebhookNotAllowed);
}

TEST_F(WebhooksTest, FailFinallyOnlyIfTheTargetAnswers410Gone) {
  for (const int status : {410, 415, 429, 500}) {
    HttpPeer peer(target(status));
    EXPECT_EQ(deliver(peer.url())->is_final, status == 410) << status;
  }
}

TEST_F(WebhooksTest, ReportAnErrorCodeForEachKindOfFailedDelivery) {
  for (const int status : {200, 201, 202, 204}) EXPECT_EQ(code(target(status)), "") << status;
  EXPECT_EQ(code(target(410)), kWebhookGone);
  EXPECT_EQ(code(target(415)), kWebhookMediaType);
  EXPECT_EQ(code(target(429)), kWebhookBusy);
  for (const int status : {302, 400, 401, 500, 503}) {
    EXPECT_EQ(code(target(status)), kWebhookStatus) << status;
  }
  EXPECT_EQ(code([](const auto&, auto&) { return false; }), kHttpClosed);
  EXPECT_EQ(code_of(deliver("http://127.0.0.1:1")), kHttpUnreachable);
  EXPECT_EQ(code_of(deliver("no url")), kHttpRequest);
}

TEST_F(WebhooksTest, ReportTheRetryAfterHeaderOfAFailedDelivery) {
  HttpPeer busy(target(429, {{"Retry-After", "90"}}));
  EXPECT_EQ(deliver(busy.url())->retry_after, std::chrono::seconds(90));
  HttpPeer down(target(200, {}, {{"Retry-After", "5"}}, 503));
  EXPECT_EQ(deliver(down.url())->retry_after, std::chrono::seconds(5));
  HttpPeer silent(target(429));
  EXPECT_EQ(deliver(silent.url())->retry_after, std::nullopt);
}

TEST_F(WebhooksTest, CancelAllDeliveriesInTheirDestructor) {
  HttpPeer peer([](const HttpPeer::Request& request, HttpPeer::Connection& connection) {
    if (request.target == "/asked" || request.method == "POST") connection.hang();
    return target(200)(request, connection);
  });
  {
    Webhooks ending(client, {.origin = kOrigin});
    ending.deliver("shop", order_event(), peer.url("/asked"), "", hear());
    ending.deliver("shop", order_event(), peer.url("/asked"), "", hear());
    ending.deliver("shop", order_event(), peer.url("/sent"), "", hear());
    peer.requests(3);
  }
  std::vector<std::string> codes;
  for (const Outcome& outcome : heard.all()) codes.push_back(code_of(outcome));
  EXPECT_THAT(codes, ElementsAre(kHttpCancelled, kHttpCancelled, kHttpCancelled));
}

TEST_F(WebhooksTest, FailADeliveryAfterTheTimeoutIfTheTargetHangs) {
  HttpPeer peer([](const HttpPeer::Request&, HttpPeer::Connection& connection) {
    connection.hang();
    return false;
  });
  // On a busy machine the time may pass before the request is sent; then another delivery has twice
  // the time.
  std::string end(kHttpUnreachable);
  for (Duration time(50); end == kHttpUnreachable && time < kPatience; time *= 2) {
    const size_t before = heard.all().size();
    Webhooks impatient(client, {.origin = kOrigin, .timeout = time});
    impatient.deliver("shop", order_event(), peer.url(), "", hear());
    end = code_of(heard.wait_for(before + 1).at(before));
  }
  EXPECT_EQ(end, kHttpTimeout);
}

}  // namespace
}  // namespace millrace
