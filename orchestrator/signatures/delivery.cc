#include "orchestrator/signatures/delivery.h"

#include "base/bytes.h"
#include "base/json.h"

namespace millrace {
namespace {

using Form = SignatureSetting::Form;

/// The text of a member of the body; empty: it has none.
std::string text_member(std::string_view body, const char* name) {
  const Result<Json> json = parse_json(body);
  if (!json || !json->is_object()) return "";
  const auto found = json->find(name);
  return found != json->end() && found->is_string() ? found->get<std::string>() : "";
}

/// The id that the service gives the delivery; empty: it gives none that is signed.
std::string given_id(const SignatureSetting& setting, const Headers& headers,
                     std::string_view body) {
  if (setting.form == Form::kStripe) return text_member(body, "id");
  if (setting.form == Form::kSlack) return text_member(body, "event_id");
  if (setting.form != Form::kStandard) return "";
  const bool is_standard = find_header(headers, "webhook-signature") != nullptr;
  const std::string* const id = find_header(headers, is_standard ? "webhook-id" : "svix-id");
  return id == nullptr ? "" : *id;
}

}  // namespace

std::string delivery_id(const SignatureSetting& setting, const Headers& headers,
                        std::string_view body) {
  std::string id = given_id(setting, headers, body);
  return id.empty() ? to_hex(fingerprint({body})) : id;
}

std::optional<std::string> challenge_in(const SignatureSetting& setting, std::string_view body) {
  if (setting.form != Form::kSlack) return std::nullopt;
  if (text_member(body, "type") != "url_verification") return std::nullopt;
  std::string challenge = text_member(body, "challenge");
  if (challenge.empty() || challenge.size() > kMaxChallenge || !is_printable_ascii(challenge)) {
    return std::nullopt;
  }
  return challenge;
}

}  // namespace millrace
