// Requests with valid signatures in each form. The signatures were computed with `openssl dgst
// -hmac` and the crypto module of Node.js.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cloudevents/headers.h"
#include "orchestrator/definition/signature_setting.h"

namespace millrace {

inline constexpr const char* kSignedBody = R"({"id":"evt_1","type":"paid"})";
/// When the requests with time stamps were signed, in seconds since 1970.
inline constexpr int64_t kSignedAt = 1'700'000'000;

struct SignedRequest {
  std::string name;
  std::string settings;  ///< JSON that parse_signature() reads
  /// The values of the secrets: the first one has signed the request.
  std::vector<std::string> secrets = {"new-secret", "old-secret"};
  Headers headers;
  std::string body = kSignedBody;
};

/// One valid request for each name: github, stripe, slack, standard, svix, hmac (SHA-512 in Base64
/// with a prefix and a time stamp), plain (SHA-256 in hexadecimal), header, basic.
const std::vector<SignedRequest>& signed_requests();

/// The request with that name.
const SignedRequest& signed_request(std::string_view name);

/// Whether the request is accepted `seconds` after kSignedAt; otherwise the reason.
std::string outcome_of(const SignedRequest& request, int64_t seconds = 0);

}  // namespace millrace
