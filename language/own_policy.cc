#include "language/own_policy.h"

#include <fmt/format.h>

#include "base/json.h"
#include "language/policy_fields.h"

namespace millrace {

Result<std::string> write_own_policy(const OwnPolicyTexts& texts) {
  Json own = Json::object();
  if (!texts.retries.empty()) {
    TRY(read_retry_policy(texts.retries));
    own["retries"] = texts.retries;
  }
  for (const auto& [key, text] :
       {std::pair("executionTimeout", &texts.execution), std::pair("runTimeout", &texts.run),
        std::pair("taskTimeout", &texts.task)}) {
    if (text->empty()) continue;
    const Result<Span> span = read_timeout(*text);
    if (!span) return fail_in(key, span.error());
    own[key] = *text;
  }
  return own.empty() ? std::string() : dump_json(own);
}

Result<OwnPolicy> parse_own_policy(std::string_view text) {
  OwnPolicy own;
  if (text.empty()) return own;
  const Json json = TRY(parse_own_json(text));
  const auto text_of = [&](const char* key) -> Result<std::optional<std::string>> {
    if (!json.is_object()) return fail("policy.invalid", "a stored policy is not an object");
    if (!json.contains(key)) return std::optional<std::string>();
    if (!json[key].is_string()) {
      return fail("policy.invalid",
                  fmt::format("the value of `{}` in a stored policy is not a string", key));
    }
    return std::optional(json[key].get<std::string>());
  };
  if (const auto retries = TRY(text_of("retries"))) own.retries = TRY(read_retry_policy(*retries));
  for (const auto& [key, span] :
       {std::pair("executionTimeout", &own.execution), std::pair("runTimeout", &own.run),
        std::pair("taskTimeout", &own.task)}) {
    if (const auto timeout = TRY(text_of(key))) *span = TRY(read_timeout(*timeout));
  }
  return own;
}

OwnPolicy read_own_policy(std::string_view text) {
  return parse_own_policy(text).value_or(OwnPolicy());
}

}  // namespace millrace
