// Checks the signature of a request of another service, over the bytes of the body as they came.
// Sources: GitHub "Validating webhook deliveries", Stripe "Verify webhook signatures manually",
// Slack "Verifying requests from Slack", Standard Webhooks 1.0.0, RFC 7617 (basic authentication).
// Pure; for any thread.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"
#include "cloudevents/headers.h"
#include "orchestrator/definition/signature_setting.h"

namespace millrace {

/// The code of the error of check_signature_of().
inline constexpr std::string_view kRequestRefused = "hooks.refused";

/// Ok if one of the secrets has signed the request, and its time stamp is within the window around
/// `now`. A header of the signature that occurs twice is refused, and so is a secret without
/// content. All secrets are tried, whichever fits. Error `hooks.refused`: the message says why,
/// and must not be shown to the sender.
Status check_signature_of(const SignatureSetting& setting, std::span<const std::string> secrets,
                          const Headers& headers, std::string_view body, TimePoint now);

/// The headers without those that prove where a request comes from, for everything behind the
/// check: `Authorization`, `Cookie`, and those that have the signature or the secret itself.
Headers without_credentials(const SignatureSetting& setting, Headers headers);

}  // namespace millrace
