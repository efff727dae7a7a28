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

/// The setting of a namespace that has its inbound webhooks by name, and the member of one that
/// says whether it is paused.
inline constexpr const char* kInboundSetting = "hooks";
inline constexpr const char* kPausedWebhook = "paused";

struct InboundWebhook {
  SignatureSetting verify;
  EventMapping mapping;
  bool is_paused = false;  ///< its requests with a valid signature are answered 503
};

using InboundWebhooks = std::map<std::string, InboundWebhook, std::less<>>;

/// Parses `{NAME: {"verify": see parse_signature(), "mapping": see parse_mapping(), "paused"?:
/// true}}`. `where` is the place in the settings. Error `settings.invalid` has the place of the
/// mistake, and what to write there.
Result<InboundWebhooks> parse_inbound_webhooks(std::string_view where, const Json& value);

}  // namespace millrace
