// Signatures of requests as docs/webhooks.md describes them, apart from the code that checks them
// (orchestrator/signatures/): HMAC from the hash alone, what is signed in each form, and where the
// signature is. For fuzz targets; any thread.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "cloudevents/headers.h"
#include "orchestrator/definition/signature_setting.h"

namespace millrace::fuzz {

/// A request, and what its receiver knows.
struct SignedMessage {
  std::vector<std::string> secrets;  ///< at least one
  TimePoint now;
  Headers headers;
  std::string body;
};

/// The parts of a request in a form with an HMAC.
struct HmacParts {
  std::vector<std::string> headers;  ///< that the form needs, the one with the signature last
  std::string before;                ///< what is before the signature in the value of its header
  bool has_others = false;           ///< the header may have more than one signature
  std::optional<std::string> stamp;  ///< nullopt: the form has no time stamp
  std::string text;                  ///< what is signed
};

/// Whether the form has an HMAC; the others have the secret itself.
bool has_hmac(const SignatureSetting& setting);

/// Precondition: has_hmac().
HmacParts hmac_parts(const SignatureSetting& setting, const Headers& headers,
                     std::string_view body);

/// The signature of the text, encoded as the form has it; nullopt: the secret has no key.
std::optional<std::string> signature_by(const SignatureSetting& setting, std::string_view secret,
                                        std::string_view text);

/// Whether a secret of the message proves where it comes from: its header has the HMAC that the
/// secret makes over the signed text, or the secret itself; each header that the form needs is
/// there once; and the time stamp is within the window.
bool is_proved(const SignatureSetting& setting, const SignedMessage& message);

/// The headers of a request with that body that `secret` signs. The last one has the signature.
/// `family`: `webhook` or `svix`, for the form of Standard Webhooks.
Headers signed_headers(const SignatureSetting& setting, const std::string& secret,
                       const std::string& stamp, std::string_view body,
                       const std::string& family = "webhook");

}  // namespace millrace::fuzz
