// Requests with valid signatures are accepted in each form, with each secret and at the ends of the
// window; settings of signatures with mistakes have errors.
#include "orchestrator/signatures/signature.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/signatures/signed_requests.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Signature, IsAcceptedInEachForm) {
  for (const SignedRequest& request : signed_requests()) {
    EXPECT_EQ(outcome_of(request), "accepted") << request.name;
  }
}

TEST(Signature, IsAcceptedWithEachOfTheSecrets) {
  for (SignedRequest request : signed_requests()) {
    std::swap(request.secrets[0], request.secrets[1]);
    EXPECT_EQ(outcome_of(request), "accepted") << request.name;
    request.secrets.insert(request.secrets.begin(), "");
    EXPECT_EQ(outcome_of(request), "accepted") << request.name;
  }
}

TEST(Signature, IsAcceptedUpToTheEndsOfTheWindow) {
  for (const char* const name : {"stripe", "slack", "standard", "svix", "hmac"}) {
    EXPECT_EQ(outcome_of(signed_request(name), 300), "accepted") << name;
    EXPECT_EQ(outcome_of(signed_request(name), -300), "accepted") << name;
    EXPECT_EQ(outcome_of(signed_request(name), 301), "the time stamp is too old") << name;
    EXPECT_EQ(outcome_of(signed_request(name), -301), "the time stamp is too far in the future")
        << name;
  }
  SignedRequest request = signed_request("stripe");
  request.settings = R"({"form": "stripe", "secrets": ["new"], "windowSeconds": 10})";
  EXPECT_EQ(outcome_of(request, 10), "accepted");
  EXPECT_EQ(outcome_of(request, 11), "the time stamp is too old");
}

TEST(Signature, IsAcceptedBesideThoseOfOtherSecrets) {
  SignedRequest stripe = signed_request("stripe");
  const std::string other(64, '0');
  stripe.headers[0].second += ",v1=" + other;
  EXPECT_EQ(outcome_of(stripe), "accepted");
  stripe.headers[0].second = "v1=" + other + ',' + signed_request("stripe").headers[0].second;
  EXPECT_EQ(outcome_of(stripe), "accepted");
  stripe.headers[0].second = "v1=dead," + signed_request("stripe").headers[0].second;
  EXPECT_EQ(outcome_of(stripe), "accepted") << "what is no signature does not count";
  SignedRequest standard = signed_request("standard");
  standard.headers[2].second += " v1,AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
  EXPECT_EQ(outcome_of(standard), "accepted");
}

TEST(Signature, LeavesNoCredentialsInTheHeaders) {
  const Headers all = {{"authorization", "a"}, {"Cookie", "b"}, {"x-token", "c"}, {"X-Kind", "d"}};
  const auto of = [](const char* name) {
    return *parse_signature("verify", *parse_json(signed_request(name).settings));
  };
  EXPECT_THAT(without_credentials(of("header"), all),
              ElementsAre(std::pair<std::string, std::string>("X-Kind", "d")));
  EXPECT_EQ(without_credentials(of("github"), all).size(), 2U);
}

TEST(Signature, LeavesNoSignatureInTheHeaders) {
  const std::map<std::string, std::vector<std::string>> left = {
      {"slack", {"X-Slack-Request-Timestamp"}},
      {"standard", {"webhook-id", "webhook-timestamp"}},
      {"svix", {"svix-id", "svix-timestamp"}},
      {"hmac", {"X-Time"}}};
  for (const SignedRequest& request : signed_requests()) {
    const auto setting = parse_signature("verify", *parse_json(request.settings));
    ASSERT_TRUE(setting) << request.name;
    std::vector<std::string> names;
    for (const auto& [name, value] : without_credentials(*setting, request.headers)) {
      names.push_back(name);
    }
    const auto expected = left.find(request.name);
    EXPECT_EQ(names, expected == left.end() ? std::vector<std::string>() : expected->second)
        << request.name;
  }
}

TEST(SignatureSetting, NamesThePlaceOfAWrongValueAndWhatToWrite) {
  const std::vector<std::pair<const char*, const char*>> wrong = {
      {"[]", "verify: write an object"},
      {"{}", "verify: write an object"},
      {R"({"form": 1})", "verify.form: write github, stripe"},
      {R"({"form": "gitlab"})", "verify.form: write github, stripe"},
      {R"({"form": "github"})", "verify.secrets: write a list of 1 to 8 names"},
      {R"({"form": "github", "secrets": []})", "verify.secrets: write a list of 1 to 8 names"},
      {R"({"form": "github", "secrets": "a"})", "verify.secrets: write a list of 1 to 8 names"},
      {R"({"form": "github", "secrets": ["1","2","3","4","5","6","7","8","9"]})",
       "verify.secrets: write a list of 1 to 8 names"},
      {R"({"form": "github", "secrets": ["a", ""]})",
       "verify.secrets[1]: write the name of a secret"},
      {R"({"form": "github", "secrets": ["a"], "windowSeconds": 5})",
       "verify.windowSeconds: not a setting of the form github"},
      {R"({"form": "github", "secrets": ["a"], "sort": 5})",
       "verify.sort: not a setting of the form github"},
      {R"({"form": "stripe", "secrets": ["a"], "windowSeconds": 0})",
       "verify.windowSeconds: write a number of seconds from 1 to 3600"},
      {R"({"form": "stripe", "secrets": ["a"], "windowSeconds": 3601})",
       "verify.windowSeconds: write a number of seconds from 1 to 3600"},
      {R"({"form": "stripe", "secrets": ["a"], "header": "a"})",
       "verify.header: not a setting of the form stripe"},
      {R"({"form": "hmac", "secrets": ["a"]})", "verify.header: write the name of a header"},
      {R"({"form": "hmac", "secrets": ["a"], "header": "a b"})",
       "verify.header: write the name of a header"},
      {R"({"form": "hmac", "secrets": ["a"], "header": "a", "algorithm": "sha1"})",
       "verify.algorithm: write sha256 or sha512"},
      {R"({"form": "hmac", "secrets": ["a"], "header": "a", "encoding": "base32"})",
       "verify.encoding: write hex or base64"},
      {R"({"form": "hmac", "secrets": ["a"], "header": "a", "prefix": "é"})",
       "verify.prefix: write a text of at most 64 printable ASCII characters"},
      {R"({"form": "hmac", "secrets": ["a"], "header": "a", "timeHeader": "A"})",
       "verify.timeHeader: the header of the signature has no time stamp"},
      {R"({"form": "hmac", "secrets": ["a"], "header": "a", "timeHeader": "t", "separator": ""})",
       "verify.separator: write a text that does not begin with a digit"},
      {R"({"form": "hmac", "secrets": ["a"], "header": "a", "timeHeader": "t", "separator": "1"})",
       "verify.separator: write a text that does not begin with a digit"},
      {R"({"form": "hmac", "secrets": ["a"], "header": "a", "separator": ":"})",
       "verify.separator: needs timeHeader"},
      {R"({"form": "hmac", "secrets": ["a"], "header": "a", "windowSeconds": 9})",
       "verify.windowSeconds: needs timeHeader"},
      {R"({"form": "header", "secrets": ["a"]})", "verify.header: write the name of a header"},
      {R"({"form": "basic", "secrets": ["a"]})", "verify.user: write the name of the user"},
      {R"({"form": "basic", "secrets": ["a"], "user": "a:b"})",
       "verify.user: write the name of the user"},
  };
  for (const auto& [text, message] : wrong) {
    const auto setting = parse_signature("verify", *parse_json(text));
    ASSERT_FALSE(setting) << text;
    EXPECT_EQ(setting.error().code, "settings.invalid") << text;
    EXPECT_THAT(setting.error().message, HasSubstr(message)) << text;
  }
}

}  // namespace
}  // namespace millrace
