#include "tests/unit/signatures/signed_requests.h"

#include <algorithm>
#include <chrono>

#include "orchestrator/signatures/signature.h"

namespace millrace {

const std::vector<SignedRequest>& signed_requests() {
  static const std::vector<SignedRequest> all = {
      {.name = "github",
       .settings = R"({"form": "github", "secrets": ["new", "old"]})",
       .headers = {{"x-hub-signature-256",
                    "sha256=75f1e2717caa332b73f164992e3ee5926c2aa337986c135fbb6e26619ea3ca64"}}},
      {.name = "stripe",
       .settings = R"({"form": "stripe", "secrets": ["new", "old"]})",
       .headers = {{"Stripe-Signature",
                    "t=1700000000,v1=4d73df853cdbaf9efa966cb629e177a8f072731f9b40e0957da6d1e075254d"
                    "74,v0=6ffbb59b2300aae63f272406069a9788598b792a944a07aba816edb039989a39"}}},
      {.name = "slack",
       .settings = R"({"form": "slack", "secrets": ["new", "old"]})",
       .headers = {{"X-Slack-Request-Timestamp", "1700000000"},
                   {"X-Slack-Signature",
                    "v0=916726270ae8ca3f4dae62ca030aea192e715937cd8ef30f047999399df9eeba"}}},
      {.name = "standard",
       .settings = R"({"form": "standard", "secrets": ["new", "old"]})",
       .secrets = {"whsec_c3RhbmRhcmQta2V5LW9mLTI0LWJ5dGVz", "whsec_b2xk"},
       .headers = {{"webhook-id", "msg_1"},
                   {"webhook-timestamp", "1700000000"},
                   {"webhook-signature", "v1,boZC+beLUic9j3lm+26vastb180ph4b7mRvyxUIi9Ts="}}},
      {.name = "svix",
       .settings = R"({"form": "standard", "secrets": ["new", "old"]})",
       .secrets = {"c3RhbmRhcmQta2V5LW9mLTI0LWJ5dGVz", "b2xk"},
       .headers = {{"svix-id", "msg_1"},
                   {"svix-timestamp", "1700000000"},
                   {"svix-signature", "v1a,AAAA v1,boZC+beLUic9j3lm+26vastb180ph4b7mRvyxUIi9Ts="}}},
      {.name = "hmac",
       .settings = R"({"form": "hmac", "secrets": ["new", "old"], "header": "X-Signature",
                       "algorithm": "sha512", "encoding": "base64", "prefix": "mac ",
                       "timeHeader": "X-Time", "separator": ":", "windowSeconds": 300})",
       .headers = {{"X-Time", "1700000000"},
                   {"X-Signature",
                    "mac SQoutSm2pmwoHh1FrnlxlnvulyfvXuNQK33MO2CRO6wBpFKNLX/d6texQ7ex9HiN10KUOL7WR"
                    "ordipuvtBO5Ew=="}}},
      {.name = "plain",
       .settings = R"({"form": "hmac", "secrets": ["new", "old"], "header": "X-Signature"})",
       .headers = {{"X-Signature",
                    "75f1e2717caa332b73f164992e3ee5926c2aa337986c135fbb6e26619ea3ca64"}}},
      {.name = "header",
       .settings = R"({"form": "header", "secrets": ["new", "old"], "header": "X-Token"})",
       .headers = {{"X-Token", "new-secret"}}},
      // user:new-secret
      {.name = "basic",
       .settings = R"({"form": "basic", "secrets": ["new", "old"], "user": "user"})",
       .headers = {{"Authorization", "Basic dXNlcjpuZXctc2VjcmV0"}}},
  };
  return all;
}

const SignedRequest& signed_request(std::string_view name) {
  const auto& all = signed_requests();
  return *std::find_if(all.begin(), all.end(), [&](const auto& one) { return one.name == name; });
}

std::string outcome_of(const SignedRequest& request, int64_t seconds) {
  const auto setting = parse_signature("verify", *parse_json(request.settings));
  if (!setting) return setting.error().message;
  const TimePoint now{std::chrono::seconds(kSignedAt + seconds)};
  const Status status =
      check_signature_of(*setting, request.secrets, request.headers, request.body, now);
  if (status) return "accepted";
  return status.error().code == kRequestRefused ? status.error().message : status.error().code;
}

}  // namespace millrace
