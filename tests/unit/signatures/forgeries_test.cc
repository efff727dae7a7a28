// Forged requests: each is a valid request with one change, and none is accepted.
#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/signatures/signed_requests.h"

namespace millrace {
namespace {

struct Forgery {
  const char* form;  ///< the name of the valid request
  const char* what;
  std::function<void(SignedRequest&)> change;
  const char* reason;
};

/// Sets the value of the header with that index.
std::function<void(SignedRequest&)> value(size_t index, std::string text) {
  return [index, text = std::move(text)](SignedRequest& request) {
    request.headers[index].second = text;
  };
}

/// Removes the last `count` characters of the value of the header with that index.
std::function<void(SignedRequest&)> cut(size_t index, size_t count) {
  return [index, count](SignedRequest& request) {
    std::string& text = request.headers[index].second;
    text.resize(text.size() - count);
  };
}

/// Adds the header with that index a second time, as it is.
std::function<void(SignedRequest&)> doubled(size_t index) {
  return [index](SignedRequest& request) {
    auto header = request.headers[index];
    request.headers.push_back(std::move(header));
  };
}

std::function<void(SignedRequest&)> without(size_t index) {
  return [index](SignedRequest& request) {
    request.headers.erase(request.headers.begin() + static_cast<std::ptrdiff_t>(index));
  };
}

void change_key(SignedRequest& request) { request.secrets = {"other-secret", "b2xk"}; }
void change_body(SignedRequest& request) { request.body.back() = ']'; }
void add_to_body(SignedRequest& request) { request.body += '\n'; }
void empty_body(SignedRequest& request) { request.body.clear(); }
void empty_secrets(SignedRequest& request) { request.secrets = {"", ""}; }
void no_secrets(SignedRequest& request) { request.secrets.clear(); }

constexpr const char* kWrong = "the signature is wrong";
constexpr const char* kNoSecret = "no secret of the settings exists and has content";

const std::vector<Forgery>& github_forgeries() {
  const std::string hex = "75f1e2717caa332b73f164992e3ee5926c2aa337986c135fbb6e26619ea3ca64";
  constexpr const char* kMalformed =
      "the value of the header X-Hub-Signature-256 is not a signature of 32 bytes in hexadecimal";
  constexpr const char* kPrefix =
      "the value of the header X-Hub-Signature-256 does not begin with sha256=";
  static const std::vector<Forgery> all = {
      {"github", "wrong key", change_key, kWrong},
      {"github", "changed body", change_body, kWrong},
      {"github", "a line feed behind the body", add_to_body, kWrong},
      {"github", "empty body", empty_body, kWrong},
      {"github", "empty secrets, signed with an empty key",
       [](SignedRequest& request) {
         empty_secrets(request);
         request.headers[0].second =
             "sha256=738ae088c8517e99a98433846f3fd52d485597f4ef9771024e3d27bc48686573";
       },
       kNoSecret},
      {"github", "no secrets", no_secrets, kNoSecret},
      {"github", "no signature", without(0), "the header X-Hub-Signature-256 is missing"},
      {"github", "doubled header", doubled(0), "the header X-Hub-Signature-256 occurs twice"},
      {"github", "a second signature that is wrong",
       [](SignedRequest& request) {
         request.headers.emplace_back("X-HUB-SIGNATURE-256", "sha256=00");
       },
       "the header X-Hub-Signature-256 occurs twice"},
      {"github", "empty value", value(0, ""), kPrefix},
      {"github", "prefix only", value(0, "sha256="), kMalformed},
      {"github", "no prefix", value(0, hex), kPrefix},
      {"github", "SHA-1", value(0, "sha1=5415539a06c29819c3073861d9def6bf59469180"), kPrefix},
      {"github", "SHA-1 named SHA-256", value(0, "sha256=5415539a06c29819c3073861d9def6bf59469180"),
       kMalformed},
      {"github", "SHA-1 in the header of before",
       [](SignedRequest& request) {
         request.headers = {{"X-Hub-Signature", "sha1=5415539a06c29819c3073861d9def6bf59469180"}};
       },
       "the header X-Hub-Signature-256 is missing"},
      {"github", "hash without a key",
       value(0, "sha256=ac65702db51f3b3923b84d0754a0e5f869ed00826cec802df46e2cbb395aa0ac"), kWrong},
      {"github", "Base64", value(0, "sha256=dfHicXyqMytz8WSZLj7lkmwqozeYbBNfu24mYZ6jymQ="),
       kMalformed},
      {"github", "truncated by a digit", cut(0, 1), kMalformed},
      {"github", "truncated by a byte", cut(0, 2), kMalformed},
      {"github", "truncated to a byte", cut(0, 62), kMalformed},
      {"github", "longer", value(0, "sha256=" + hex + "00"), kMalformed},
      {"github", "a blank at the end", value(0, "sha256=" + hex + ' '), kMalformed},
      {"github", "two signatures in one value", value(0, "sha256=" + hex + ", sha256=" + hex),
       kMalformed},
      {"github", "signature of an empty body",
       value(0, "sha256=43e7ab89f02c210c6a07d8fbea533999eb910bdf18c42aeebcf9406c2730da24"), kWrong},
  };
  return all;
}

const std::vector<Forgery>& stripe_forgeries() {
  const std::string hex = "4d73df853cdbaf9efa966cb629e177a8f072731f9b40e0957da6d1e075254d74";
  constexpr const char* kMalformed = "the header Stripe-Signature has a malformed signature";
  constexpr const char* kNone = "the header Stripe-Signature has no signature that begins with v1=";
  constexpr const char* kNoNumber = "the time stamp is not a number of seconds";
  static const std::vector<Forgery> all = {
      {"stripe", "wrong key", change_key, kWrong},
      {"stripe", "changed body", change_body, kWrong},
      {"stripe", "empty secrets", empty_secrets, kNoSecret},
      {"stripe", "old stamp, signed",
       value(0, "t=1699999699,v1=1c1584dbafdd9c96dfd9d3f8288361d6f85b1b40166eeadc120f941b191058c8"),
       "the time stamp is too old"},
      {"stripe", "stamp of the future, signed",
       value(0, "t=1700000301,v1=cb6eae06b98d913f5a53aacad50e0c9670df59d6cd6b2ccb08e1b374b77438ef"),
       "the time stamp is too far in the future"},
      {"stripe", "new stamp on an old signature",
       value(0, "t=1700000000,v1=1c1584dbafdd9c96dfd9d3f8288361d6f85b1b40166eeadc120f941b191058c8"),
       kWrong},
      {"stripe", "signature without the stamp",
       value(0, "t=1700000000,v1=75f1e2717caa332b73f164992e3ee5926c2aa337986c135fbb6e26619ea3ca64"),
       kWrong},
      {"stripe", "stamp with a blank, signed",
       value(0,
             "t= 1700000000,v1=70a2c7e2134638eff4879cd4c7092c6830f37ce4468d49cf7135234685bb0dfb"),
       kNoNumber},
      {"stripe", "two stamps", value(0, "t=1,t=1700000000,v1=" + hex),
       "the header Stripe-Signature has two time stamps"},
      {"stripe", "no stamp", value(0, "v1=" + hex),
       "the header Stripe-Signature has no time stamp"},
      {"stripe", "empty stamp", value(0, "t=,v1=" + hex), kNoNumber},
      {"stripe", "stamp beyond 64 bits", value(0, "t=18446744075409551616,v1=" + hex), kNoNumber},
      {"stripe", "other version", value(0, "t=1700000000,v0=" + hex), kNone},
      {"stripe", "no signature", value(0, "t=1700000000"), kNone},
      {"stripe", "upper case",
       value(0,
             "t=1700000000,v1=4D73DF853CDBAF9EFA966CB629E177A8F072731F9B"
             "40E0957DA6D1E075254D74"),
       kMalformed},
      {"stripe", "truncated", value(0, "t=1700000000,v1=" + hex.substr(0, 62)), kMalformed},
      {"stripe", "doubled header", doubled(0), "the header Stripe-Signature occurs twice"},
      {"stripe", "signatures without end",
       [](SignedRequest& request) {
         std::string many = "t=1700000000";
         for (int i = 0; i < 16; ++i) many += ",v1=" + std::string(64, '0');
         request.headers[0].second = many + request.headers[0].second.substr(12);
       },
       "the header Stripe-Signature has more than 16 signatures"},
  };
  return all;
}

const std::vector<Forgery>& slack_forgeries() {
  static const std::vector<Forgery> all = {
      {"slack", "wrong key", change_key, kWrong},
      {"slack", "changed body", change_body, kWrong},
      {"slack", "changed stamp", value(0, "1700000001"), kWrong},
      {"slack", "old stamp, signed",
       [](SignedRequest& request) {
         request.headers[0].second = "1699999699";
         request.headers[1].second =
             "v0=e8f21f5fb61df7eff4b525f771eb15fa5f0bd208a362173fcfba8d7a27e1d151";
       },
       "the time stamp is too old"},
      {"slack", "stamp with a sign, signed",
       [](SignedRequest& request) {
         request.headers[0].second = "+1700000000";
         request.headers[1].second =
             "v0=8d94aea818066351f50fbc7880948bcea35e86bb20796d6c95b80821a173eb65";
       },
       "the time stamp is not a number of seconds"},
      {"slack", "no stamp", without(0), "the header X-Slack-Request-Timestamp is missing"},
      {"slack", "no signature", without(1), "the header X-Slack-Signature is missing"},
      {"slack", "doubled stamp", doubled(0), "the header X-Slack-Request-Timestamp occurs twice"},
      {"slack", "doubled signature", doubled(1), "the header X-Slack-Signature occurs twice"},
      {"slack", "other version",
       value(1, "v1=916726270ae8ca3f4dae62ca030aea192e715937cd8ef30f047999399df9eeba"),
       "the value of the header X-Slack-Signature does not begin with v0="},
      {"slack", "signature without stamp and version",
       value(1, "v0=75f1e2717caa332b73f164992e3ee5926c2aa337986c135fbb6e26619ea3ca64"), kWrong},
      {"slack", "truncated", cut(1, 4),
       "the value of the header X-Slack-Signature is not a signature of 32 bytes in hexadecimal"},
  };
  return all;
}

const std::vector<Forgery>& standard_forgeries() {
  constexpr const char* kMalformed = "the header webhook-signature has a malformed signature";
  constexpr const char* kNone =
      "the header webhook-signature has no signature that begins with v1,";
  constexpr const char* kId = "the header webhook-id is empty or has a dot";
  static const std::vector<Forgery> all = {
      {"standard", "wrong key", change_key, kWrong},
      {"standard", "changed body", change_body, kWrong},
      {"standard", "changed id", value(0, "msg_2"), kWrong},
      {"standard", "changed stamp", value(1, "1700000001"), kWrong},
      {"standard", "empty id", value(0, ""), kId},
      {"standard", "id with a dot, signed",
       [](SignedRequest& request) {
         request.headers[0].second = "msg.1";
         request.headers[2].second = "v1,EE6oyx88lwrcojY3tG9f3lxAf3P5nwV0B35NTnf2WYw=";
       },
       kId},
      {"standard", "old stamp, signed",
       [](SignedRequest& request) {
         request.headers[1].second = "1699999699";
         request.headers[2].second = "v1,mJyNL0S2qXe7twVHrEKxwIESd3fsvD0KAbd2mI5l/yk=";
       },
       "the time stamp is too old"},
      {"standard", "the text of the secret as key",
       value(2, "v1,WmI5J3e/Cge4+03IQTqpSk0IJbtCLLV/uQJkE5ThFIg="), kWrong},
      {"standard", "secret that is not Base64",
       [](SignedRequest& request) {
         request.secrets = {"whsec_%", "new-secret!"};
       },
       kNoSecret},
      {"standard", "empty secret, signed with an empty key",
       [](SignedRequest& request) {
         request.secrets = {"whsec_"};
         request.headers[2].second = "v1,FRwl2j5RVHp4t4+O8Ns12Q9rr1GiP0FiOCvVGHFjJPI=";
       },
       kNoSecret},
      {"standard", "hexadecimal",
       value(2, "v1,6e8642f9b78b52273d8f7966fb6eaf6acb5bd7cd298786fb991bf2c54222f53b"), kMalformed},
      {"standard", "no padding", cut(2, 1), kMalformed},
      {"standard", "truncated", cut(2, 5), kMalformed},
      {"standard", "SHA-512",
       value(2,
             "v1,vPGI+JqqeHo+5Y0hlSr9+KmzxasQmxWaTA6r0/Ghnhq7FsUzYOCE0nZcn02eqUlCUcP8mGvd3M/3A40"
             "WHgHOag=="),
       kMalformed},
      {"standard", "other version", value(2, "v2,boZC+beLUic9j3lm+26vastb180ph4b7mRvyxUIi9Ts="),
       kNone},
      {"standard", "no version", value(2, "boZC+beLUic9j3lm+26vastb180ph4b7mRvyxUIi9Ts="), kNone},
      {"standard", "doubled id", doubled(0), "the header webhook-id occurs twice"},
      {"standard", "doubled signature", doubled(2), "the header webhook-signature occurs twice"},
      {"standard", "headers of both names",
       [](SignedRequest& request) {
         request.headers[0].first = "svix-id";
         request.headers[1].first = "svix-timestamp";
       },
       "the header webhook-id is missing"},
      {"svix", "changed body", change_body, kWrong},
      {"svix", "no stamp", without(1), "the header svix-timestamp is missing"},
  };
  return all;
}

const std::vector<Forgery>& other_forgeries() {
  constexpr const char* kSecret = "the secret is wrong";
  constexpr const char* kNoPair = "the header Authorization has no user and password in Base64";
  static const std::vector<Forgery> all = {
      {"hmac", "wrong key", change_key, kWrong},
      {"hmac", "changed body", change_body, kWrong},
      {"hmac", "changed stamp", value(0, "1700000001"), kWrong},
      {"hmac", "no stamp", without(0), "the header X-Time is missing"},
      {"hmac", "old stamp, signed",
       [](SignedRequest& request) {
         request.headers[0].second = "1699999699";
         request.headers[1].second =
             "mac 0EVZkj171FX6VoS1UyUW47aQRvsYMjbUJutfB9CYlITKln2RXexFJvAyC3SoS5q9zX0Bcx8Hd+49aCMMN"
             "W3Reg==";
       },
       "the time stamp is too old"},
      {"hmac", "the other algorithm", value(1, "mac dfHicXyqMytz8WSZLj7lkmwqozeYbBNfu24mYZ6jymQ="),
       "the value of the header X-Signature is not a signature of 64 bytes in Base64"},
      {"plain", "wrong key", change_key, kWrong},
      {"plain", "the other algorithm",
       value(0,
             "570b598b3582ee883db0ef129dc59bfaeaeeec5c5d57f1756c96ec397d6c71cb3f9128d05fa2828f08"
             "c9230c57969395217a40cc480d3be88753516e47c02c06"),
       "the value of the header X-Signature is not a signature of 32 bytes in hexadecimal"},
      {"plain", "doubled header", doubled(0), "the header X-Signature occurs twice"},
      {"header", "wrong secret", value(0, "new-secres"), kSecret},
      {"header", "beginning of the secret", cut(0, 1), kSecret},
      {"header", "more than the secret", value(0, "new-secret "), kSecret},
      {"header", "empty value", value(0, ""), kSecret},
      {"header", "empty value and empty secrets",
       [](SignedRequest& request) {
         empty_secrets(request);
         request.headers[0].second.clear();
       },
       kSecret},
      {"header", "no secrets", no_secrets, kSecret},
      {"header", "doubled header", doubled(0), "the header X-Token occurs twice"},
      // user:new-secres, admin:new-secret, user: and user
      {"basic", "wrong password", value(0, "Basic dXNlcjpuZXctc2VjcmVz"), kSecret},
      {"basic", "wrong user", value(0, "Basic YWRtaW46bmV3LXNlY3JldA=="), kSecret},
      {"basic", "empty password and empty secrets",
       [](SignedRequest& request) {
         empty_secrets(request);
         request.headers[0].second = "Basic dXNlcjo=";
       },
       kSecret},
      {"basic", "no password", value(0, "Basic dXNlcg=="), kNoPair},
      {"basic", "not Base64", value(0, "Basic user:new-secret"), kNoPair},
      {"basic", "no padding", value(0, "Basic YWRtaW46bmV3LXNlY3JldA"), kNoPair},
      {"basic", "other scheme", value(0, "Bearer dXNlcjpuZXctc2VjcmV0"),
       "the header Authorization is not that of basic authentication"},
      {"basic", "no header", without(0), "the header Authorization is missing"},
      {"basic", "doubled header", doubled(0), "the header Authorization occurs twice"},
  };
  return all;
}

TEST(Forgeries, AreRefusedForTheirReason) {
  size_t count = 0;
  for (const auto* const all : {&github_forgeries(), &stripe_forgeries(), &slack_forgeries(),
                                &standard_forgeries(), &other_forgeries()}) {
    for (const Forgery& forgery : *all) {
      SignedRequest request = signed_request(forgery.form);
      forgery.change(request);
      EXPECT_EQ(outcome_of(request), forgery.reason) << forgery.form << ": " << forgery.what;
      ++count;
    }
  }
  EXPECT_GE(count, 40U);
}

TEST(Forgeries, WithOneChangedBitOfTheBodyAreRefused) {
  for (const SignedRequest& valid : signed_requests()) {
    if (valid.name == "header" || valid.name == "basic") continue;  // they sign no body
    for (size_t at = 0; at < valid.body.size(); ++at) {
      SignedRequest request = valid;
      request.body[at] = static_cast<char>(request.body[at] ^ 1);
      EXPECT_EQ(outcome_of(request), kWrong) << valid.name << ", byte " << at;
    }
  }
}

}  // namespace
}  // namespace millrace
