// What a signed request is besides its content: the id of its delivery, and whether it asks for the
// answer to a challenge. Only for requests whose signature is valid. Pure; for any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "cloudevents/headers.h"
#include "orchestrator/definition/signature_setting.h"

namespace millrace {

/// The longest challenge that is answered, in bytes.
inline constexpr size_t kMaxChallenge = 1'024;

/// An id that is the same when the service sends the delivery again. It consists of signed parts
/// only, so that a copy of a request does not get another id: the header `webhook-id` of Standard
/// Webhooks, the member `id` of the body of Stripe, `event_id` of Slack; otherwise a hash of the
/// body, as 32 hexadecimal digits.
std::string delivery_id(const SignatureSetting& setting, const Headers& headers,
                        std::string_view body);

/// The challenge that the service sends when the URL is registered, and that must be the answer:
/// Slack's `{"type": "url_verification", "challenge": TEXT}`; nullopt: the request has none.
std::optional<std::string> challenge_in(const SignatureSetting& setting, std::string_view body);

}  // namespace millrace
