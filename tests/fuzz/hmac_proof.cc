#include "tests/fuzz/hmac_proof.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include <sodium.h>

#include "base/bytes.h"
#include "base/characters.h"
#include "base/check.h"

namespace millrace::fuzz {
namespace {

using Form = SignatureSetting::Form;
using Algorithm = SignatureSetting::Algorithm;

constexpr std::string_view kSecretPrefix = "whsec_";
constexpr size_t kMostStampDigits = 12;

std::string hash_of(Algorithm algorithm, std::string_view text) {
  const auto* const bytes = reinterpret_cast<const unsigned char*>(text.data());
  const bool is_sha256 = algorithm == Algorithm::kSha256;
  std::string hash(is_sha256 ? crypto_hash_sha256_BYTES : crypto_hash_sha512_BYTES, '\0');
  auto* const out = reinterpret_cast<unsigned char*>(hash.data());
  if (is_sha256) {
    crypto_hash_sha256(out, bytes, text.size());
  } else {
    crypto_hash_sha512(out, bytes, text.size());
  }
  return hash;
}

/// HMAC as RFC 2104, section 2, has it.
std::string rfc2104_hmac(Algorithm algorithm, std::string key, std::string_view text) {
  const size_t block = algorithm == Algorithm::kSha256 ? 64 : 128;
  if (key.size() > block) key = hash_of(algorithm, key);
  key.resize(block, '\0');
  std::string inner = key;
  std::string outer = std::move(key);
  for (char& c : inner) c = static_cast<char>(c ^ 0x36);
  for (char& c : outer) c = static_cast<char>(c ^ 0x5c);
  return hash_of(algorithm, outer + hash_of(algorithm, inner.append(text)));
}

/// The value of the first header with that name; empty: there is none.
std::string value_of_header(const Headers& headers, std::string_view name) {
  const std::string* const found = find_header(headers, name);
  return found == nullptr ? "" : *found;
}

auto count_of_header(const Headers& headers, std::string_view name) {
  return std::count_if(headers.begin(), headers.end(),
                       [&](const auto& one) { return same_header(one.first, name); });
}

/// The text behind `t=` among the parts that commas separate.
std::string stamp_of_stripe(std::string_view value) {
  while (!value.empty()) {
    const size_t end = std::min(value.find(','), value.size());
    if (value.starts_with("t=")) return std::string(value.substr(2, end - 2));
    value.remove_prefix(std::min(end + 1, value.size()));
  }
  return "";
}

HmacParts parts_of_standard(const Headers& headers, std::string_view body) {
  const bool is_svix = find_header(headers, "webhook-signature") == nullptr &&
                       find_header(headers, "svix-signature") != nullptr;
  const std::string family = is_svix ? "svix" : "webhook";
  const std::string stamp = value_of_header(headers, family + "-timestamp");
  return {.headers = {family + "-id", family + "-timestamp", family + "-signature"},
          .before = "v1,",
          .has_others = true,
          .stamp = stamp,
          .text = value_of_header(headers, family + "-id") + "." + stamp + "." + std::string(body)};
}

HmacParts parts_of_own_form(const SignatureSetting& setting, const Headers& headers,
                            std::string_view body) {
  if (setting.time_header.empty()) {
    return {.headers = {setting.header},
            .before = setting.prefix,
            .stamp = std::nullopt,
            .text = std::string(body)};
  }
  const std::string stamp = value_of_header(headers, setting.time_header);
  return {.headers = {setting.time_header, setting.header},
          .before = setting.prefix,
          .stamp = stamp,
          .text = stamp + setting.separator + std::string(body)};
}

bool is_within_window(const SignatureSetting& setting, const std::string& stamp, TimePoint now) {
  const bool is_number = !stamp.empty() && stamp.size() <= kMostStampDigits &&
                         std::all_of(stamp.begin(), stamp.end(), is_digit);
  if (!is_number) return false;
  const TimePoint at{std::chrono::seconds(std::stoll(stamp))};
  return at - now <= setting.window && now - at <= setting.window;
}

/// Whether the header has the secret itself, which has content.
bool has_secret_itself(const SignatureSetting& setting, const Headers& headers,
                       const std::string& secret) {
  if (secret.empty()) return false;
  if (setting.form == Form::kHeader) {
    return count_of_header(headers, setting.header) == 1 &&
           value_of_header(headers, setting.header) == secret;
  }
  const std::string value = value_of_header(headers, "Authorization");
  constexpr std::string_view kBasic = "basic ";
  return count_of_header(headers, "Authorization") == 1 &&
         to_lower(value.substr(0, kBasic.size())) == kBasic &&
         value.substr(kBasic.size()) == base64_encode(setting.user + ":" + secret);
}

/// The headers as they are before the signature is written into the last one.
Headers unsigned_headers(const SignatureSetting& setting, const std::string& secret,
                         const std::string& stamp, const std::string& family) {
  switch (setting.form) {
    case Form::kGithub:
      return {{"X-Hub-Signature-256", "sha256="}};
    case Form::kStripe:
      return {{"Stripe-Signature", "t=" + stamp + ",v1="}};
    case Form::kSlack:
      return {{"X-Slack-Request-Timestamp", stamp}, {"X-Slack-Signature", "v0="}};
    case Form::kStandard:
      return {{family + "-id", "msg_1"},
              {family + "-timestamp", stamp},
              {family + "-signature", "v1,"}};
    case Form::kHmac:
      if (setting.time_header.empty()) return {{setting.header, setting.prefix}};
      return {{setting.time_header, stamp}, {setting.header, setting.prefix}};
    case Form::kHeader:
      return {{setting.header, secret}};
    case Form::kBasic:
      return {{"Authorization", "Basic " + base64_encode(setting.user + ":" + secret)}};
  }
  return {};
}

}  // namespace

bool has_hmac(const SignatureSetting& setting) {
  return setting.form != Form::kHeader && setting.form != Form::kBasic;
}

HmacParts hmac_parts(const SignatureSetting& setting, const Headers& headers,
                     std::string_view body) {
  if (setting.form == Form::kStandard) return parts_of_standard(headers, body);
  if (setting.form == Form::kHmac) return parts_of_own_form(setting, headers, body);
  if (setting.form == Form::kGithub) {
    return {.headers = {"X-Hub-Signature-256"},
            .before = "sha256=",
            .stamp = std::nullopt,
            .text = std::string(body)};
  }
  if (setting.form == Form::kStripe) {
    const std::string stamp = stamp_of_stripe(value_of_header(headers, "Stripe-Signature"));
    return {.headers = {"Stripe-Signature"},
            .before = "v1=",
            .has_others = true,
            .stamp = stamp,
            .text = stamp + "." + std::string(body)};
  }
  CHECK(setting.form == Form::kSlack, "the form has no HMAC");
  const std::string stamp = value_of_header(headers, "X-Slack-Request-Timestamp");
  return {.headers = {"X-Slack-Request-Timestamp", "X-Slack-Signature"},
          .before = "v0=",
          .stamp = stamp,
          .text = "v0:" + stamp + ":" + std::string(body)};
}

std::optional<std::string> signature_by(const SignatureSetting& setting, std::string_view secret,
                                        std::string_view text) {
  std::string key(secret);
  const bool is_standard = setting.form == Form::kStandard;
  if (is_standard) {
    if (secret.starts_with(kSecretPrefix)) secret.remove_prefix(kSecretPrefix.size());
    key = base64_decode(secret).value_or("");
  }
  if (key.empty()) return std::nullopt;
  const bool is_base64 = is_standard || (setting.form == Form::kHmac &&
                                         setting.encoding == SignatureSetting::Encoding::kBase64);
  const Algorithm algorithm = setting.form == Form::kHmac ? setting.algorithm : Algorithm::kSha256;
  const std::string hmac = rfc2104_hmac(algorithm, std::move(key), text);
  return is_base64 ? base64_encode(hmac) : to_hex(hmac);
}

bool is_proved(const SignatureSetting& setting, const SignedMessage& message) {
  if (!has_hmac(setting)) {
    return std::any_of(message.secrets.begin(), message.secrets.end(),
                       [&](const std::string& secret) {
                         return has_secret_itself(setting, message.headers, secret);
                       });
  }
  const HmacParts parts = hmac_parts(setting, message.headers, message.body);
  const bool has_headers = std::all_of(
      parts.headers.begin(), parts.headers.end(),
      [&](const std::string& name) { return count_of_header(message.headers, name) == 1; });
  if (!has_headers) return false;
  if (parts.stamp && !is_within_window(setting, *parts.stamp, message.now)) return false;
  const std::string value = value_of_header(message.headers, parts.headers.back());
  return std::any_of(
      message.secrets.begin(), message.secrets.end(), [&](const std::string& secret) {
        const std::optional<std::string> signature = signature_by(setting, secret, parts.text);
        if (!signature) return false;
        const std::string wanted = parts.before + *signature;
        return parts.has_others ? value.find(wanted) != std::string::npos : value == wanted;
      });
}

Headers signed_headers(const SignatureSetting& setting, const std::string& secret,
                       const std::string& stamp, std::string_view body, const std::string& family) {
  Headers headers = unsigned_headers(setting, secret, stamp, family);
  if (!has_hmac(setting)) return headers;
  const HmacParts parts = hmac_parts(setting, headers, body);
  headers.back().second += signature_by(setting, secret, parts.text).value_or("");
  return headers;
}

}  // namespace millrace::fuzz
