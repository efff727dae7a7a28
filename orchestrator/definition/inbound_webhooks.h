// Inbound webhooks: the setting `hooks` of a namespace. Each has a URL to which another service
// posts its own messages under a signature. Pure values.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "orchestrator/definition/event_mapping.h"
#include "orchestrator/definition/signature_setting.h"

namespace millrace {

/// How many inbound webhooks a namespace may have.
inline constexpr size_t kMostInboundWebhooks = 32;

struct InboundWebhook {
  SignatureSetting verify;
  EventMapping mapping;
};

using InboundWebhooks = std::map<std::string, InboundWebhook, std::less<>>;

/// Parses `{NAME: {"verify": see parse_signature(), "mapping": see parse_mapping()}}`. `where` is
/// the place in the settings. Error `settings.invalid` has the place of the mistake, and what to
/// write there.
Result<InboundWebhooks> parse_inbound_webhooks(std::string_view where, const Json& value);

}  // namespace millrace
