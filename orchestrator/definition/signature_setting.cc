#include "orchestrator/definition/signature_setting.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/bytes.h"
#include "base/characters.h"
#include "base/excerpt.h"
#include "cloudevents/headers.h"
#include "orchestrator/definition/invalid_setting.h"

namespace millrace {
namespace {

using Form = SignatureSetting::Form;

constexpr std::array<std::pair<std::string_view, Form>, 7> kForms = {{{"github", Form::kGithub},
                                                                      {"stripe", Form::kStripe},
                                                                      {"slack", Form::kSlack},
                                                                      {"standard", Form::kStandard},
                                                                      {"hmac", Form::kHmac},
                                                                      {"header", Form::kHeader},
                                                                      {"basic", Form::kBasic}}};

constexpr uint32_t kMostWindowSeconds = 3'600;
constexpr size_t kMaxHeaderName = 128;
constexpr size_t kMaxSignaturePrefix = 64;

/// Whether the settings of the form may have the key, besides `form` and `secrets`.
bool has_signature_key(Form form, std::string_view key) {
  if (key == "windowSeconds") {
    return form == Form::kStripe || form == Form::kSlack || form == Form::kStandard ||
           form == Form::kHmac;
  }
  if (key == "header") return form == Form::kHmac || form == Form::kHeader;
  if (key == "user") return form == Form::kBasic;
  return form == Form::kHmac && (key == "algorithm" || key == "encoding" || key == "prefix" ||
                                 key == "timeHeader" || key == "separator");
}

Result<Form> parse_form(const std::string& where, const Json& value) {
  const std::string text = value.is_string() ? value.get<std::string>() : "";
  for (const auto& [name, form] : kForms) {
    if (text == name) return form;
  }
  return invalid_setting(where, "write github, stripe, slack, standard, hmac, header or basic");
}

Result<std::vector<std::string>> parse_secret_names(const std::string& where, const Json& value) {
  if (!value.is_array() || value.empty() || value.size() > kMostSignatureSecrets) {
    return invalid_setting(
        where, fmt::format("write a list of 1 to {} names of secrets", kMostSignatureSecrets));
  }
  std::vector<std::string> names;
  for (size_t i = 0; i < value.size(); ++i) {
    if (!value[i].is_string() || value[i].get_ref<const std::string&>().empty()) {
      return invalid_setting(fmt::format("{}[{}]", where, i), "write the name of a secret");
    }
    names.push_back(value[i].get<std::string>());
  }
  return names;
}

Result<Duration> parse_window(const std::string& where, const Json& value) {
  if (value.is_number_unsigned() && value > 0 && value <= kMostWindowSeconds) {
    return Duration(std::chrono::seconds(value.get<uint32_t>()));
  }
  return invalid_setting(where,
                         fmt::format("write a number of seconds from 1 to {}", kMostWindowSeconds));
}

/// The name of a header: a token of RFC 9110.
Result<std::string> parse_header_name(const std::string& where, const Json& value) {
  const auto is_in_token = [](char c) {
    return is_letter(c) || is_digit(c) ||
           std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
  };
  if (value.is_string()) {
    std::string name = value.get<std::string>();
    if (!name.empty() && name.size() <= kMaxHeaderName &&
        std::all_of(name.begin(), name.end(), is_in_token)) {
      return name;
    }
  }
  return invalid_setting(where, "write the name of a header, such as X-Signature");
}

Result<std::string> parse_printable(const std::string& where, const Json& value) {
  if (value.is_string()) {
    std::string text = value.get<std::string>();
    if (text.size() <= kMaxSignaturePrefix && is_printable_ascii(text)) return text;
  }
  return invalid_setting(where, fmt::format("write a text of at most {} printable ASCII characters",
                                            kMaxSignaturePrefix));
}

/// A separator that could be read as a part of the time stamp would let two requests have the same
/// signature.
Result<std::string> parse_separator(const std::string& where, const Json& value) {
  std::string text = TRY(parse_printable(where, value));
  if (!text.empty() && !is_digit(text.front())) return text;
  return invalid_setting(where, "write a text that does not begin with a digit, such as \".\"");
}

Result<std::string> parse_user(const std::string& where, const Json& value) {
  std::string text = TRY(parse_printable(where, value));
  if (!text.empty() && text.find(':') == std::string::npos) return text;
  return invalid_setting(where, "write the name of the user, without a colon");
}

/// Sets one member other than `form`.
Status parse_signature_member(const std::string& where, const std::string& key, const Json& value,
                              SignatureSetting& setting) {
  if (key == "secrets") {
    setting.secrets = TRY(parse_secret_names(where, value));
  } else if (key == "windowSeconds") {
    setting.window = TRY(parse_window(where, value));
  } else if (key == "header") {
    setting.header = TRY(parse_header_name(where, value));
  } else if (key == "timeHeader") {
    setting.time_header = TRY(parse_header_name(where, value));
  } else if (key == "prefix") {
    setting.prefix = TRY(parse_printable(where, value));
  } else if (key == "separator") {
    setting.separator = TRY(parse_separator(where, value));
  } else if (key == "user") {
    setting.user = TRY(parse_user(where, value));
  } else if (key == "algorithm") {
    if (value != "sha256" && value != "sha512") {
      return invalid_setting(where, "write sha256 or sha512");
    }
    setting.algorithm = value == "sha256" ? SignatureSetting::Algorithm::kSha256
                                          : SignatureSetting::Algorithm::kSha512;
  } else {
    if (value != "hex" && value != "base64") return invalid_setting(where, "write hex or base64");
    setting.encoding =
        value == "hex" ? SignatureSetting::Encoding::kHex : SignatureSetting::Encoding::kBase64;
  }
  return {};
}

/// What the form needs, and what does not fit together.
Status check_signature(const std::string& where, const Json& value,
                       const SignatureSetting& setting) {
  if (setting.secrets.empty()) TRY(parse_secret_names(where + ".secrets", Json()));
  if (has_signature_key(setting.form, "header") && setting.header.empty()) {
    TRY(parse_header_name(where + ".header", Json()));
  }
  if (setting.form == Form::kBasic && setting.user.empty()) {
    TRY(parse_user(where + ".user", Json("")));
  }
  if (!setting.header.empty() && same_header(setting.header, setting.time_header)) {
    return invalid_setting(where + ".timeHeader", "the header of the signature has no time stamp");
  }
  for (const char* const key : {"windowSeconds", "separator"}) {
    if (setting.form != Form::kHmac || !setting.time_header.empty() || !value.contains(key)) {
      continue;
    }
    return invalid_setting(where + "." + key, "needs timeHeader, the header with the time stamp");
  }
  return {};
}

}  // namespace

Result<SignatureSetting> parse_signature(std::string_view where, const Json& value) {
  const std::string place(where);
  if (!value.is_object() || !value.contains("form")) {
    return invalid_setting(where,
                           R"(write an object, such as {"form": "github", "secrets": ["github"]})");
  }
  SignatureSetting setting;
  setting.form = TRY(parse_form(place + ".form", value["form"]));
  for (const auto& [key, one] : value.items()) {
    if (key == "form") continue;
    const std::string at = fmt::format("{}.{}", where, excerpt(key));
    if (key != "secrets" && !has_signature_key(setting.form, key)) {
      return invalid_setting(at, fmt::format("not a setting of the form {}",
                                             value["form"].get_ref<const std::string&>()));
    }
    TRY(parse_signature_member(at, key, one, setting));
  }
  TRY(check_signature(place, value, setting));
  return setting;
}

}  // namespace millrace
