// The ids of deliveries, and challenges.
#include "orchestrator/signatures/delivery.h"

#include <gtest/gtest.h>

#include "tests/unit/signatures/signed_requests.h"

namespace millrace {
namespace {

SignatureSetting setting_of(const char* name) {
  return *parse_signature("verify", *parse_json(signed_request(name).settings));
}

std::string id_of(const char* name, const char* body, const Headers& more = {}) {
  Headers headers = signed_request(name).headers;
  headers.insert(headers.end(), more.begin(), more.end());
  return delivery_id(setting_of(name), headers, body);
}

TEST(Delivery, HasTheIdThatTheServiceHasSigned) {
  EXPECT_EQ(id_of("stripe", R"({"id": "evt_1"})"), "evt_1");
  EXPECT_EQ(id_of("slack", R"({"event_id": "Ev1", "id": "x"})"), "Ev1");
  EXPECT_EQ(id_of("standard", "{}"), "msg_1");
  EXPECT_EQ(id_of("svix", "{}"), "msg_1");
}

TEST(Delivery, HasAnIdByItsBodyIfNoOtherIsSigned) {
  for (const char* const name : {"github", "plain", "hmac", "header", "basic"}) {
    const std::string id = id_of(name, R"({"id": "a"})");
    EXPECT_EQ(id.size(), 32U) << name;
    EXPECT_EQ(id, id_of(name, R"({"id": "a"})", {{"X-GitHub-Delivery", "7"}, {"webhook-id", "8"}}))
        << name;
    EXPECT_NE(id, id_of(name, R"({"id": "b"})")) << name;
  }
  for (const char* const body : {"", "{", "[]", R"({"id": 7, "event_id": 7})", R"({"id": ""})"}) {
    EXPECT_EQ(id_of("stripe", body).size(), 32U) << body;
    EXPECT_EQ(id_of("slack", body).size(), 32U) << body;
  }
}

TEST(Delivery, HasAChallengeOnlyInTheFormOfSlack) {
  constexpr const char* kChallenge = R"({"type": "url_verification", "challenge": "abc"})";
  EXPECT_EQ(challenge_in(setting_of("slack"), kChallenge), "abc");
  for (const char* const name : {"github", "stripe", "standard", "plain", "header", "basic"}) {
    EXPECT_EQ(challenge_in(setting_of(name), kChallenge), std::nullopt) << name;
  }
  const std::string long_one =
      R"({"type": "url_verification", "challenge": ")" + std::string(1'025, 'a') + "\"}";
  for (const std::string& body :
       {std::string(), std::string("{}"), long_one,
        std::string(R"({"type": "event_callback", "challenge": "abc"})"),
        std::string(R"({"type": "url_verification"})"),
        std::string(R"({"type": "url_verification", "challenge": ""})"),
        std::string(R"({"type": "url_verification", "challenge": 7})"),
        std::string(R"({"type": "url_verification", "challenge": "a\nb"})")}) {
    EXPECT_EQ(challenge_in(setting_of("slack"), body), std::nullopt) << body;
  }
}

}  // namespace
}  // namespace millrace
