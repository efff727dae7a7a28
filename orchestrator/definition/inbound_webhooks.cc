#include "orchestrator/definition/inbound_webhooks.h"

#include <utility>

#include <fmt/format.h>

#include "base/excerpt.h"
#include "base/ids.h"
#include "orchestrator/definition/invalid_setting.h"

namespace millrace {
namespace {

Result<InboundWebhook> parse_inbound_webhook(const std::string& where, const Json& value) {
  if (!value.is_object()) {
    return invalid_setting(where, R"(write an object with "verify" and "mapping")");
  }
  for (const auto& [key, one] : value.items()) {
    if (key == "verify" || key == "mapping" || key == kPausedWebhook) continue;
    return invalid_setting(fmt::format("{}.{}", where, excerpt(key)),
                           "unknown setting; valid: verify, mapping, paused");
  }
  const Json paused = value.value(kPausedWebhook, Json(false));
  if (!paused.is_boolean()) {
    return invalid_setting(fmt::format("{}.{}", where, kPausedWebhook), "write true or false");
  }
  InboundWebhook webhook{.is_paused = paused.get<bool>()};
  webhook.verify = TRY(parse_signature(where + ".verify", value.value("verify", Json())));
  webhook.mapping = TRY(parse_mapping(where + ".mapping", value.value("mapping", Json())));
  return webhook;
}

}  // namespace

Result<InboundWebhooks> parse_inbound_webhooks(std::string_view where, const Json& value) {
  if (!value.is_object()) {
    return invalid_setting(where, "write an object that maps names to inbound webhooks");
  }
  if (value.size() > kMostInboundWebhooks) {
    return invalid_setting(where, fmt::format("{} inbound webhooks are given; at most {} are "
                                              "possible",
                                              value.size(), kMostInboundWebhooks));
  }
  InboundWebhooks webhooks;
  for (const auto& [name, one] : value.items()) {
    const std::string place = fmt::format("{}.{}", where, excerpt(name));
    if (!is_identifier(name)) {
      return invalid_setting(place, "the name has 1 to 128 letters, digits, `.`, `-` and `_`");
    }
    webhooks.emplace(name, TRY(parse_inbound_webhook(place, one)));
  }
  return webhooks;
}

}  // namespace millrace
