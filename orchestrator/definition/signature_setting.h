// SignatureSetting: how the requests of another service prove that they come from it. Pure values.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "base/time.h"

namespace millrace {

/// The most secrets that are valid at the same time.
inline constexpr size_t kMostSignatureSecrets = 8;

struct SignatureSetting {
  enum class Form : uint8_t {
    kGithub,    ///< X-Hub-Signature-256: sha256=HEX
    kStripe,    ///< Stripe-Signature: t=SECONDS,v1=HEX
    kSlack,     ///< X-Slack-Signature: v0=HEX, X-Slack-Request-Timestamp: SECONDS
    kStandard,  ///< webhook-id, webhook-timestamp, webhook-signature (Standard Webhooks)
    kHmac,      ///< as the members below say
    kHeader,    ///< the header `header` has the secret itself
    kBasic,     ///< Authorization: Basic, with `user` and the secret
  };
  enum class Algorithm : uint8_t { kSha256, kSha512 };
  enum class Encoding : uint8_t { kHex, kBase64 };

  Form form = Form::kHmac;
  std::vector<std::string> secrets;  ///< names of secrets, each of which is valid; at least one
  Duration window = std::chrono::minutes(5);  ///< how far a time stamp may be from now, either way

  // Of kHmac, and `header` also of kHeader.
  std::string header;
  Algorithm algorithm = Algorithm::kSha256;
  Encoding encoding = Encoding::kHex;
  std::string prefix;           ///< of the value of `header`
  std::string time_header;      ///< has seconds since 1970; empty: there is no time stamp
  std::string separator = ".";  ///< between time stamp and body in what is signed

  std::string user;  ///< of kBasic

  bool operator==(const SignatureSetting&) const = default;
};

/// Parses `{"form": "github", "stripe", "slack", "standard", "hmac", "header" or "basic",
/// "secrets": [NAME], "windowSeconds"?: N}`, and for "hmac" `{"header": NAME, "algorithm"?:
/// "sha256" or "sha512", "encoding"?: "hex" or "base64", "prefix"?: TEXT, "timeHeader"?: NAME,
/// "separator"?: TEXT}`, for "header" `{"header": NAME}`, for "basic" `{"user": TEXT}`. `where` is
/// the place in the settings. Error `settings.invalid` has the place of the mistake, and what to
/// write there.
Result<SignatureSetting> parse_signature(std::string_view where, const Json& value);

}  // namespace millrace
