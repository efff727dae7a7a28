#include "model/own_policy.h"

#include "base/check.h"
#include "base/json.h"
#include "model/policy_fields.h"

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

OwnPolicy read_own_policy(std::string_view text) {
  OwnPolicy own;
  if (text.empty()) return own;
  const Result<Json> json = parse_own_json(text);
  CHECK(json.has_value(), "a start's policy was read before it was kept");
  if (json->contains("retries")) {
    own.retries = *read_retry_policy((*json)["retries"].get<std::string>());
  }
  const auto read = [&](const char* key, std::optional<Span>& span) {
    if (json->contains(key)) span = *read_timeout((*json)[key].get<std::string>());
  };
  read("executionTimeout", own.execution);
  read("runTimeout", own.run);
  read("taskTimeout", own.task);
  return own;
}

}  // namespace millrace
