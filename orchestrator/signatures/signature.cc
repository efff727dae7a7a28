#include "orchestrator/signatures/signature.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/bytes.h"
#include "base/characters.h"
#include "orchestrator/signatures/hmac.h"

namespace millrace {
namespace {

using Setting = SignatureSetting;

/// The most signatures of one header: services send one for each of their secrets.
constexpr size_t kMostSignatures = 16;
/// The most digits of a time stamp in seconds, which reach for the next 30 000 years.
constexpr size_t kMaxStampDigits = 12;
constexpr size_t kSha256Bytes = 32;
constexpr size_t kSha512Bytes = 64;
constexpr std::string_view kStandardSecretPrefix = "whsec_";

tl::unexpected<Error> refused(std::string_view why) {
  return fail(std::string(kRequestRefused), std::string(why));
}

/// The value of the header, which must occur once.
Result<std::string_view> only_header(const Headers& headers, std::string_view name) {
  const std::string* found = nullptr;
  for (const auto& [other, value] : headers) {
    if (!same_header(other, name)) continue;
    if (found != nullptr) return refused(fmt::format("the header {} occurs twice", name));
    found = &value;
  }
  if (found == nullptr) return refused(fmt::format("the header {} is missing", name));
  return std::string_view(*found);
}

Result<std::string_view> without_prefix(std::string_view name, std::string_view value,
                                        std::string_view prefix) {
  if (value.starts_with(prefix)) return value.substr(prefix.size());
  return refused(fmt::format("the value of the header {} does not begin with {}", name, prefix));
}

/// The bytes of a signature; nullopt: the text does not have so many in that encoding.
std::optional<std::string> signature_bytes(std::string_view text, Setting::Encoding encoding,
                                           size_t size) {
  if (encoding == Setting::Encoding::kBase64) {
    std::optional<std::string> bytes = base64_decode(text);
    if (bytes && bytes->size() != size) bytes.reset();
    return bytes;
  }
  std::vector<uint8_t> bytes(size);
  if (!read_hex(text, bytes)) return std::nullopt;
  return std::string(bytes.begin(), bytes.end());
}

Status check_stamp(std::string_view stamp, const Setting& setting, TimePoint now) {
  uint64_t seconds = 0;
  const bool is_number = !stamp.empty() && stamp.size() <= kMaxStampDigits &&
                         std::all_of(stamp.begin(), stamp.end(), is_digit);
  if (is_number) std::from_chars(stamp.data(), stamp.data() + stamp.size(), seconds);
  if (!is_number) return refused("the time stamp is not a number of seconds");
  const Duration since_epoch = std::chrono::duration_cast<Duration>(now.time_since_epoch());
  const Duration at = std::chrono::seconds(static_cast<int64_t>(seconds));
  const Duration age = since_epoch - at;
  if (age > setting.window) return refused("the time stamp is too old");
  if (-age > setting.window) return refused("the time stamp is too far in the future");
  return {};
}

/// Ok if one of the signatures is that of one of the keys. Every pair is compared.
Status compare(std::span<const std::string> keys, const std::vector<std::string>& signatures,
               Setting::Algorithm algorithm, std::initializer_list<std::string_view> parts) {
  bool has_key = false;
  bool is_equal = false;
  for (const std::string& key : keys) {
    if (key.empty()) continue;
    has_key = true;
    const std::string expected = algorithm == Setting::Algorithm::kSha256 ? hmac_sha256(key, parts)
                                                                          : hmac_sha512(key, parts);
    for (const std::string& signature : signatures) {
      is_equal = equal_in_constant_time(expected, signature) || is_equal;
    }
  }
  if (!has_key) return refused("no secret of the settings exists and has content");
  return is_equal ? Status() : refused("the signature is wrong");
}

/// The one signature in a header that has nothing else.
Result<std::vector<std::string>> single_signature(std::string_view name, std::string_view text,
                                                  Setting::Encoding encoding, size_t size) {
  std::optional<std::string> bytes = signature_bytes(text, encoding, size);
  if (bytes) return std::vector<std::string>{*std::move(bytes)};
  return refused(fmt::format("the value of the header {} is not a signature of {} bytes in {}",
                             name, size,
                             encoding == Setting::Encoding::kHex ? "hexadecimal" : "Base64"));
}

Status check_github(const Setting& setting, std::span<const std::string> secrets,
                    const Headers& headers, std::string_view body) {
  constexpr std::string_view kName = "X-Hub-Signature-256";
  const std::string_view value = TRY(only_header(headers, kName));
  const std::string_view text = TRY(without_prefix(kName, value, "sha256="));
  const auto signatures = TRY(single_signature(kName, text, Setting::Encoding::kHex, kSha256Bytes));
  return compare(secrets, signatures, setting.algorithm, {body});
}

/// The parts of a text between separators.
std::vector<std::string_view> split_at(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

/// The signatures among the parts, which begin with `prefix`; other parts are of other versions. A
/// part that is no signature is left out if there are others, as the libraries of the services do.
Result<std::vector<std::string>> listed_signatures(std::string_view name,
                                                   const std::vector<std::string_view>& parts,
                                                   std::string_view prefix,
                                                   Setting::Encoding encoding) {
  std::vector<std::string> signatures;
  size_t count = 0;
  for (const std::string_view part : parts) {
    if (!part.starts_with(prefix)) continue;
    if (count++ == kMostSignatures) {
      return refused(
          fmt::format("the header {} has more than {} signatures", name, kMostSignatures));
    }
    auto bytes = signature_bytes(part.substr(prefix.size()), encoding, kSha256Bytes);
    if (bytes) signatures.push_back(*std::move(bytes));
  }
  if (signatures.empty() && count > 0) {
    return refused(fmt::format("the header {} has a malformed signature", name));
  }
  if (signatures.empty()) {
    return refused(fmt::format("the header {} has no signature that begins with {}", name, prefix));
  }
  return signatures;
}

Status check_stripe(const Setting& setting, std::span<const std::string> secrets,
                    const Headers& headers, std::string_view body, TimePoint now) {
  constexpr std::string_view kName = "Stripe-Signature";
  const std::string_view value = TRY(only_header(headers, kName));
  const std::vector<std::string_view> parts = split_at(value, ',');
  std::optional<std::string_view> stamp;
  for (const std::string_view part : parts) {
    if (!part.starts_with("t=")) continue;
    if (stamp) return refused("the header Stripe-Signature has two time stamps");
    stamp = part.substr(2);
  }
  if (!stamp) return refused("the header Stripe-Signature has no time stamp");
  TRY(check_stamp(*stamp, setting, now));
  const auto signatures = TRY(listed_signatures(kName, parts, "v1=", Setting::Encoding::kHex));
  return compare(secrets, signatures, setting.algorithm, {*stamp, ".", body});
}

Status check_slack(const Setting& setting, std::span<const std::string> secrets,
                   const Headers& headers, std::string_view body, TimePoint now) {
  constexpr std::string_view kName = "X-Slack-Signature";
  const std::string_view stamp = TRY(only_header(headers, "X-Slack-Request-Timestamp"));
  const std::string_view value = TRY(only_header(headers, kName));
  TRY(check_stamp(stamp, setting, now));
  const std::string_view text = TRY(without_prefix(kName, value, "v0="));
  const auto signatures = TRY(single_signature(kName, text, Setting::Encoding::kHex, kSha256Bytes));
  return compare(secrets, signatures, setting.algorithm, {"v0:", stamp, ":", body});
}

/// The keys of secrets in the form of Standard Webhooks: Base64, with or without `whsec_`. A secret
/// in another form is no key.
std::vector<std::string> standard_keys(std::span<const std::string> secrets) {
  std::vector<std::string> keys;
  for (std::string_view secret : secrets) {
    if (secret.starts_with(kStandardSecretPrefix)) {
      secret.remove_prefix(kStandardSecretPrefix.size());
    }
    keys.push_back(base64_decode(secret).value_or(""));
  }
  return keys;
}

Status check_standard(const Setting& setting, std::span<const std::string> secrets,
                      const Headers& headers, std::string_view body, TimePoint now) {
  // Svix, from which the standard comes, sends the same headers under its own name.
  const bool is_svix = find_header(headers, "webhook-signature") == nullptr &&
                       find_header(headers, "svix-signature") != nullptr;
  const std::string name = is_svix ? "svix" : "webhook";
  const std::string_view id = TRY(only_header(headers, name + "-id"));
  const std::string_view stamp = TRY(only_header(headers, name + "-timestamp"));
  const std::string_view value = TRY(only_header(headers, name + "-signature"));
  // With a dot in the id, another split of the signed text would have the same signature.
  if (id.empty() || id.find('.') != std::string_view::npos) {
    return refused(fmt::format("the header {}-id is empty or has a dot", name));
  }
  TRY(check_stamp(stamp, setting, now));
  const auto signatures = TRY(listed_signatures(name + "-signature", split_at(value, ' '), "v1,",
                                                Setting::Encoding::kBase64));
  return compare(standard_keys(secrets), signatures, setting.algorithm,
                 {id, ".", stamp, ".", body});
}

Status check_hmac(const Setting& setting, std::span<const std::string> secrets,
                  const Headers& headers, std::string_view body, TimePoint now) {
  const std::string_view value = TRY(only_header(headers, setting.header));
  const std::string_view text = TRY(without_prefix(setting.header, value, setting.prefix));
  const bool is_sha256 = setting.algorithm == Setting::Algorithm::kSha256;
  const auto signatures = TRY(single_signature(setting.header, text, setting.encoding,
                                               is_sha256 ? kSha256Bytes : kSha512Bytes));
  if (setting.time_header.empty()) {
    return compare(secrets, signatures, setting.algorithm, {body});
  }
  const std::string_view stamp = TRY(only_header(headers, setting.time_header));
  TRY(check_stamp(stamp, setting, now));
  return compare(secrets, signatures, setting.algorithm, {stamp, setting.separator, body});
}

/// Ok if the text is one of the secrets. Every secret is compared.
Status check_secret(std::span<const std::string> secrets, std::string_view text, bool is_user) {
  bool is_equal = false;
  for (const std::string& secret : secrets) {
    is_equal = (equal_in_constant_time(secret, text) && !secret.empty()) || is_equal;
  }
  return is_equal && is_user ? Status() : refused("the secret is wrong");
}

Status check_basic(const Setting& setting, std::span<const std::string> secrets,
                   const Headers& headers) {
  constexpr std::string_view kScheme = "basic ";
  const std::string_view value = TRY(only_header(headers, "Authorization"));
  if (!to_lower(value.substr(0, kScheme.size())).starts_with(kScheme)) {
    return refused("the header Authorization is not that of basic authentication");
  }
  const auto pair = base64_decode(value.substr(kScheme.size()));
  const size_t colon = pair ? pair->find(':') : std::string::npos;
  if (colon == std::string::npos) {
    return refused("the header Authorization has no user and password in Base64");
  }
  const std::string_view text = *pair;
  const bool is_user = equal_in_constant_time(text.substr(0, colon), setting.user);
  return check_secret(secrets, text.substr(colon + 1), is_user);
}

/// Whether the header has the signature of a request, or the secret itself.
bool is_credential(const Setting& setting, std::string_view name) {
  const auto is_one_of = [&](std::initializer_list<std::string_view> names) {
    return std::any_of(names.begin(), names.end(),
                       [&](std::string_view one) { return same_header(name, one); });
  };
  switch (setting.form) {
    case Setting::Form::kGithub:
      return is_one_of({"X-Hub-Signature-256", "X-Hub-Signature"});
    case Setting::Form::kStripe:
      return is_one_of({"Stripe-Signature"});
    case Setting::Form::kSlack:
      return is_one_of({"X-Slack-Signature"});
    case Setting::Form::kStandard:
      return is_one_of({"webhook-signature", "svix-signature"});
    case Setting::Form::kHmac:
    case Setting::Form::kHeader:
      return is_one_of({setting.header});
    case Setting::Form::kBasic:
      break;
  }
  return false;
}

}  // namespace

Status check_signature_of(const SignatureSetting& setting, std::span<const std::string> secrets,
                          const Headers& headers, std::string_view body, TimePoint now) {
  switch (setting.form) {
    case Setting::Form::kGithub:
      return check_github(setting, secrets, headers, body);
    case Setting::Form::kStripe:
      return check_stripe(setting, secrets, headers, body, now);
    case Setting::Form::kSlack:
      return check_slack(setting, secrets, headers, body, now);
    case Setting::Form::kStandard:
      return check_standard(setting, secrets, headers, body, now);
    case Setting::Form::kHmac:
      return check_hmac(setting, secrets, headers, body, now);
    case Setting::Form::kHeader:
      return check_secret(secrets, TRY(only_header(headers, setting.header)), true);
    case Setting::Form::kBasic:
      return check_basic(setting, secrets, headers);
  }
  return refused("the settings have no form of a signature");
}

Headers without_credentials(const SignatureSetting& setting, Headers headers) {
  std::erase_if(headers, [&](const auto& header) {
    return same_header(header.first, "Authorization") || same_header(header.first, "Cookie") ||
           is_credential(setting, header.first);
  });
  return headers;
}

}  // namespace millrace
