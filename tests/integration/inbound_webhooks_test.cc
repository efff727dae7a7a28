// Inbound webhooks on a real nats-server: signed requests start workflows, once for each delivery,
// also across a kill; forged requests start nothing.
#include <string>

#include <gtest/gtest.h>

#include "tests/support/millrace_server.h"

namespace millrace {
namespace {

constexpr const char* kOnPaid = R"(
id: paid
start: {type: event, event: {type: shop.paid}}
states:
- {id: done, type: noop}
)";
constexpr const char* kBody = R"({"id":"evt_1","type":"paid"})";
/// Of kBody with the secret `new-secret`, by `openssl dgst -sha256 -hmac`.
constexpr const char* kSignature =
    "75f1e2717caa332b73f164992e3ee5926c2aa337986c135fbb6e26619ea3ca64";
/// The same with the secret `old-secret`.
constexpr const char* kOldSignature =
    "e7866b7cc76899b8243c7a99c9c10ddf8f35737cb577b1402b06cdd4cda865bc";
constexpr const char* kForm = "id=evt_f&type=PAID&note=100%25";
/// Of kForm, and of a form that is not valid, with the secret `new-secret`.
constexpr const char* kFormSignature =
    "0a4e683c895c42cd4c52ddc4d9fd0cedf06a487c974de75eb7fc8b55bfb77e29";
constexpr const char* kWrongForm = "type=PAID&note=100%";
constexpr const char* kWrongFormSignature =
    "a9ed4977079594f169136d7cc7ea08aed9d2e58a4663d0a7f6ef046d15399783";
/// A mapping that a jq worker evaluates.
constexpr const char* kSettings = R"j({"hooks": {"pay": {
    "verify": {"form": "github", "secrets": ["new", "old"]},
    "mapping": {"type": "shop.jq(.data.type | ascii_downcase)", "id": "jq(.data.id)"}}}})j";

class InboundWebhooksProgram : public MillraceTest {
 protected:
  void SetUp() override {
    MillraceTest::SetUp();
    millrace_.apply(kOnPaid);
    ASSERT_EQ(millrace_.ask("PUT", "secrets/new", "new-secret").status, 201);
    ASSERT_EQ(millrace_.ask("PUT", "secrets/old", "old-secret").status, 201);
    const HttpReply set = millrace_.ask("PUT", "/v1/ns/default", kSettings);
    ASSERT_EQ(set.status, 200) << set.body;
  }

  HttpReply send(const std::string& signature, const std::string& body = kBody) const {
    return millrace_.ask("POST", "hooks/pay", body,
                         {{"X-Hub-Signature-256", "sha256=" + signature}});
  }
};

TEST_F(InboundWebhooksProgram, StartOneInstanceForEachDeliveryAlsoAcrossAKill) {
  const HttpReply first = send(kSignature);
  ASSERT_EQ(first.status, 202) << first.body;
  EXPECT_EQ(first.json(), (Json{{"id", "evt_1"}}));
  ASSERT_TRUE(millrace_.has_instances("workflow=paid&status=complete", 1));
  EXPECT_EQ(send(kSignature).body, first.body);
  millrace_.kill();
  millrace_.start_ready();
  EXPECT_EQ(send(kOldSignature).body, first.body) << "each of the secrets is valid";
  // An event behind the redeliveries: when it is applied, they are.
  ASSERT_EQ(millrace_
                .ask("POST", "events",
                     R"({"specversion":"1.0","id":"last","source":"/s","type":"shop.paid"})",
                     {{"content-type", "application/cloudevents+json"}})
                .status,
            202);
  ASSERT_TRUE(millrace_.has_instances("workflow=paid&status=complete", 2));
}

TEST_F(InboundWebhooksProgram, MapTheFieldsOfAForm) {
  const auto send_form = [&](const char* signature, const char* form) {
    return millrace_.ask("POST", "hooks/pay", form,
                         {{"X-Hub-Signature-256", std::string("sha256=") + signature},
                          {"Content-Type", "application/x-www-form-urlencoded"}});
  };
  const HttpReply first = send_form(kFormSignature, kForm);
  ASSERT_EQ(first.status, 202) << first.body;
  EXPECT_EQ(first.json(), (Json{{"id", "evt_f"}}));
  ASSERT_TRUE(millrace_.has_instances("workflow=paid&status=complete", 1));
  const HttpReply wrong = send_form(kWrongFormSignature, kWrongForm);
  EXPECT_EQ(wrong.status, 422) << wrong.body;
  EXPECT_EQ(wrong.code(), "mapping.form");
  EXPECT_EQ(millrace_.get("hooks/pay")["unmapped"], 1);
}

TEST_F(InboundWebhooksProgram, RefuseForgedRequestsInOneWayAndStartNothing) {
  const HttpReply forged = send(kSignature, R"({"id":"evt_2","type":"paid"})");
  EXPECT_EQ(forged.status, 401);
  EXPECT_EQ(forged.code(), "hooks.refused");
  const HttpReply unknown = millrace_.ask("POST", "hooks/none", kBody);
  EXPECT_EQ(unknown.status, 401);
  EXPECT_EQ(unknown.json()["detail"], forged.json()["detail"]);
  const std::string metrics = millrace_.ask("GET", "/metrics").body;
  EXPECT_NE(metrics.find("millrace_inbound_webhooks_total{signature=\"refused\"} 2"),
            std::string::npos);
  ASSERT_EQ(send(kSignature).status, 202);
  ASSERT_TRUE(millrace_.has_instances("workflow=paid&status=complete", 1));
  EXPECT_EQ(millrace_.instances("").size(), 1U);
}

}  // namespace
}  // namespace millrace
