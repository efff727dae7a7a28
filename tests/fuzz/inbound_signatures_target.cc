// A request for an inbound webhook, and the check of its signature. Lines of the input: the
// settings of the signature as JSON, the secrets with tabs between them, the time in seconds, the
// headers, an empty line, and the body (headed_input.h). `{mac}` in the value of a header stands
// for the signature that the first secret makes. A request is accepted only if one of the secrets
// proves it (hmac_proof.h). A request that the target signs is accepted in each form, and is
// refused after a change of its body, its secret, its headers or its time.
// Covers: orchestrator/signatures/signature.cc orchestrator/signatures/hmac.cc
// Covers: orchestrator/signatures/delivery.cc orchestrator/definition/signature_setting.cc
#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/characters.h"
#include "orchestrator/signatures/delivery.h"
#include "orchestrator/signatures/signature.h"
#include "tests/fuzz/headed_input.h"
#include "tests/fuzz/hmac_proof.h"
#include "tests/fuzz/properties.h"
#include "tests/fuzz/target.h"

namespace millrace::fuzz {
namespace {

constexpr size_t kMostRequestBytes = 16'384;
constexpr std::string_view kPlaceOfMac = "{mac}";
/// The time of an input that has none.
constexpr int64_t kUsualSeconds = 1'700'000'000;

std::vector<std::string> secrets_of_line(std::string_view line) {
  std::vector<std::string> secrets;
  while (secrets.size() < kMostSignatureSecrets) {
    const size_t end = std::min(line.find('\t'), line.size());
    secrets.emplace_back(line.substr(0, end));
    if (end == line.size()) break;
    line.remove_prefix(end + 1);
  }
  return secrets;
}

/// The seconds since 1970 that a line of at most 12 digits has.
int64_t seconds_of_line(std::string_view line) {
  int64_t seconds = 0;
  const bool is_number =
      !line.empty() && line.size() <= 12 && std::all_of(line.begin(), line.end(), is_digit);
  if (!is_number) return kUsualSeconds;
  std::from_chars(line.data(), line.data() + line.size(), seconds);
  return seconds;
}

TimePoint time_at(int64_t seconds) { return TimePoint{std::chrono::seconds(seconds)}; }

bool is_accepted(const SignatureSetting& setting, const SignedMessage& message) {
  const Status status =
      check_signature_of(setting, message.secrets, message.headers, message.body, message.now);
  if (status) return true;
  check_shown_error(status.error());
  CHECK(status.error().code == kRequestRefused, "the error is {}", status.error().code);
  return false;
}

/// Puts the signature by the first secret in its places.
void fill_in_mac(const SignatureSetting& setting, SignedMessage& message) {
  if (!has_hmac(setting)) return;
  const HmacParts parts = hmac_parts(setting, message.headers, message.body);
  const auto mac = signature_by(setting, message.secrets.front(), parts.text);
  if (!mac) return;
  for (auto& [name, value] : message.headers) {
    for (size_t at = value.find(kPlaceOfMac); at != std::string::npos;
         at = value.find(kPlaceOfMac, at + mac->size())) {
      value.replace(at, kPlaceOfMac.size(), *mac);
    }
  }
}

/// The headers from which a program could learn how to sign, in docs/webhooks.md.
std::vector<std::string> credential_headers(const SignatureSetting& setting) {
  switch (setting.form) {
    case SignatureSetting::Form::kGithub:
      return {"X-Hub-Signature-256", "X-Hub-Signature", "Authorization", "Cookie"};
    case SignatureSetting::Form::kStripe:
      return {"Stripe-Signature", "Authorization", "Cookie"};
    case SignatureSetting::Form::kSlack:
      return {"X-Slack-Signature", "Authorization", "Cookie"};
    case SignatureSetting::Form::kStandard:
      return {"webhook-signature", "svix-signature", "Authorization", "Cookie"};
    case SignatureSetting::Form::kHmac:
    case SignatureSetting::Form::kHeader:
      return {setting.header, "Authorization", "Cookie"};
    case SignatureSetting::Form::kBasic:
      break;
  }
  return {"Authorization", "Cookie"};
}

Headers headers_besides(const std::vector<std::string>& names, const Headers& headers) {
  Headers others;
  std::copy_if(headers.begin(), headers.end(), std::back_inserter(others), [&](const auto& one) {
    return std::none_of(names.begin(), names.end(),
                        [&](const std::string& name) { return same_header(one.first, name); });
  });
  return others;
}

/// What everything behind the check gets of the request.
void check_delivery(const SignatureSetting& setting, const SignedMessage& message) {
  CHECK(without_credentials(setting, message.headers) ==
            headers_besides(credential_headers(setting), message.headers),
        "a credential is left, or another header is missing");
  const std::string id = delivery_id(setting, message.headers, message.body);
  CHECK(!id.empty(), "a delivery has no id");
  CHECK(setting.form == SignatureSetting::Form::kStandard ||
            delivery_id(setting, {}, message.body) == id,
        "the id of a delivery comes from a header that is not signed");
  const std::optional<std::string> challenge = challenge_in(setting, message.body);
  if (!challenge) return;
  CHECK(setting.form == SignatureSetting::Form::kSlack, "another form has a challenge");
  CHECK(!challenge->empty() && challenge->size() <= kMaxChallenge && is_printable_ascii(*challenge),
        "the challenge is {}", excerpt(*challenge));
}

/// The request of the input, with settings of the input.
void check_given_request(const SignatureSetting& setting, SignedMessage message) {
  fill_in_mac(setting, message);
  check_delivery(setting, message);
  if (!is_accepted(setting, message)) return;
  CHECK(is_proved(setting, message), "a request is accepted that no secret has signed");
  SignedMessage other = std::move(message);
  other.secrets = {""};
  CHECK(!is_accepted(setting, other), "a secret without content proves a request");
}

/// The text of a secret whose key has those bytes.
std::string secret_with_key(const SignatureSetting& setting, const std::string& key) {
  const bool is_standard = setting.form == SignatureSetting::Form::kStandard;
  return is_standard ? "whsec_" + base64_encode(key) : key;
}

std::string with_bit_flipped(std::string bytes, uint64_t seed) {
  char& byte = bytes[seed % bytes.size()];
  byte = static_cast<char>(byte ^ (1 << (seed / bytes.size() % 8)));
  return bytes;
}

/// Requests that differ from an accepted one in one respect.
void check_changed_requests(const SignatureSetting& setting, const SignedMessage& valid,
                            const Headers& own) {
  for (const auto& header : own) {
    SignedMessage without = valid;
    without.headers = headers_besides({header.first}, valid.headers);
    CHECK(!is_accepted(setting, without), "{} is not needed", excerpt(header.first));
    SignedMessage twice = valid;
    twice.headers.push_back(header);
    CHECK(!is_accepted(setting, twice), "{} may occur twice", excerpt(header.first));
  }
  if (!has_hmac(setting)) return;
  SignedMessage changed = valid;
  const auto seed = static_cast<uint64_t>(to_millis(valid.now));
  changed.body = valid.body.empty() ? "a" : with_bit_flipped(valid.body, seed);
  CHECK(!is_accepted(setting, changed), "another body has the same signature");
  if (!hmac_parts(setting, own, valid.body).stamp) return;
  for (const int64_t sign : {-1, 1}) {
    SignedMessage late = valid;
    late.now = valid.now + sign * setting.window;
    CHECK(is_accepted(setting, late), "a time stamp within the window is refused");
    late.now += sign * Duration(1);
    CHECK(!is_accepted(setting, late), "a time stamp beyond the window is accepted");
  }
}

/// A request that the target signs, with the other headers of the input. Precondition: `given.now`
/// is a whole second.
void check_own_request(const SignatureSetting& setting, const SignedMessage& given,
                       const std::string& family) {
  const std::string& first = given.secrets.front();
  const std::string key = first.empty() ? "secret" : first;
  const std::string secret = secret_with_key(setting, key);
  const auto seed = static_cast<uint64_t>(to_millis(given.now));
  const std::string other = secret_with_key(setting, with_bit_flipped(key, seed));
  const std::string stamp = std::to_string(to_millis(given.now) / 1000);
  const Headers own = signed_headers(setting, secret, stamp, given.body, family);

  std::vector<std::string> names = {"webhook-signature", "svix-signature"};
  for (const auto& header : own) names.push_back(header.first);
  SignedMessage message = given;
  message.headers = headers_besides(names, given.headers);
  message.headers.insert(message.headers.end(), own.begin(), own.end());
  for (const auto& secrets : {std::vector<std::string>{secret}, {"", other, secret}}) {
    message.secrets = secrets;
    CHECK(is_proved(setting, message), "the target signs wrongly");
    CHECK(is_accepted(setting, message), "a request that is signed is refused");
  }
  check_delivery(setting, message);
  for (const auto& secrets : {std::vector<std::string>{other}, {""}, {}}) {
    message.secrets = secrets;
    CHECK(!is_accepted(setting, message), "another secret, or none, proves a request");
  }
  message.secrets = {secret};
  check_changed_requests(setting, message, own);
}

/// Settings of each form, with the defaults, and of the form `hmac` without them.
std::vector<SignatureSetting> settings_of_all_forms() {
  using Form = SignatureSetting::Form;
  std::vector<SignatureSetting> all;
  for (const Form form : {Form::kGithub, Form::kStripe, Form::kSlack, Form::kStandard}) {
    all.push_back({.form = form, .secrets = {"a"}});
  }
  all.push_back({.form = Form::kHmac, .secrets = {"a"}, .header = "X-Signature"});
  all.push_back({.form = Form::kHmac,
                 .secrets = {"a"},
                 .window = std::chrono::seconds(1),
                 .header = "X-Signature",
                 .algorithm = SignatureSetting::Algorithm::kSha512,
                 .encoding = SignatureSetting::Encoding::kBase64,
                 .prefix = "mac ",
                 .time_header = "X-Time",
                 .separator = ":"});
  all.push_back({.form = Form::kHeader, .secrets = {"a"}, .header = "X-Token"});
  all.push_back({.form = Form::kBasic, .secrets = {"a"}, .user = "user"});
  return all;
}

void check_own_requests(const SignatureSetting& setting, const SignedMessage& given) {
  check_own_request(setting, given, "webhook");
  if (setting.form == SignatureSetting::Form::kStandard) check_own_request(setting, given, "svix");
}

}  // namespace

FUZZ_TARGET(inbound_signatures) {
  if (bytes.size() > kMostRequestBytes) return;
  const Result<Json> json = parse_json(take_line(bytes));
  SignedMessage given{.secrets = secrets_of_line(take_line(bytes)), .now = {}, .headers = {}};
  given.now = time_at(seconds_of_line(take_line(bytes)));
  HeadedInput input = read_headed_input(bytes);
  given.headers = std::move(input.headers);
  given.body = std::string(input.body);
  if (json) {
    if (const auto setting = parse_signature("verify", *json)) {
      check_given_request(*setting, given);
      check_own_requests(*setting, given);
    } else {
      check_shown_error(setting.error());
    }
  }
  static const std::vector<SignatureSetting> all = settings_of_all_forms();
  for (const SignatureSetting& setting : all) check_own_requests(setting, given);
}

}  // namespace millrace::fuzz
